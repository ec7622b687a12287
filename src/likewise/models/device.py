"""The device of a network: the CPU by default, and never silently another one than was chosen."""

from __future__ import annotations

import re
from functools import cache

import torch

from likewise.errors import PluginError


def device(name: str = "cpu") -> torch.device:
    """Return the device of this name (``cpu``, ``cuda`` or ``cuda:1``), or report that it is not available."""
    if not re.fullmatch(r"cpu|cuda(:\d+)?", name):
        raise PluginError(f"Unknown device {name!r}", fix="Choose 'cpu', 'cuda' or 'cuda:N'.")
    found = torch.device(name)
    if found.type == "cuda":
        count = torch.cuda.device_count() if torch.cuda.is_available() else 0
        if (found.index or 0) >= count:
            raise PluginError(
                f"Device {name!r} is not available: {count} CUDA devices found",
                fix="Use device='cpu', or install a torch build for this machine's GPU.",
            )
    return found


@cache
def computes_in_bfloat16(kind: str) -> bool:
    """Return whether products of bfloat16 are quicker than those of float32 on this kind of device.

    A CPU has instructions for them or emulates them, slowly. Other devices are left alone.

    >>> computes_in_bfloat16("cuda")
    False
    """
    known = torch.cpu.get_capabilities() if kind == "cpu" else {}
    return bool(known.get("avx512_bf16") or known.get("amx_bf16"))
