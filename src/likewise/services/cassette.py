"""The cassette: every answer of a service as it was given, so that a run can be heard again without the service.

One line of JSON an answer, only ever added to: the hash of the request, the date, the model's version, and the
answer itself. A line that a killed run left unfinished is passed over; the picture is simply asked about again.
"""

from __future__ import annotations

import json
import os
import threading
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from likewise.errors import StoreError
from likewise.tables.files import explained

FORMAT = 1


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What a service said about one request, and when, and which of its models said it."""

    request: str
    """The hash of what was asked: service, address, settings and pixels; never a key."""
    date: str
    model: str
    """The version that the service itself names; empty when it names none."""
    answer: Any
    """The service's own words, parsed but otherwise untouched."""
    refused: str = ""
    """Why the service would not look at this picture; empty when it did."""
    asked: dict[str, Any]
    """What was asked, in the clear."""
    format: int = FORMAT


class Cassette:
    """The answers of one service: in a file, or (without one) only in memory."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._answers: dict[str, list[Answer]] = {}
        if path is not None and path.is_file():
            self._load(path)

    def find(self, request: str, *, model: str = "") -> Answer | None:
        """Return the latest answer to a request, of this model version if one is named."""
        kept = [answer for answer in self._answers.get(request, []) if not model or answer.model in ("", model)]
        return kept[-1] if kept else None

    def add(self, answer: Answer) -> None:
        """Keep an answer; when this returns it is on the disk."""
        with self._lock:
            if self.path is not None:
                self._append(self.path, json.dumps(asdict(answer), sort_keys=True, ensure_ascii=False))
            self._answers.setdefault(answer.request, []).append(answer)

    def __len__(self) -> int:
        return sum(map(len, self._answers.values()))

    def _append(self, path: Path, line: str) -> None:
        with explained(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("ab") as handle:
                torn = handle.tell() > 0 and not _ends_a_line(path)
                handle.write((b"\n" if torn else b"") + line.encode() + b"\n")
                handle.flush()
                os.fsync(handle.fileno())

    def _load(self, path: Path) -> None:
        lines = path.read_bytes().split(b"\n")
        torn = lines.pop()  # empty in a whole file
        for number, line in enumerate(lines, 1):
            answer = _parsed(line)
            if answer is None and line and not _is_torn(line):
                fix = "Put the file back from a copy, or take that line out: its picture is asked about again."
                raise StoreError(f"every line of {path} is an answer", got=f"something else on line {number}", fix=fix)
            if answer is not None:
                self._answers.setdefault(answer.request, []).append(answer)
        if torn and (answer := _parsed(torn)) is not None:
            self._answers.setdefault(answer.request, []).append(answer)


def _parsed(line: bytes) -> Answer | None:
    try:
        plain = json.loads(line)
        return Answer(**plain) if plain.get("format") == FORMAT else None
    except (ValueError, TypeError, AttributeError):
        return None


def _is_torn(line: bytes) -> bool:
    """Say whether this is the beginning of an answer that a killed run left behind."""
    return line.startswith(b'{"answer"'[: len(line)]) and not line.endswith(b"}")


def _ends_a_line(path: Path) -> bool:
    with path.open("rb") as handle:
        handle.seek(-1, os.SEEK_END)
        return handle.read(1) == b"\n"
