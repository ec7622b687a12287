"""Hugging Face datasets: images and tables in, tables out."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from likewise.errors import TableError, nearest, some
from likewise.runtime.optional import require
from likewise.runtime.pixels import save
from likewise.tables import Images
from likewise.tables.table import Table


def images_from_dataset(
    dataset: Any, folder: str | Path, *, image: str = "image", identity: str, rename: Mapping[str, str] | None = None
) -> tuple[Images, Path]:
    """Write the pictures of a ``datasets.Dataset`` to a folder, and return the table of them.

    Parameters
    ----------
    dataset : datasets.Dataset
        With a column of pictures (feature ``Image``); class labels become their names.
    folder : str or Path
        Where the pictures go, as ``000000.png``.
    image, identity : str
        The columns of the picture and of the identity.
    rename : mapping, optional
        New names of columns, e.g. ``{"gender": "perceived_gender"}``.

    Returns
    -------
    Images
        The table, with keys ``000000.png`` and every column that is no picture.
    Path
        The folder: ``lw.audit(images, folder, ...)``.
    """
    require("datasets", "huggingface")
    missing = [name for name in (image, identity) if name not in dataset.column_names]
    if missing:
        raise TableError(
            f"The dataset has no column {missing[0]!r} (columns: {some(dataset.column_names, 12)})",
            fix=nearest(missing[0], dataset.column_names),
        )
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    keys = [f"{number:06d}.png" for number in range(len(dataset))]
    for key, picture in zip(keys, dataset[image], strict=True):
        save(place / key, np.asarray(picture.convert("RGB"), dtype=np.uint8))
    columns = {name: _values(dataset, name) for name in dataset.column_names if name != image}
    frame = pd.DataFrame({"image": keys, **columns}).rename(columns={identity: "identity", **(rename or {})})
    return Images(frame.assign(identity=frame["identity"].astype("str"))), place


def _values(dataset: Any, name: str) -> list[Any]:
    names = getattr(dataset.features[name], "names", None)
    return (
        [names[value] if value is not None and value >= 0 else None for value in dataset[name]]
        if names
        else list(dataset[name])
    )


def dataset_from_table(table: Table | pd.DataFrame) -> Any:
    """Return a table of an audit (images, ratings, estimates ...) as a ``datasets.Dataset``."""
    datasets = require("datasets", "huggingface")
    frame = table if isinstance(table, pd.DataFrame) else table.frame
    held = pa.Table.from_pandas(frame, preserve_index=False)
    # A fingerprint of our own: datasets 5.2 cannot pickle a table of pyarrow 26 to compute one.
    digest = hashlib.sha256(pd.util.hash_pandas_object(frame, index=False).to_numpy().tobytes()).hexdigest()[:16]
    return datasets.Dataset(datasets.table.InMemoryTable(held), fingerprint=digest)
