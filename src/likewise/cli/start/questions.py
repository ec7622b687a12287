"""``likewise init`` without options: it asks for the table, the columns, the groups and what there is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    import pandas as pd

    from likewise.audit.plan.request import AuditRequest
    from likewise.audit.plan.scores import ScoresRequest

_SPACES = ("columns", "latents")
HAVE = ("scores", "embeddings", "labels", "images")


def ask_folder() -> Path:
    """Ask for the folder of the audit."""
    return Path(click.prompt("Folder of the audit", default="audit"))


def ask_request() -> AuditRequest | ScoresRequest:
    """Ask for everything that a plan is made from; every answer is checked before the next question."""
    from likewise.audit.plan.request import AuditRequest
    from likewise.audit.plan.scores import ScoresRequest
    from likewise.data.scores.columns import as_text

    table = _file("Table with one row per image (CSV, TSV or Parquet)")
    frame = as_text(table)
    click.echo(f"  {len(frame):,} rows; columns: {', '.join(map(str, frame.columns))}")
    common: dict[str, Any] = {"table": table, **_columns(frame)}
    have = _choice("What do you have: scores of pairs, embeddings, labels or images", HAVE)
    title: dict[str, Any] = {"title": click.prompt("Title of the report", default="Audit")}
    if have == "scores":
        path = _file("File of scored pairs")
        columns = _score_columns(path, frame[common["image_column"]])
        return ScoresRequest(files=(str(path),), columns=columns, **common, **title)
    covariates = _covariates(frame, common)
    if have == "images":
        return AuditRequest(**common, **title, covariates=covariates, **_images())
    named = f"{click.prompt('Name of the system under audit', default='system')}={_file(f'File of {have}')}"
    given: dict[str, Any] = {have: (named,)}
    return AuditRequest(**common, **title, **given, covariates=covariates)


def _columns(frame: pd.DataFrame) -> dict[str, str]:
    from likewise.data.scores.columns import guess_identity, guess_levels, guess_protected

    names = [str(name) for name in frame.columns]
    unique = [name for name in names if frame[name].is_unique and frame[name].notna().all()]
    image = _choice("Column with the file name or key of the image", names, unique[0] if unique else None)
    identity = _choice("Column with the identity", names, _guess(lambda: guess_identity(frame, image, "")))
    protected = _choice("Column with the protected attribute", names, _guess(lambda: guess_protected(frame, "")))
    levels = [str(level) for level in frame[protected].dropna().unique()]
    first = _guess(lambda: guess_levels(frame, protected)[0])
    focal = _choice(f"Focal group of {protected} (differences are focal - reference)", levels, first)
    others = [level for level in levels if level != focal]
    reference = _choice("Reference group", others, others[0] if len(others) == 1 else None)
    return {"image_column": image, "identity": identity, "protected": protected, "focal": focal,
            "reference": reference}  # fmt: skip


def _score_columns(path: Path, keys: Iterable[str]) -> tuple[str, ...]:
    """Return the columns of the score file where they are not obvious: both images, then one or more scores."""
    from likewise.data.scores.columns import as_text, score_columns
    from likewise.errors import LikewiseError

    try:
        score_columns(path, (), keys)
    except LikewiseError:
        names = [str(name) for name in as_text(path).columns]
        click.echo(f"  columns of {path.name}: {', '.join(names)}")
        while True:
            asked = click.prompt("Columns, comma-separated: both images, then one or more scores (one per system)")
            given = tuple(name.strip() for name in str(asked).split(",") if name.strip())
            unknown = [name for name in given if name not in names]
            if len(given) >= 3 and not unknown:
                return given
            click.echo(f"  not a column: {', '.join(unknown)}" if unknown else "  three or more columns are needed")
    return ()


def _covariates(frame: pd.DataFrame, taken: dict[str, Any]) -> str:
    others = [str(name) for name in frame.columns if name not in taken.values()]
    if not others:
        return ""
    return str(click.prompt("Columns to balance, comma-separated", default=",".join(others)))


def _images() -> dict[str, Any]:
    from likewise.audit.plan.request import PRESETS, RATERS
    from likewise.runtime.registry import components

    folder = _path("Folder of the images", lambda path: path.is_dir())
    for kind in RATERS:
        click.echo(f"  {kind}s: {', '.join(components(kind))}")
    rater = click.prompt("Model under audit, e.g. recognizer:dlib or classifier:net.onnx (empty: none yet)", default="",
                         show_default=False)  # fmt: skip
    match = _choice("Match on the table's columns (quick), or in the latent space of a generator", _SPACES)
    space = {"encoder": "columns"} if match == "columns" else {"preset": _choice("Preset", PRESETS, "standard")}
    return {"images": folder, "rater": (rater,) if rater else (), **space}


def _file(question: str) -> Path:
    return _path(question, lambda path: path.is_file())


def _path(question: str, holds: Callable[[Path], bool]) -> Path:
    while True:
        path = Path(click.prompt(question)).expanduser()
        if holds(path):
            return path
        click.echo(f"  not found: {path}")


def _choice(question: str, choices: Sequence[str], default: str | None = None) -> str:
    shown = click.Choice(list(choices))
    return str(click.prompt(question, type=shown, default=default, show_choices=len(choices) <= 12))


def _guess(guess: Callable[[], str]) -> str | None:
    from likewise.errors import LikewiseError

    try:
        return guess()
    except LikewiseError:
        return None
