"""Images as raters get them: under opaque names, all in one format, of one size, and of few different lengths.

The name, format, size, length or metadata of a file could tell a generated face from a photograph. So every image is
decoded, brought to the longest side of the smallest image of the study (never enlarged), and written again as PNG
without metadata, padded so that only a few different lengths occur.
"""

from __future__ import annotations

import contextlib
import io
import os
import secrets
import struct
import time
import zlib
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from PIL import Image

from likewise.runtime.pixels import decode, inside
from likewise.study.config.images import ImageFacts
from likewise.study.config.sections import StudyPlan
from likewise.study.server.signing import Signer

LARGEST = 1024
_KEPT = 64 * 2**20
_LENGTHS = 4  # a padded file has one of so many lengths
_STALE = 60.0  # seconds after which a temporary file belongs to a process that was stopped
_PADDING = b"lwPd"  # ancillary, private, safe to copy: decoders skip it


class ServedImages:
    """The images of a study by their opaque names; converted at the first request, then kept on disk."""

    def __init__(self, study: StudyPlan, signer: Signer, folder: Path, facts: Mapping[str, ImageFacts]) -> None:
        self._root, self._facts = study.images, facts
        self._names = {name: signer.mac("picture", name, 18) for name in study.pictures}
        self._files = {opaque: name for name, opaque in self._names.items()}
        self._folder = folder
        self._side = min([LARGEST, *(max(entry.width, entry.height) for entry in facts.values())])
        self._memory: dict[str, bytes] = {}
        self._used = 0
        self._remove_leftovers()

    def name(self, picture: str) -> str:
        """Return the opaque name of a file."""
        return self._names[picture]

    def png(self, name: str) -> bytes | None:
        """Return the bytes of an image, or None when no such image belongs to the study."""
        if name not in self._files:
            return None
        if name not in self._memory:
            data = self._converted(name)
            if self._used + len(data) > _KEPT:
                self._memory.clear()
                self._used = 0
            self._memory[name] = data
            self._used += len(data)
        return self._memory[name]

    def _converted(self, name: str) -> bytes:
        source = self._files[name]
        kept = self._folder / f"{name}-{self._side}-{self._facts[source].sha256[:16]}.png"
        if kept.is_file():
            return kept.read_bytes()
        image = Image.fromarray(np.asarray(decode(inside(self._root, source))))
        image.thumbnail((self._side, self._side), Image.Resampling.LANCZOS)
        buffer = io.BytesIO()
        image.save(buffer, format="PNG")
        data = padded(buffer.getvalue(), image.width * image.height * 3)
        self._keep(kept, data)
        return data

    def _keep(self, path: Path, data: bytes) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f".{secrets.token_hex(6)}.tmp")  # several threads may convert the same image
        try:
            temporary.write_bytes(data)
            os.replace(temporary, path)  # noqa: PTH105
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise

    def _remove_leftovers(self) -> None:
        """Remove temporary files of a process that was killed while it wrote them."""
        for path in self._folder.glob(".*.tmp"):
            with contextlib.suppress(OSError):
                if path.stat().st_mtime < time.time() - _STALE:
                    path.unlink()


def padded(png: bytes, raw: int) -> bytes:
    """Return a PNG that is lengthened, by a chunk that decoders skip, to a multiple of a fourth of its raw size."""
    step = max(256, -(-raw // _LENGTHS))
    missing = -(len(png) + 12) % step
    chunk = _PADDING + bytes(missing)
    end = len(png) - 12  # the last chunk, IEND, is 12 bytes
    return png[:end] + struct.pack(">I", missing) + chunk + struct.pack(">I", zlib.crc32(chunk)) + png[end:]
