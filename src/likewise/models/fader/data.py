"""Training data of a fader network: images of one size in memory, and their attributes in [-1, 1]."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

from likewise.errors import SpecError, TableError, some
from likewise.runtime.pixels import ImageFolder, find
from likewise.runtime.registry import Array, Pictures
from likewise.tables import Images


@dataclass(frozen=True)
class Attribute:
    """A column, and which of its levels stand at +1 and -1; without levels it holds numbers."""

    column: str
    focal: str = ""
    reference: str = ""

    @classmethod
    def parse(cls, text: str) -> Attribute:
        """Read ``column`` or ``column=focal,reference``."""
        column, _, levels = text.partition("=")
        names = [level.strip() for level in levels.split(",")] if levels else ["", ""]
        if not column.strip() or len(names) != 2 or (levels and not all(names)) or (levels and names[0] == names[1]):
            raise SpecError(
                f"Cannot read the attribute {text!r}",
                fix="Write column or column=focal,reference, e.g. perceived_gender=female,male.",
            )
        return cls(column.strip(), *names)

    def values(self, faces: Images) -> npt.NDArray[np.float32]:
        """Return the values ``[n]`` in [-1, 1]; NaN where the column holds neither level."""
        column = faces.attribute(self.column)
        if self.focal:
            text = column.astype(str)
            value = np.select([text == self.focal, text == self.reference], [1.0, -1.0], np.nan)
            if not {1.0, -1.0} <= set(value):
                got = some(sorted(set(text)))
                raise TableError(
                    f"Column {self.column!r} lacks the level {self.focal!r} or {self.reference!r} (levels: {got})",
                    fix="Name two of these levels.",
                )
            return value.astype(np.float32)
        return self._numbers(column)

    def _numbers(self, column: pd.Series) -> npt.NDArray[np.float32]:
        if column.dtype.kind not in "biuf":
            levels = sorted(column.dropna().astype(str).unique())
            fix = f"Name two of its levels: {self.column}={levels[0]},{levels[-1]}"
            raise TableError(f"Column {self.column!r} holds text ({len(levels)} levels: {some(levels)})", fix=fix)
        value = column.to_numpy(dtype=np.float32)
        if set(np.unique(value[np.isfinite(value)])) <= {0.0, 1.0}:
            value = 2 * value - 1
        if np.nanmax(np.abs(value)) > 1 or np.nanstd(value) == 0:
            got = f"{np.nanmin(value):g} to {np.nanmax(value):g}"
            raise TableError(f"Column {self.column!r} ranges over {got}; it must hold 0 and 1, or vary within -1 to 1")
        return value


@dataclass(frozen=True)
class Lessons:
    """Pictures ``[n, size, size, 3]`` and attributes ``[n, k]``."""

    pictures: Pictures
    attributes: Array
    names: tuple[str, ...]
    left_out: int = 0
    """The number of images without a usable value."""
    faces: npt.NDArray[np.int64] | None = None
    """Which face each picture ``[n]`` is of, where every face is drawn twice or more; else nothing is known."""

    def __post_init__(self) -> None:
        if len(self.pictures) < 8 or self.pictures.shape[1] != self.pictures.shape[2]:
            raise SpecError(f"Training needs at least 8 square images, not {list(self.pictures.shape)}")
        if self.faces is not None and (np.unique(self.faces, return_counts=True)[1] < 2).any():
            lonely = int((np.unique(self.faces, return_counts=True)[1] < 2).sum())
            raise SpecError(
                f"{lonely} faces have a single image; with pairs, each face needs at least two",
                fix="Remove them, or train without pairs.",
            )

    def digest(self) -> str:
        """Hash everything that is learned from."""
        text = json.dumps([list(self.pictures.shape), list(self.names)])
        faces = () if self.faces is None else (self.faces,)
        digest = hashlib.sha256(text.encode())
        for part in (self.pictures, self.attributes, *faces):
            digest.update(np.ascontiguousarray(part).data)
        return digest.hexdigest()

    def along(self) -> Array:
        """Return ``[k, k]``: the slope of the row's attribute on the column's. Associated attributes have one."""
        apart = self.attributes.astype(np.float64) - self.attributes.mean(axis=0, dtype=np.float64)
        spread = apart.T @ apart
        slopes: Array = (spread / np.diag(spread)).astype(np.float32)
        return slopes

    def twins(self, rows: npt.NDArray[np.int64], rng: np.random.Generator) -> npt.NDArray[np.int64]:
        """Return for each row another one of the same face."""
        assert self.faces is not None
        order = np.argsort(self.faces, kind="stable")
        first = np.searchsorted(self.faces[order], self.faces[rows], side="left")
        count = np.searchsorted(self.faces[order], self.faces[rows], side="right") - first
        place = np.argsort(order)[rows] - first  # of the row among those of its face
        twins: npt.NDArray[np.int64] = order[first + (place + rng.integers(1, count)) % count]
        return twins


def read_lessons(
    images: Path, table: Path, attributes: list[Attribute], *, size: int, image: str, pairs: str = ""
) -> Lessons:
    """Read a folder of images and a table; images without a value of every attribute are left out and counted.

    ``pairs`` names a column in which pictures of one face share a value.
    """
    images = images.resolve()  # the folder itself may be a link
    faces = Images.read(table, image=image, identity=pairs or image)
    values = np.stack([attribute.values(faces) for attribute in attributes], axis=1)
    files = [find(images, key) for key in faces.keys]
    missing = [key for key, path in zip(faces.keys, files, strict=True) if path is None]
    if missing:
        raise TableError(
            f"{len(missing)} images of the table are not in {images}: {some(missing)}",
            fix="Check --images, or remove their rows from the table.",
        )
    known = np.atleast_1d(np.isfinite(values).all(axis=1))
    keys = [key for key, there in zip(faces.keys, known, strict=True) if there]
    names = {key: str(path.relative_to(images)) for key, path in zip(faces.keys, files, strict=True) if path}
    pictures = ImageFolder(images, names)(keys, size=size)
    columns = tuple(attribute.column for attribute in attributes)
    same = pd.factorize(faces.frame["identity"].to_numpy()[known])[0].astype(np.int64) if pairs else None
    return Lessons(pictures, values[known].astype(np.float32), columns, int((~known).sum()), same)
