"""The audit folder: one artefact a stage, each with a sidecar that says what it was made from.

A stage's *key* is a hash of its options, its seed and the digests of its inputs. An artefact whose sidecar holds
the same key, and whose bytes are still the ones that were written, is fresh and is not made again. The artefact
is put in place first and its sidecar last, so a run that is killed between the two is simply made again.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import platform
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from likewise import __version__
from likewise.errors import BusyError, StoreError, VersionError
from likewise.images import digest
from likewise.tables.files import explained, write_text

FORMAT = 1  # of the folder; a folder of a higher format was made by a newer likewise
PLAN = "audit.toml"
_NOTED = ("numpy", "pandas", "scipy", "pillow", "pyarrow", "torch")


@dataclass(frozen=True, kw_only=True)
class Sidecar:
    """How an artefact was made; everything in it is plain JSON."""

    stage: str
    key: str
    digest: str
    inputs: dict[str, str]
    options: dict[str, Any]
    seed: int | None
    licences: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    summary: dict[str, Any] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    likewise: str = __version__
    format: int = FORMAT


def key_of(stage: str, options: Mapping[str, Any], seed: int | None, inputs: Mapping[str, str]) -> str:
    """Hash everything that a stage's result depends on."""
    plain = {"stage": stage, "options": options, "seed": seed, "inputs": inputs}
    return hashlib.sha256(json.dumps(plain, sort_keys=True, default=str).encode()).hexdigest()


def digest_of(path: Path) -> str:
    """Hash a file, or a folder by the names and hashes of its files."""
    if path.is_file():
        return digest(path)
    names = sorted(p for p in path.rglob("*") if p.is_file())
    listing = [f"{p.relative_to(path).as_posix()} {digest(p)}" for p in names]
    return hashlib.sha256("\n".join(listing).encode()).hexdigest()


def versions() -> dict[str, str]:
    """Say which Python and libraries are at work."""
    found = {"python": platform.python_version()}
    for name in _NOTED:
        with contextlib.suppress(PackageNotFoundError):
            found[name] = version(name)
    return found


class Folder:
    """An audit folder on disk; a new one, which may not be there yet, is only looked at."""

    def __init__(self, root: str | Path, *, new: bool = False) -> None:
        self.root = Path(root)
        if not new and not (self.root / PLAN).is_file():
            fix = f"Make one with: likewise init {self.root} --images ... --table ..."
            raise StoreError(f"{self.root} is an audit folder (it holds {PLAN})", fix=fix)

    def path(self, artefact: str) -> Path:
        """Say where an artefact lies."""
        return self.root / artefact

    def sidecar(self, artefact: str) -> Sidecar | None:
        """Return how an artefact was made; None when it was not, or its sidecar is no sidecar."""
        path = self._sidecar_path(artefact)
        try:
            plain = json.loads(path.read_text(encoding="utf-8"))
        except (FileNotFoundError, ValueError):
            return None
        if not isinstance(plain, dict):
            return None
        if plain.get("format", 0) > FORMAT:
            fix = f"Update likewise (this is {__version__}), or use another folder."
            made = f"likewise {plain.get('likewise', '?')}, format {plain['format']}"
            raise VersionError(f"{artefact} is of format {FORMAT} or older", got=made, fix=fix)
        try:
            return Sidecar(**plain)
        except TypeError:
            return None

    def stale(self, artefact: str, key: str) -> str:
        """Say why an artefact has to be made; empty when it is fresh."""
        path, known = self.path(artefact), self.sidecar(artefact)
        if not path.exists():
            return "not made yet"
        if known is None:
            return "no sidecar"
        if known.key != key:
            return "options or inputs changed"
        if digest_of(path) != known.digest:
            return "the artefact was changed by hand"
        return ""

    def seal(self, artefact: str, sidecar: Sidecar) -> None:
        """Write the sidecar of an artefact that is in place: only now does it count."""
        write_text(
            self._sidecar_path(artefact),
            json.dumps(asdict(sidecar), indent=1, sort_keys=True, default=str) + "\n",
        )

    def work(self, name: str) -> Path:
        """Return a folder for unfinished work; its name holds everything that the work depends on."""
        return self.root / ".work" / name

    def clear_work(self) -> None:
        """Remove what finished, abandoned and killed stages left behind."""
        shutil.rmtree(self.root / ".work", ignore_errors=True)
        for left in self.root.glob(".*.tmp"):
            left.unlink(missing_ok=True)

    @contextlib.contextmanager
    def swapped(self, artefact: str) -> Iterator[Path]:
        """Give an empty folder to fill; it takes the place of a folder artefact on success."""
        final, fresh = self.path(artefact), self.root / ".work" / f"new-{artefact}"
        with explained(final):
            shutil.rmtree(fresh, ignore_errors=True)
            fresh.mkdir(parents=True)
            yield fresh
            shutil.rmtree(final, ignore_errors=True)
            fresh.replace(final)

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the folder; the system lets it go by itself when the process dies."""
        path = self.root / ".lock"
        with explained(path):
            lock = FileLock(path, timeout=0)
            try:
                lock.acquire()
            except Timeout as error:
                fix = "Wait until it has finished, or stop it."
                raise BusyError(
                    f"one run at a time works on {self.root}", got="another one at work", fix=fix
                ) from error
        try:
            yield
        finally:
            lock.release()

    def _sidecar_path(self, artefact: str) -> Path:
        return self.root / f"{artefact}.json"
