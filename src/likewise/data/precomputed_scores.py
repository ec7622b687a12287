"""What a recognizer answered elsewhere: a file of scored pairs, or its embeddings, become trials and distances."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

from likewise.data.keys import known_keys
from likewise.errors import SpecError, TableError, VectorError, some
from likewise.tables import Images, Ratings, Trials
from likewise.tables.checks import need_columns, need_numbers
from likewise.tables.io import read_frame
from likewise.tables.vector_files import load_vectors

SCORE_COLUMNS = {"a": "a", "b": "b", "score": "score"}
Floats = npt.NDArray[np.float64]


def read_scores(
    path: Path,
    faces: Images,
    *,
    columns: Mapping[str, str],
    measure: str,
    scale: float,
    where: Mapping[str, str] | None = None,
    from_both_ends: bool = True,
) -> pd.DataFrame:
    """Return ``a, b, distance`` of every scored pair; an empty score (no face found) stays empty.

    A similarity s becomes the distance 1 - s / scale. ``where`` names the value of columns in the rows that are read: a
    file may hold the scores of several systems. ``from_both_ends`` is for matching single images: each image of a
    genuine pair is then the test image once. Where trials are matched, a pair is one unit and is returned once; if the
    file holds it in both directions, its distance is their mean.
    """
    names = {**SCORE_COLUMNS, **columns}
    frame, _ = read_frame(path, text=(names["a"], names["b"], *(where or {})))
    need_columns(frame, [*names.values(), *(where or {})], f"the scores {path.name}")
    for name, wanted in (where or {}).items():
        frame = frame[frame[name].astype("str") == wanted]
    frame = frame[[names[name] for name in SCORE_COLUMNS]].set_axis(list(SCORE_COLUMNS), axis=1)
    need_numbers(frame, ["score"], f"the scores {path.name}")
    for end in ("a", "b"):
        frame[end] = known_keys(frame[end], faces, f"the scores {path.name}")
    _check_pairs(frame, path)
    value = frame["score"].astype("float64")
    frame["distance"] = 1 - value / scale if measure == "similarity" else value
    frame = frame.drop(columns="score")
    return _from_both_ends(frame, faces) if from_both_ends else _once(frame)


def _check_pairs(frame: pd.DataFrame, path: Path) -> None:
    if frame.empty:
        raise TableError(f"{path.name} has no rows", fix="Check that the export finished.")
    if (frame["a"] == frame["b"]).any():
        same = some(frame.loc[frame["a"] == frame["b"], "a"])
        raise TableError(f"{path.name} compares images with themselves: {same}", fix="Remove these rows.")
    twice = frame.duplicated(["a", "b"])
    if twice.any():
        pairs = some((frame.loc[twice, "a"] + " and " + frame.loc[twice, "b"]).unique())
        raise TableError(f"{path.name} has several scores for {pairs}", fix="Keep one of them.")


def _from_both_ends(frame: pd.DataFrame, faces: Images) -> pd.DataFrame:
    whose = faces.identities
    same = (frame["a"].map(whose) == frame["b"].map(whose)).to_numpy()
    there = set(zip(frame["a"], frame["b"], strict=True))
    turned = frame[same].rename(columns={"a": "b", "b": "a"})[list(frame.columns)]
    fresh = [(a, b) not in there for a, b in zip(turned["a"], turned["b"], strict=True)]
    return pd.concat([frame, turned[fresh]], ignore_index=True).sort_values(["a", "b"], ignore_index=True)


def _once(frame: pd.DataFrame) -> pd.DataFrame:
    """Return each pair once, its ends in order, with the mean of its scores; missing scores are left out."""
    ends = np.sort(frame[["a", "b"]].to_numpy(dtype=str), axis=1)
    pairs = pd.DataFrame({"a": ends[:, 0], "b": ends[:, 1], "distance": frame["distance"].to_numpy()})
    return pairs.groupby(["a", "b"])["distance"].mean().reset_index()


def trials_of(scored: list[pd.DataFrame], faces: Images) -> Trials:
    """Return the trials that score files are about; all files of an audit are about the same ones."""
    first = scored[0][["a", "b"]]
    for other in scored[1:]:
        if not first.equals(other[["a", "b"]]):
            ours, theirs = (set(zip(part["a"], part["b"], strict=True)) for part in (first, other))
            odd = [" and ".join(pair) for pair in sorted(ours ^ theirs)]
            fix = "Use the same trials in all of them; a trial without an answer has an empty score."
            raise TableError(f"The score files hold different trials, e.g. {some(odd, 3)}", fix=fix)
    whose = faces.identities
    same = (first["a"].map(whose) == first["b"].map(whose)).to_numpy()
    frame = first.assign(trial=_named(first), same=same)[["trial", "a", "b", "same"]]
    outside = len(set(faces.keys) - set(first["a"]) - set(first["b"]))
    dropped = pd.DataFrame({"side": ["all"], "reason": ["not scored"], "images": [outside]}) if outside else None
    return Trials(frame, dropped=dropped, offered={"all": len(faces)})


def rate_scores(scored: pd.DataFrame, rater: str) -> Ratings:
    """Turn scored pairs into ratings of the trials."""
    named = {"unit": _named(scored), "rater": rater, "question": "distance", "value": scored["distance"]}
    return Ratings(pd.DataFrame(named))


def _named(frame: pd.DataFrame) -> pd.Series:
    return frame["a"] + "|" + frame["b"]


def rate_embeddings(path: Path, trials: Trials, faces: Images, rater: str, *, measure: str) -> Ratings:
    """Turn a recognizer's embeddings into the distance of every trial.

    An image that the file lacks, or whose row is NaN, was not enrolled: its trials have no answer, which is counted.
    """
    names, values, _ = load_vectors(path)
    if values.ndim != 2 or len(values) != len(names):
        problem = f"{path.name} has embeddings of shape {values.shape} for {len(names)} images"
        raise VectorError(problem, fix="Give one row per image, [n, d].")
    keys = known_keys(pd.Series(names, dtype="str"), faces, f"the embeddings {path.name}", strict=False)
    row = pd.Series(range(len(keys)), index=keys)
    row = row[row.index.notna()]
    if row.empty or row.index.has_duplicates:
        wrong = "several embeddings of an image" if len(row) else "no embedding of any image of the table"
        raise VectorError(f"{path.name} has {wrong}", fix="Give one row per image, with the keys of the table.")
    frame = trials.frame
    ends = [frame[end].map(row).to_numpy(dtype=np.float64) for end in ("a", "b")]
    value = np.full(len(frame), np.nan)
    there = np.isfinite(ends[0]) & np.isfinite(ends[1])
    left, right = (np.asarray(values[end[there].astype(np.intp)], dtype=np.float64) for end in ends)
    value[there] = apart(left, right, measure)
    ratings = {"unit": frame["trial"], "rater": rater, "question": "distance", "value": value}
    return Ratings(pd.DataFrame(ratings))


def apart(a: Floats, b: Floats, measure: str) -> Floats:
    """Return the distance of embeddings row by row; NaN where one of them is, or has no direction."""
    if measure == "euclidean":
        return np.asarray(np.linalg.norm(a - b, axis=1))
    if measure != "cosine":
        raise SpecError(f"Unknown measure {measure!r} of embeddings", fix="Choose 'cosine' or 'euclidean'.")
    with np.errstate(invalid="ignore", divide="ignore"):
        lengths = np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1)
        return np.asarray(1 - (a * b).sum(axis=1) / lengths)
