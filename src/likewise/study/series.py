"""Who is shown what in which order: drawn from the study's seed and the rater's number, so it can be drawn again.

A rater's own order is a permutation of all units. What is shown is a subsequence of it: units whose places are all
taken are passed over. Gold and attention items stand at random positions between them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from likewise.study.parts import Parts

TRAINING_STEP = 1000
"""Practice comes before position 0, each try in a block of its own."""


@dataclass(frozen=True)
class Series:
    """What one rater may meet."""

    order: tuple[int, ...]
    """Units by their place in the plan, in this rater's order."""
    controls: dict[int, tuple[str, str]]
    """Position -> kind and item of the gold and attention items."""
    length: int
    """Positions in all: units, gold and attention."""


def arm_of(study: Parts, rater: int) -> str:
    """Return the rater's arm: shuffled blocks, so that arms stay equally large while people arrive."""
    if not study.arms:
        return ""
    size = len(study.arms)
    block = np.random.default_rng([study.seed, 1, rater // size]).permutation(size)
    return study.arms[int(block[rater % size])].name


@lru_cache(maxsize=4096)
def _permutation(seed: int, rater: int, units: int) -> tuple[int, ...]:
    return tuple(np.random.default_rng([seed, 2, rater]).permutation(units).tolist())


def length_of(study: Parts, arm: str) -> int:
    """Return how many positions a series in this arm has."""
    attention = all(a.attention for a in study.arms if a.name == arm)
    return study.tasks_per_rater + study.gold.per_rater + (study.attention.per_rater if attention else 0)


def series_of(study: Parts, rater: int, arm: str) -> Series:
    """Draw a rater's order of units and the positions of the controls."""
    attention = all(a.attention for a in study.arms if a.name == arm)
    rng = np.random.default_rng([study.seed, 3, rater])
    chosen: list[tuple[str, str]] = []
    for kind, controls in (("gold", study.gold), ("attention", study.attention)):
        picks = rng.permutation(len(controls.items))[: controls.per_rater]
        if kind == "gold" or attention:
            chosen += [(kind, controls.items[int(k)].key) for k in picks]
    length = study.tasks_per_rater + len(chosen)
    places = rng.permutation(length)[: len(chosen)]
    order = _permutation(study.seed, rater, len(study.units))
    return Series(order, {int(p): c for p, c in zip(places, chosen, strict=True)}, length)


def training_order(study: Parts, rater: int, attempt: int) -> list[str]:
    """Return the training items in this rater's order, shuffled anew for each try."""
    rng = np.random.default_rng([study.seed, 4, rater, attempt])
    return [study.training.items[int(k)].key for k in rng.permutation(len(study.training.items))]


def training_position(study: Parts, attempt: int, k: int) -> int:
    """Return the position of the k-th training item of a try: below zero, in order."""
    return -TRAINING_STEP * (study.training.tries - attempt) + k
