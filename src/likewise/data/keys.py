"""The keys of files that were made elsewhere: a name with or without its ending stands for the table's image."""

from __future__ import annotations

from pathlib import PurePosixPath

import pandas as pd

from likewise.errors import TableError, some
from likewise.tables import Images


def without_ending(name: object) -> str:
    """Return the name of an image without its ending; a missing value is empty, and ``.`` or ``/`` stay as they are.

    >>> without_ending("a/b.png"), without_ending(float("nan")), without_ending("..")
    ('a/b', '', '..')
    """
    if not isinstance(name, str):
        return ""
    path = PurePosixPath(name)
    return path.with_suffix("").as_posix() if path.name else name


def known_keys(names: pd.Series, faces: Images, what: str, *, strict: bool = True) -> pd.Series:
    """Return the table's own key for each name, which may lack its ending; a name of no image is an error, or empty."""
    exact = {key: key for key in faces.keys}
    loose: dict[str, str] = {}
    for key in faces.keys:
        bare = without_ending(key)
        loose[bare] = "" if bare in loose else key  # two images that differ in their ending alone need it
    text = names.astype("str")
    found = text.map(exact)
    short = text.map(lambda name: loose.get(name) or loose.get(without_ending(name)) or None)
    found = found.where(found.notna(), short).astype("object")
    missing = text[found.isna()]
    if strict and len(missing):
        fix = "Names are those of the table, with or without ending. Remove rows of other images."
        problem = f"{missing.nunique()} images in {what} are not in the table: {some(missing.unique())}"
        raise TableError(problem, fix=fix)
    return found.astype("str") if strict else found


def key_of(image: str, level: float, arm: str = "") -> str:
    """Return the key of a counterfactual, or of a placebo."""
    return f"{image}~{arm}@{level:+g}" if arm else f"{image}@{level:+g}"


def file_of(key: str) -> str:
    """Return the file name of a counterfactual; keys may hold a path."""
    return key.replace("/", "__") + ".png"
