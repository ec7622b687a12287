"""The clients that are extras: each is loaded when its service is made, so that nobody needs those of others."""

from __future__ import annotations

import importlib
from typing import Any

from likewise.errors import PluginError


def part_of(module: str, *, rule: str, fix: str) -> Any:
    """Load a part of a client; where it is missing, say what it is for and how to get it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise PluginError(rule, got="no such package", fix=fix) from error
