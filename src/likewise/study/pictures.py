"""Pictures as raters get them: under names that say nothing, all in one format and of one size.

A file's name, format, size or metadata could tell a generated face from a photograph. So every picture is decoded,
brought to the longest side of the study's smallest (never enlarged), and written anew as PNG without metadata.
"""

from __future__ import annotations

import io
import os
import secrets
from pathlib import Path

import numpy as np
from PIL import Image

from likewise.images import FORMATS, decode, inside
from likewise.study.parts import Parts
from likewise.study.signing import Signer

LARGEST = 1024
_KEPT = 64 * 2**20


class Gallery:
    """The pictures of a study by their opaque names; made when first asked for, then kept on disk."""

    def __init__(self, study: Parts, signer: Signer, folder: Path) -> None:
        self._files = {signer.mac("picture", name, 18): inside(study.images, name) for name in study.pictures}
        self._names = {name: signer.mac("picture", name, 18) for name in study.pictures}
        self._folder = folder
        self._side = 0
        self._memory: dict[str, bytes] = {}

    def name(self, picture: str) -> str:
        """Return the opaque name of a file."""
        return self._names[picture]

    def png(self, name: str) -> bytes | None:
        """Return a picture's bytes, or None when no such picture belongs to the study."""
        if name not in self._files:
            return None
        if name not in self._memory:
            if sum(map(len, self._memory.values())) > _KEPT:
                self._memory.clear()
            self._memory[name] = self._made(name)
        return self._memory[name]

    def _made(self, name: str) -> bytes:
        source = self._files[name]
        stat = source.stat()
        kept = self._folder / f"{name}-{self._longest()}-{stat.st_size}-{stat.st_mtime_ns}.png"
        if kept.is_file():
            return kept.read_bytes()
        image = Image.fromarray(np.asarray(decode(source)))
        image.thumbnail((self._longest(), self._longest()), Image.Resampling.LANCZOS)
        buffer = io.BytesIO()
        image.save(buffer, format="PNG")
        self._keep(kept, buffer.getvalue())
        return buffer.getvalue()

    def _keep(self, path: Path, data: bytes) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f".{secrets.token_hex(6)}.tmp")  # several threads may make the same picture
        temporary.write_bytes(data)
        os.replace(temporary, path)  # noqa: PTH105

    def _longest(self) -> int:
        """Return the longest side of the smallest picture."""
        if not self._side:
            self._side = min([LARGEST, *(_longest_side(path) for path in self._files.values())])
        return self._side


def _longest_side(path: Path) -> int:
    with Image.open(path, formats=FORMATS) as image:
        return max(image.size)
