"""Show an artefact, whatever noun it is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from likewise.errors import InputError, SpecError
from likewise.tables import STATS, Estimates, Faces, Pairs, Ratings, Vectors
from likewise.tables.files import read_frame
from likewise.tables.table import Table

_BY_COLUMN: dict[str, type[Table]] = {"quantity": Estimates, "rater": Ratings, "pair": Pairs, "image": Faces}


def shown(path: Path) -> str:
    """Return six lines about an artefact and its first rows."""
    for name in ("faces.parquet", "estimates.parquet"):
        if path.is_dir() and (path / name).is_file():
            path = path / name
    if path.is_dir() or path.suffix == ".npz":
        return str(Vectors.read(path))
    frame, _ = read_frame(path)
    noun = next((kind for column, kind in _BY_COLUMN.items() if column in frame.columns), None)
    if noun is None:
        raise InputError("the file is an artefact of likewise", got=f"{path.name} with columns {list(frame.columns)}")
    table = noun.read(path)
    meanings = _meanings(table) if isinstance(table, Estimates) else ""
    return f"{table}\n\n{table.frame.head(12).to_string(index=False)}{meanings}"


def shown_image(folder: Path, image: str | None, **given: Any) -> list[str]:
    """Draw one image of an audit beside its reconstruction."""
    from likewise.cli.show_image import AMOUNTS, show_image  # noqa: PLC0415  # networks load late

    if not image:
        raise SpecError("--out, --directions, --along, --hold and --amount draw an image", got="no --image")
    return show_image(folder, image, **{**given, "amounts": given["amounts"] or AMOUNTS})


def _meanings(estimates: Estimates) -> str:
    """Say what each statistic means and which function makes it."""
    known = [STATS[name] for name in estimates.frame["stat"].unique()]
    lines = [f"  {stat.name}: {stat.label}{f' [{stat.function}]' if stat.function else ''}" for stat in known]
    return "\n\n" + "\n".join(lines) if lines else ""
