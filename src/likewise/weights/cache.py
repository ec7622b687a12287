"""The cache: one folder a weight, complete or absent, with a record of what it is and what it was made from."""

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
from likewise.runtime.pixels import digest
from likewise.tables.io import explained, write_text
from likewise.weights.catalog.networks import CATALOG
from likewise.weights.record import Weight

_NOTE = "weight.json"


@dataclass(frozen=True)
class Entry:
    """A weight in the cache."""

    weight: Weight
    path: Path
    size: int
    sha256: str
    fingerprint: str
    found: str = ""
    """What was recognized in a user's own file."""

    @property
    def current(self) -> bool:
        """Whether the file was made by the converter of this version of likewise, from the members it names."""
        return self.fingerprint in self.weight.fingerprints

    def broken(self) -> str:
        """Return what is wrong with the bytes; empty when they are the ones that were written."""
        if self.path.stat().st_size != self.size:
            return f"{self.path.stat().st_size} bytes instead of {self.size}"
        return "" if digest(self.path) == self.sha256 else "other bytes than were written"


def home() -> Path:
    """Return the folder of the cache: LIKEWISE_HOME, or the platform's folder for caches."""
    given = os.environ.get("LIKEWISE_HOME")
    folder = Path(given).expanduser().absolute() if given else user_cache_path("likewise", appauthor=False)
    if folder.exists() and not folder.is_dir():
        raise WeightsError(f"LIKEWISE_HOME is not a folder: {folder}", fix="Name another, or remove that file.")
    return folder


def folder_of(name: str) -> Path:
    """Return the folder of a weight."""
    return home() / "weights" / name


def entry(name: str) -> Entry | None:
    """Return what the cache holds under this name; None when it is absent or incomplete."""
    folder = folder_of(name)
    try:
        note: dict[str, Any] = json.loads((folder / _NOTE).read_text(encoding="utf-8"))
        weight = CATALOG.get(name) or Weight(**note["weight"])
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
    """Return the record of a known or added weight: its license and caution are recorded with results.

    Examples
    --------
    >>> record("lpips-vgg16").license
    'BSD'
    """
    held = CATALOG.get(name) or ((found := entry(name)) and found.weight)
    if held:
        return held
    known = [*CATALOG, *(item.weight.name for item in entries())]
    fix = f"{nearest(name, known)} likewise weights list shows all names.".strip()
    raise WeightsError(f"Unknown weight {name!r}, and no file of that name", fix=fix)


def where(name_or_path: str | Path) -> Path:
    """Return the path of a weight; nothing is downloaded.

    Parameters
    ----------
    name_or_path
        A name of the catalog, the name of an added file, or a path on disk.

    Raises
    ------
    WeightsError
        The weight is unknown, not in the cache, or was converted by another version; the message has the command that
        fetches it.
    """
    path = Path(name_or_path)
    if path.is_file():
        return path
    name = str(name_or_path)
    if isinstance(name_or_path, Path) or path.name != name:
        raise WeightsError(f"File not found: {path}", fix="Check the path.")
    weight, held = record(name), entry(name)
    fix = _remedy(weight)
    if held is None:
        raise WeightsError(f"Weight {name!r} is not in the cache ({home()})", fix=fix)
    if not held.current:
        raise WeightsError(f"Weight {name!r} in the cache was converted by another version of likewise", fix=fix)
    return held.path


def content_of(name_or_path: str | Path) -> str:
    """Return the sha256 of the file of a name or a path; ``missing`` when there is none.

    The key of a stage includes it, because a name can refer to another file later.
    """
    if Path(name_or_path).is_file():
        return digest(Path(name_or_path))
    held = entry(str(name_or_path)) if Path(name_or_path).name == str(name_or_path) else None
    return held.sha256 if held else "missing"


def _remedy(weight: Weight) -> str:
    if weight.registry == "file":
        return f"Add it again with: likewise weights add FILE --name {weight.name} --force"
    allowance = "" if weight.terms == "open" else f" --allow {weight.terms}"
    return f"Fetch it with: likewise weights fetch {weight.name}{allowance}"


@contextlib.contextmanager
def locked(name: str) -> Iterator[None]:
    """Lock a name of the cache; a second process waits. The system releases the lock when the process ends."""
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
    """Provide an empty work folder under a lock of this name; it is removed afterwards, also after a killed run."""
    folder = home() / "work" / name
    with explained(folder):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def keep(weight: Weight, made: Path, *, found: str = "") -> Entry:
    """Put a converted file into the cache in one step, in the place of what was there."""
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
