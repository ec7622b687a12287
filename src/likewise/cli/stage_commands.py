"""The names and help of the stages, from their source: ``likewise --help`` loads neither pandas nor torch.

A stage states ``name`` and ``help`` as plain text in its class, and ``STAGES`` in ``audit/stages/__init__.py`` is the
order. Both are read without importing them, because their modules need heavy libraries.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

_PACKAGE = "likewise.audit.stages"


@cache
def _stated() -> dict[str, dict[str, Any]]:
    """Return what each stage states, by its command, in order."""
    spec = find_spec(_PACKAGE)
    assert spec is not None and spec.submodule_search_locations is not None
    folder = Path(spec.submodule_search_locations[0])
    classes = {name: said for path in folder.rglob("*.py") for name, said in _classes(path)}
    return {classes[name]["name"]: classes[name] for name in _order(folder / "__init__.py")}


def _order(path: Path) -> list[str]:
    """Return the class names in ``STAGES``."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if (
            isinstance(node, ast.AnnAssign)
            and ast.unparse(node.target) == "STAGES"
            and isinstance(node.value, ast.List)
        ):
            return [ast.unparse(entry.func) for entry in node.value.elts if isinstance(entry, ast.Call)]
    raise AssertionError("audit/stages/__init__.py has no list STAGES")


def _classes(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ClassDef):
            pairs = [pair for line in node.body if isinstance(line, ast.Assign) for pair in _pairs(line)]
            yield node.name, dict(pairs)


def _pairs(line: ast.Assign) -> Iterator[tuple[str, Any]]:
    target, value = line.targets[0], line.value
    several = isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple)
    targets = target.elts if isinstance(target, ast.Tuple) else [target]
    values = value.elts if several and isinstance(value, ast.Tuple) else [value]
    for name, given in zip(targets, values, strict=True):
        if isinstance(given, ast.Constant):
            yield ast.unparse(name), given.value


def stage_help() -> dict[str, str]:
    """Return the help of every stage, by its command, in order."""
    return {name: str(said["help"]) for name, said in _stated().items()} | {
        stage.name: stage.help for stage in _registered() if stage.name not in _stated()
    }


def is_paid(name: str) -> bool:
    """Whether a stage may call paid services."""
    return bool(_stated().get(name, {}).get("paid", False))


def _registered() -> list[Any]:
    """Return the stages that were added in this session; none where the package is not loaded."""
    module = sys.modules.get(_PACKAGE)
    return list(getattr(module, "STAGES", []))
