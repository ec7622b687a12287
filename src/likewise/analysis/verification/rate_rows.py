"""Rows of one recognizer's error rates at one operating point."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy import stats

from likewise.analysis.gaps.explained_share import explained_share, widened
from likewise.analysis.labels import simultaneous_level
from likewise.analysis.verification.differentials import differentials
from likewise.analysis.verification.operating_points import Errors, TrialSample
from likewise.analysis.verification.shown_rates import FEW_FALSE_MATCHES
from likewise.analysis.verification.trial_table import TrialTable
from likewise.errors import InputError
from likewise.stats.intervals import Interval, bare, newcombe, share_interval, shown_shares
from likewise.tables.estimates import remarked, row

BY = "clustered by identity"


@dataclass(frozen=True)
class RateRows:
    """The rates at one operating point: of every group, then (with pairs) its matched trials, then impostors."""

    table: TrialTable
    quantity: str
    found: Errors
    level: float
    comparisons: int = 1
    """How many gaps (recognizers x operating points) simultaneous intervals allow for."""
    doubt: str = ""
    """A remark on every rate when the threshold rests on so few false matches that its interval is too narrow."""

    def rows(self, rate: float | None) -> list[dict[str, object]]:
        """Write the threshold (set for ``rate``, or given), the rates, and what follows from them."""
        table, k = self.table, len(self.table.groups)
        rows = [self._threshold(rate)]
        for sample, samples, start in (("all", table.genuine, 0), ("matched", table.matched, k)):
            if samples:
                rows += self.errors("fnmr", sample, table.groups, samples, start)
                rows += self._differentials("FNMR", sample, samples, range(start, start + k))
                rows += self._gap(sample, samples, start)
        names, cells = [table.meeting(*key) for key in table.cells], list(table.cells.values())
        start = k + len(table.matched)
        rows += self.errors("fmr", "all", names, cells, start)
        within = [index for index, (g, h) in enumerate(table.cells) if g == h]
        if len(within) == k:
            columns = [start + index for index in within]
            rows += self._differentials("FMR within", "all", [cells[index] for index in within], columns)
            rows += self._fmr_gap("all", [cells[index] for index in within], columns)
        return [*rows, *self._matched_impostors(start + len(cells)), *self._explained()]

    def _matched_impostors(self, start: int) -> list[dict[str, object]]:
        """Write the FMR of matched impostor trials within each group, and its gap."""
        samples = self.table.matched_impostors
        names = [self.table.meeting(g, g) for g in range(len(samples))]
        rows = self.errors("fmr", "matched", names, samples, start)
        return rows + (self._fmr_gap("matched", samples, range(start, start + len(samples))) if samples else [])

    def _fmr_gap(self, sample: str, samples: Sequence[TrialSample], columns: Sequence[int]) -> list[dict[str, object]]:
        """Write the gap of the FMR within the groups: impostors are of one group, as they are harder to tell apart."""
        if self.table.contrast is None:
            return []
        p, q = (self.rate(trials, column)[0] for trials, column in zip(samples, columns, strict=True))
        found = newcombe(p, q, correlation=self.found.correlation(*columns))
        label, n = self.table.contrast.label, sum(map(len, samples))
        return [self._row("fmr_gap", sample, label, found, n, f"{BY}, Newcombe")]

    def errors(
        self,
        stat: str,
        sample: str,
        names: Sequence[str],
        samples: Sequence[TrialSample],
        start: int,
        comparisons: int = 1,
    ) -> list[dict[str, object]]:
        """Write the rate of each sample, whose values begin at ``start``; simultaneous over ``comparisons``."""
        rows, level = [], simultaneous_level(self.level, comparisons)
        for k, (name, trials) in enumerate(zip(names, samples, strict=True)):
            found, word = self.rate(trials, start + k, level)
            many = f"simultaneous over {comparisons} points" if comparisons > 1 else ""
            apart = self.table.impostor_remark if (stat, sample) == ("fmr", "matched") else ""
            kind = BY if self._pinned(trials, start + k) else f"{BY}, Wilson"
            method = remarked(kind, ", ".join(filter(None, (word, self.doubt, many, apart))))
            rows.append(self._row(stat, sample, name, found, len(trials), method))
        return rows

    def rate(self, trials: TrialSample, k: int, level: float | None = None) -> tuple[Interval, str]:
        """Return the k-th rate, of these trials, with its interval, and a remark or nothing."""
        share, variance, level = float(self.found.rates[k]), float(self.found.covariance[k, k]), level or self.level
        effective = trials.effective_identities
        known = max(min(self._known(trials, k), effective - 1), 1.0)
        if self._pinned(trials, k):
            half = float(stats.t.ppf((1 + level) / 2, known)) * variance**0.5
            return Interval(share, max(share - half, 0.0), min(share + half, 1.0), trials.identities), ""
        low, high, word = share_interval(
            share, variance, n=trials.effective_size, clusters=effective, level=level, dof=known
        )
        return Interval(share, low, high, trials.identities), word

    def _pinned(self, trials: TrialSample, k: int) -> bool:
        """Return whether a threshold that was set on the impostors pins this false match rate.

        It then varies less than independent trials would, and less where it is high: it makes up more of the pool.
        Wilson's interval expects the reverse, so the interval is symmetric. With few false matches that cannot be
        relied on.
        """
        enough = float(self.found.rates[k]) * len(trials) >= FEW_FALSE_MATCHES
        return not trials.genuine and enough and float(self.found.from_threshold[k]) > 0

    def _known(self, trials: TrialSample, k: int) -> float:
        """Return the degrees of freedom of the rate's design effect."""
        if trials.genuine:
            return self.found.dof(k)
        if not self._pinned(trials, k):
            return np.inf
        return trials.design_dof(self.found.threshold, len(self.table.linked), self.table.meetings)

    def _threshold(self, rate: float | None) -> dict[str, object]:
        """Write the threshold. Its ends are where the sample would show the rate if it were true (Woodruff 1952)."""
        limit, pool = self.found.threshold, self.table.impostors
        write = partial(self._row, "threshold", "all", "pooled")
        if rate is None:
            return write(bare(limit, self.table.people), len(pool), "given")
        low, high = self._shown(rate, limit)
        if not np.isfinite([limit, pool.threshold(high)]).all():
            fix = "Ask for a lower rate, or use failures='drop'."
            problem = f"{self.quantity}: too many impostor trials are without a distance for a threshold"
            raise InputError(problem, fix=fix)
        if low * len(pool) < 1:  # the true threshold may lie below every distance
            word = ", ".join(filter(None, (self.doubt, "no interval: too few false matches")))
            return write(bare(limit, self.table.people), len(pool), remarked(f"{BY}, Woodruff", word))
        ends = min(pool.threshold(low), limit), max(pool.threshold(high), limit)
        return write(Interval(limit, *ends, self.table.people), len(pool), remarked(f"{BY}, Woodruff", self.doubt))

    def _shown(self, rate: float, limit: float) -> tuple[float, float]:
        """Return between which false match rates the sample lies at the true threshold."""
        table, pool = self.table, self.table.impostors
        known = pool.design_dof(limit, len(table.linked), table.meetings)
        dof = max(min(known, pool.effective_identities - 1), 1.0)
        return shown_shares(rate, table.fmr_variance(limit), n=len(pool), level=self.level, dof=dof)

    def _differentials(
        self, what: str, sample: str, samples: Sequence[TrialSample], columns: Sequence[int]
    ) -> list[dict[str, object]]:
        span = list(columns)
        trials = np.array([each.effective_size for each in samples])
        values, together = self.found.rates[span], self.found.covariance[np.ix_(span, span)]
        clusters = max(int(min(each.effective_identities for each in samples)), 2)
        return [
            self._row(stat, sample, f"{what}, all groups", found, sum(map(len, samples)), remarked(BY, remark))
            for stat, found, remark in differentials(values, together, trials, clusters=clusters, level=self.level)
        ]

    def _gap(self, sample: str, samples: Sequence[TrialSample], start: int) -> list[dict[str, object]]:
        """Write the gap with Newcombe's interval, also one that is simultaneous over all operating points."""
        if self.table.contrast is None:
            return []
        label, n = self.table.contrast.label, sum(len(trials) for trials in samples)
        rows = [self._row("gap", sample, label, self.gap(samples, start), n, f"{BY}, Newcombe")]
        if self.comparisons > 1:
            wide = self.gap(samples, start, simultaneous_level(self.level, self.comparisons))
            method = f"{BY}, Newcombe, simultaneous over {self.comparisons} gaps (Bonferroni)"
            rows.append(self._row("gap_simultaneous", sample, label, wide, n, method))
        return rows

    def gap(self, samples: Sequence[TrialSample], start: int, level: float | None = None) -> Interval:
        """Join the intervals of the two groups, less what they share."""
        p, q = (self.rate(trials, start + k, level)[0] for k, trials in enumerate(samples))
        return newcombe(p, q, correlation=self.found.correlation(start, start + 1))

    def _explained(self) -> list[dict[str, object]]:
        """Write the share of the unmatched gap that matching removes."""
        table = self.table
        if table.contrast is None or not table.matched:
            return []
        apart = np.zeros((2, len(self.found.rates)))
        apart[0, [2, 3]] = apart[1, [0, 1]] = 1, -1
        matched, unmatched = (float(side @ self.found.rates) for side in apart)
        if abs(unmatched) < 1e-12:
            return []
        clusters = min(trials.identities for trials in table.matched)
        dof = max(min(trials.effective_identities for trials in table.matched) - 1, 1.0)
        ends = (self.gap(table.matched, 2), self.gap(table.genuine, 0))
        half = np.array([(found.high - found.low) / 2 for found in ends])
        spread = apart @ self.found.covariance @ apart.T
        spread = widened(spread, half, float(stats.t.ppf((1 + self.level) / 2, dof)))
        share, low, high, remark = explained_share(matched, unmatched, spread, dof=dof, level=self.level)
        found, method = Interval(share, low, high, clusters), remarked(f"{BY}, Fieller", remark)
        n = sum(len(trials) for trials in table.matched)
        return [self._row("explained_share", "matched", table.contrast.label, found, n, method)]

    def _row(self, stat: str, sample: str, group: str, found: Interval, n: int, method: str) -> dict[str, object]:
        estimand = self.table.estimand if sample == "matched" else "unadjusted" if "gap" in stat else ""
        return row(self.quantity, stat, sample, group, found, level=self.level, n=n, method=method, estimand=estimand)
