"""read: every image of a table is found, opened and fingerprinted before any work is planned on it."""

from __future__ import annotations

import hashlib
from pathlib import Path

from likewise.errors import ImageError, some
from likewise.runtime.executor import Progress, Silent
from likewise.runtime.pixels import decode, digest, find
from likewise.tables import Images


def read_images(
    faces: Images, folder: Path, *, bad_images: str = "error", progress: Progress | None = None
) -> tuple[Images, list[str]]:
    """Return Images with ``file`` and ``digest``, and the images that do not decode.

    With ``bad_images="error"`` one that does not decode is an error; with ``"drop"`` it is left out and named.
    A missing file, or one outside the folder, is always an error: then the table is wrong, not the image.
    """
    folder = folder.resolve()
    files = {key: find(folder, key) for key in faces.keys}
    missing = [key for key, path in files.items() if path is None]
    if missing:
        fix = "Keys are file names in that folder, with or without ending."
        problem = f"{len(missing)} of {len(faces)} images of the table are not in {folder}: {some(missing)}"
        raise ImageError(problem, fix=fix)
    digests: dict[str, str] = {}
    bad: list[str] = []
    for key, path in files.items():
        if path is not None and _decodes(path):
            digests[key] = digest(path)
        else:
            bad.append(key)
        (progress or Silent()).advance(1)
    if bad and bad_images == "error":
        fix = 'Repair them, or set bad_images = "drop" in [data]: they are then excluded and counted.'
        raise ImageError(f"{len(bad)} images do not decode: {some(bad)}", fix=fix)
    kept = faces.subset(digests).frame
    kept["file"] = [files[key].relative_to(folder).as_posix() for key in digests]  # type: ignore[union-attr]
    return Images(kept.assign(digest=list(digests.values()))), bad


def _decodes(path: Path) -> bool:
    try:
        decode(path)
    except ImageError:
        return False
    return True


def listing_digest(folder: Path) -> str:
    """Hash names, sizes and times of a folder: a quick sign that something in it may have changed."""
    if not folder.is_dir():
        raise ImageError(f"Image folder not found: {folder}", fix="Check images in [data].")
    lines = []
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        stat = path.stat()
        lines.append(f"{path.relative_to(folder)} {stat.st_size} {stat.st_mtime_ns}")
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()
