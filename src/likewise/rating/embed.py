"""embed: a recognizer's embeddings of images, as Vectors."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from likewise.data.pictures import PictureSource, picture_source
from likewise.errors import LikewiseWarning, TableError
from likewise.rating.models import RECOGNIZER, resolve_model
from likewise.rating.rate import Embedding, embeddings_as_vectors
from likewise.runtime.executor import Executor, Progress
from likewise.runtime.registry import Pictures, Recognizer
from likewise.tables import Images, Vectors


def embed(
    images: Images,
    pictures: PictureSource | Pictures | str | Path,
    *,
    model: Any,
    options: Mapping[str, Any] | None = None,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> Vectors:
    """Embed images with a recognizer.

    Parameters
    ----------
    images : Images
        The images.
    pictures : ImageFolder, path or array
        Where the pictures are: a folder, or an array ``[n, H, W, 3]`` in the order of ``images``.
    model : object, callable, str or Path
        A recognizer, in any form that ``rating.models.resolve_model`` takes.
    options : mapping, optional
        Options of a model that is given by name.
    executor : Executor, optional
        Where the work is done; by default in this process.
    progress : Progress, optional
        Is called as images are done.

    Returns
    -------
    Vectors
        ``[n, d]``. Images without a detected face are absent; a ``LikewiseWarning`` gives their number.

    Examples
    --------
    >>> import likewise as lw
    >>> import numpy as np
    >>> import pandas as pd
    >>> faces = lw.Images(pd.DataFrame({"image": ["a", "b"], "identity": ["x", "y"]}))
    >>> vectors = embed(faces, np.zeros((2, 8, 8, 3), np.uint8), model=lambda p: p.mean(axis=(1, 2)))
    >>> vectors.values.shape
    (2, 3)
    """
    recognizer: Recognizer = resolve_model(RECOGNIZER, model, options)
    work = Embedding(recognizer, {}, picture_source(images, pictures))
    parts = [part["e"] for part in (executor or Executor()).map(work, images.keys, progress=progress)]
    if not parts:
        raise TableError("No images to embed", fix="Check the table.")
    embedded = np.concatenate(parts)
    absent = int((~np.isfinite(embedded).all(axis=1)).sum())
    if absent == len(embedded):
        raise TableError(
            f"{recognizer.name} detected no face in any of {absent} images",
            fix="Check that the pictures show faces, or set another detector.",
        )
    if absent:
        message = f"{recognizer.name} detected no face in {absent} of {len(embedded)} images; they have no embedding."
        warnings.warn(message, LikewiseWarning, stacklevel=2)
    return embeddings_as_vectors(images.keys, embedded, recognizer)
