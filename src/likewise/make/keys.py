"""The keys of files that were made elsewhere: a name with or without its ending stands for the table's image."""

from __future__ import annotations

from pathlib import PurePosixPath

import pandas as pd

from likewise.errors import TableError, some
from likewise.tables import Faces


def known_keys(names: pd.Series, faces: Faces, what: str, *, strict: bool = True) -> pd.Series:
    """Return the table's own key for each name, which may lack its ending; a name of no image is an error, or empty."""
    exact = {key: key for key in faces.images}
    loose: dict[str, str] = {}
    for key in faces.images:
        bare = PurePosixPath(key).with_suffix("").as_posix()
        loose[bare] = "" if bare in loose else key  # two images that differ in their ending alone need it
    text = names.astype("str")
    found = text.map(exact)
    short = text.map(lambda name: loose.get(name) or loose.get(PurePosixPath(name).with_suffix("").as_posix()) or None)
    found = found.where(found.notna(), short).astype("object")
    missing = text[found.isna()]
    if strict and len(missing):
        fix = "Names are those of the table, with or without ending. Leave out what is not in it."
        raise TableError(f"{what} is about images of the table", got=some(missing.unique()), fix=fix)
    return found.astype("str") if strict else found
