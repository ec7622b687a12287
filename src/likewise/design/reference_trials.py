"""Genuine trials under the reference rule of a matching: each image against one valid reference, matched or not.

Within matched pairs the two references are equally difficult. So that the unmatched sample is treated alike, an image
outside the matching gets its reference as if a partner of the other group had been drawn at random: of the valid
references of both, the two whose difficulties differ least. Before and after, the groups' references are then
equally difficult, and what differs is who is compared with whom.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from likewise.design.references import Difficulty, References, references
from likewise.errors import SpecError, TableError
from likewise.tables import Contrast, Images, Matches

NEITHER, NONE, UNEQUAL = "on neither side", "no valid reference", "no equally difficult reference"


@dataclass(frozen=True)
class Ruled:
    """Who is tested against which reference, and why the other images are not tested."""

    genuine: list[tuple[str, str]]
    without: dict[str, str]
    """The reason by image."""


def matched_trials(matched: Matches) -> dict[str, str]:
    """Return the reference of each image of a matching; in a set of several pairs it is that of the first."""
    frame = matched.frame
    found: dict[str, str] = {}
    for image, reference in (("a", "ref_a"), ("b", "ref_b")):
        for test, chosen in zip(frame[image], frame[reference], strict=True):
            found.setdefault(test, chosen)
    return found


def ruled_trials(faces: Images, matched: Matches, difficulty: Difficulty, contrast: Contrast, seed: int) -> Ruled:
    """Give every image of both groups a reference by the rule of the matching, matched or not."""
    if matched.spec is None:
        raise TableError(
            "The matching has no spec, so that its reference rule is unknown",
            fix="Match with likewise.match, or keep the file that it wrote.",
        )
    found = references(faces, difficulty, matched.spec)
    if found is None:
        raise SpecError("The matching was made with references = false", fix="Match with references = true.")
    side = contrast.side(faces)
    able = {sign: sorted(image for image in side.index[side == sign] if found.has(image)) for sign in (1, -1)}
    own = matched_trials(matched)
    genuine, without = list(own.items()), {}
    for image, sign in zip(side.index.tolist(), side.tolist(), strict=True):
        if image in own:
            continue
        if sign == 0 or not found.has(image):
            without[image] = NEITHER if sign == 0 else NONE
            continue
        reference = _at_random(image, able[-sign], found, seed)
        if reference is None:
            without[image] = UNEQUAL
        else:
            genuine.append((image, reference))
    return Ruled(sorted(genuine), without)


def _at_random(image: str, others: list[str], found: References, seed: int) -> str | None:
    """Return the reference that is as difficult as one of a random partner, the first that has one."""
    for other in _drawn(others, np.random.default_rng([seed, 3, *image.encode()])):
        chosen = found.choose(image, other)
        if chosen is not None:
            return chosen[0]
    return None


def _drawn(others: list[str], rng: np.random.Generator) -> Iterator[str]:
    """Yield one at random, then all in random order."""
    if others:
        yield others[rng.integers(len(others))]
        yield from (others[place] for place in rng.permutation(len(others)))
