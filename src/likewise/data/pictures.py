"""Pictures by key, from a folder, from an array, or from an ``ImageFolder``: what the Python functions accept."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt

from likewise.errors import ImageError, some
from likewise.runtime.pixels import ImageFolder, find, resized
from likewise.tables import Images

Pictures = npt.NDArray[np.uint8]


class PictureSource(Protocol):
    """Returns pictures by the keys of their images."""

    def __call__(self, keys: Sequence[str], *, size: int | None = None) -> Pictures:
        """Return ``[n, H, W, 3]``; pictures of unequal size need a ``size``."""

    def stacks(self, keys: Sequence[str], *, most: int = ...) -> Iterator[tuple[slice, Pictures]]:
        """Yield runs of pictures of one size, with their place among the keys."""


@dataclass(frozen=True, eq=False)
class PictureArray:
    """Pictures that are in memory, one per key."""

    keys: tuple[str, ...]
    pictures: Pictures
    """``[n, H, W, 3]``, uint8, RGB."""
    _row: dict[str, int] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        shape, kind = self.pictures.shape, self.pictures.dtype
        if self.pictures.ndim != 4 or shape[-1] != 3 or kind != np.uint8:
            fix = "Give uint8 RGB pictures, [n, height, width, 3]."
            raise ImageError(f"The array of pictures has shape {shape} and type {kind}", fix=fix)
        if len(self.keys) != len(self.pictures):
            raise ImageError(
                f"The array holds {len(self.pictures)} pictures for {len(self.keys)} images",
                fix="Give one picture for each image, in the order of the table.",
            )
        object.__setattr__(self, "_row", {key: row for row, key in enumerate(self.keys)})

    def __call__(self, keys: Sequence[str], *, size: int | None = None) -> Pictures:
        """Return the pictures of these keys, brought to ``size`` pixels where it is given."""
        taken: Pictures = self.pictures[[self._row[key] for key in keys]]
        if size is None or taken.shape[1:3] == (size, size):
            return taken
        return np.stack([resized(one, size) for one in taken])

    def stacks(self, keys: Sequence[str], *, most: int = 64_000_000) -> Iterator[tuple[slice, Pictures]]:
        """Yield the pictures in runs of at most ``most`` bytes."""
        step = max(1, most // max(1, self.pictures[0].nbytes)) if len(self.pictures) else 1
        for start in range(0, len(keys), step):
            yield slice(start, min(start + step, len(keys))), self(keys[start : start + step])


def picture_source(images: Images | Sequence[str], pictures: PictureSource | Pictures | str | Path) -> PictureSource:
    """Return a source of pictures for these images.

    Parameters
    ----------
    images : Images or sequence of str
        The images. A ``file`` column names each file; without it files are found by key, with or without ending.
    pictures : ImageFolder, path or array
        A folder, an array ``[n, H, W, 3]`` in the order of ``images``, or a source, which is returned as it is.

    Raises
    ------
    ImageError
        A file is missing, or the array does not fit.

    Examples
    --------
    >>> import numpy as np
    >>> source = picture_source(["a", "b"], np.zeros((2, 8, 8, 3), np.uint8))
    >>> source(["b"]).shape
    (1, 8, 8, 3)
    """
    keys = images.keys if isinstance(images, Images) else [str(key) for key in images]
    if isinstance(pictures, str | Path):
        return _folder(images, keys, Path(pictures))
    if isinstance(pictures, np.ndarray):
        return PictureArray(tuple(keys), pictures)
    if callable(pictures) and hasattr(pictures, "stacks"):
        return pictures
    kind = type(pictures).__name__
    raise ImageError(f"Cannot read pictures from a {kind}", fix="Give a folder, an array or an ImageFolder.")


def _folder(images: Images | Sequence[str], keys: list[str], root: Path) -> ImageFolder:
    if not root.is_dir():
        raise ImageError(f"Image folder not found: {root}", fix="Check the path.")
    if isinstance(images, Images) and "file" in images.frame.columns and images.frame["file"].notna().all():
        return ImageFolder(root.resolve(), dict(zip(keys, images.frame["file"], strict=True)))
    found = {key: find(root.resolve(), key) for key in keys}
    missing = [key for key, path in found.items() if path is None]
    if missing:
        fix = "Keys are file names relative to the folder, with or without ending."
        raise ImageError(f"{len(missing)} of {len(keys)} images have no file in {root}: {some(missing)}", fix=fix)
    files = {key: path.relative_to(root.resolve()).as_posix() for key, path in found.items() if path is not None}
    return ImageFolder(root.resolve(), files)
