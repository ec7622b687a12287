"""Graphics cards: whether a piece of work asks for one, which there are, and how processes share them out.

A network computes where its option ``device`` says. With several workers the plan says ``cuda`` and no number: on a Ray
cluster a worker sees only the card that Ray gives it, and here each process is shown one card, in turn.
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


def asks_for_card(work: object, *, several: bool) -> bool:
    """Say whether some option ``device`` of a piece of work names a card; a number means nothing to several workers."""
    named = sorted({device for device in _devices(work) if device.startswith("cuda")})
    if several and any(":" in device for device in named):
        fix = "Say device = 'cuda': each worker is given a card of its own."
        raise SpecError("with several workers a device has no number", got=", ".join(named), fix=fix)
    return bool(named)


def _devices(work: object) -> Iterator[str]:
    """Find the option in a work's fields, and in those of its specs."""
    if isinstance(work, Mapping):
        if isinstance(work.get("device"), str):
            yield work["device"]
    elif is_dataclass(work):
        for entry in fields(work):
            yield from _devices(getattr(work, entry.name))


def visible_cards() -> list[str]:
    """Name the cards that this process may use, as CUDA does; none where there is no driver."""
    given = os.environ.get(VISIBLE)
    if given is not None:
        return [card.strip() for card in given.split(",") if card.strip()]
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return []
    asked = [tool, "--query-gpu=index", "--format=csv,noheader"]
    shown = subprocess.run(asked, capture_output=True, text=True, check=False)  # noqa: S603
    return shown.stdout.split() if shown.returncode == 0 else []


def take_card(taken: Any, cards: list[str]) -> None:
    """Show this process one card: the first process the first, and so on in turn. Before CUDA is started in it."""
    with taken.get_lock():
        turn, taken.value = taken.value, taken.value + 1
    os.environ[VISIBLE] = cards[turn % len(cards)]
