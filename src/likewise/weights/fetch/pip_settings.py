"""The index, proxy and certificates that the user's pip is set up with, read by pip's own documented rules.

Later wins: the machine's files, the user's, the environment's (virtualenv), the file that PIP_CONFIG_FILE names (it
takes the place of the user's), a section ``[download]`` over ``[global]``, and PIP_* variables over all files. pip
itself need not be installed.
"""

from __future__ import annotations

import configparser
import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from platformdirs import site_config_path, user_config_path

from likewise.errors import WeightsError

_SECTIONS = ("global", "download")
_FILE = "pip.ini" if sys.platform == "win32" else "pip.conf"
_TRUE = {"1", "y", "yes", "t", "true", "on"}


@dataclass(frozen=True, kw_only=True)
class PipSettings:
    """Where archives are searched for, and how they are reached."""

    indexes: tuple[str, ...]
    find_links: tuple[str, ...] = ()
    proxy: str = ""
    cert: str = ""
    client_cert: str = ""
    trusted_hosts: tuple[str, ...] = ()
    timeout: float = 15.0
    retries: int = 5


def pip_settings() -> PipSettings:
    """Read the settings of this machine, user and environment."""
    found = values()
    return PipSettings(
        indexes=() if found.get("no-index", "").lower() in _TRUE else _indexes(found),
        find_links=tuple(found.get("find-links", "").split()),
        proxy=found.get("proxy", ""),
        cert=_path(found.get("cert", "")),
        client_cert=_path(found.get("client-cert", "")),
        trusted_hosts=tuple(found.get("trusted-host", "").split()),
        timeout=_number("timeout", found.get("timeout", found.get("default-timeout", "15"))),
        retries=int(_number("retries", found.get("retries", "5"))),
    )


def values() -> dict[str, str]:
    """Return every setting that is in force, by pip's name for it."""
    found: dict[str, str] = {}
    files = [_parsed(path) for path in config_files()]
    for section in _SECTIONS:
        for file in files:
            found |= file.get(section, {})
    for variable, value in os.environ.items():
        name = _key(variable.removeprefix("PIP_"))
        if variable.startswith("PIP_") and name not in {"config-file", "version", "help"} and value:
            found[name] = value
    return found


def config_files() -> Iterator[Path]:
    """Name the files that pip reads, the weakest first; a null PIP_CONFIG_FILE means none."""
    given = os.environ.get("PIP_CONFIG_FILE", "")
    if given == os.devnull:
        return
    yield from _machine_files()
    if not Path(given).is_file():  # a file that is named takes the place of the user's own
        yield Path.home() / ("pip" if sys.platform == "win32" else ".pip") / _FILE
        yield _user_folder() / _FILE
    yield Path(sys.prefix) / _FILE
    if given:
        yield Path(given)


def _machine_files() -> Iterator[Path]:
    if sys.platform in {"win32", "darwin"}:
        yield site_config_path("pip", appauthor=False) / _FILE
        return
    folders = os.environ.get("XDG_CONFIG_DIRS") or "/etc/xdg"
    yield from (Path(folder) / "pip" / _FILE for folder in folders.split(os.pathsep) if folder)
    yield Path("/etc") / _FILE


def _user_folder() -> Path:
    folder = user_config_path("pip", appauthor=False, roaming=True)
    if sys.platform == "darwin" and not folder.is_dir():
        return Path.home() / ".config" / "pip"
    return folder


def _parsed(path: Path) -> Mapping[str, dict[str, str]]:
    parser = configparser.RawConfigParser()
    try:
        parser.read(path, encoding="utf-8")
    except (configparser.Error, UnicodeDecodeError) as error:
        raise WeightsError(
            f"Cannot read pip's settings in {path}: {str(error).splitlines()[0]}", fix="Correct the file, or remove it."
        ) from error
    return {
        section: {_key(name): value for name, value in parser.items(section) if value} for section in parser.sections()
    }


def _key(name: str) -> str:
    return name.lower().replace("_", "-").removeprefix("--")


def _indexes(found: Mapping[str, str]) -> tuple[str, ...]:
    # The library that reads indexes knows the default one; no address stands in our code.
    from pypi_simple import PYPI_SIMPLE_ENDPOINT  # noqa: PLC0415

    main = found.get("index-url") or found.get("pypi-url") or PYPI_SIMPLE_ENDPOINT
    return (main.strip(), *found.get("extra-index-url", "").split())


def _path(text: str) -> str:
    return str(Path(text).expanduser()) if text else ""


def _number(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise WeightsError(
            f"pip's setting {name} is not a number: {text!r}", fix="Correct it: pip config list shows where it is set."
        ) from None
