"""Results of networks, kept across audits by content: the bytes of an image and everything that was done with them.

An entry lies in ``<sha256 of the image>/<sha256 of the work>``, so that all entries of an image can be erased. It
starts with the checksum of its content: a damaged one is removed and computed again. Files are moved into place when
they are complete, so concurrent audits see whole entries or none.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import shutil
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Arrays = Mapping[str, npt.NDArray[Any]]
LIMIT = 2_000_000_000
"""Bytes; the entries that were not used for longest are removed beyond it. LIKEWISE_CACHE_LIMIT sets another."""
OFF = "LIKEWISE_NO_CACHE"
"""The environment variable that disables the cache."""
_CHECKSUM = 32
_SLACK = 0.9  # of the limit that is left after a cleaning, so that not every entry causes one


@dataclass(frozen=True)
class ContentCache:
    """A folder of entries, with a size limit.

    Examples
    --------
    >>> import tempfile
    >>> cache = ContentCache(Path(tempfile.mkdtemp()))
    >>> cache.put("ab" * 32, "cd" * 32, {"e": np.ones(2)})
    >>> cache.get("ab" * 32, "cd" * 32)["e"].tolist()
    [1.0, 1.0]
    >>> cache.erase(["ab" * 32]), len(list(cache.entries()))
    (1, 0)
    """

    root: Path
    limit: int = LIMIT

    def get(self, image: str, work: str) -> dict[str, npt.NDArray[Any]] | None:
        """Return an entry; None where there is none, or where it was damaged."""
        path = self._path(image, work)
        try:
            content = path.read_bytes()
        except OSError:
            return None
        if hashlib.sha256(content[_CHECKSUM:]).digest() != content[:_CHECKSUM]:
            path.unlink(missing_ok=True)
            return None
        with contextlib.suppress(OSError):
            os.utime(path)  # used now
        with np.load(io.BytesIO(content[_CHECKSUM:]), allow_pickle=False) as held:
            return {name: held[name] for name in held.files}

    def put(self, image: str, work: str, arrays: Arrays) -> None:
        """Keep an entry; a full disk or a folder that cannot be written to is no error of the audit."""
        buffer = io.BytesIO()
        np.savez(buffer, **arrays)  # type: ignore[arg-type]
        content, path = buffer.getvalue(), self._path(image, work)
        temporary = path.with_name(f".{uuid.uuid4().hex}.tmp")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            temporary.write_bytes(hashlib.sha256(content).digest() + content)
            temporary.replace(path)
        except OSError:
            with contextlib.suppress(OSError):
                temporary.unlink(missing_ok=True)

    def entries(self) -> Iterator[Path]:
        """Return the files of all entries."""
        return (path for path in self.root.glob("??/*/*") if path.is_file() and not path.name.startswith("."))

    def size(self) -> int:
        """Return the bytes of all entries."""
        return sum(size for _, size, _ in self._stats())

    def clean(self) -> int:
        """Remove the entries that were not used for longest until the limit holds; return how many."""
        stats = sorted(self._stats())
        total, removed = sum(size for _, size, _ in stats), 0
        if total <= self.limit:
            return 0
        for _, size, path in stats:
            if total <= self.limit * _SLACK:
                break
            path.unlink(missing_ok=True)
            total, removed = total - size, removed + 1
        return removed

    def erase(self, images: list[str]) -> int:
        """Remove all entries of these images (sha256 of their bytes); return how many."""
        folders = [self._path(image, "").parent for image in images]
        count = sum(1 for folder in folders for _ in folder.glob("*"))
        for folder in folders:
            shutil.rmtree(folder, ignore_errors=True)
        return count

    def clear(self) -> int:
        """Remove all entries; return how many."""
        count = sum(1 for _ in self.entries())
        shutil.rmtree(self.root, ignore_errors=True)
        return count

    def _stats(self) -> list[tuple[float, int, Path]]:
        found = []
        for path in self.entries():
            with contextlib.suppress(OSError):  # removed by another audit
                stat = path.stat()
                found.append((stat.st_mtime, stat.st_size, path))
        return found

    def _path(self, image: str, work: str) -> Path:
        return self.root / image[:2] / image / (work or "x")


def file_digest(path: Path) -> str:
    """Return the sha256 of the bytes of a file."""
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()
