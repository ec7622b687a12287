"""power: how many images and raters it takes to find a gap, by simulating the study and analyzing it as planned."""

from __future__ import annotations

from functools import partial

import numpy as np
import numpy.typing as npt

from likewise.errors import InputError, SpecError
from likewise.stats.intervals import Interval, wilson
from likewise.stats.jackknife import jackknife
from likewise.tables import Estimates
from likewise.tables.estimates import row

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]


def power(
    *,
    images: int,
    raters: int,
    each: int,
    rate: float,
    gap: float,
    image_reach: float = 0.15,
    rater_reach: float = 0.10,
    level: float = 0.95,
    repeats: int = 400,
    seed: int = 0,
) -> Estimates:
    """Estimate the chance that a study finds a gap in a rate between two groups of ``images`` each.

    Every image is shown to ``each`` of the ``raters``. The rate is ``rate`` in the reference group; images and raters
    move it by up to their reach (uniform). Found means that the crossed interval leaves out zero.
    """
    far = image_reach + rater_reach
    if min(rate, rate + gap) < far or max(rate, rate + gap) + far > 1:
        problem = f"Rate {rate:g} and gap {gap:g} leave 0 to 1 when images and raters move them by {far:g}"
        raise SpecError(problem, fix="Lower image_reach or rater_reach.")
    if each > raters or min(images, raters) < 2:
        raise SpecError(
            f"{each} answers per image from {raters} raters, {images} images per group", fix="Add raters or images."
        )
    draw = partial(
        _study, images=images, raters=raters, each=each, rate=rate, gap=gap, reach=(image_reach, rater_reach)
    )
    hits = sum(_found(*draw(np.random.default_rng([seed, k])), level=level) for k in range(repeats))
    low, high = wilson(hits / repeats, repeats, level=level)
    found = Interval(hits / repeats, low, high, repeats)
    group = f"gap {gap:g} at {rate:g}, {images} images per group, {raters} raters, {each} answers per image"
    method = "simulation, jackknife by image and rater"
    return Estimates.of([row("study", "power", "simulated", group, found, level=level, n=repeats, method=method)])


def _study(
    rng: np.random.Generator,
    *,
    images: int,
    raters: int,
    each: int,
    rate: float,
    gap: float,
    reach: tuple[float, float],
) -> tuple[Floats, list[Codes]]:
    """Draw the answers of one study as counts (focal, of them yes, reference, of them yes) with image and rater."""
    image = np.repeat(np.arange(2 * images), each)
    rater = rng.random((2 * images, raters)).argpartition(each - 1, axis=1)[:, :each].ravel()
    focal = (image < images).astype(np.float64)
    chance = rate + gap * focal + rng.uniform(-reach[0], reach[0], 2 * images)[image]
    yes = (rng.random(len(image)) < chance + rng.uniform(-reach[1], reach[1], raters)[rater]).astype(np.float64)
    columns = np.stack([focal, focal * yes, 1 - focal, (1 - focal) * yes], axis=1)
    return columns, [image, np.unique(rater, return_inverse=True)[1].astype(np.int64)]


def _found(columns: Floats, codes: list[Codes], *, level: float) -> bool:
    try:
        found = jackknife(columns, lambda t: t[..., 1] / t[..., 0] - t[..., 3] / t[..., 2], codes, level=level)
    except InputError:  # so few raters that one of them saw a whole group
        return False
    return bool(found.low > 0 or found.high < 0)
