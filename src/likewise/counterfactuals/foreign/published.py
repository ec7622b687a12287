"""Layouts of published sets of counterfactual images, as their public descriptions and loaders state them.

- ``pairs``: PAIRS (Fraser and Kiritchenko 2024), ``SECTION/SCENARIO/RACE_GENDER.png``: black_man, white_woman ...
- ``causalface``: CausalFace (Liang, Perona and Balakrishnan 2023), ``seed_N/RACE_GENDER_WHAT_VALUE....png``, where WHAT
  is age, smiling, l (lighting) or y (pose), optionally below ``final_picked_WHAT``.
- ``social-counterfactuals``: SocialCounterfactuals (Howard et al. 2024), a table with ``counterfactual_set``,
  ``a1_type``, ``a1``, ``a2_type``, ``a2`` and ``file_name``, beside a folder of its images.

These sets have no photographs that were edited: all versions of a scene are drawn. Every set of versions that differ in
one attribute gets one of them as its original, in turn one of each level, so that both groups have originals.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from likewise.errors import ImageError, SpecError, TableError, nearest, some
from likewise.runtime.pixels import SUFFIXES
from likewise.tables.checks import need_columns
from likewise.tables.io import read_frame

PAIRS, CAUSALFACE, SOCIAL = "pairs", "causalface", "social-counterfactuals"
PUBLISHED = (PAIRS, CAUSALFACE, SOCIAL)
LEVELS: dict[str, dict[str, float]] = {
    "gender": {"man": -1.0, "male": -1.0, "woman": 1.0, "female": 1.0},
    "race": {"white": -1.0, "black": 1.0},
}
"""Strengths of levels that need not be given."""
_PAIRS = re.compile(r"(?P<race>black|white)_(?P<gender>man|woman)")
_FACE = re.compile(
    r"(?P<race>[a-z]+)_(?P<gender>female|male)_(?P<what>age|smiling|l|y|brightness)_(?P<value>-?\d+(\.\d+)?)(_o2)?"
)
_WHAT = {"l": "lighting", "y": "pose"}
_COLUMNS = ["counterfactual_set", "a1_type", "a1", "a2_type", "a2", "file_name"]


def published_images(layout: str, folder: Path, table: Path | None = None) -> pd.DataFrame:
    """Return every image of a published set: ``image``, ``identity`` (the scene) and what it was made to show.

    Columns of attributes begin with ``prompted_``: what the makers asked for, which nobody perceived yet.
    """
    if layout == SOCIAL:
        rows = _social(folder, table)
    else:
        rows = [row for path in _pictures(folder) if (row := _READ[layout](path.relative_to(folder))) is not None]
    if not rows:
        fix = "Give the folder as it was published, or describe the set with --table."
        raise ImageError(f"No pictures in the layout {layout!r} in {folder}", fix=fix)
    return pd.DataFrame(rows).sort_values("image", ignore_index=True)


def published_edits(images: pd.DataFrame, attribute: str, levels: Mapping[str, float]) -> pd.DataFrame:
    """Return the manifest of the versions of every scene that differ in one attribute only.

    Parameters
    ----------
    images
        What ``published_images`` returns.
    attribute
        What differs: gender, race, age ...
    levels
        The strength of each level; levels that are numbers need none, levels without a strength are left out.
    """
    column = f"prompted_{attribute.removeprefix('prompted_')}"
    known = [name.removeprefix("prompted_") for name in images.columns if name.startswith("prompted_")]
    if column not in images.columns:
        fix = nearest(attribute, known) or f"Choose one of {some(known)} with --attribute."
        raise SpecError(f"The set has no attribute {attribute!r}", fix=fix)
    strengths = {**LEVELS.get(column.removeprefix("prompted_"), {}), **levels}
    value = pd.Series([_strength(level, strengths) for level in images[column]], images.index, dtype="float64")
    rest = [name for name in images.columns if name not in ("image", column)]
    frame = images.assign(strength=value).dropna(subset=["strength"])
    frame["scene"] = ["|".join(map(str, values)) for values in frame[rest].fillna("").to_numpy()]
    if frame["strength"].nunique() < 2:
        fix = "Map levels to strengths: --level LEVEL=-1 --level OTHER=1"
        raise TableError(f"Levels of {attribute!r} without a strength: {some(sorted(set(images[column])))}", fix=fix)
    whole = frame.groupby("scene")["strength"].transform("nunique") == frame["strength"].nunique()
    return _with_parents(frame[whole])


def _with_parents(frame: pd.DataFrame) -> pd.DataFrame:
    """Name the original of each scene: in turn the version with the lowest and with the highest strength."""
    if frame.empty:
        raise TableError("No scene has a version of every level", fix="Leave out levels that few scenes have.")
    rows = []
    for place, (_, part) in enumerate(frame.groupby("scene", sort=True)):
        ordered = part.sort_values("strength", kind="stable").drop_duplicates("strength")
        parent = ordered["image"].iloc[0 if place % 2 == 0 else -1]
        rows.append(pd.DataFrame({"parent": parent, "strength": ordered["strength"], "file": ordered["image"]}))
    return pd.concat(rows, ignore_index=True).assign(arm="")


def _strength(level: object, strengths: Mapping[str, float]) -> float | None:
    word = str(level).strip().casefold()
    known = {str(name).casefold(): float(value) for name, value in strengths.items()}
    if word in known:
        return known[word]
    return float(word) if re.fullmatch(r"-?\d+(\.\d+)?", word) else None


def _pairs(name: Path) -> dict[str, str] | None:
    found = _PAIRS.fullmatch(name.stem)
    if found is None or len(name.parts) < 2:
        return None
    return {"image": name.as_posix(), "identity": name.parent.as_posix(),
            "prompted_race": found["race"], "prompted_gender": found["gender"]}  # fmt: skip


def _causalface(name: Path) -> dict[str, str] | None:
    found = _FACE.fullmatch(name.stem)
    if found is None or not name.parent.name.startswith("seed_"):
        return None
    what = _WHAT.get(found["what"], found["what"])
    return {"image": name.as_posix(), "identity": name.parent.name, "prompted_race": found["race"],
            "prompted_gender": found["gender"], "varied": what, f"prompted_{what}": found["value"]}  # fmt: skip


_READ = {PAIRS: _pairs, CAUSALFACE: _causalface}


def _social(folder: Path, table: Path | None) -> list[dict[str, str]]:
    if table is None:
        fix = f"Give --table with the columns {some(_COLUMNS, 6)}."
        raise SpecError("The layout 'social-counterfactuals' needs the table of its images", fix=fix)
    frame, _ = read_frame(table, text=tuple(_COLUMNS))
    need_columns(frame, _COLUMNS, table.name)
    return [_social_row({str(key): value for key, value in row.items()}, folder) for row in frame.to_dict("records")]


def _social_row(row: Mapping[str, object], folder: Path) -> dict[str, str]:
    name = str(row["file_name"])
    if not (folder / name).is_file() and (folder / Path(name).name).is_file():
        name = Path(name).name  # the published names have the folder of the set in front
    kinds = [str(row[f"{each}_type"]).casefold().replace(" ", "_") for each in ("a1", "a2")]
    shown = {f"prompted_{kind}": str(row[each]) for each, kind in zip(("a1", "a2"), kinds, strict=True)}
    return {"image": name, "identity": str(row["counterfactual_set"]), **shown}


def _pictures(folder: Path) -> list[Path]:
    return [path for path in sorted(folder.rglob("*")) if path.suffix.lower() in SUFFIXES[1:] and path.is_file()]
