"""What an occupant needs from outside: a library of an extra, a weight's licence."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

from likewise.errors import PluginError
from likewise.weights import record


def needed(module: str, extra: str) -> Any:
    """Import a library of an extra, or say how to get it."""
    try:
        return import_module(module)
    except ImportError as error:
        fix = f"pip install 'likewise[{extra}]'"
        raise PluginError(f"this needs the library {module}", got="no such package", fix=fix) from error


def licence_of(weights: str) -> str:
    """Return the notice of a known or added weight; of a user's own file only the user knows."""
    return "not stated: a file of the user's own" if Path(weights).is_file() else record(weights).notice
