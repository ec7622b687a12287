"""Pixels by key: image files are untrusted, so they are decoded carefully and never outside their folder."""

from __future__ import annotations

import hashlib
import os
import struct
import zlib
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageOps, UnidentifiedImageError

from likewise.errors import ImageError, some
from likewise.tables.files import replacing

FORMATS = ("PNG", "JPEG", "WEBP", "BMP", "TIFF")  # no format whose decoder starts another program
SUFFIXES = ("", ".png", ".jpg", ".jpeg", ".webp", ".bmp", ".tif", ".tiff")
LARGE = 12_000_000
MOST_PIXELS = 100_000_000  # a 100-megapixel photograph is real; beyond that it is a decompression bomb


_AHEAD = 8  # pictures that are decoded before they are asked for
_UP = 2  # PNG's number for "the difference from the row above"


@lru_cache(maxsize=1)
def _decoders() -> ThreadPoolExecutor:
    """Return threads to decode in, one a core: decoders let go of Python's lock."""
    return ThreadPoolExecutor(os.cpu_count() or 1, thread_name_prefix="decoder")


def inside(root: Path, name: str) -> Path:
    """Return the file of this name below ``root``; a name that leads out of it is refused."""
    path = (root / name).resolve()
    if not path.is_relative_to(root.resolve()):
        fix = "File names are relative to the image folder; links out of it are not followed."
        raise ImageError("an image lies inside its folder", got=repr(name), fix=fix)
    return path


def find(root: Path, name: str) -> Path | None:
    """Return the image file of this name, with or without its ending; None when there is none."""
    for suffix in SUFFIXES:
        path = inside(root, name + suffix)
        if path.is_file():
            return path
    return None


def decode(path: Path) -> npt.NDArray[np.uint8]:
    """Return the picture ``[H, W, 3]``, upright and RGB."""
    try:
        with Image.open(path, formats=FORMATS) as image:
            if image.width * image.height > MOST_PIXELS:
                raise ImageError(f"an image has at most {MOST_PIXELS:,} pixels", got=f"{image.size} in {path.name!r}")
            return np.asarray(_opaque(_bytes(ImageOps.exif_transpose(image))).convert("RGB"))
    except (UnidentifiedImageError, OSError, SyntaxError, ValueError) as error:
        if isinstance(error, ImageError):
            raise
        raise ImageError("an image can be decoded", got=f"{path.name!r} ({type(error).__name__}: {error})") from error


def _bytes(image: Image.Image) -> Image.Image:
    """Bring grey of 16 bits to 8: the library would cut everything above 255 to white."""
    if not image.mode.startswith("I"):
        return image
    grey = np.asarray(image)
    return Image.fromarray((np.clip(grey, 0, 65_535) // 257).astype(np.uint8)) if grey.max(initial=0) > 255 else image


def _opaque(image: Image.Image) -> Image.Image:
    """Lay a picture with transparent parts on white, as it is seen; what lies hidden under them is nobody's face."""
    if not image.has_transparency_data:
        return image
    seen = image.convert("RGBA")
    return Image.alpha_composite(Image.new("RGBA", seen.size, "white"), seen)


def traits(path: Path) -> list[str]:
    """Say from its header what is unusual about a picture: greyscale, transparent, turned by EXIF, or very large."""
    with Image.open(path, formats=FORMATS) as image:
        unusual = {
            "greyscale file": image.mode in ("1", "L", "LA", "I", "F", "I;16"),
            "transparency: laid on white": image.has_transparency_data,
            "turned upright by EXIF": image.getexif().get(0x0112, 1) != 1,
            f"{LARGE // 1_000_000} megapixels or more": image.width * image.height >= LARGE,
        }
    return [name for name, holds in unusual.items() if holds]


def digest(path: Path) -> str:
    """Return the sha256 of a file's bytes."""
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def save(path: Path, picture: npt.NDArray[np.uint8]) -> None:
    """Write a picture ``[H, W, 3]`` as PNG, whole or not at all."""
    with replacing(path) as temporary:
        temporary.write_bytes(png(picture))


def png(picture: npt.NDArray[np.uint8]) -> bytes:
    """Return the picture as a PNG file, every row as its difference from the row above.

    A sweep writes thousands of pictures, and packing them was most of its work. The library tries all five filters on
    every row; the difference from above alone, packed lightly, takes half the time of the library's quickest setting
    and a seventh of its default's; files are about as large (``python benchmarks/counterfactuals.py --packing``).
    """
    if picture.dtype != np.uint8 or picture.shape[2:] != (3,):
        raise ImageError("a picture that is written is [H, W, 3] of bytes", got=f"{picture.shape} of {picture.dtype}")
    height, width = picture.shape[:2]
    lines = picture.reshape(height, -1)
    rows = np.full((height, 1 + lines.shape[1]), _UP, np.uint8)
    rows[0, 1:] = lines[0]
    np.subtract(lines[1:], lines[:-1], out=rows[1:, 1:])
    packed = zlib.compress(rows.data, 1)
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)  # 8 bits, RGB, no interlacing
    return b"\x89PNG\r\n\x1a\n" + _part(b"IHDR", header) + _part(b"IDAT", packed) + _part(b"IEND", b"")


def _part(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(data, zlib.crc32(kind)))


@dataclass(frozen=True)
class Album:
    """Shows the pictures of images by their keys."""

    root: Path
    files: Mapping[str, str]
    """For each image key, its file below ``root``."""

    def __call__(self, keys: Sequence[str], *, size: int | None = None) -> npt.NDArray[np.uint8]:
        """Return ``[n, H, W, 3]``; pictures of unequal size need a ``size`` to be brought to."""
        pictures = list(_decoders().map(lambda key: self._picture(key, size), keys))
        if len({picture.shape for picture in pictures}) > 1:
            raise ImageError("pictures looked at together are of one size", got=some({str(p.shape) for p in pictures}))
        return np.stack(pictures)

    def stacks(self, keys: Sequence[str], *, most: int = 64_000_000) -> Iterator[tuple[slice, npt.NDArray[np.uint8]]]:
        """Yield runs of pictures of one size as ``[k, H, W, 3]``, with their place among the keys.

        A run holds ``most`` bytes at most (but one picture at least), so photographs of any size can be gone through.
        """
        run: list[npt.NDArray[np.uint8]] = []
        for place, picture in enumerate(self._ahead(keys)):
            if run and (picture.shape != run[0].shape or (len(run) + 1) * picture.nbytes > most):
                yield slice(place - len(run), place), np.stack(run)
                run = []
            run.append(picture)
        if run:
            yield slice(len(keys) - len(run), len(keys)), np.stack(run)

    def _ahead(self, keys: Sequence[str]) -> Iterator[npt.NDArray[np.uint8]]:
        """Yield the pictures in order, decoded by all cores a few at a time."""
        for start in range(0, len(keys), _AHEAD):
            yield from _decoders().map(lambda key: self._picture(key, None), keys[start : start + _AHEAD])

    def _picture(self, key: str, size: int | None) -> npt.NDArray[np.uint8]:
        picture = decode(inside(self.root, self.files[key]))
        if size is None or picture.shape[:2] == (size, size):
            return picture
        return np.asarray(Image.fromarray(picture).resize((size, size), Image.Resampling.LANCZOS))
