"""Adds a user's own checkpoint to the cache: recognizes its content and converts it once.

``READERS`` are tried in order; each reads a file's bytes (never its name) and returns what it recognized, or None. A
new format is one more function. None of them runs anything from the file.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from likewise.errors import WeightsError, some
from likewise.runtime.pixels import digest
from likewise.weights.cache import Entry, entry, keep, locked, scratch
from likewise.weights.catalog.networks import CATALOG
from likewise.weights.convert.stylegan2.nvidia import recognize as _stylegan2_nvidia
from likewise.weights.convert.stylegan2.own_form import recognize as _stylegan2_own
from likewise.weights.convert.stylegan2.rosinality import recognize as _stylegan2_rosinality
from likewise.weights.convert.stylegan2.tensorflow import recognize as _stylegan2_tensorflow
from likewise.weights.finding import Finding
from likewise.weights.formats.guard import guarded
from likewise.weights.formats.onnx_file import recognize as _onnx
from likewise.weights.formats.pickles.checkpoint import forget
from likewise.weights.formats.safetensors_file import recognize as _safetensors
from likewise.weights.formats.unknown_file import keys_of
from likewise.weights.record import Terms, Weight
from likewise.weights.terms import RESTRICTED

Reader = Callable[[Path], Finding | None]
READERS: list[Reader] = [
    _stylegan2_own, _safetensors, _onnx, _stylegan2_rosinality, _stylegan2_nvidia, _stylegan2_tensorflow,
]  # fmt: skip


@dataclass(frozen=True)
class Added:
    """A file that was taken in, and what was found in it."""

    entry: Entry
    finding: Finding


def add_file(path: Path, *, name: str, license: str = "", terms: str = "open", force: bool = False) -> Added:
    """Add a user's checkpoint to the cache.

    Parameters
    ----------
    path
        The file: safetensors, ONNX or a StyleGAN2 checkpoint. No code of it is run.
    name
        The name under which it is used.
    license
        Its license, recorded with results.
    terms
        ``open`` or ``research-only``.
    force
        Replace a file of this name.

    Returns
    -------
    Added
        The cached file and what was recognized in it.

    Raises
    ------
    WeightsError
        The file is not of a known kind, or damaged.
    UnsafeFileError
        The file asks for more than data.
    """
    _check(path, name, terms, license)
    try:
        finding = recognize(path)
        return _kept(path, finding, name=name, license=license, terms=terms, force=force)
    finally:
        forget()


def _kept(path: Path, finding: Finding, *, name: str, license: str, terms: str, force: bool) -> Added:
    weight = Weight(
        name=name, role=finding.role, purpose=finding.summary, registry="file", package=path.name, version="",
        archive=path.name, members={path.name: digest(path)}, converter=finding.converter, form=finding.form,
        license=license or "not stated (a user's own file)", terms=cast(Terms, terms),
        caution="" if terms == "open" else "its owner allows research only",
    )  # fmt: skip
    with locked(f"own-{name}"), scratch(f"own-{name}") as folder:
        _check_free(name, force)
        made = folder / f"made-{weight.form}"
        with guarded(path.name):
            weight.load_converter()({path.name: path}, made)
        return Added(keep(weight, made, found=finding.summary), finding)


def recognize(path: Path) -> Finding:
    """Say what a file is by its content; an unknown one is an error that says which keys it holds."""
    with guarded(path.name):
        for reader in READERS:
            finding = reader(path)
            if finding:
                return finding
    raise WeightsError(
        f"{path.name} is not a checkpoint of a known kind: {keys_of(path)}",
        fix="Known: safetensors, ONNX and StyleGAN2 checkpoints; see docs/weights.md.",
    )


def _check(path: Path, name: str, terms: str, license: str) -> None:
    if not path.is_file():
        raise WeightsError(f"File not found: {path}", fix="Check the path.")
    if path.stat().st_size == 0:
        raise WeightsError(f"{path.name} is empty", fix="Copy it again.")
    if not re.fullmatch(r"[a-z0-9][a-z0-9._-]{0,63}", name):
        raise WeightsError(
            f"Invalid name {name[:80]!r}",
            fix="Use up to 64 lower-case letters, digits, dots and dashes, e.g. my-stylegan2.",
        )
    if name in CATALOG:
        raise WeightsError(f"The name {name!r} is taken by the catalog", fix="Choose another.")
    if not license.isprintable():
        raise WeightsError("The license has control characters", fix="Write it in one line.")
    if terms not in {"open", *RESTRICTED}:
        raise WeightsError(f"Unknown terms {terms[:80]!r}", fix=f"Choose one of {some(['open', *RESTRICTED])}.")


def _check_free(name: str, force: bool) -> None:
    held = entry(name)
    if held and not force:
        fix = "Choose another name, or replace it with --force."
        raise WeightsError(f"The name {name!r} is taken: {held.found}", fix=fix)
