"""Where a network computes: the CPU unless asked otherwise, and never silently somewhere else than asked."""

from __future__ import annotations

import re

import torch

from likewise.errors import PluginError


def device(name: str = "cpu") -> torch.device:
    """Return the device of this name (``cpu``, ``cuda`` or ``cuda:1``), or say that it is not there."""
    if not re.fullmatch(r"cpu|cuda(:\d+)?", name):
        raise PluginError("device is 'cpu', 'cuda' or 'cuda:N'", got=repr(name))
    found = torch.device(name)
    if found.type == "cuda":
        count = torch.cuda.device_count() if torch.cuda.is_available() else 0
        if (found.index or 0) >= count:
            fix = "Use device='cpu', or a torch that is built for this machine's card."
            raise PluginError(f"the device {name!r} is there", got=f"{count} CUDA devices", fix=fix)
    return found
