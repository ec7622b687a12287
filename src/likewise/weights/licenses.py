"""The license of a weight, as components report it."""

from __future__ import annotations

from pathlib import Path

from likewise.weights.cache import record


def license_of(weights: str) -> str:
    """Return the notice of a known or added weight; the license of a user's own file is not known."""
    return "not stated (a user's own file)" if Path(weights).is_file() else record(weights).notice
