"""Harder worlds: rare errors, 1 to 28 images an identity, 80/20 groups, Pareto raters, non-linear answers.

Worlds are drawn as arrays (``RatingArrays``), so that thousands of them can be drawn on one core.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt
import pandas as pd

from benchmarks.outcome import Outcome, ends
from likewise.analysis.gaps.pair_weights import identity_weights
from likewise.analysis.gaps.rating_arrays import RatingArrays
from likewise.analysis.gaps.rows import Gap, explained_rows
from likewise.analysis.label_noise import CORRECTED, PREDICTED, corrected_gaps
from likewise.analysis.label_noise_models import imputed_gaps
from likewise.errors import TableError
from likewise.simulation.system_ratings import CONTRAST
from likewise.stats.dof import cluster_dof
from likewise.stats.intervals import share_interval
from likewise.stats.jackknife import covariance
from likewise.tables import Contrast, Images, Ratings

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]
LEVEL = 0.95


def sizes(rng: np.random.Generator, n: int) -> Codes:
    """Draw how many images each identity has: 1 to 28, most few, as in CelebA-HQ."""
    return np.clip((rng.pareto(1.1, n) * 2 + 1).astype(np.int64), 1, 28)


def arrays_of(
    y: Floats, focal: Floats, x: Floats, identity: Codes, match: tuple[Codes, Codes], rater: Codes | None = None
) -> RatingArrays:
    """Lay out answers with the rows of matched pairs (focal rows, reference rows)."""
    matched, names = np.zeros(len(y)), pd.Index(np.arange(int(identity.max()) + 1).astype(str))
    together = np.arange(int(identity.max()) + 1)
    for rows in match:
        matched[rows] = 1.0
    together[identity[match[1]]] = identity[match[0]]
    units = np.arange(len(y)).astype(str)
    return RatingArrays(
        quantity="simulated", contrast=CONTRAST, y=y, focal=focal, x=x - x.mean(axis=0),
        names=tuple(f"x{k}" for k in range(x.shape[1])), everyone=identity_weights(identity, focal), matched=matched,
        identity=identity, people=names, linked=np.unique(together, return_inverse=True)[1][identity].astype(np.int64),
        rater=np.zeros(len(y), dtype=np.int64) if rater is None else rater, pairs=len(match[0]),
        panel=rater is not None, estimand="ATT", image=units, unit=units,
    )  # fmt: skip


def nearest_pairs(x: Floats, focal: Floats, identity: Codes) -> tuple[Codes, Codes]:
    """Match the first row of every focal identity to a reference identity's first row that is near in ``x``.

    Greedy along the sorted references, each used once: some imbalance is left, as calipers leave it.
    """
    first = np.flatnonzero(np.r_[True, identity[1:] != identity[:-1]])
    ones, others = first[focal[first] == 1], first[focal[first] == 0]
    if len(ones) > len(others):
        ones = ones[: len(others)]
    free = others[np.argsort(x[others])]
    used = np.zeros(len(free), dtype=bool)
    found = np.empty(len(ones), dtype=np.int64)
    for k, row in enumerate(ones):
        place = int(np.searchsorted(x[free], x[row]))
        near = range(max(place - 40, 0), min(place + 40, len(free)))
        open_ = [j for j in near if not used[j]] or np.flatnonzero(~used).tolist()
        best = min(open_, key=lambda j: abs(x[free[j]] - x[row]))
        used[best], found[k] = True, free[best]
    return ones, found


def rare(rate: float, share: float = 0.5) -> Callable[[int, int], Iterator[Outcome]]:
    """Return worlds in which the focal group errs in ``rate`` of trials and the reference group in half of that.

    Identities differ in how hard they are (gamma, shape 1), and a covariate raises errors and is more common in the
    focal group, ``share`` of the identities.
    """

    def worlds(n: int, seed: int) -> Iterator[Outcome]:
        rng = np.random.default_rng(seed)
        count = sizes(rng, n)
        identity = np.repeat(np.arange(n), count)
        focal = (rng.random(n) < share).astype(np.float64)[identity]
        x = rng.normal(0.3 * focal, 1.0)
        hard = np.exp(0.5 * x - 0.125)
        base = np.where(focal == 1, rate, rate / 2)
        y = (rng.random(len(x)) < base * hard * rng.gamma(1.0, 1.0, n)[identity]).astype(np.float64)
        match = nearest_pairs(x, focal, identity)
        arrays = arrays_of(y, focal, x[:, None], identity, match)
        truth = rate / 2 * float(hard[match[0]].mean())
        name = f"FNMR {100 * rate:g} / {50 * rate:g} %" + ("" if share == 0.5 else f", {100 * share:.0f} % focal")
        for label, stat in (("matched gap", "gap"), ("matched, adjusted gap", "adjusted")):
            found, _ = getattr(Gap(arrays, "matched", LEVEL), stat)()
            yield Outcome(f"{label}, {name}", truth, found.low, found.high, None)
        mean = float(np.exp(0.5 * 0.3))
        found, _ = Gap(arrays, "all", LEVEL).gap()
        yield Outcome(f"unmatched gap, {name}", rate * mean - rate / 2, found.low, found.high, None)
        for row in explained_rows(arrays, LEVEL):
            low, high = float(str(row["low"])), float(str(row["high"]))
            if np.isfinite(low):
                whole = 1 - truth / (rate * mean - rate / 2)
                yield Outcome(f"explained share, {name}", whole, low, high, None)

    return worlds


_SHAPES: dict[str, Callable[[Floats], Floats]] = {
    "linear": lambda x: 0.08 * x,
    "hinge": lambda x: 0.12 * np.maximum(x - 0.5, 0),
    "exponential": lambda x: 0.06 * np.exp(0.7 * x),
    "step": lambda x: np.where(x > 1, 0.15, 0.0),
}


def curved(shape: str, *, heavy: bool = False) -> Callable[[int, int], Iterator[Outcome]]:
    """Return worlds whose answers depend on a covariate along this shape; ``heavy``: Student's t noise, 3 df."""

    def worlds(n: int, seed: int) -> Iterator[Outcome]:
        rng, effect = np.random.default_rng(seed), 0.05
        count = sizes(rng, n)
        identity = np.repeat(np.arange(n), count)
        focal = (rng.random(n) < 0.3).astype(np.float64)[identity]
        x = rng.normal(0.6 * focal, 1.0) + rng.normal(0, 0.3, n)[identity]
        noise = rng.standard_t(3, len(x)) / 3**0.5 if heavy else rng.normal(size=len(x))
        y = effect * focal + _SHAPES[shape](x) + rng.normal(0, 0.05, n)[identity] + 0.07 * noise
        arrays = arrays_of(y, focal, x[:, None], identity, nearest_pairs(x, focal, identity))
        name = shape + (", heavy tails" if heavy else "")
        for label, sample, stat in (
            ("matched gap", "matched", "gap"),
            ("matched, adjusted gap", "matched", "adjusted"),
            ("regression without matching", "all", "adjusted"),
        ):
            found, _ = getattr(Gap(arrays, sample, LEVEL), stat)()
            yield Outcome(f"{label}, {name}", effect, found.low, found.high, None)

    return worlds


def unequal(n: int, seed: int) -> Iterator[Outcome]:
    """1 to 28 images an identity, four fifths of them in one group: gaps of means and of shares, skewed answers."""
    rng = np.random.default_rng(seed)
    count = sizes(rng, n)
    identity = np.repeat(np.arange(n), count)
    focal = (np.arange(n) % 5 == 0).astype(np.float64)[identity]
    none = np.zeros((len(identity), 0))
    match = (np.zeros(0, dtype=np.int64),) * 2
    for label, own, noise in (
        ("normal", rng.normal(0, 1, n), 1.0),
        ("exponential", rng.exponential(1, n) - 1, 0.5),
        ("lognormal", rng.lognormal(0, 1, n) - np.exp(0.5), 0.5),
    ):
        y = own[identity] + rng.normal(0, noise, len(identity))
        found, _ = Gap(arrays_of(y, focal, none, identity, match), "all", LEVEL).gap()
        yield Outcome(f"unmatched gap, {label} answers, 1 to 28 images, 80/20", 0.0, found.low, found.high, None)
    chance = rng.choice([0.05, 0.75], n, p=[0.6, 0.4])
    hit = (rng.random(len(identity)) < chance[identity]).astype(np.float64)
    columns = np.column_stack([hit, np.ones(len(hit))])
    variance = float(covariance(columns, lambda t: (t[..., 0] / t[..., 1])[..., None], [identity])[0, 0])
    low, high, _ = share_interval(
        float(hit.mean()), variance, n=len(hit), clusters=n, level=LEVEL, dof=cluster_dof([identity])
    )
    yield Outcome("share under a term, 1 to 28 images an identity", 0.33, low, high, None)


def pareto_raters(n: int, seed: int) -> Iterator[Outcome]:
    """2 n images in two groups, n / 2 raters of whom few give most answers: shares of yes and their gap."""
    rng = np.random.default_rng(seed)
    raters = max(n // 2, 10)
    work = np.minimum(rng.pareto(1.2, raters) + 0.2, 20)
    image = np.repeat(np.arange(2 * n), 5)
    rater = rng.choice(raters, len(image), p=work / work.sum())
    focal = (image < n).astype(np.float64)
    chance = 0.4 + rng.uniform(-0.2, 0.2, 2 * n)[image] + rng.uniform(-0.2, 0.2, raters)[rater]
    y = (rng.random(len(image)) < chance).astype(np.float64)
    codes = np.unique(rater, return_inverse=True)[1].astype(np.int64)
    match = (np.zeros(0, dtype=np.int64),) * 2
    arrays = arrays_of(y, focal, np.zeros((len(y), 0)), image, match, codes)
    found, _ = Gap(arrays, "all", LEVEL).gap()
    yield Outcome("panel: gap in shares, Pareto raters", 0.0, found.low, found.high, None)
    found, _ = Gap(arrays, "all", LEVEL).mean(0)
    yield Outcome("panel: share of yes, Pareto raters", 0.4, found.low, found.high, None)


def label_noise(n: int, seed: int) -> Iterator[Outcome]:
    """Predictions of 4 n images, wrong by group and by answer, of which people label a quarter: gap and slope."""
    rng = np.random.default_rng(seed)
    person = np.repeat(np.arange(n), 4)
    true = (rng.random(n) < 0.4)[person]
    age = rng.normal(0.8 * true, 1.0)
    y = 0.3 * true + 0.4 * age + rng.normal(0, 0.3, n)[person] + rng.normal(0, 0.5, 4 * n)
    wrong = rng.random(4 * n) < np.where(true, 0.25, 0.07) * np.where(y > 0.3, 1.3, 0.7)
    names = np.array([f"i{k}" for k in range(4 * n)])
    frame = pd.DataFrame({"image": names, "identity": [f"p{k}" for k in person], "age": age})
    images = Images(frame.assign(predicted=np.where(true != wrong, "f", "m")))
    ratings = Ratings(pd.DataFrame({"unit": names, "rater": "r", "question": "q", "value": y}))
    seen = rng.random(n)[person] < 0.25
    labels = dict(zip(names[seen], np.where(true[seen], "f", "m"), strict=True))
    about = (ratings, None, images, Contrast("predicted", focal="f", reference="m"))
    try:
        found = corrected_gaps(*about, labels=labels, covariates=["age"]).frame
    except TableError:  # fewer than five labeled identities of a group: nothing is corrected, and the error says so
        return
    for stat, truth, what in (("gap", 0.3 + 0.4 * 0.8, "gap"), ("regression_gap", 0.3, "slope given a covariate")):
        both = [ends(found, stat=stat, sample=sample) for sample in (CORRECTED, PREDICTED)]
        yield Outcome(f"{what}, corrected for label noise (two-phase)", truth, *both[0][1:3], both[1][1:3])
    _, low, high, _ = ends(imputed_gaps(*about, labels=labels).frame, stat="gap")
    yield Outcome("gap, labels imputed", 0.3 + 0.4 * 0.8, low, high, None)


HARD: dict[str, Callable[[int, int], Iterator[Outcome]]] = {
    "rare 0.1": rare(0.001),
    "rare 0.25": rare(0.0025),
    "rare 0.5": rare(0.005),
    "rare 1": rare(0.01),
    "rare 0.5, 80/20": rare(0.005, 0.2),
    "rare 1, 80/20": rare(0.01, 0.2),
    "linear": curved("linear"),
    "hinge": curved("hinge"),
    "exponential": curved("exponential"),
    "step": curved("step"),
    "heavy": curved("linear", heavy=True),
    "unequal": unequal,
    "pareto raters": pareto_raters,
    "label noise": label_noise,
}
