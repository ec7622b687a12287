"""What a classifier answered elsewhere: a CSV or JSON lines of labels with confidences become Ratings of images."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from likewise.data.keys import known_keys
from likewise.errors import TableError, nearest, some
from likewise.tables import Images, Ratings
from likewise.tables.checks import need_numbers
from likewise.tables.io import read_frame

LABEL_COLUMNS = {"image": "image", "label": "label", "confidence": "confidence"}
_WORDS = ("name", "label", "description", "Name", "Label")
_CHANCES = ("confidence", "score", "value", "Confidence", "Score")


def read_labels(path: Path, faces: Images, rater: str, *, columns: Mapping[str, str], scale: float) -> Ratings:
    """Return the confidence of every label for every image that was answered about.

    A table is long (image, label, confidence; without confidence a label that is there counts as sure) or wide (image
    and a column for each label). A line of JSON is ``{"image": ..., "labels": ...}``, where labels are
    ``{"Smile": 0.9}`` or ``[{"name": "Smile", "confidence": 0.9}]`` or ``["Smile"]``; null is a picture that was
    refused. A label that is not named of an answered image has confidence 0; an image that is not in the file was not
    asked about.
    """
    names = {**LABEL_COLUMNS, **columns}
    wide = _from_lines(path, names) if path.suffix in {".jsonl", ".ndjson"} else _from_table(path, names)
    if not wide.shape[1]:
        raise TableError(f"{path.name} holds no label", fix="Check that the export finished.")
    wide = wide / scale
    _check_confidences(wide, path)
    wide.index = pd.Index(known_keys(wide.index.to_series(), faces, f"the labels {path.name}"))
    if wide.index.has_duplicates:
        raise TableError(
            f"{path.name} has several rows for {some(wide.index[wide.index.duplicated()])}",
            fix="Keep one row per image.",
        )
    long = wide.rename_axis("unit").reset_index().melt(id_vars="unit", var_name="question", value_name="value")
    return Ratings(long.assign(rater=rater)[["unit", "rater", "question", "value"]])


def _check_confidences(wide: pd.DataFrame, path: Path) -> None:
    if ((wide < 0) | (wide > 1)).any(axis=None):
        top = float(np.nanmax(wide.to_numpy()))
        fix = "Set scale = 100 if they are percentages."
        raise TableError(f"Confidences in {path.name} are outside 0 to 1 (largest {top:g})", fix=fix)


def _from_table(path: Path, names: Mapping[str, str]) -> pd.DataFrame:
    frame, _ = read_frame(path, text=(names["image"], names["label"]))
    if names["image"] not in frame.columns:
        fix = "Name the column as columns.image."
        raise TableError(
            f"Column {names['image']!r} not found in {path.name} (columns: {some(frame.columns)})", fix=fix
        )
    if names["label"] in frame.columns:
        return _spread(frame, names, path)
    need_numbers(frame, [name for name in frame.columns if name != names["image"]], f"the labels {path.name}")
    return frame.set_index(names["image"]).astype("float64")


def _spread(frame: pd.DataFrame, names: Mapping[str, str], path: Path) -> pd.DataFrame:
    """Make a long table wide; a row without a label says that the image was asked about."""
    image, label, chance = (names[name] for name in LABEL_COLUMNS)
    strange = [name for name in names.values() if name not in frame.columns and name != chance]
    if strange:
        raise TableError(
            f"Columns {some(strange)} not found in {path.name} (columns: {some(frame.columns)})",
            fix=nearest(next(iter(strange)), frame.columns),
        )
    if chance in frame.columns:
        need_numbers(frame, [chance], f"the labels {path.name}")
    values = frame[chance] if chance in frame.columns else pd.Series(1.0, index=frame.index)
    rows = pd.DataFrame({"image": frame[image].astype("str"), "label": frame[label], "value": values})
    named = rows.dropna(subset=["label"])
    if named.duplicated(["image", "label"]).any():
        twice = named.loc[named.duplicated(["image", "label"]), "image"]
        raise TableError(
            f"{path.name} has a label twice for {some(twice.unique())}", fix="Keep one row per image and label."
        )
    wide = named.pivot(index="image", columns="label", values="value").fillna(0.0)
    return wide.reindex(rows["image"].unique(), fill_value=0.0)


def _from_lines(path: Path, names: Mapping[str, str]) -> pd.DataFrame:
    answers: dict[str, dict[str, float] | None] = {}
    for number, entry in _lines(path):
        image = str(entry.get(names["image"], ""))
        if not image or image in answers:
            wrong = f"has the image {image!r:.80} again" if image else f"has no {names['image']!r}"
            raise TableError(f"Line {number} of {path.name} {wrong}", fix="Write one JSON object per line.")
        answers[image] = _labels_of(entry.get("labels", []), f"Line {number} of {path.name}")
    found = {image: labels for image, labels in answers.items() if labels is not None}
    wide = pd.DataFrame.from_dict(found, orient="index", dtype="float64").fillna(0.0)
    wide = wide[sorted(wide.columns)]
    return wide.reindex(list(answers)) if len(found) < len(answers) else wide.loc[list(answers)]


def _lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    if not path.is_file():
        raise TableError(f"File not found: {path}", fix="Check the path; it is relative to the plan.")
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise TableError(f"{path.name} is not UTF-8 text: {error}", fix="Save it as UTF-8.") from error
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            try:
                entry = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise TableError(
                    f"Line {number} of {path.name} is not JSON: {error}", fix="Write one JSON object per line."
                ) from error
            if not isinstance(entry, dict):
                raise TableError(
                    f"Line {number} of {path.name} is not a JSON object: {line[:40]}",
                    fix="Write one JSON object per line.",
                )
            yield number, entry


def _labels_of(given: Any, where: str) -> dict[str, float] | None:
    """Read labels in any of their forms; None for a picture that was refused."""
    if given is None:
        return None
    found: dict[str, Any] = {}
    if isinstance(given, dict):
        found = given
    elif isinstance(given, list):
        found = dict(_label_of(entry, where) for entry in given)
    if (given and not found) or not all(_is_number(value) for value in found.values()):
        raise TableError(
            f"{where} has labels without a number as confidence: {repr(given)[:80]}", fix='Write e.g. {"smile": 0.9}.'
        )
    return {str(label): float(value) for label, value in found.items()}


def _label_of(entry: Any, where: str) -> tuple[str, Any]:
    if isinstance(entry, str):
        return entry, 1.0
    if isinstance(entry, dict):
        word = next((entry[name] for name in _WORDS if name in entry), None)
        chance = next((entry[name] for name in _CHANCES if name in entry), None)
        if isinstance(word, str) and chance is not None:
            return word, chance
    raise TableError(
        f"{where} has a label without name or confidence: {repr(entry)[:80]}",
        fix='Write e.g. {"label": "smile", "confidence": 0.9}.',
    )


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and np.isfinite(value)
