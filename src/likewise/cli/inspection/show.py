"""Show an artifact, whichever table it holds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from likewise.errors import InputError, SpecError, some
from likewise.tables import STATS, Estimates, Images, Matches, Ratings, Trials, Vectors
from likewise.tables.io import read_frame
from likewise.tables.table import Table

_BY_COLUMN: dict[str, type[Table]] = {
    "quantity": Estimates,
    "rater": Ratings,
    "trial": Trials,
    "pair": Matches,
    "image": Images,
}


def shown(path: Path) -> str:
    """Return six lines about an artifact and its first rows."""
    for name in ("images.parquet", "estimates.parquet"):
        if path.is_dir() and (path / name).is_file() and not (path / "values.npy").is_file():
            path = path / name
    if path.is_dir() or path.suffix == ".npz":
        return str(Vectors.read(path))
    frame, _ = read_frame(path)
    kind_of_table = next((kind for column, kind in _BY_COLUMN.items() if column in frame.columns), None)
    if kind_of_table is None:
        raise InputError(
            f"{path.name} is no table of likewise (columns: {some(frame.columns, 8)})",
            fix="Name a file that a stage wrote, or use any table reader.",
        )
    table = kind_of_table.read(path)
    meanings = _meanings(table) if isinstance(table, Estimates) else ""
    return f"{table}\n\n{table.frame.head(12).to_string(index=False)}{meanings}"


def shown_image(folder: Path, image: str | None, **given: Any) -> list[str]:
    """Draw one image of an audit beside its reconstruction."""
    from likewise.audit.tools.show_image import AMOUNTS, show_image  # networks load late

    if not image:
        raise SpecError("--out, --directions, --along, --hold and --amount need --image", fix="Add --image KEY.")
    return show_image(folder, image, **{**given, "amounts": given["amounts"] or AMOUNTS})


def _meanings(estimates: Estimates) -> str:
    """Return what each statistic means and which function computes it."""
    known = [STATS[name] for name in estimates.frame["stat"].unique()]
    lines = [f"  {stat.name}: {stat.label}{f' [{stat.function}]' if stat.function else ''}" for stat in known]
    return "\n\n" + "\n".join(lines) if lines else ""
