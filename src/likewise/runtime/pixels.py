"""Decode and encode images. Files are untrusted: formats and sizes are bounded, and paths stay in their folder."""

from __future__ import annotations

import hashlib
import os
import struct
import zlib
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from pathlib import Path

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageOps, UnidentifiedImageError

from likewise.errors import ImageError, some
from likewise.tables.io import replacing

FORMATS = ("PNG", "JPEG", "WEBP", "BMP", "TIFF")  # no format whose decoder starts another program
SUFFIXES = ("", ".png", ".jpg", ".jpeg", ".webp", ".bmp", ".tif", ".tiff", ".heic", ".heif")
LARGE = 12_000_000
MOST_PIXELS = 100_000_000  # 100-megapixel photographs exist; beyond that it is a decompression bomb

_HEIF_BRANDS = (b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"mif1", b"msf1")
_AHEAD = 8  # pictures that are decoded before they are needed
_SHAPE = "Images are uint8 arrays [H, W, 3]."
_UP = 2  # PNG's number for "the difference from the row above"


@lru_cache(maxsize=1)
def _decoders() -> ThreadPoolExecutor:
    """Return threads to decode in, one a core: decoders release Python's lock."""
    return ThreadPoolExecutor(os.cpu_count() or 1, thread_name_prefix="decoder")


def inside(root: Path, name: str) -> Path:
    """Return the path of a file below ``root``; a name or link that leads out of it is an error."""
    if "\0" in name:
        raise ImageError(
            f"Invalid image name {name[:80]!r}", fix="Check the column of file names: no file can have it."
        )
    path = (root / name).resolve()
    if not path.is_relative_to(root.resolve()):
        fix = "File names are relative to the image folder; links out of it are not followed."
        raise ImageError(f"Image {name[:200]!r} is outside the image folder", fix=fix)
    return path


def find(root: Path, name: str) -> Path | None:
    """Return the image file of this name, with or without its extension; None when there is none."""
    for suffix in SUFFIXES:
        path = inside(root, name + suffix)
        if os.path.isfile(path):  # noqa: PTH113  # unlike Path.is_file, False for a name that is too long
            return path
    return None


def decode(path: Path) -> npt.NDArray[np.uint8]:
    """Decode an image file as ``[H, W, 3]`` bytes: RGB, upright (EXIF), transparency on white.

    Raises
    ------
    ImageError
        The file is missing, damaged, too large, or not one of PNG, JPEG, WebP, BMP, TIFF (and HEIC when pillow-heif
        is installed).
    """
    with _opened(path) as image:
        return np.asarray(_opaque(_bytes(ImageOps.exif_transpose(image))).convert("RGB"))


@contextmanager
def _opened(path: Path) -> Iterator[Image.Image]:
    """Open an image file; every failure, also while it is being decoded, becomes an ImageError with the file's name."""
    try:
        with Image.open(path, formats=_formats(path)) as image:
            if image.width * image.height > MOST_PIXELS:
                raise _too_large(path, f"{image.width} x {image.height} pixels")
            yield image
    except ImageError:
        raise
    except FileNotFoundError:
        raise ImageError(
            f"Image file not found: {path.name!r}", fix="Check the images folder and the column of image names."
        ) from None
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        raise _too_large(path, "too many pixels") from error
    except MemoryError as error:
        raise ImageError(f"Not enough memory to decode {path.name!r}", fix="Scale the image down.") from error
    except UnidentifiedImageError as error:
        formats = ", ".join(FORMATS)
        raise ImageError(
            f"Cannot decode {path.name!r}: not one of {formats}, or damaged",
            fix="Convert it to PNG or JPEG, or remove its row from the table.",
        ) from error
    except (OSError, SyntaxError, ValueError, EOFError, struct.error, zlib.error) as error:
        raise ImageError(
            f"Cannot decode {path.name!r}: {type(error).__name__}: {error}",
            fix="Convert it to PNG or JPEG, or remove its row from the table.",
        ) from error


def _too_large(path: Path, size: str) -> ImageError:
    return ImageError(f"Image {path.name!r} has {size}, the limit is {MOST_PIXELS:,}", fix="Scale the image down.")


def _formats(path: Path) -> tuple[str, ...]:
    """Return the formats that may be decoded; HEIC, the format of phones, needs a package of its own."""
    with path.open("rb") as handle:
        head = handle.read(12)
    if head[4:8] != b"ftyp" or head[8:12] not in _HEIF_BRANDS:
        return FORMATS
    if not _heif_registered():
        fix = "Install the decoder with: pip install 'likewise[heic]'. Or convert the images to JPEG."
        raise ImageError(f"Cannot decode {path.name!r}: HEIC images need pillow-heif", fix=fix)
    return (*FORMATS, "HEIF")


@lru_cache(maxsize=1)
def _heif_registered() -> bool:
    try:
        import_module("pillow_heif").register_heif_opener()
    except ImportError:
        return False
    return True


def _bytes(image: Image.Image) -> Image.Image:
    """Scale 16-bit gray to 8 bits; Pillow would clip everything above 255 to white."""
    if not image.mode.startswith("I"):
        return image
    gray = np.asarray(image)
    return Image.fromarray((np.clip(gray, 0, 65_535) // 257).astype(np.uint8)) if gray.max(initial=0) > 255 else image


def _opaque(image: Image.Image) -> Image.Image:
    """Composite transparent parts on white, as viewers show them."""
    if not image.has_transparency_data:
        return image
    rgba = image.convert("RGBA")
    return Image.alpha_composite(Image.new("RGBA", rgba.size, "white"), rgba)


def resized(picture: npt.NDArray[np.uint8], size: int) -> npt.NDArray[np.uint8]:
    """Return a picture ``[H, W, 3]`` at ``size`` x ``size`` pixels.

    >>> resized(np.zeros((4, 6, 3), np.uint8), 2).shape
    (2, 2, 3)
    """
    if picture.shape[:2] == (size, size):
        return picture
    return np.asarray(Image.fromarray(picture).resize((size, size), Image.Resampling.LANCZOS))


def traits(path: Path) -> list[str]:
    """Return from its header what is unusual about an image: grayscale, transparent, rotated by EXIF, very large."""
    with _opened(path) as image:
        unusual = {
            "grayscale file": image.mode in ("1", "L", "LA", "I", "F", "I;16"),
            "transparency: composited on white": image.has_transparency_data,
            "rotated upright by EXIF": image.getexif().get(0x0112, 1) != 1,
            f"{LARGE // 1_000_000} megapixels or more": image.width * image.height >= LARGE,
        }
    return [name for name, holds in unusual.items() if holds]


def digest(path: Path) -> str:
    """Return the sha256 of a file's bytes."""
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def save(path: Path, picture: npt.NDArray[np.uint8]) -> None:
    """Write a picture ``[H, W, 3]`` as PNG, atomically."""
    with replacing(path) as temporary:
        temporary.write_bytes(png(picture))


def png(picture: npt.NDArray[np.uint8]) -> bytes:
    """Return the picture as a PNG file, each row stored as its difference from the row above.

    A sweep writes thousands of pictures, and compressing them was most of its work. Pillow tries all five filters on
    every row; the "up" filter alone with light compression takes half the time of Pillow's fastest setting and a
    seventh of its default; files are about as large (``python benchmarks/counterfactuals.py --packing``).
    """
    if picture.dtype != np.uint8 or picture.ndim != 3 or picture.shape[2] != 3:
        raise ImageError(f"Cannot write an array {picture.shape} of {picture.dtype} as an image", fix=_SHAPE)
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
class ImageFolder:
    """Reads the pictures of images by key.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> save(folder / "a.png", np.zeros((4, 4, 3), np.uint8))
    >>> ImageFolder(folder, {"a": "a.png"})(["a"]).shape
    (1, 4, 4, 3)
    """

    root: Path
    files: Mapping[str, str]
    """The file of each image key, relative to ``root``."""

    def __call__(self, keys: Sequence[str], *, size: int | None = None) -> npt.NDArray[np.uint8]:
        """Return pictures ``[n, H, W, 3]``, resized to ``size`` x ``size`` if given; unequal sizes are an error."""
        pictures = list(_decoders().map(lambda key: self._picture(key, size), keys))
        shapes = sorted({picture.shape[:2] for picture in pictures})
        if len(shapes) > 1:
            different = some((f"{height} x {width}" for height, width in shapes), 3)
            raise ImageError(f"Images of different sizes cannot be stacked: {different}", fix="Give a size.")
        return np.stack(pictures)

    def stacks(self, keys: Sequence[str], *, most: int = 64_000_000) -> Iterator[tuple[slice, npt.NDArray[np.uint8]]]:
        """Yield runs of pictures of equal size as ``[k, H, W, 3]``, with their slice of the keys.

        A run has at most ``most`` bytes (but at least one picture), so that memory is bounded for images of any size.
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
        """Yield the pictures in order, decoded a few at a time on all cores."""
        for start in range(0, len(keys), _AHEAD):
            yield from _decoders().map(lambda key: self._picture(key, None), keys[start : start + _AHEAD])

    def _picture(self, key: str, size: int | None) -> npt.NDArray[np.uint8]:
        if key not in self.files:
            raise ImageError(f"No file is known for image {key[:200]!r}", fix="Check the image column of the table.")
        picture = decode(inside(self.root, self.files[key]))
        return picture if size is None else resized(picture, size)
