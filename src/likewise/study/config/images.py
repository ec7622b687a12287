"""The image files of a study: where they are, how large, and their hash. Each file is read once and remembered.

A study of 100,000 images starts in seconds because the facts about a file are kept, by size and modification time, in
the study's folder.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import warnings
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

from PIL import Image, UnidentifiedImageError

from likewise.errors import ImageError
from likewise.runtime.pixels import FORMATS, MOST_PIXELS, inside
from likewise.study.config.sections import StudyPlan
from likewise.tables.io import parse_json, write_text

INDEX = "images.json"
"""Where a study keeps what it knows about its images."""
_LONGEST_NAME = 1024
_MANY = 4000  # files from which on a second process is worth its start
_UNREADABLE = (UnidentifiedImageError, OSError, SyntaxError, ValueError)


@dataclass(frozen=True)
class ImageFacts:
    """What is known about an image file."""

    size: int
    time: int
    sha256: str
    width: int
    height: int


_KNOWN: dict[str, ImageFacts] = {}
"""Facts by absolute path, in this process."""


def facts_of(root: Path, names: Iterable[str]) -> tuple[dict[str, ImageFacts], dict[str, str]]:
    """Return the facts about each image, and what is wrong with those that have none."""
    facts: dict[str, ImageFacts] = {}
    problems: dict[str, str] = {}
    unread: dict[str, str] = {}
    for name, path, stat in _files(root, names, problems):
        old = _KNOWN.get(path)
        if old is not None and (old.size, old.time) == (stat.st_size, stat.st_mtime_ns):
            facts[name] = old
        else:
            unread[name] = path
    for (name, path), found in zip(unread.items(), _read_all(list(unread.values())), strict=True):
        if isinstance(found, str):
            problems[name] = f"Image {_short(name)} {found}"
        else:
            facts[name] = _KNOWN[path] = found
    return facts, problems


def _files(root: Path, names: Iterable[str], problems: dict[str, str]) -> Iterator[tuple[str, str, os.stat_result]]:
    """Yield the file of each name. Plain files directly below the folder need no look at links on the way."""
    try:
        listed = {entry.name: entry for entry in os.scandir(root.resolve())}
    except OSError:
        listed = {}
    for name in names:
        entry = listed.get(name)
        try:
            if entry is not None and entry.is_file(follow_symlinks=False):
                yield name, entry.path, entry.stat(follow_symlinks=False)  # a path text: cheaper than a Path
                continue
            if len(name) > _LONGEST_NAME or "\0" in name:
                problems[name] = f"Invalid image name {_short(name)}"
                continue
            path = inside(root, name)
            if path.is_file():
                yield name, str(path), path.stat()
            else:
                problems[name] = f"Image {_short(name)} not found in {root}"
        except ImageError:
            problems[name] = f"Image {_short(name)} is outside the image folder"
        except (OSError, ValueError) as error:
            problems[name] = f"Image {_short(name)} cannot be read: {type(error).__name__}"


def _short(name: str) -> str:
    return repr(name if len(name) <= 80 else f"{name[:80]}...")


def _read_all(paths: list[str]) -> list[ImageFacts | str]:
    if len(paths) < _MANY:
        return [_read(path) for path in paths]
    with ProcessPoolExecutor(min(4, os.cpu_count() or 1), mp_context=get_context("forkserver")) as pool:
        return list(pool.map(_read, paths, chunksize=500))


def _read(path: str) -> ImageFacts | str:
    """Return the facts about a file, or what is wrong with it."""
    try:
        with open(path, "rb") as file:  # noqa: PTH123  # once for each of many images
            stat, data = os.fstat(file.fileno()), file.read()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)
            with Image.open(io.BytesIO(data), formats=FORMATS) as image:
                width, height = image.size
    except Image.DecompressionBombError:
        return f"has more than {MOST_PIXELS:,} pixels"
    except _UNREADABLE as error:
        return f"is not an image that can be read ({type(error).__name__})"
    if width * height > MOST_PIXELS:
        return f"has {width * height:,} pixels; the limit is {MOST_PIXELS:,}"
    return ImageFacts(stat.st_size, stat.st_mtime_ns, hashlib.sha256(data).hexdigest(), width, height)


def recall(folder: Path, root: Path) -> None:
    """Take over what an earlier start of the study has written about its images."""
    try:
        kept = parse_json((folder / INDEX).read_text(encoding="utf-8"))
        base = str(root.resolve())
        for name, (size, time, sha256, width, height) in kept["images"].items():
            _KNOWN.setdefault(f"{base}{os.sep}{name}", ImageFacts(size, time, sha256, width, height))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return  # no index, or a damaged one: the files are read again


def remember(folder: Path, facts: dict[str, ImageFacts]) -> None:
    """Write what is known about the images, for the next start."""
    rows = {name: [f.size, f.time, f.sha256, f.width, f.height] for name, f in sorted(facts.items())}
    text = json.dumps({"images": rows})
    path = folder / INDEX
    if not path.is_file() or path.read_text(encoding="utf-8") != text:
        write_text(path, text)


def image_warnings(study: StudyPlan) -> list[str]:
    """Return what raters could tell units apart by, other than what the images show."""
    facts, _ = facts_of(study.images, study.pictures)
    shapes: dict[float, int] = {}
    for entry in facts.values():
        ratio = round(entry.width / max(entry.height, 1), 2)
        shapes[ratio] = shapes.get(ratio, 0) + 1
    if len(shapes) < 2:
        return []
    listed = ", ".join(
        f"{ratio:g} ({count} images)" for ratio, count in sorted(shapes.items(), key=lambda e: -e[1])[:4]
    )
    return [
        f"images have {len(shapes)} different aspect ratios: {listed}; raters can tell units apart by their shape. "
        "Crop all images to one aspect ratio."
    ]
