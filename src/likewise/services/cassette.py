"""Recorded responses (the cassette): every response of a service as it was received, so that a run can be replayed.

One line of JSON for each response, only ever appended: the hash of the request, the date, the model version, and the
response itself. A line that a killed run left incomplete is skipped; its picture is sent again.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from likewise.errors import StoreError
from likewise.tables.io import explained, replacing

FORMAT = 1


@dataclass(frozen=True, kw_only=True)
class Recorded:
    """One recorded response."""

    request: str
    """The hash of the request: service, address, settings and pixels; never a key."""
    date: str
    model: str
    """The version that the service states; empty when it states none."""
    answer: Any
    """The service's response, parsed but otherwise unchanged."""
    refused: str = ""
    """Why the service refused this picture; empty when it did not."""
    asked: dict[str, Any]
    """The request, without key and pixels."""
    format: int = FORMAT


class Cassette:
    """The recorded responses of one service: in a file, or (without one) in memory only."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._kept: dict[str, list[Recorded]] = {}
        if path is not None and path.is_file():
            self._load(path)

    def find(self, request: str, *, model: str = "") -> Recorded | None:
        """Return the latest response to a request, of this model version if one is given."""
        kept = [entry for entry in self._kept.get(request, []) if not model or entry.model in ("", model)]
        return kept[-1] if kept else None

    def add(self, entry: Recorded) -> None:
        """Record a response; when this returns it is on the disk."""
        with self._lock:
            if self.path is not None:
                self._append(self.path, json.dumps(asdict(entry), sort_keys=True, ensure_ascii=False))
            self._kept.setdefault(entry.request, []).append(entry)

    def count(self, requests: set[str]) -> int:
        """Count the responses to these requests."""
        return sum(len(self._kept.get(request, ())) for request in requests)

    def remove(self, requests: set[str]) -> None:
        """Remove every response to these requests, from memory and from the file; the others stay as they are."""
        with self._lock:
            for request in requests:
                self._kept.pop(request, None)
            if self.path is None or not self.path.is_file():
                return
            lines = self.path.read_bytes().splitlines(keepends=True)
            kept = [line for line in lines if (entry := _parsed(line)) is None or entry.request not in requests]
            if len(kept) < len(lines):
                with replacing(self.path) as temporary:
                    temporary.write_bytes(b"".join(kept))

    def __iter__(self) -> Iterator[Recorded]:
        return (entry for kept in self._kept.values() for entry in kept)

    def __len__(self) -> int:
        return sum(map(len, self._kept.values()))

    def _append(self, path: Path, line: str) -> None:
        with explained(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("ab") as handle:
                torn = handle.tell() > 0 and not _ends_with_newline(path)
                handle.write((b"\n" if torn else b"") + line.encode() + b"\n")
                handle.flush()
                os.fsync(handle.fileno())

    def _load(self, path: Path) -> None:
        lines = path.read_bytes().split(b"\n")
        torn = lines.pop()  # empty in a complete file
        for number, line in enumerate(lines, 1):
            entry = _parsed(line)
            if entry is None and line and not _is_torn(line):
                fix = "Restore the file from a copy, or delete that line: its picture is then sent again."
                raise StoreError(f"Line {number} of {path} is not a recorded response", fix=fix)
            if entry is not None:
                self._kept.setdefault(entry.request, []).append(entry)
        if torn and (entry := _parsed(torn)) is not None:
            self._kept.setdefault(entry.request, []).append(entry)


def _parsed(line: bytes) -> Recorded | None:
    try:
        plain = json.loads(line)
        return Recorded(**plain) if plain.get("format") == FORMAT else None
    except (ValueError, TypeError, AttributeError, RecursionError):
        return None


def _is_torn(line: bytes) -> bool:
    """Return whether this is the beginning of a response that a killed run left."""
    return line.startswith(b'{"answer"'[: len(line)]) and not line.endswith(b"}")


def _ends_with_newline(path: Path) -> bool:
    with path.open("rb") as handle:
        handle.seek(-1, os.SEEK_END)
        return handle.read(1) == b"\n"
