"""The ratings of one quantity as arrays, and the statistics of the gap as functions of column sums."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt
import pandas as pd

from likewise.analysis.gaps.balanced_variance import balanced_numbers, explained, holds_balance
from likewise.analysis.gaps.pair_weights import complete_pairs, identity_weights, linked, match_weights, unit_column
from likewise.analysis.rating_table import RatingTable
from likewise.errors import TableError
from likewise.stats.jackknife import Statistic
from likewise.stats.least_squares import solve
from likewise.tables import Contrast, Matches, Vectors

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]
SQUARES_FROM = 10  # matched pairs for each regression coefficient, from which squares of the covariates are added
UNBALANCED = 0.1  # standardized mean difference that is worth a warning


def rating_arrays(
    table: RatingTable, pairs: Matches | None, covariates: Sequence[str], balanced: Vectors | None = None
) -> list[RatingArrays]:
    """Lay out the ratings, quantity by quantity."""
    numbers, panel = table.covariates(covariates), table.panel is not None
    design = balanced_numbers(table, pairs, balanced)
    return [
        RatingArrays.of(name, part, table.contrast, numbers, pairs, panel, design) for name, part in table.by_quantity()
    ]


@dataclass(frozen=True)
class RatingArrays:
    """The ratings of one quantity, as arrays over rows (one a rating)."""

    quantity: str
    contrast: Contrast
    y: Floats
    focal: Floats
    """1 in the focal group, 0 in the reference group."""
    x: Floats
    """Covariates ``[n, k]``, centered."""
    names: tuple[str, ...]
    """What the covariates are called."""
    everyone: Floats
    """The weight in the unmatched sample: every identity weighs 1."""
    matched: Floats
    """The weight in the matched sample: every focal unit weighs 1, and the references of its set 1 together."""
    identity: Codes
    people: pd.Index
    """The identity behind each code."""
    linked: Codes
    """Identities that a matched pair links share a code: leaving out one means leaving out its pair."""
    rater: Codes
    pairs: int
    panel: bool
    estimand: str
    image: npt.NDArray[np.str_]
    """The image (of a trial, the first) that each rating is about."""
    unit: npt.NDArray[np.str_]
    balanced: Floats = field(default_factory=lambda: np.empty((0, 0)))
    """What the design or the weights balanced, ``[n, k]``; no columns where nothing is known to be balanced."""
    by_design: bool = False
    """Whether the matched sample holds what is balanced equal."""
    weighted: Mapping[str, Floats] = field(default_factory=dict)
    """By name, the weight of each rating in a weighted sample."""

    @classmethod
    def of(
        cls,
        quantity: str,
        answers: pd.DataFrame,
        contrast: Contrast,
        numbers: pd.DataFrame,
        pairs: Matches | None,
        panel: bool,
        design: pd.DataFrame | None = None,
    ) -> RatingArrays:
        """Lay out the ratings; a matched pair counts when both of its units were rated."""
        identity, names = pd.factorize(answers["identity"])
        side = (answers["side"] == 1).to_numpy().astype(np.float64)
        x = numbers.loc[answers["unit"]].to_numpy()
        weights, ends, focal_units = _matched(answers, pairs)
        return cls(
            quantity=quantity,
            contrast=contrast,
            y=answers["value"].to_numpy(),
            focal=side,
            x=x - x.mean(axis=0),
            names=tuple(numbers.columns),
            everyone=identity_weights(identity.astype(np.int64), side),
            matched=weights,
            identity=identity.astype(np.int64),
            people=names,
            linked=linked(ends, names)[identity],
            rater=pd.factorize(answers["rater"])[0].astype(np.int64),
            pairs=focal_units,
            panel=panel,
            estimand=(getattr(pairs, "estimand", "") or "ATM") if pairs is not None else "",
            image=answers["image"].to_numpy(dtype=str),
            unit=answers["unit"].to_numpy(dtype=str),
            balanced=np.empty((len(answers), 0)) if design is None else design.reindex(answers["unit"]).to_numpy(),
            by_design=holds_balance(pairs),
        )

    @property
    def binary(self) -> bool:
        """Whether all answers are 0 or 1."""
        return bool(np.isin(self.y, (0.0, 1.0)).all())

    def weight(self, sample: str) -> Floats:
        """Return the weights of a sample: ``all``, ``matched`` or the name of a weighted one."""
        if sample in self.weighted:
            return self.weighted[sample]
        return self.everyone if sample == "all" else self.matched

    def holds(self, sample: str) -> bool:
        """Whether a sample holds the balanced covariates equal between the groups."""
        equal = sample in self.weighted or (sample == "matched" and self.by_design)
        return equal and self.balanced.shape[1] > 0

    def with_weights(self, weights: Mapping[str, pd.Series]) -> RatingArrays:
        """Return the layout with weighted samples; all ratings of one unit share its weight."""
        units = pd.Series(self.unit)
        share = 1 / units.groupby(self.unit).transform("size").to_numpy()
        found = {name: units.map(weight).fillna(0.0).to_numpy(float) * share for name, weight in weights.items()}
        return replace(self, weighted=found)

    def clusterings(self, *, paired: bool) -> list[Codes]:
        """Return the codes of what is left out: identities or what pairs link; for a panel, raters as well."""
        return [self.linked if paired else self.identity] + ([self.rater] if self.panel else [])

    def sums(self, sample: str) -> Floats:
        """Return the columns whose sums make both means: weights and weighted answers by group."""
        weight, sides = self.weight(sample), (self.focal, 1 - self.focal)
        return np.stack([weight * side * value for value in (np.ones(len(self.y)), self.y) for side in sides], axis=1)

    def regression(self, sample: str) -> tuple[Floats, Statistic]:
        """Return columns and statistic of the gap adjusted for the covariates, by weighted least squares.

        On the matched sample this is the bias correction of matching estimators, the matched gap less b'd, with the
        slopes b of the matched units and d the difference that matching left. Slopes of *all* units (as in the first
        edition) extrapolate: with a hinge or an exponential outcome they turned a nearly unbiased matched gap into a
        biased one (docs/coverage.md). Squares of the covariates catch curvature within the matched range; they are
        added where there are ten pairs for each coefficient.
        """
        weight = self.weight(sample)
        design = np.column_stack([self.focal, 1 - self.focal, self._features(sample)])
        k = design.shape[1]
        gram = (design[:, :, None] * design[:, None, :]).reshape(len(design), -1)
        columns = np.column_stack([gram, design * self.y[:, None]]) * weight[:, None]

        def statistic(total: Floats) -> Floats:
            crossed, moment = total[..., : k * k], total[..., k * k :]
            beta = solve(crossed.reshape(*total.shape[:-1], k, k), moment)
            gap: Floats = beta[..., 0] - beta[..., 1]
            return gap

        return columns, statistic

    def _features(self, sample: str) -> Floats:
        """Return the covariates and, with enough pairs, the squares of those that take more than two values."""
        used = self.weight(sample) > 0
        curved = [k for k in range(self.x.shape[1]) if len(np.unique(self.x[used, k])) > 2]
        clusters = self.pairs if sample == "matched" else len(np.unique(self.identity)) / 2
        if clusters < SQUARES_FROM * (2 + self.x.shape[1] + len(curved)):
            return self.x
        scale = self.x[:, curved].std(axis=0)
        z = self.x[:, curved] / np.where(scale > 0, scale, 1.0)
        return np.column_stack([self.x, z**2 - (z**2).mean(axis=0)])

    def matched_statistic(self) -> tuple[Floats, Statistic]:
        """Return columns and statistic of the matched gap: adjusted, where there are covariates."""
        return self.regression("matched") if self.x.shape[1] else (self.sums("matched"), difference)

    def unbalanced(self) -> list[str]:
        """Return the covariates whose standardized mean difference in the matched sample is above 0.1."""
        if not self.x.shape[1] or not self.matched.any():
            return []
        sides = (self.focal == 1, self.focal == 0)
        means = [np.average(self.x[side], axis=0, weights=self.matched[side] + 1e-300) for side in sides]
        variances = [
            np.average((self.x[side] - self.x[side].mean(axis=0)) ** 2, axis=0, weights=self.everyone[side])
            for side in sides
        ]
        scale = np.sqrt(np.mean(variances, axis=0))
        smd = np.where(scale > 0, np.abs(means[0] - means[1]) / np.where(scale > 0, scale, 1.0), 0.0)
        return [name for name, apart in zip(self.names, smd, strict=True) if apart > UNBALANCED]

    def residuals(self) -> RatingArrays:
        """Return the layout with what the balanced covariates do not explain in place of the answers."""
        part = explained(self.y, self.focal, self.balanced, self.everyone, self.linked)
        return self.with_answers(self.y - part)

    def need_both(self, sample: str) -> None:
        """Refuse a sample in which a group has fewer than two identities."""
        weight = self.weight(sample)
        for level, here in ((self.contrast.focal, self.focal == 1), (self.contrast.reference, self.focal == 0)):
            if len(np.unique(self.identity[here & (weight > 0)])) < 2:
                fix = "An interval needs at least two identities in each group."
                raise TableError(f"{self.quantity} ({sample}): too few rated identities of {level!r}", fix=fix)

    def with_answers(self, y: Floats) -> RatingArrays:
        """Return the same layout with other answers."""
        return replace(self, y=y)


def mean_of(column: int) -> Statistic:
    """Return the mean of one group (0 focal, 1 reference) as a function of ``sums``."""
    return lambda total: total[..., 2 + column] / total[..., column]


def difference(total: Floats) -> Floats:
    """Return the gap from weights and weighted answers by group."""
    gap: Floats = total[..., 2] / total[..., 0] - total[..., 3] / total[..., 1]
    return gap


def _matched(answers: pd.DataFrame, pairs: Matches | None) -> tuple[Floats, npt.NDArray[np.str_], int]:
    """Return each rating's weight in the matched sample, the identities of each pair, and the number of focal units."""
    if pairs is None:
        return np.zeros(len(answers)), np.empty((0, 2), dtype=str), 0
    units = answers[unit_column(pairs)]
    rated = complete_pairs(pairs, units)
    whose = answers.assign(key=units).drop_duplicates("key").set_index("key")["identity"]
    ends = np.stack([whose.loc[rated[end]].to_numpy() for end in ("a", "b")], axis=1)
    return match_weights(rated, units), ends, rated["a"].nunique()
