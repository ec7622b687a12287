"""The parts of a plan that is written: sections, values with a comment, paths relative to the plan."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import tomlkit
from tomlkit.items import AoT, Table


def section(comment: str = "", **values: Any) -> Table:
    """Make a section; a trailing underscore is no part of a key."""
    table = tomlkit.table()
    if comment:
        table.comment(comment)
    for key, value in values.items():
        table.add(key.rstrip("_"), value)
    return table


def commented(value: Any, comment: str) -> Any:
    """Give a value a comment on its line."""
    item = tomlkit.item(value)
    item.comment(comment)
    return item


def listed(tables: list[Table]) -> AoT:
    """Make an array of sections, [[name]]."""
    every = tomlkit.aot()
    for table in tables:
        every.append(table)
    return every


def relative(path: Path, folder: Path | None) -> str:
    """Return a path as the plan in this folder has it; without a folder, absolute."""
    if folder is None:
        return path.resolve().as_posix()
    return Path(os.path.relpath(path.resolve(), folder.resolve())).as_posix()
