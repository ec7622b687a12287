"""The words of the pages, by language: one TOML file each, with the same keys."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from functools import cache
from importlib.resources import files


@cache
def words(language: str) -> dict[str, str]:
    """Return the words of a shipped language."""
    found: dict[str, str] = tomllib.loads((files(__name__) / f"{language}.toml").read_text(encoding="utf-8"))
    return found


def best_language(accepted: str, offered: Sequence[str]) -> str:
    """Return the offered language that a browser asks for first (its Accept-Language), else the study's first."""
    wishes = []
    for k, part in enumerate(accepted.split(",")[:20]):
        name, _, weight = part.strip().partition(";q=")
        wishes.append((-_number(weight), k, name.lower().split("-")[0]))
    return next((name for _, _, name in sorted(wishes) if name in offered), offered[0])


def _number(weight: str) -> float:
    try:
        return float(weight) if weight else 1.0
    except ValueError:
        return 0.0
