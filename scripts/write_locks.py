"""Writes locks/: the packages of an extra as pip resolves them under constraints.txt, with the sha256 of every file.

pip installs such a file only when each archive has one of the listed hashes (``--require-hashes``). Archives for Python
3.11 on any platform are listed, so that the same lock holds on other machines; pip's resolution is that of this one.
torch is left out: which of its builds, with which further packages, depends on the machine. constraints.txt pins it.
"""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from packaging.utils import InvalidSdistFilename, InvalidWheelFilename, parse_sdist_filename, parse_wheel_filename
from packaging.version import Version

from likewise.weights.fetch.index import Link, offered
from likewise.weights.fetch.net import Net
from likewise.weights.fetch.pip_settings import PipSettings, pip_settings

ROOT = Path(__file__).parents[1]
EXTRAS = {"demo": "demo", "study": "study,postgres"}
BY_MACHINE = {"likewise", "torch"}
_OURS = re.compile(r"cp311|abi3|py3")


def main() -> None:
    """Write one lock an extra."""
    settings = pip_settings()
    hashes: dict[tuple[str, str], list[str]] = {}
    with Net(settings) as net:
        for name, extra in EXTRAS.items():
            pins = resolved(extra)
            for pin in pins.items():
                hashes.setdefault(pin, file_hashes(*pin, settings, net))
            write(ROOT / "locks" / f"{name}.txt", extra, pins, hashes)


def resolved(extra: str) -> dict[str, str]:
    """Ask pip which version of which package an extra needs; setuptools builds the package itself."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--ignore-installed"]
        command += ["--report", str(report), "--constraint", "constraints.txt", f".[{extra}]", "setuptools"]
        subprocess.run(command, cwd=ROOT, check=True)  # noqa: S603
        installs = json.loads(report.read_text())["install"]
    pins = {item["metadata"]["name"].lower(): item["metadata"]["version"].split("+")[0] for item in installs}
    return {name: version for name, version in sorted(pins.items()) if name not in BY_MACHINE}


def file_hashes(package: str, version: str, settings: PipSettings, net: Net) -> list[str]:
    """Return the sha256 of every file of a version that Python 3.11 can install."""
    links = {name: link for name, link in offered(package, settings, net).items() if _fits(name, Version(version))}
    found = sorted(set(_hashes(links)))
    if not found:
        raise SystemExit(f"No archive of {package} {version} for Python 3.11 in pip's indexes.")
    return found


def _fits(name: str, version: Version) -> bool:
    try:
        if name.endswith(".whl"):
            made, tags = parse_wheel_filename(name)[1::2]
            return Version(made.public) == version and any(_OURS.search(f"{tag.interpreter}-{tag.abi}") for tag in tags)
        return parse_sdist_filename(name)[1] == version
    except (InvalidWheelFilename, InvalidSdistFilename):
        return False


def _hashes(links: dict[str, Link]) -> Iterator[str]:
    for link in links.values():
        if link.sha256:
            yield link.sha256
        elif link.local:  # a folder of archives states no hashes
            yield hashlib.sha256(link.local.read_bytes()).hexdigest()


def write(path: Path, extra: str, pins: dict[str, str], hashes: dict[tuple[str, str], list[str]]) -> None:
    """Write one lock in the form of a requirements file."""
    path.parent.mkdir(exist_ok=True)
    lines = [f"# Packages of likewise[{extra}] for Python 3.11, without torch. Written by ./scripts/lock."]
    for pin in pins.items():
        lines.append(" \\\n    ".join([f"{pin[0]}=={pin[1]}", *(f"--hash=sha256:{digest}" for digest in hashes[pin])]))
    path.write_text("\n".join(lines) + "\n")
    print(f"{path.relative_to(ROOT)}: {len(pins)} packages")  # noqa: T201


if __name__ == "__main__":
    main()
