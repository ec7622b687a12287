"""gaps: what a rater answered about one group less what it answered about the other, before and after matching."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt
import pandas as pd

from likewise.analyse.asked import Asked
from likewise.analyse.bound import answer_weights, linked, of_both
from likewise.analyse.explained import share_gone
from likewise.analyse.resample import Interval, Statistic, covariance, jackknife, solve, welch
from likewise.analyse.rows import remarked, row
from likewise.errors import TableError
from likewise.tables import Contrast, Estimates, Faces, Pairs, Ratings

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]


def gaps(
    ratings: Ratings,
    trials: Pairs | None,
    faces: Faces,
    contrast: Contrast,
    *,
    pairs: Pairs | None = None,
    covariates: Sequence[str] = (),
    panel: str | None = None,
    level: float = 0.95,
) -> Estimates:
    """Estimate each group's mean answer and the gap (focal - reference) on all trials and on the matched ones.

    With ``pairs`` also the share of the crude gap that goes away by matching (``share_gone``): both gaps are of the
    same mean answer to the same kind of trials, their covariance comes from leaving out what pairs bind together, and
    the interval is Fieller's. With ``covariates`` the adjusted gap stands for the matched one there. Of a crude gap of
    exactly 0 no share can go away.

    Ratings are of ``trials``; a trial belongs to the group and the identity of its test image ``a``. Without trials
    they are of the images themselves (a classifier's labels). Without ``panel`` every rater stands for itself (models);
    with it all raters are one panel of that name (people), and intervals allow for both the raters and the identities
    being a sample.

    In 1:k sets the references of a focal image count as one together, so that the matched gap is the mean over sets of
    the focal answer less the mean of its references'.

    Look-alikes are never quite alike, so beside the matched gap stands the *adjusted* one: the matched gap less what
    the remaining differences in ``covariates`` account for, by a regression on all trials (the bias correction of
    matching estimators). Covariates of a trial are the means over its two
    images, and how far apart the two are.
    """
    rows: list[dict[str, object]] = []
    for sheet in sheets(Asked(ratings, trials, faces, contrast, panel), pairs, covariates):
        rows += sheet.rows("all", level)
        if pairs is not None:
            rows += [*sheet.rows("matched", level), *sheet.gone(level)]
    return Estimates.of(rows)


def sheets(asked: Asked, pairs: Pairs | None, covariates: Sequence[str]) -> list[Sheet]:
    """Lay out the answers, quantity by quantity."""
    numbers, panel = asked.covariates(covariates), asked.panel is not None
    return [Sheet.of(name, part, asked.contrast, numbers, pairs, panel) for name, part in asked.by_quantity()]


@dataclass(frozen=True)
class _Wanted:
    """A statistic to be estimated: its columns, and which rows bear on it."""

    stat: str
    group: str
    columns: Floats
    statistic: Statistic
    weight: Floats


@dataclass(frozen=True)
class Sheet:
    """The answers about one quantity, as arrays over rows (one an answer)."""

    quantity: str
    contrast: Contrast
    y: Floats
    focal: Floats
    """1 on the focal side, 0 on the reference side."""
    x: Floats
    """Covariates ``[n, k]``, centred."""
    matched: Floats
    """The weight in the matched sample: every focal trial counts once, however many people saw it, and those of its
    references once together."""
    identity: Codes
    people: pd.Index
    """The identity behind each code."""
    linked: Codes
    """Identities that a pair binds together share a code: leaving out one means leaving out its pair."""
    rater: Codes
    pairs: int
    panel: bool

    @classmethod
    def of(
        cls,
        quantity: str,
        answers: pd.DataFrame,
        contrast: Contrast,
        numbers: pd.DataFrame,
        pairs: Pairs | None,
        panel: bool,
    ) -> Sheet:
        """Lay out the answers; a pair takes part when both its sides were answered."""
        identity, names = pd.factorize(answers["identity"])
        x = numbers.loc[answers["unit"]].to_numpy()
        weights, bound = np.zeros(len(answers)), np.empty((0, 2), dtype=str)
        if pairs is not None:
            there = of_both(pairs, answers["image"])
            weights = answer_weights(there, answers["image"])
            whose = answers.drop_duplicates("image").set_index("image")["identity"]
            bound = np.stack([whose.loc[there["a"]].to_numpy(), whose.loc[there["b"]].to_numpy()], axis=1)
        return cls(
            quantity=quantity,
            contrast=contrast,
            y=answers["value"].to_numpy(),
            focal=(answers["side"] == 1).to_numpy().astype(np.float64),
            x=x - x.mean(axis=0),
            matched=weights,
            identity=identity.astype(np.int64),
            people=names,
            linked=linked(bound, names)[identity],
            rater=pd.factorize(answers["rater"])[0].astype(np.int64),
            pairs=len(np.unique(bound[:, 0])),
            panel=panel,
        )

    def rows(self, sample: str, level: float) -> list[dict[str, object]]:
        """Estimate the two means, the gap and (matched) the adjusted gap."""
        weight = np.ones(len(self.y)) if sample == "all" else self.matched
        self._need_both(sample, weight)
        sides, sums = (self.focal, 1 - self.focal), self._sums(weight)
        wanted = [
            _Wanted("mean", str(self.contrast.focal), sums, _mean(0), weight * sides[0]),
            _Wanted("mean", str(self.contrast.reference), sums, _mean(1), weight * sides[1]),
            _Wanted("gap", self.contrast.label, sums, difference, weight),
        ]
        if sample == "matched" and self.x.shape[1]:
            wanted.append(_Wanted("adjusted_gap", self.contrast.label, *self._adjusted(sums), weight))
        return [self._row(entry, sample, level) for entry in wanted]

    def gone(self, level: float) -> list[dict[str, object]]:
        """Compare the matched (or adjusted) gap with the crude one, each on its own rows, in one go."""
        crude = self._sums(np.ones(len(self.y)))
        columns, alike = self.alike()

        def both(total: Floats) -> Floats:
            return np.stack([alike(total[..., 4:]), difference(total[..., :4])], axis=-1)

        joined = np.column_stack([crude, columns])
        known = both(joined.sum(axis=0))
        if known[1] == 0:
            return []
        clusterings = [self.linked] + ([self.rater] if self.panel else [])
        spread = covariance(joined, both, clusterings)
        clusters = min([self.pairs] + [int(code.max()) + 1 for code in clusterings])
        share, low, high, remark = share_gone(float(known[0]), float(known[1]), spread, clusters=clusters, level=level)
        method = "jackknife by pair" + (" and rater" if self.panel else "") + ", Fieller"
        found, n = Interval(share, low, high, clusters), int((self.matched > 0).sum())
        write = partial(row, self.quantity, "share_gone", "matched", self.contrast.label, found, level=level, n=n)
        return [write(method=remarked(method, remark))]

    def alike(self) -> tuple[Floats, Statistic]:
        """Return the columns and the statistic of the gap between look-alikes: adjusted, where there are covariates."""
        sums = self._sums(self.matched)
        return self._adjusted(sums) if self.x.shape[1] else (sums, difference)

    def _sums(self, weight: Floats) -> Floats:
        """Return the columns whose sums make both means: weights and weighted answers by side."""
        sides = (self.focal, 1 - self.focal)
        return np.stack([weight * side * value for value in (np.ones(len(self.y)), self.y) for side in sides], axis=1)

    def _adjusted(self, sums: Floats) -> tuple[Floats, Statistic]:
        """Return the columns and the statistic: matched gap - b'(matched difference in x), b from all rows."""
        design = np.column_stack([self.focal, 1 - self.focal, self.x])
        k, extra = design.shape[1], self.x.shape[1]
        gram = (design[:, :, None] * design[:, None, :]).reshape(len(design), -1)
        apart = np.column_stack([self.matched[:, None] * f[:, None] * self.x for f in (self.focal, 1 - self.focal)])

        def statistic(total: Floats) -> Floats:
            own, crossed, moment, shift = np.split(total, np.cumsum([4, k * k, k]), axis=-1)
            slope = solve(crossed.reshape(*total.shape[:-1], k, k), moment)[..., 2:]
            away = shift[..., :extra] / own[..., :1] - shift[..., extra:] / own[..., 1:2]
            gap: Floats = difference(own) - (slope * away).sum(axis=-1)
            return gap

        return np.column_stack([sums, gram, design * self.y[:, None], apart]), statistic

    def _row(self, wanted: _Wanted, sample: str, level: float) -> dict[str, object]:
        """Leave out identities, or (for a matched gap) what pairs bind together; for a panel, raters as well."""
        paired = sample == "matched" and wanted.stat != "mean"
        used = wanted.weight > 0
        rows = np.ones(len(used), dtype=bool) if wanted.stat == "adjusted_gap" else used
        clusterings = [self.linked if paired else self.identity] + ([self.rater] if self.panel else [])
        codes = [pd.factorize(cluster[rows])[0].astype(np.int64) for cluster in clusterings]
        clusters = self.pairs if paired else None
        freedom = self._welch(wanted.columns) if sample == "all" and wanted.stat == "gap" else None
        found = jackknife(
            wanted.columns[rows], wanted.statistic, codes, level=level, clusters=clusters, freedom=freedom
        )
        method = f"jackknife by {'pair' if paired else 'identity'}" + (" and rater" if self.panel else "")
        method += ", regression-adjusted" if wanted.stat == "adjusted_gap" else ""
        word = "all answers equal" if np.ptp(self.y[used]) == 0 else ""  # no spread is not the same as no doubt
        return row(
            self.quantity, wanted.stat, sample, wanted.group, found,
            level=level, n=int(used.sum()), method=remarked(method, word),
        )  # fmt: skip

    def _welch(self, sums: Floats) -> float:
        """Return the crude gap's degrees of freedom: few, if one side has few people."""
        return welch(sums, (_mean(0), _mean(1)), (self.focal == 1, self.focal == 0), self.identity)

    def _need_both(self, sample: str, weight: Floats) -> None:
        for level, on_side in (
            (self.contrast.focal, self.focal == 1),
            (self.contrast.reference, self.focal == 0),
        ):
            if len(np.unique(self.identity[on_side & (weight > 0)])) < 2:
                fix = "An interval needs at least two identities on each side."
                raise TableError(
                    f"{self.quantity} ({sample}): both groups were rated",
                    got=f"too few for {level!r}",
                    fix=fix,
                )


def _mean(column: int) -> Statistic:
    return lambda total: total[..., 2 + column] / total[..., column]


def difference(total: Floats) -> Floats:
    """Return the gap from weights and weighted answers by side."""
    gap: Floats = total[..., 2] / total[..., 0] - total[..., 3] / total[..., 1]
    return gap
