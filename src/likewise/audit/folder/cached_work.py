"""Work whose results are kept across audits: alignment, projection and embeddings of pretrained networks.

Only networks whose weights have a known content are cached: the version of anything else (a class of one's own, a
function, the toy) is not known from its name, and a stale result would be silent.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from likewise import __version__
from likewise.audit.context import StageContext
from likewise.audit.needs import needs_of
from likewise.audit.stage import ComponentUse
from likewise.data.keys import file_of
from likewise.runtime.content_cache import LIMIT, OFF, ContentCache, file_digest
from likewise.runtime.executor import Result, Work
from likewise.runtime.pixels import ImageFolder
from likewise.weights.cache import content_of, home

_PICTURE = "__picture__"


def content_cache() -> ContentCache:
    """Return the user's cache; LIKEWISE_HOME and LIKEWISE_CACHE_LIMIT (bytes) set its place and size."""
    return ContentCache(home() / "content", int(os.environ.get("LIKEWISE_CACHE_LIMIT", LIMIT)))


def cached(
    context: StageContext,
    work: Work,
    album: ImageFolder,
    uses: Sequence[ComponentUse],
    *,
    how: Any = None,
    pictures: Path | None = None,
) -> Work:
    """Return work that looks results up first; the work itself where the plan or the components do not allow it.

    Parameters
    ----------
    context, work, album
        The stage, its work and its pictures.
    uses
        The components; each needs weights of known content.
    how
        Everything else that the result depends on.
    pictures
        The folder in which the work writes one picture an image.
    """
    weights = [needs_of(use, context.plan).weights for use in uses]
    held = [content_of(name) for names in weights for name in names]
    if not context.plan.executor.cache or os.environ.get(OFF) or not all(weights) or "missing" in held:
        return work
    named = [[use.kind, use.name, use.options] for use in uses]
    plain = json.dumps([type(work).__name__, __version__, named, held, how], sort_keys=True, default=str)
    content_cache().clean()
    return CachedWork(work, album, hashlib.sha256(plain.encode()).hexdigest(), content_cache(), pictures)


@dataclass(frozen=True)
class CachedWork:
    """Work that computes only what the cache lacks; picklable, like the work inside."""

    work: Work
    album: ImageFolder
    key: str
    cache: ContentCache
    pictures: Path | None = None

    def __call__(self, images: list[str]) -> Result:
        """Return the results of these images, in order."""
        digests = [file_digest(self.album.root / self.album.files[image]) for image in images]
        found = [self.cache.get(digest, self.key) for digest in digests]
        missing = [row for row, entry in enumerate(found) if entry is None]
        if missing:
            made = self.work([images[row] for row in missing])
            for place, row in enumerate(missing):
                found[row] = {name: values[place : place + 1] for name, values in made.items()}
                self.cache.put(digests[row], self.key, {**found[row], **self._picture(images[row])})  # type: ignore[dict-item]
        every = [self._restored(image, entry) for image, entry in zip(images, found, strict=True) if entry is not None]
        return {name: np.concatenate([entry[name] for entry in every]) for name in every[0]} if every else {}

    def _picture(self, image: str) -> Result:
        path = self.pictures / file_of(image) if self.pictures else None
        return {_PICTURE: np.frombuffer(path.read_bytes(), np.uint8)} if path and path.is_file() else {}

    def _restored(self, image: str, entry: Result) -> Result:
        """Write the picture of an entry, if it has one, and return the rest."""
        if _PICTURE in entry and self.pictures:
            (self.pictures / file_of(image)).write_bytes(entry[_PICTURE].tobytes())
        return {name: values for name, values in entry.items() if name != _PICTURE}
