"""``likewise doctor``: what is installed, what each part needs, and how to get it."""

from __future__ import annotations

import json
import platform
import shutil
import sys
from typing import Any

import click

MISSING_PART = 1  # the exit code where a part that was asked for is not ready


@click.command()
@click.argument("names", metavar="[PART...]", nargs=-1)
@click.option("--import", "load", is_flag=True, help="Import every package, to find those that do not work.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON on stdout.")
def doctor(names: tuple[str, ...], load: bool, as_json: bool) -> None:
    """Report what is installed, what each part needs and how to get it.

    Exit code 1 when a PART (default: core) is not ready, or an installed package does not work.
    """
    from likewise.runtime.installation import CORE, part, parts

    chosen = [part(name, load=load) for name in names] or parts(load=load)
    broken = [each for each in chosen for package in each.packages if package.state in ("too old", "broken")]
    needed = [each for each in chosen if names or each.name == CORE]
    ready = bool(chosen) and all(each.ready for each in needed) and not broken
    around = _environment()
    if as_json:
        click.echo(json.dumps({"ready": ready, **around, "parts": [_plain(each) for each in chosen]}, indent=1))
    else:
        for line in _lines(chosen, around):
            click.echo(line)
    sys.exit(0 if ready else MISSING_PART)


def _environment() -> dict[str, Any]:
    from likewise import __version__
    from likewise.report.pdf import find_browser
    from likewise.weights.cache import entries, home

    place = home()
    there = next((folder for folder in (place, *place.parents) if folder.exists()), place)
    return {
        "likewise": __version__,
        "python": platform.python_version(),
        "platform": platform.platform(terse=True),
        "cache": str(place),
        "free_gb": round(shutil.disk_usage(there).free / 1e9, 1),
        "weights": len(entries()),
        "pdf": find_browser() or "",
    }


def _plain(part: Any) -> dict[str, Any]:
    packages = [
        {"package": each.name, "needed": each.needed, "found": each.found, "state": each.state, "reason": each.reason}
        for each in part.packages
    ]
    return {"part": part.name, "purpose": part.purpose, "ready": part.ready, "install": part.install,
            "packages": packages}  # fmt: skip


def _lines(parts: list[Any], around: dict[str, Any]) -> list[str]:
    lines = [
        f"likewise {around['likewise']}, Python {around['python']}, {around['platform']}",
        f"cache   {around['cache']}: {around['weights']} weights fetched, {around['free_gb']} GB free",
        f"pdf     {around['pdf'] or 'no Chromium or Chrome found: likewise report --pdf needs one, or WeasyPrint'}",
        "",
    ]
    if not parts:
        lines.append("The metadata of likewise are not found: install it with pip.")
    for part in parts:
        lines.append(f"{'ready  ' if part.ready else 'missing'} {part.name:<12} {part.purpose}")
        wrong = [each for each in part.packages if each.state != "installed"]
        if wrong:
            lines.append(f"{'':<20} {', '.join(_said(each) for each in wrong)}: {part.install}")
    return lines


def _said(package: Any) -> str:
    return package.reason or f"{package.name}{package.needed} {package.state}"
