"""The schedule of a rater: which items, in which order, on which side. Drawn from the seed and the rater's number.

A rater's own order is a permutation of all units. What is shown is a subsequence of it: units that have reached their
quota are passed over. Gold and attention items are at random positions between them. All of it can be drawn again.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from likewise.study.config.sections import Item, StudyPlan

TRAINING_STEP = 1000
"""Practice has positions below 0, each attempt in a block of its own."""


@dataclass(frozen=True, eq=False)
class Schedule:
    """What one rater may be shown."""

    order: npt.NDArray[np.int32]
    """``[n units]``: units by their index in the plan, in this rater's order."""
    rank: npt.NDArray[np.int32]
    """``[n units]``: the inverse, the place of each unit in the order."""
    controls: dict[int, tuple[str, str]]
    """Position -> kind and item of the gold and attention items."""
    length: int
    """Number of positions: units, gold and attention."""


def arm_of(study: StudyPlan, rater: int) -> str:
    """Return the rater's arm: permuted blocks, so that arms stay equally large while raters join."""
    if not study.arms:
        return ""
    size = len(study.arms)
    block = np.random.default_rng([study.seed, 1, rater // size]).permutation(size)
    return study.arms[int(block[rater % size])].name


@lru_cache(maxsize=256)
def _permutation(seed: int, rater: int, units: int) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    order = np.random.default_rng([seed, 2, rater]).permutation(units).astype(np.int32)
    rank = np.empty(units, np.int32)
    rank[order] = np.arange(units, dtype=np.int32)
    return order, rank


def length_of(study: StudyPlan, arm: str) -> int:
    """Return how many positions a schedule in this arm has."""
    attention = all(a.attention for a in study.arms if a.name == arm)
    return study.tasks_per_rater + study.gold.per_rater + (study.attention.per_rater if attention else 0)


def schedule_of(study: StudyPlan, rater: int, arm: str) -> Schedule:
    """Draw a rater's order of units and the positions of the controls.

    Parameters
    ----------
    study
        The plan; its seed decides.
    rater
        The number of the rater.
    arm
        The rater's arm; it may have no attention questions.

    Returns
    -------
    Schedule
        The same one for the same arguments.
    """
    attention = all(a.attention for a in study.arms if a.name == arm)
    rng = np.random.default_rng([study.seed, 3, rater])
    chosen: list[tuple[str, str]] = []
    for kind, controls in (("gold", study.gold), ("attention", study.attention)):
        picks = rng.permutation(len(controls.items))[: controls.per_rater]
        if kind == "gold" or attention:
            chosen += [(kind, controls.items[int(k)].key) for k in picks]
    length = study.tasks_per_rater + len(chosen)
    places = rng.permutation(length)[: len(chosen)]
    order, rank = _permutation(study.seed, rater, len(study.units))
    return Schedule(order, rank, {int(p): c for p, c in zip(places, chosen, strict=True)}, length)


def training_order(study: StudyPlan, rater: int, attempt: int) -> list[str]:
    """Return the training items in this rater's order, shuffled again for each attempt."""
    rng = np.random.default_rng([study.seed, 4, rater, attempt])
    return [study.training.items[int(k)].key for k in rng.permutation(len(study.training.items))]


def training_position(study: StudyPlan, attempt: int, k: int) -> int:
    """Return the position of the k-th training item of an attempt: below zero, in order."""
    return -TRAINING_STEP * (study.training.tries - attempt) + k


def images_for(study: StudyPlan, item: Item, rater: int) -> tuple[str, ...]:
    """Return an item's images from left to right; which image of a pair is left is random for each rater."""
    drawn = hashlib.blake2b(f"{study.seed} {rater} {item.key}".encode(), digest_size=1).digest()
    return item.images[::-1] if drawn[0] & 1 else item.images
