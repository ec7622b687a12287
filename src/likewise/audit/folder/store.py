"""The audit folder: one artifact per stage, each with a sidecar that records what it was made from.

A stage's *key* is a hash of its options, its seed and the digests of its inputs. An artifact whose sidecar holds
the same key, and whose bytes are still the ones that were written, is up to date and is not made again. The artifact
is put in place first and its sidecar last, so a stage that is killed between the two runs again.
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
from likewise.runtime.pixels import digest
from likewise.tables.io import explained, parse_json, write_text

FORMAT = 1  # of the sidecars; a higher one was written by a newer likewise
PLAN = "audit.toml"
_NOTED = ("numpy", "pandas", "scipy", "pillow", "pyarrow", "torch")


@dataclass(frozen=True, kw_only=True)
class Sidecar:
    """How an artifact was made; everything in it is plain JSON."""

    stage: str
    key: str
    digest: str
    inputs: dict[str, str]
    options: dict[str, Any]
    seed: int | None
    licenses: dict[str, str] = field(default_factory=dict)
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
    """Return the versions of Python and the libraries."""
    found = {"python": platform.python_version()}
    for name in _NOTED:
        with contextlib.suppress(PackageNotFoundError):
            found[name] = version(name)
    return found


class Folder:
    """An audit folder on disk; a new one may not exist yet."""

    def __init__(self, root: str | Path, *, new: bool = False) -> None:
        self.root = Path(root)
        if not new and not (self.root / PLAN).is_file():
            fix = f"Create one with: likewise init {self.root} --images ... --table ..."
            raise StoreError(f"No audit in {str(self.root)!r}: {PLAN} is missing", fix=fix)

    def path(self, artifact: str) -> Path:
        """Return the path of an artifact."""
        return self.root / artifact

    def sidecar(self, artifact: str) -> Sidecar | None:
        """Return how an artifact was made; None when it was not, or when its sidecar is unreadable."""
        path = self._sidecar_path(artifact)
        try:
            plain = parse_json(path.read_text(encoding="utf-8"))
        except (FileNotFoundError, ValueError):
            return None
        if not isinstance(plain, dict):
            return None
        if not isinstance(plain.get("format", 0), int):
            return None
        if plain.get("format", 0) > FORMAT:
            version, made = str(plain.get("likewise", "?"))[:40], f"format {plain['format']}"
            problem = f"{self.path(artifact)} was written by likewise {version} ({made}); this is {__version__}"
            raise VersionError(problem, fix=f"Install likewise {version} or newer, or use another folder.")
        try:
            return Sidecar(**plain)
        except TypeError:
            return None

    def stale(self, artifact: str, key: str) -> str:
        """Return why an artifact has to be made; empty when it is up to date."""
        path, known = self.path(artifact), self.sidecar(artifact)
        if not path.exists():
            return "not written yet"
        if known is None:
            return "no sidecar"
        if known.key != key:
            return "options or inputs changed"
        if digest_of(path) != known.digest:
            return "the artifact was modified"
        return ""

    def seal(self, artifact: str, sidecar: Sidecar) -> None:
        """Write the sidecar of an artifact that is in place, which makes it valid."""
        write_text(
            self._sidecar_path(artifact),
            json.dumps(asdict(sidecar), indent=1, sort_keys=True, default=str) + "\n",
        )

    def work(self, name: str) -> Path:
        """Return a folder for unfinished work; its name contains everything that the work depends on."""
        return self.root / ".work" / name

    def clear_work(self) -> None:
        """Remove what finished, abandoned and killed stages left behind."""
        shutil.rmtree(self.root / ".work", ignore_errors=True)
        for left in self.root.glob(".*.tmp"):
            left.unlink(missing_ok=True)

    @contextlib.contextmanager
    def replaced(self, artifact: str) -> Iterator[Path]:
        """Give an empty folder to fill; it replaces a folder artifact on success."""
        final, fresh = self.path(artifact), self.root / ".work" / f"new-{artifact}"
        with explained(final):
            shutil.rmtree(fresh, ignore_errors=True)
            fresh.mkdir(parents=True)
            yield fresh
            shutil.rmtree(final, ignore_errors=True)
            fresh.replace(final)

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Lock the folder; the system releases the lock when the process ends."""
        path = self.root / ".lock"
        with explained(path):
            lock = FileLock(path, timeout=0)
            try:
                lock.acquire()
            except Timeout as error:
                fix = "Wait until it has finished, or stop it."
                raise BusyError(f"Another run is working on {self.root}", fix=fix) from error
        try:
            yield
        finally:
            lock.release()

    def _sidecar_path(self, artifact: str) -> Path:
        return self.root / f"{artifact}.json"
