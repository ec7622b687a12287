"""Takes a user's own checkpoint into the cache: looks at its content, says what it is, converts it once.

``RECOGNISERS`` are asked one after the other; each looks at a file's bytes (never at its name) and returns what it
found, or None. A new format is one function more. None of them runs anything from the file.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from likewise.errors import WeightsError, some
from likewise.images import digest
from likewise.weights.cache import Entry, entry, keep, locked, scratch
from likewise.weights.catalogue import CATALOGUE
from likewise.weights.convert.onnx_file import recognise as _onnx
from likewise.weights.convert.safetensors_file import recognise as _safetensors
from likewise.weights.convert.stylegan2_nvidia import recognise as _stylegan2_nvidia
from likewise.weights.convert.stylegan2_rosinality import recognise as _stylegan2_rosinality
from likewise.weights.convert.stylegan2_safetensors import recognise as _stylegan2_own
from likewise.weights.convert.stylegan2_tensorflow import recognise as _stylegan2_tensorflow
from likewise.weights.convert.unknown_file import keys_of
from likewise.weights.finding import Finding
from likewise.weights.record import Terms, Weight
from likewise.weights.terms import RESTRICTED

Recogniser = Callable[[Path], Finding | None]
RECOGNISERS: list[Recogniser] = [
    _stylegan2_own, _safetensors, _onnx, _stylegan2_rosinality, _stylegan2_nvidia, _stylegan2_tensorflow,
]  # fmt: skip


@dataclass(frozen=True)
class Added:
    """A file that was taken in, and what was found in it."""

    entry: Entry
    finding: Finding


def add_file(path: Path, *, name: str, licence: str = "", terms: str = "open", force: bool = False) -> Added:
    """Recognise, convert and keep a user's file under a name of their own."""
    _check(path, name, terms)
    finding = recognise(path)
    weight = Weight(
        name=name, role=finding.role, purpose=finding.summary, registry="file", package=path.name, version="",
        archive=path.name, members={path.name: digest(path)}, converter=finding.converter, form=finding.form,
        licence=licence or "not stated; a file of the user's own", terms=cast(Terms, terms),
        caution="" if terms == "open" else "its owner allows research only",
    )  # fmt: skip
    with locked(f"own-{name}"), scratch(f"own-{name}") as folder:
        _check_free(name, force)
        made = folder / f"made-{weight.form}"
        weight.load_converter()({path.name: path}, made)
        return Added(keep(weight, made, found=finding.summary), finding)


def recognise(path: Path) -> Finding:
    """Say what a file is by its content; an unknown one is an error that says which keys it holds."""
    for recogniser in RECOGNISERS:
        finding = recogniser(path)
        if finding:
            return finding
    fix = "Known are safetensors, ONNX and StyleGAN2 checkpoints; docs/weights.md says which."
    raise WeightsError(f"{path.name} is a checkpoint of a known kind", got=keys_of(path), fix=fix)


def _check(path: Path, name: str, terms: str) -> None:
    if not path.is_file():
        raise WeightsError(f"there is a file at {path}", got="none", fix="Check the path.")
    if path.stat().st_size == 0:
        raise WeightsError("a checkpoint holds something", got=f"the empty file {path.name}")
    if not re.fullmatch(r"[a-z0-9][a-z0-9._-]{0,63}", name):
        fix = "Use lower-case letters, digits, dots and dashes, e.g. my-stylegan2."
        raise WeightsError("a name is short and plain", got=repr(name), fix=fix)
    if name in CATALOGUE:
        raise WeightsError("a name of your own is not one of the catalogue's", got=repr(name), fix="Choose another.")
    if terms not in {"open", *RESTRICTED}:
        raise WeightsError(f"terms are {some(['open', *RESTRICTED])}", got=repr(terms))


def _check_free(name: str, force: bool) -> None:
    held = entry(name)
    if held and not force:
        fix = "Choose another name, or replace it with --force."
        raise WeightsError("a name is free", got=f"{name!r}, which is {held.found}", fix=fix)
