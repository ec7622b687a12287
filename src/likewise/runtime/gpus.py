"""GPUs: whether a piece of work needs one, which are visible, and how worker processes share them.

A network runs on the device of its option ``device``. With several workers the plan must say ``cuda`` without an index:
on a Ray cluster a worker sees only the GPU that Ray assigns to it, and on one machine each process sees one GPU, in
turn.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from likewise.errors import SpecError

VISIBLE = "CUDA_VISIBLE_DEVICES"


def needs_gpu(work: object, *, several: bool) -> bool:
    """Return whether any option ``device`` of the work is a GPU; with several workers an index is an error."""
    named = sorted({device for device in _devices(work) if device.startswith("cuda")})
    if several and any(":" in device for device in named):
        fix = "Set device = 'cuda': each worker is assigned a GPU of its own."
        raise SpecError(f"Device {', '.join(named)} has an index, but there are several workers", fix=fix)
    return bool(named)


def _devices(work: object) -> Iterator[str]:
    """Yield the option from a work's fields and from its nested specs."""
    if isinstance(work, Mapping):
        if isinstance(work.get("device"), str):
            yield work["device"]
    elif is_dataclass(work):
        for entry in fields(work):
            yield from _devices(getattr(work, entry.name))


def visible_gpus() -> list[str]:
    """Return the GPUs that this process may use, as CUDA names them; none without a driver."""
    given = os.environ.get(VISIBLE)
    if given is not None:
        return [gpu.strip() for gpu in given.split(",") if gpu.strip()]
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return []
    query = [tool, "--query-gpu=index", "--format=csv,noheader"]
    shown = subprocess.run(query, capture_output=True, text=True, check=False)  # noqa: S603
    return shown.stdout.split() if shown.returncode == 0 else []


def take_gpu(taken: Any, gpus: list[str]) -> None:
    """Make one GPU visible to this process, in turn; called before CUDA is initialized in it."""
    with taken.get_lock():
        turn, taken.value = taken.value, taken.value + 1
    os.environ[VISIBLE] = gpus[turn % len(gpus)]
