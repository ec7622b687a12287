"""audit_power: how many identities and images an audit needs to find a gap in FNMR, by simulation.

Identities are drawn with genuine trials that fail with the group's FNMR; how much identities differ is given by the
intraclass correlation (beta-binomial). Every simulated audit is analyzed as a real one (``Gap``). Defaults are rough;
``pilot`` measures them on ratings that one has.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pandas as pd

from likewise.analysis.gaps.pair_weights import identity_weights
from likewise.analysis.gaps.rating_arrays import RatingArrays
from likewise.analysis.gaps.rows import Gap
from likewise.analysis.verification.shown_rates import FEW_FALSE_MATCHES
from likewise.errors import SpecError
from likewise.stats.intervals import Interval, wilson
from likewise.tables import Contrast, Estimates, Images, Ratings, Trials
from likewise.tables.estimates import row

Floats = npt.NDArray[np.float64]
_CONTRAST = Contrast("group", focal="focal", reference="reference")


@dataclass(frozen=True, kw_only=True)
class AuditDesign:
    """What an audit is expected to see."""

    identities: int
    """Identities in both groups together."""
    images: float = 4.0
    """Genuine trials of an identity, on average; one at least, geometric."""
    fnmr: float = 0.02
    """FNMR of the reference group."""
    gap: float = 0.02
    """FNMR of the focal group less that of the reference group."""
    focal_share: float = 0.5
    """Share of the identities that are in the focal group."""
    icc: float = 0.2
    """Intraclass correlation of the errors of an identity."""
    matched_share: float = 0.6
    """Share of the smaller group's identities that find a partner."""
    fmr: float = 0.01
    """False match rate of the operating point, which says how many impostor trials its threshold needs."""

    def __post_init__(self) -> None:
        high = self.fnmr + self.gap
        if not (0 < self.fnmr < 1 and 0 < high < 1):
            problem = f"FNMR {self.fnmr:g} with a gap of {self.gap:g} gives the rates {self.fnmr:g} and {high:g}"
            raise SpecError(problem, fix="Both rates must be between 0 and 1.")
        if self.identities * min(self.focal_share, 1 - self.focal_share) < 2:
            raise SpecError(f"{self.identities} identities leave fewer than two in a group", fix="Add identities.")
        if not (0 <= self.icc < 1 and 0 < self.matched_share <= 1 and self.images >= 1 and 0 < self.fmr < 1):
            raise SpecError("icc, matched_share, images or fmr is out of range", fix="See help(AuditDesign).")

    @property
    def impostors(self) -> int:
        """Impostor trials that the threshold needs."""
        return int(np.ceil(FEW_FALSE_MATCHES / self.fmr))


def audit_power(design: AuditDesign, *, level: float = 0.95, repeats: int = 400, seed: int = 0) -> Estimates:
    """Estimate the chance that an audit of this design finds the gap, unmatched and matched.

    Parameters
    ----------
    design
        Sizes and rates.
    level
        Confidence level of the audit's intervals; found means that the interval excludes zero.
    repeats, seed
        Simulated audits.

    Returns
    -------
    Estimates
        ``power`` of the samples ``all`` and ``matched``.

    Examples
    --------
    >>> found = audit_power(AuditDesign(identities=400, fnmr=0.05, gap=0.1), repeats=20)
    >>> found.frame["sample"].tolist()
    ['all', 'matched']
    """
    hits = np.zeros(2)
    for k in range(repeats):
        arrays = _audit(design, np.random.default_rng([seed, k]))
        for place, sample in enumerate(("all", "matched")):
            found, _ = Gap(arrays, sample, level).gap()
            hits[place] += found.low > 0 or found.high < 0
    rates = f"gap {design.gap:.3g} at FNMR {design.fnmr:.3g}"
    group = f"{rates}, {design.identities} identities, {design.images:.3g} images each"
    rows = []
    for sample, count in zip(("all", "matched"), hits, strict=True):
        low, high = wilson(count / repeats, repeats, level=level)
        method = f"simulation; FMR {design.fmr:g} needs {design.impostors:,} impostor trials"
        interval = Interval(float(count / repeats), low, high, repeats)
        rows.append(row("audit", "power", sample, group, interval, level=level, n=repeats, method=method))
    return Estimates.of(rows)


def identities_needed(
    design: AuditDesign, *, power: float = 0.8, sample: str = "matched", most: int = 51_200, seed: int = 0
) -> int:
    """Return how many identities find the gap with this power, by doubling and halving; ``most`` if more are needed.

    Examples
    --------
    >>> identities_needed(AuditDesign(identities=50, fnmr=0.05, gap=0.3), sample="all", most=400) <= 200
    True
    """

    def found(identities: int) -> bool:
        one = audit_power(replace(design, identities=identities), repeats=100, seed=seed)
        return float(one.where(sample=sample).frame["estimate"].iloc[0]) >= power

    high = 50
    while not found(high):
        if high >= most:
            return most
        high *= 2
    low = high // 2
    while high - low > max(low // 10, 1):
        middle = (low + high) // 2
        low, high = (low, middle) if found(middle) else (middle, high)
    return high


def pilot(
    ratings: Ratings, trials: Trials, images: Images, contrast: Contrast, *, threshold: float, rater: str
) -> AuditDesign:
    """Measure rates, sizes and intraclass correlation on ratings that one has; the gap is the observed one.

    Parameters
    ----------
    ratings, trials, images, contrast
        A small audit's tables.
    threshold
        Distance below which two images are accepted.
    rater
        Which recognizer.

    Examples
    --------
    >>> from likewise.simulation.system_ratings import CONTRAST, VerificationTrials
    >>> ratings, trials, images, _ = VerificationTrials(80, seed=1).tables()
    >>> pilot(ratings, trials, images, CONTRAST, threshold=0.45, rater="simulated").images
    4.0
    """
    own = ratings.frame[ratings.frame["rater"] == rater]
    genuine = trials.genuine().frame
    ends = pd.DataFrame(np.sort(genuine[["a", "b"]].to_numpy(dtype=str), axis=1), index=genuine.index)
    # A pair that was tried in both directions is one trial, as in error_rates: twice, it would double the images.
    frame = genuine[~ends.duplicated()].merge(own, left_on="trial", right_on="unit")
    if frame.empty:
        raise SpecError(f"No rating of a genuine trial by {rater!r}", fix="Check the name of the rater.")
    error = ~(frame["value"] < threshold)
    side, identity = frame["a"].map(contrast.side(images)), frame["a"].map(images.identities)
    focal, reference = (float(error[side == sign].mean()) for sign in (1, -1))
    floor = 0.5 / len(frame)
    return AuditDesign(
        identities=int(identity.nunique()),
        images=float(identity.value_counts().mean()),
        fnmr=float(np.clip(reference, floor, 1 - floor)),
        gap=float(np.clip(focal, floor, 1 - floor) - np.clip(reference, floor, 1 - floor)),
        focal_share=float(identity[side == 1].nunique() / identity[side != 0].nunique()),
        icc=_icc(np.asarray(error[side != 0], dtype=np.float64), identity[side != 0]),
    )


def _icc(y: Floats, identity: pd.Series) -> float:
    """Return the analysis-of-variance estimate of the intraclass correlation, between 0 and 0.9."""
    code = pd.factorize(identity)[0]
    n = np.bincount(code).astype(np.float64)
    if len(n) < 2 or n.max() < 2 or y.std() == 0:
        return 0.0
    means = np.bincount(code, y) / n
    between = float((n * (means - y.mean()) ** 2).sum() / (len(n) - 1))
    within = float(((y - means[code]) ** 2).sum() / (len(y) - len(n)))
    size = float((n.sum() - (n**2).sum() / n.sum()) / (len(n) - 1))
    return float(np.clip((between - within) / (between + (size - 1) * within), 0.0, 0.9))


def _audit(design: AuditDesign, rng: np.random.Generator) -> RatingArrays:
    """Draw the rejections of one audit; matched partners share nothing, which is conservative."""
    n = design.identities
    focal = np.arange(n) < round(n * design.focal_share)
    count = rng.geometric(1 / design.images, n)
    identity = np.repeat(np.arange(n), count)
    rate = np.where(focal, design.fnmr + design.gap, design.fnmr)
    if design.icc > 0:
        size = 1 / design.icc - 1
        rate = rng.beta(rate * size, (1 - rate) * size)
    y = (rng.random(len(identity)) < rate[identity]).astype(np.float64)
    first = np.r_[0, np.cumsum(count)[:-1]]
    pairs = max(int(design.matched_share * min(focal.sum(), (~focal).sum())), 2)
    ends = [rng.permutation(np.flatnonzero(side))[:pairs] for side in (focal, ~focal)]
    matched, linked = np.zeros(len(y)), np.arange(n)
    for rows in ends:
        matched[first[rows]] = 1.0
    linked[ends[1]] = ends[0]
    side = focal.astype(np.float64)[identity]
    names = np.arange(len(y)).astype(str)
    return RatingArrays(
        quantity="audit", contrast=_CONTRAST, y=y, focal=side, x=np.zeros((len(y), 0)), names=(),
        everyone=identity_weights(identity, side), matched=matched, identity=identity, people=pd.Index(range(n)),
        linked=linked[identity], rater=np.zeros(len(y), dtype=np.int64), pairs=pairs, panel=False, estimand="",
        image=names, unit=names,
    )  # fmt: skip
