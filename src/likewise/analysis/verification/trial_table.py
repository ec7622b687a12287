"""The trials of one recognizer, laid out for counting: genuine ones by group, impostors by the groups that meet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations_with_replacement
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from likewise.analysis.gaps.pair_weights import complete_pairs, identity_weights, linked, match_weights, unit_column
from likewise.analysis.verification.operating_points import Codes, Errors, Floats, TrialSample, errors_at
from likewise.errors import TableError, some
from likewise.tables import Contrast, Images, Matches, Ratings, Trials
from likewise.tables.checks import among

Bools = npt.NDArray[np.bool_]
Weighting = Literal["identity", "trial"]


def trial_tables(
    ratings: Ratings,
    trials: Trials,
    images: Images,
    by: Contrast | str,
    pairs: Matches | None,
    *,
    drop: bool,
    weighting: Weighting = "identity",
    impostor_pairs: Matches | None = None,
) -> list[TrialTable]:
    """Lay out the trials of every recognizer; ``drop`` leaves out those without a distance."""
    ratings.check_units(trials.frame["trial"])
    trials.check_images(images)
    frame = trials.frame
    group = images.attribute(by.column if isinstance(by, Contrast) else by)
    if isinstance(by, Contrast):
        side = by.side(images)
        group = pd.Series(np.where(side == 1, str(by.focal), str(by.reference)), index=side.index).where(side != 0)
    for end in ("a", "b"):
        frame[f"group_{end}"] = frame[end].map(group)
        frame[f"identity_{end}"] = frame[end].map(images.identities)
    _check_same(frame)
    frame = frame.dropna(subset=["group_a", "group_b"])
    found = []
    for (rater, question), part in ratings.frame.groupby(["rater", "question"], sort=True):
        sheet = frame.merge(part[["unit", "value"]], left_on="trial", right_on="unit")
        contrast = by if isinstance(by, Contrast) else None
        options = _Options(drop=drop, weighting=weighting, impostor_pairs=impostor_pairs)
        found.append(TrialTable.of(str(rater), str(question), sheet, contrast, pairs, options))
    return found


def _check_same(frame: pd.DataFrame) -> None:
    wrong = frame["same"].astype(bool) != (frame["identity_a"] == frame["identity_b"])
    if wrong.any():
        fix = "'same' is true where both images show one identity, and false elsewhere."
        raise TableError(f"Column 'same' contradicts the identities in {some(frame.loc[wrong, 'trial'])}", fix=fix)


@dataclass(frozen=True)
class _Options:
    drop: bool
    weighting: Weighting
    impostor_pairs: Matches | None = None


@dataclass(frozen=True)
class _Layout:
    """The trials of one recognizer as arrays over rows."""

    left: Codes
    right: Codes
    sides: Codes
    """The group of each end, ``[2, n]``."""
    same: Bools
    first: Bools
    """Whether a row is the first of its two images: a genuine pair that was tried in both directions counts once."""
    distance: Floats
    failed: Bools
    kept: Bools
    dyad: Codes
    matched: Floats
    """The weight of a genuine trial in the matched sample, as in ``gaps``."""
    linked: Codes
    """Identities that a matched pair links share a code, ``[I]``."""

    @classmethod
    def of(cls, sheet: pd.DataFrame, groups: list[str], pairs: Matches | None, *, drop: bool) -> _Layout:
        """Code identities, groups and meetings; ``drop`` leaves out trials without a distance."""
        code, names = pd.factorize(np.r_[sheet["identity_a"], sheet["identity_b"]], sort=True)
        left, right = np.split(code.astype(np.int64), 2)
        sides = [pd.Index(groups).get_indexer(pd.Index(sheet[f"group_{end}"].astype(str))) for end in ("a", "b")]
        same, value = sheet["same"].to_numpy(dtype=bool), sheet["value"].to_numpy()
        failed = np.isnan(value)
        dyad = np.full(len(left), -1, dtype=np.int64)
        dyad[~same] = pd.factorize((np.minimum(left, right) * len(names) + np.maximum(left, right))[~same])[0]
        distance = np.where(failed, np.inf, value)
        kept = ~failed if drop else np.ones(len(value), dtype=bool)
        ends = np.sort(sheet[["a", "b"]].to_numpy(dtype=str), axis=1)
        first = ~pd.DataFrame(ends).duplicated().to_numpy()
        matched, together = _matched(sheet, same & kept, pairs, pd.Index(names))
        return cls(left, right, np.stack(sides), same, first, distance, failed, kept, dyad, matched, together)

    def impostors(self, rows: Bools) -> TrialSample:
        """Take some of the impostor trials, each of weight 1."""
        return self._take(rows & self.kept, None)

    def matched_impostors(self, rows: Bools, trials: pd.Series, pairs: Matches) -> TrialSample | None:
        """Take the impostor trials of complete pairs, each of weight 1; None where there are none.

        Identities recur in many of them and link all pairs with one another, so that they are clustered by identity
        like all impostor trials, and not by pair: what partners share makes the gap's interval wider than need be.
        """
        rated = complete_pairs(pairs, trials[self.kept & ~self.same])
        rows = rows & self.kept & among(trials, pd.concat([rated["a"], rated["b"]])).to_numpy()
        return self._take(rows, None) if rows.any() else None

    def genuine(self, rows: Bools, weighting: Weighting) -> TrialSample:
        """Take some of the genuine trials: every identity weighs 1, or every trial does."""
        rows = rows & self.kept & self.first
        weight = identity_weights(self.left[rows], np.ones(int(rows.sum()))) if weighting == "identity" else None
        return self._take(rows, weight)

    def matched_sample(self, rows: Bools) -> TrialSample:
        """Take those of the trials that are matched, each with its weight."""
        rows = rows & (self.matched > 0)
        return self._take(rows, self.matched[rows], matched=True)

    def _take(self, rows: Bools, weight: Floats | None, *, matched: bool = False) -> TrialSample:
        own = (self.distance[rows], self.left[rows], self.right[rows], self.dyad[rows])
        return TrialSample.of(*own, weight, matched=matched)

    def strata(self, groups: int) -> list[Codes]:
        """Return the identities of each group."""
        home = np.zeros(int(max(self.left.max(), self.right.max())) + 1, dtype=np.int64)
        home[self.left], home[self.right] = self.sides
        return [np.flatnonzero(home == g) for g in range(groups)]


def _matched(sheet: pd.DataFrame, asked: Bools, pairs: Matches | None, names: pd.Index) -> tuple[Floats, Codes]:
    """Return the weight of each trial in the matched sample, and the cluster that pairs link each identity into."""
    weights = np.zeros(len(sheet))
    if pairs is None:
        return weights, np.arange(len(names))
    tried = sheet[asked]
    units = tried["trial" if unit_column(pairs) == "unit" else "a"]
    rated = complete_pairs(pairs, units)
    weights[asked] = match_weights(rated, units)
    whose = tried.assign(key=units).drop_duplicates("key").set_index("key")["identity_a"]
    ends = np.stack([whose.loc[rated[end]].to_numpy() for end in ("a", "b")], axis=1)
    return weights, linked(ends, names)


def _of_impostors(
    laid: _Layout, trials: pd.Series, cells: dict[tuple[int, int], Bools], pairs: Matches | None
) -> dict[str, Any]:
    """Return the matched impostor trials within each group, where every group has some."""
    if pairs is None or not len(pairs):
        return {}
    found = [laid.matched_impostors(rows, trials, pairs) for (g, h), rows in cells.items() if g == h]
    if any(sample is None for sample in found):
        return {}
    remark = "impostors not balanced" if pairs.note.startswith("Not balanced") else ""
    return {"matched_impostors": found, "impostor_remark": remark}


@dataclass(frozen=True)
class TrialTable:
    """One recognizer's trials, by group, kind and distance."""

    rater: str
    question: str
    contrast: Contrast | None
    groups: list[str]
    strata: list[Codes]
    """Identities of each group."""
    genuine: list[TrialSample]
    matched: list[TrialSample]
    """Matched genuine trials, by group; empty without pairs."""
    linked: Codes
    """Identities that a matched pair links share a code, ``[I]``."""
    impostors: TrialSample
    cells: dict[tuple[int, int], TrialSample]
    """Impostor trials by the two groups that meet."""
    meetings: int
    failed: list[tuple[Bools, Codes]]
    """By group: whether each genuine trial has no distance, and whose it is."""
    estimand: str
    matched_impostors: list[TrialSample] = field(default_factory=list)
    """Matched impostor trials within each group; empty without pairs of them."""
    impostor_remark: str = ""
    """A remark on matched impostor trials that are not balanced."""

    @classmethod
    def of(
        cls,
        rater: str,
        question: str,
        sheet: pd.DataFrame,
        contrast: Contrast | None,
        pairs: Matches | None,
        options: _Options,
    ) -> TrialTable:
        """Lay out the trials of one recognizer."""
        groups = (
            [str(contrast.focal), str(contrast.reference)] if contrast else sorted(map(str, sheet["group_a"].unique()))
        )
        laid = _Layout.of(sheet, groups, pairs, drop=options.drop)
        mine, where = [laid.same & (laid.sides[0] == g) for g in range(len(groups))], np.sort(laid.sides, axis=0)
        cells = {
            (g, h): ~laid.same & (where[0] == g) & (where[1] == h)
            for g, h in combinations_with_replacement(range(len(groups)), 2)
        }
        table = cls(
            rater=rater,
            question=question,
            contrast=contrast,
            groups=groups,
            strata=laid.strata(len(groups)),
            genuine=[laid.genuine(rows, options.weighting) for rows in mine],
            matched=[laid.matched_sample(rows) for rows in mine] if laid.matched.any() else [],
            linked=laid.linked,
            impostors=laid.impostors(~laid.same),
            cells={key: laid.impostors(rows) for key, rows in cells.items() if (rows & laid.kept).any()},
            meetings=int(laid.dyad.max()) + 1,
            failed=[(laid.failed[rows & laid.first], laid.left[rows & laid.first]) for rows in mine],
            estimand=(getattr(pairs, "estimand", "") or "ATM") if pairs is not None else "",
            **_of_impostors(laid, sheet["trial"], cells, options.impostor_pairs),
        )
        table.check()
        return table

    def check(self) -> None:
        """Refuse groups with genuine trials of fewer than two identities, and trials without impostors."""
        few = [g for g, a in zip(self.groups, self.genuine, strict=True) if len(np.unique(a.left)) < 2]
        few += [g for g, a in zip(self.groups, self.matched, strict=False) if len(np.unique(a.left)) < 2]
        if few or len(self.groups) < 2:
            fix = "An interval needs genuine trials of at least two identities in each of two groups."
            raise TableError(f"{self.quantity}: too few genuine trials for {some(few or self.groups)}", fix=fix)
        if not len(self.impostors):
            raise TableError(f"{self.quantity}: no impostor trials", fix="Add trials whose 'same' is false.")

    def errors(self, threshold: float, samples: Sequence[TrialSample], pool: TrialSample | None) -> Errors:
        """Measure some samples at a threshold, which was set on the pool unless there is none."""
        smallest = min(len(stratum) for stratum in self.strata)
        return errors_at(samples, threshold, linked=self.linked, meetings=self.meetings, smallest=smallest, pool=pool)

    def fmr_variance(self, threshold: float) -> float:
        """Return the variance of the pooled false match rate at a given threshold."""
        return float(self.errors(threshold, [self.impostors], None).covariance[0, 0])

    def meeting(self, g: int, h: int) -> str:
        """Name two groups that meet in impostor trials."""
        return f"within {self.groups[g]}" if g == h else f"{self.groups[g]} x {self.groups[h]}"

    @property
    def samples(self) -> list[TrialSample]:
        """All samples with an error rate: genuine and matched by group, impostors by meeting, matched impostors."""
        return [*self.genuine, *self.matched, *self.cells.values(), *self.matched_impostors]

    @property
    def genuine_distances(self) -> Floats:
        """The distances of all genuine trials."""
        return np.concatenate([sample.distance for sample in self.genuine])

    @property
    def quantity(self) -> str:
        """What was measured, as estimates call it."""
        return f"{self.rater}: {self.question}"

    @property
    def people(self) -> int:
        """Number of identities."""
        return sum(len(stratum) for stratum in self.strata)
