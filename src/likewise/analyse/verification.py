"""verification: error rates of recognisers by group, at thresholds that practitioners use.

Trials are Pairs with ``same`` (genuine or impostor) and ratings of them are distances. Every recogniser has its own
threshold, set on all its impostor trials for a pooled false match rate; groups then differ in what it does to them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from likewise.analyse.board import Board, boards
from likewise.analyse.differentials import differentials
from likewise.analyse.explained import share_gone
from likewise.analyse.operating import Arm, Errors
from likewise.analyse.resample import Interval, covariance
from likewise.analyse.rows import bare, remarked, row
from likewise.analyse.shares import share_interval
from likewise.errors import InputError, SpecError, some
from likewise.tables import Contrast, Estimates, Faces, Pairs, Ratings

RATES = (1e-2, 1e-3, 1e-4)
FEW_FALSE_MATCHES = 10  # docs/coverage.md: with 4 of them a 95 % interval of FNMR holds in about nine of ten cases
_BY = "clustered by identity"


def verification(
    ratings: Ratings,
    trials: Pairs,
    faces: Faces,
    by: Contrast | str,
    *,
    pairs: Pairs | None = None,
    rates: Sequence[float] = RATES,
    thresholds: Mapping[str, float] | None = None,
    failures: str = "errors",
    level: float = 0.95,
) -> Estimates:
    """Estimate false non-match rates by group at pooled false match rates, and false match rates within and across.

    ``by`` is a column of Faces, or a Contrast (then the gap, focal - reference, is estimated too). With ``pairs`` the
    same rates stand beside for the genuine trials of matched images, at the same thresholds, and the share of the
    crude gap that goes away. ``thresholds`` names, by rater, the thresholds that recognisers are shipped with; error
    rates at them stand beside those at the pooled rates. A trial without a distance counts as a rejection
    (``failures="errors"``), or is left out (``"drop"``); its share by group is reported either way.

    A rate's variance counts trials that share an identity as dependent, and the threshold as found on the impostors
    (``operating``). It tells how many independent trials the rate is worth, and Wilson's interval is for that many.
    Rates of zero get the rule of three, counted in identities.
    """
    if failures not in ("errors", "drop"):
        raise SpecError("failures is 'errors' or 'drop'", got=repr(failures))
    rows: list[dict[str, object]] = []
    laid_out = boards(ratings, trials, faces, by, pairs, drop=failures == "drop")
    strangers = set(thresholds or {}) - {board.rater for board in laid_out}
    if strangers:
        raise SpecError("thresholds belong to raters of these ratings", got=some(sorted(strangers)))
    for board in laid_out:
        rows += [*_failures(board, level), *_at_rates(board, rates, level)]
        own = (thresholds or {}).get(board.rater)
        if own is not None:
            found = board.errors(own, board.arms, None)
            rows += _Rates(board, f"{board.quantity} at its threshold {own:g}", found, level).rows(None)
    return Estimates.of(rows)


def det(
    ratings: Ratings,
    trials: Pairs,
    faces: Faces,
    by: Contrast | str,
    *,
    points: int = 9,
    level: float = 0.95,
) -> Estimates:
    """Estimate each group's DET curve: its false non-match rate at its *own* false match rate, from 1/2 down.

    The lowest rate shown is the one that ten impostor trials within the group still carry. Bands are pointwise. The
    ROC is the same curve seen as 1 - estimate.
    """
    rows: list[dict[str, object]] = []
    for board in boards(ratings, trials, faces, by, None, drop=False):
        for group, name in enumerate(board.groups):
            own = board.cells.get((group, group))
            if own is None or len(own) < 40:
                got = f"{0 if own is None else len(own)} for {name!r}"
                raise InputError("a DET curve needs 40 impostor trials within the group", got=got)
            for rate in np.geomspace(0.5, 10 / len(own), points):
                found = board.errors(own.threshold(float(rate)), [board.genuine[group]], own)
                table = _Rates(board, f"{board.quantity} at own FMR {rate:.3g}", found, level)
                rows += table.errors("det", "all", [name], [board.genuine[group]], 0)
    return Estimates.of(rows)


def _at_rates(board: Board, rates: Sequence[float], level: float) -> list[dict[str, object]]:
    """Write the error rates at thresholds that are found for pooled false match rates."""
    rows = []
    for rate in rates:
        board.impostors.need(rate, board.quantity)
        limit, let_in = board.impostors.threshold(rate), int(rate * len(board.impostors) + 1e-9)
        doubt = f"the threshold rests on {let_in} false matches" if let_in < FEW_FALSE_MATCHES else ""
        found = board.errors(limit, board.arms, board.impostors)
        rows += _Rates(board, f"{board.quantity} at FMR {rate:g}", found, level, doubt).rows(rate)
    return rows


def _failures(board: Board, level: float) -> list[dict[str, object]]:
    """Report the share of genuine trials without a distance."""
    rows = []
    for name, (failed, person) in zip(board.groups, board.failed, strict=True):
        codes = np.unique(person, return_inverse=True)[1].astype(np.int64)
        columns = np.column_stack([failed, np.ones(len(failed))]).astype(np.float64)
        share, clusters = float(failed.mean()), int(codes.max()) + 1
        variance = float(covariance(columns, lambda s: (s[..., 0] / s[..., 1])[..., None], [codes])[0, 0])
        low, high, word = share_interval(share, variance, n=len(failed), clusters=clusters, level=level)
        found, method = Interval(share, low, high, clusters), remarked(f"{_BY}, Wilson", word)
        rows.append(
            row(board.quantity, "enrolment_failure", "all", name, found, level=level, n=len(failed), method=method)
        )
    return rows


@dataclass(frozen=True)
class _Rates:
    """The rates at one operating point: of every group, then (with pairs) its matched trials, then impostors."""

    board: Board
    quantity: str
    found: Errors
    level: float
    doubt: str = ""
    """Said of every rate when the threshold rests on so few false matches that its interval is too narrow."""

    def rows(self, rate: float | None) -> list[dict[str, object]]:
        """Write the threshold (found for ``rate``, or given), the rates, and what follows from them."""
        board, k = self.board, len(self.board.groups)
        rows = [self._threshold(rate)]
        for sample, arms, start in (("all", board.genuine, 0), ("matched", board.matched, k)):
            if arms:
                rows += self.errors("fnmr", sample, board.groups, arms, start)
                rows += self._differentials("FNMR", sample, arms, range(start, start + k))
                rows += self._gap(sample, arms, start)
        names, cells, start = (
            [board.meeting(*key) for key in board.cells],
            list(board.cells.values()),
            k + len(board.matched),
        )
        rows += self.errors("fmr", "all", names, cells, start)
        within = [index for index, (g, h) in enumerate(board.cells) if g == h]
        if len(within) == k:
            columns = [start + index for index in within]
            rows += self._differentials("FMR within", "all", [cells[index] for index in within], columns)
        return rows + self._gone()

    def errors(
        self, stat: str, sample: str, names: Sequence[str], arms: Sequence[Arm], start: int
    ) -> list[dict[str, object]]:
        """Write the rate of each arm, whose values begin at ``start``."""
        rows = []
        for k, (name, arm) in enumerate(zip(names, arms, strict=True)):
            found, word = self._rate(arm, start + k)
            method = remarked(f"{_BY}, Wilson", ", ".join(filter(None, (word, self.doubt))))
            rows.append(self._row(stat, sample, name, found, len(arm), method))
        return rows

    def _rate(self, arm: Arm, k: int) -> tuple[Interval, str]:
        share, clusters, variance = float(self.found.rates[k]), arm.people, float(self.found.covariance[k, k])
        # A threshold set on the impostors pins their rate, so that it may vary less than independent trials would;
        # with hardly any false match that is not something to count on.
        pinned = not arm.genuine and share * len(arm) >= FEW_FALSE_MATCHES
        most = np.inf if pinned else arm.worth
        known = min(self.found.freedom(k), clusters - 1) if arm.genuine else clusters - 1
        low, high, word = share_interval(share, variance, n=most, clusters=clusters, level=self.level, freedom=known)
        return Interval(share, low, high, clusters), word

    def _threshold(self, rate: float | None) -> dict[str, object]:
        """Write the threshold; one that was found ends where the false match rate's interval does (Woodruff 1952)."""
        limit, pool, write = (
            self.found.threshold,
            self.board.impostors,
            partial(self._row, "threshold", "all", "pooled"),
        )
        if rate is None:
            return write(bare(limit, self.board.people), len(pool), "given")
        lenient = share_interval(
            rate, self.board.fmr_variance(limit), n=len(pool), clusters=self.board.people, level=self.level
        )[:2]
        low, high = (pool.threshold(end) for end in lenient)
        if not np.isfinite([limit, high]).all():
            fix = "Too many impostor trials are without a distance; ask for a lower rate or drop them."
            raise InputError(f"{self.quantity}: the threshold is reached", got="one beyond all distances", fix=fix)
        found = Interval(limit, min(low, limit), max(high, limit), self.board.people)
        return write(found, len(pool), remarked(f"{_BY}, Woodruff", self.doubt))

    def _differentials(
        self, what: str, sample: str, arms: Sequence[Arm], columns: Sequence[int]
    ) -> list[dict[str, object]]:
        span = list(columns)
        trials = np.array([arm.worth for arm in arms])
        values, together = self.found.rates[span], self.found.covariance[np.ix_(span, span)]
        clusters = min(arm.people for arm in arms)
        return [
            self._row(stat, sample, f"{what}, all groups", found, sum(map(len, arms)), remarked(_BY, remark))
            for stat, found, remark in differentials(values, together, trials, clusters=clusters, level=self.level)
        ]

    def _gap(self, sample: str, arms: Sequence[Arm], start: int) -> list[dict[str, object]]:
        """Join the two groups' intervals into one of their difference (Newcombe), less what they share."""
        if self.board.contrast is None:
            return []
        p, q = (self._rate(arm, start + k)[0] for k, arm in enumerate(arms))
        shared = 2 * self.found.correlation(start, start + 1)
        gap = p.estimate - q.estimate
        below = _joined(p.estimate - p.low, q.high - q.estimate, shared)
        above = _joined(p.high - p.estimate, q.estimate - q.low, shared)
        found = Interval(gap, gap - below, gap + above, min(p.clusters, q.clusters))
        n = sum(len(arm) for arm in arms)
        return [self._row("gap", sample, self.board.contrast.label, found, n, f"{_BY}, Newcombe")]

    def _gone(self) -> list[dict[str, object]]:
        if self.board.contrast is None or not self.board.matched:
            return []
        apart = np.zeros((2, len(self.found.rates)))
        apart[0, [2, 3]] = apart[1, [0, 1]] = 1, -1
        alike, crude = (float(side @ self.found.rates) for side in apart)
        if crude == 0:
            return []
        clusters, spread = min(arm.people for arm in self.board.matched), apart @ self.found.covariance @ apart.T
        share, low, high, remark = share_gone(alike, crude, spread, clusters=clusters, level=self.level)
        found, method = Interval(share, low, high, clusters), remarked(f"{_BY}, Fieller", remark)
        n = sum(len(arm) for arm in self.board.matched)
        return [self._row("share_gone", "matched", self.board.contrast.label, found, n, method)]

    def _row(self, stat: str, sample: str, group: str, found: Interval, n: int, method: str) -> dict[str, object]:
        return row(self.quantity, stat, sample, group, found, level=self.level, n=n, method=method)


def _joined(one: float, other: float, shared: float) -> float:
    return float(np.sqrt(max(one**2 + other**2 - shared * one * other, 0.0)))
