"""The columns of a score file and of its table, where they are obvious from their values and names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import pandas as pd

from likewise.errors import ContrastError, SpecError, TableError, some
from likewise.tables.checks import need_columns
from likewise.tables.io import read_frame

_IDENTITY = ("identity", "identity_id", "person", "person_id", "subject", "subject_id", "individual", "who", "name")
_SYSTEM = ("system", "model", "algorithm", "vendor", "recognizer", "matcher")
_SCORE = ("score", "similarity", "distance", "match_score", "comparison_score", "match", "sim", "dist", "cosine")
_ATTRIBUTE = ("gender", "sex", "race", "ethnicity", "skin_tone", "skin")
_SOURCES = ("perceived_", "self_", "predicted_", "measured_")
_FEMALE, _MALE = ("f", "female", "woman", "women"), ("m", "male", "man", "men")
_KNOWN = 0.5  # the share of a column's values that are images of the table
_ROWS = 2000  # of the score file, to recognize columns by their values


@dataclass(frozen=True)
class ScoreColumns:
    """The columns of a score file: the two images, one or more scores, and the system where a row has one."""

    a: str
    b: str
    scores: tuple[str, ...]
    system: str = ""


@dataclass(frozen=True)
class TableColumns:
    """The columns of a table of images, and the levels of the contrast."""

    image: str
    identity: str
    protected: str
    focal: str
    reference: str


def as_text(path: Path) -> pd.DataFrame:
    """Read a table with every column as text; typed columns come from `read_frame` alone."""
    names = tuple(str(name) for name in read_frame(path)[0].columns)
    frame = read_frame(path, text=names)[0]
    return frame.astype("str").where(frame.notna(), None)


def guess_image_column(table: pd.DataFrame, scored: pd.DataFrame, name: str) -> str:
    """Return the column of the table whose values two columns of the score file have."""
    cells = [{_bare(cell) for cell in scored[column].head(_ROWS).dropna()} for column in scored.columns]
    shares = {
        str(column): sorted([0.0, 0.0, *(_share({_bare(cell) for cell in table[column]}, part) for part in cells)])[-2]
        for column in table.columns
        if table[column].notna().all() and table[column].is_unique
    }
    found = [column for column, share in shares.items() if share >= max([*shares.values(), 0.0]) > 0]
    return _only(found, "image", "--image-column", name, table.columns)


def guess_identity(table: pd.DataFrame, image: str, name: str) -> str:
    """Return the column of the table with a usual name of an identity, whose values recur."""
    named = [str(column) for column in table.columns if str(column).lower() in _IDENTITY and column != image]
    return _only([column for column in named if not table[column].is_unique], "identity", "--identity", name,
                 table.columns)  # fmt: skip


def guess_protected(table: pd.DataFrame, name: str) -> str:
    """Return the column of the table with a usual name of a protected attribute."""
    found = [str(column) for column in table.columns if _without_source(str(column)) in _ATTRIBUTE]
    return _only(found, "protected attribute", "--protected", name, table.columns)


def guess_levels(table: pd.DataFrame, protected: str) -> tuple[str, str]:
    """Return female and male, as the column spells them; any other levels have to be named."""
    levels = [str(level) for level in table[protected].dropna().unique()]
    female = [level for level in levels if level.lower() in _FEMALE]
    male = [level for level in levels if level.lower() in _MALE]
    if len(female) == len(male) == 1:
        return female[0], male[0]
    fix = "Add --focal LEVEL --reference LEVEL; every difference is focal - reference."
    raise ContrastError(f"No groups are given; the levels of {protected!r} are {some(levels, 12)}", fix=fix)


def score_columns(path: Path, given: Sequence[str], keys: Iterable[str], system: str = "") -> ScoreColumns:
    """Return the columns of a score file: those that are given (a, b, score, ...), else the obvious ones.

    Images are the two columns whose values are keys of the table. The score is the one other column of numbers, the
    one with a usual name, or the only one with more than two values.
    """
    typed, text = read_frame(path)[0], as_text(path)
    named = system or next((str(column) for column in typed.columns if str(column).lower() in _SYSTEM), "")
    need_columns(typed, [*given, *([system] if system else [])], f"the scores {path.name}")
    if given:
        if len(given) < 3:
            raise SpecError(f"--columns names {len(given)} columns", fix="Name three: the two images and the score.")
        return ScoreColumns(given[0], given[1], tuple(given[2:]), named if named not in given else "")
    known = {_bare(key) for key in keys}
    images = [str(c) for c in text.columns if _share(known, {_bare(cell) for cell in text[c].head(_ROWS).dropna()}) > 0]
    if len(images) != 2:
        fix = "Name them: --columns LEFT,RIGHT,SCORE. Is --image-column of the table the right one?"
        problem = f"{len(images)} columns of {path.name} hold images of the table, not two (columns: {some(typed, 12)})"
        raise TableError(problem, fix=fix)
    return ScoreColumns(images[0], images[1], _score(typed, [*images, named], path), named)


def _score(frame: pd.DataFrame, taken: list[str], path: Path) -> tuple[str, ...]:
    numbers = [
        str(name) for name in frame.columns
        if str(name) not in taken and pd.api.types.is_numeric_dtype(frame[name]) and frame[name].dtype != bool
    ]  # fmt: skip
    usual = [name for name in numbers if name.lower() in _SCORE]
    graded = [name for name in numbers if frame[name].nunique() > 2]  # two values: a flag, e.g. mated or not
    found = next((names for names in (numbers, usual, graded) if len(names) == 1), [])
    if len(found) != 1:
        fix = "Name it: --columns LEFT,RIGHT,SCORE (several scores are several systems)."
        raise TableError(f"The score column is not obvious in {path.name} (numbers: {some(numbers, 12)})", fix=fix)
    return (found[0],)


def _only(found: list[str], what: str, option: str, name: str, columns: Iterable[object]) -> str:
    if len(found) == 1:
        return found[0]
    several = f"several columns may be it: {some(found)}" if found else f"columns: {some(columns, 12)}"
    raise TableError(f"The column of the {what} is not obvious in {name} ({several})", fix=f"Name it with {option}.")


def _share(known: set[str], cells: set[str]) -> float:
    share = len(cells & known) / len(cells) if cells else 0.0
    return share if share >= _KNOWN else 0.0


def _bare(cell: object) -> str:
    """Return a name without its ending; the decimals of a number are none."""
    path = PurePosixPath(str(cell))
    return path.with_suffix("").as_posix() if path.suffix[1:2].isalpha() else str(cell)


def _without_source(column: str) -> str:
    lower = column.lower()
    return next((lower.removeprefix(source) for source in _SOURCES if lower.startswith(source)), lower)
