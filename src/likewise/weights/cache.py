"""The cache: one folder a weight, whole or not there, with a note of what it is and what it was made from."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock
from platformdirs import user_cache_path

from likewise.errors import WeightsError, nearest
from likewise.images import digest
from likewise.tables.files import explained, write_text
from likewise.weights.catalogue import CATALOGUE
from likewise.weights.record import Weight

_NOTE = "weight.json"


@dataclass(frozen=True)
class Entry:
    """A weight that lies in the cache."""

    weight: Weight
    path: Path
    size: int
    sha256: str
    fingerprint: str
    found: str = ""
    """What was recognised in a user's own file."""

    @property
    def current(self) -> bool:
        """Whether the file was made by the converter of this version of likewise, from the members it names."""
        return self.fingerprint == self.weight.fingerprint

    def broken(self) -> str:
        """Say what is wrong with the bytes; empty when they are the ones that were written."""
        if self.path.stat().st_size != self.size:
            return f"{self.path.stat().st_size} bytes instead of {self.size}"
        return "" if digest(self.path) == self.sha256 else "other bytes than were written"


def home() -> Path:
    """Say where likewise keeps what it fetched: LIKEWISE_HOME, or the platform's folder for caches."""
    given = os.environ.get("LIKEWISE_HOME")
    return Path(given).expanduser().absolute() if given else user_cache_path("likewise", appauthor=False)


def folder_of(name: str) -> Path:
    """Say where a weight of this name is kept."""
    return home() / "weights" / name


def entry(name: str) -> Entry | None:
    """Return what the cache holds under this name; None when it is not there, or not whole."""
    folder = folder_of(name)
    try:
        note: dict[str, Any] = json.loads((folder / _NOTE).read_text(encoding="utf-8"))
        weight = CATALOGUE.get(name) or Weight(**note["weight"])
        held = Entry(weight, folder / note["form"], note["size"], note["sha256"], note["fingerprint"], note["found"])
    except (FileNotFoundError, NotADirectoryError, ValueError, KeyError, TypeError):
        return None
    return held if held.path.is_file() else None


def entries() -> list[Entry]:
    """Return everything that the cache holds, by name."""
    root = home() / "weights"
    names = sorted(path.name for path in root.iterdir() if not path.name.startswith(".")) if root.is_dir() else []
    return [held for held in map(entry, names) if held]


def record(name: str) -> Weight:
    """Return the record of a known or added weight: its licence and caution are for the sidecars."""
    held = CATALOGUE.get(name) or ((found := entry(name)) and found.weight)
    if held:
        return held
    known = [*CATALOGUE, *(item.weight.name for item in entries())]
    fix = f"{nearest(name, known)} likewise weights list shows all names.".strip()
    raise WeightsError("a weight is known by its name, or is a file on disk", got=repr(name), fix=fix)


def where(name_or_path: str | Path) -> Path:
    """Return the converted file of a weight, or the file at this path. It never downloads."""
    path = Path(name_or_path)
    if path.is_file():
        return path
    name = str(name_or_path)
    if isinstance(name_or_path, Path) or path.name != name:
        raise WeightsError(f"there is a file at {path}", got="none", fix="Check the path.")
    weight, held = record(name), entry(name)
    fix = f"Get it with: likewise weights fetch {name}{_allowance(weight)}"
    if held is None:
        raise WeightsError("a weight is fetched before it is used", got=f"{name!r}, which is not in {home()}", fix=fix)
    if not held.current:
        raise WeightsError("a weight was converted by this version of likewise", got=f"an older {name!r}", fix=fix)
    return held.path


def _allowance(weight: Weight) -> str:
    return "" if weight.terms == "open" else f" --allow {weight.terms}"


@contextlib.contextmanager
def locked(name: str) -> Iterator[None]:
    """Hold a name of the cache; who comes second waits. The system lets it go when the process dies."""
    path = home() / "locks" / f"{name}.lock"
    with explained(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = FileLock(path)
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


@contextlib.contextmanager
def scratch(name: str) -> Iterator[Path]:
    """Give an empty folder for work under a lock of this name; it is gone afterwards, also after a killed run."""
    folder = home() / "work" / name
    with explained(folder):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def keep(weight: Weight, made: Path, *, found: str = "") -> Entry:
    """Put a converted file into the cache under its weight's name, whole, in the place of what was there."""
    final, fresh = folder_of(weight.name), made.with_name("entry")
    with explained(final):
        fresh.mkdir()
        with made.open("rb") as handle:
            os.fsync(handle.fileno())
        note = {
            "weight": weight.to_dict(), "form": weight.form, "size": made.stat().st_size, "sha256": digest(made),
            "fingerprint": weight.fingerprint, "found": found,
        }  # fmt: skip
        made.replace(fresh / weight.form)
        write_text(fresh / _NOTE, json.dumps(note, indent=1, sort_keys=True) + "\n")
        final.parent.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(final, ignore_errors=True)
        fresh.replace(final)
    held = entry(weight.name)
    assert held is not None  # it was written a line above, under the lock
    return held
