"""agreement: how far raters agree with one another, and with a consensus.

Krippendorff's alpha is 1 - D_observed / D_expected over the table of coincidences: each pair of answers to one unit,
weighted by 1 / (answers to the unit - 1). That table is a sum over units, so leaving out a unit (all units of an
identity) subtracts from it, and the interval is a jackknife. It speaks of these raters and of other units like these.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import numpy.typing as npt
import pandas as pd

from likewise.analyse.consensus import Votes, dawid_skene, majority
from likewise.analyse.resample import Interval, Statistic, covariance, jackknife, totals
from likewise.analyse.rows import remarked, row
from likewise.analyse.shares import share_interval
from likewise.errors import SpecError, TableError, nearest
from likewise.tables import Estimates, Ratings

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]


def agreement(ratings: Ratings, *, question: str, scale: str = "nominal", level: float = 0.95) -> Estimates:
    """Estimate Krippendorff's alpha and the chance that two raters of a unit agree.

    ``scale`` says how far apart two answers are: ``nominal`` (equal or not), ``ordinal`` (by the answers that lie
    between them) or ``interval`` (squared difference).
    """
    if scale not in _APART:
        raise SpecError("scale is 'nominal', 'ordinal' or 'interval'", got=repr(scale), fix=nearest(scale, _APART))
    votes = Votes.of(ratings, question)
    columns, answers = _coincidences(votes)
    if len(columns) < 2:
        raise TableError("two units at least have two answers", got=f"{len(columns)} to {question!r}")
    values, codes = votes.values, np.arange(len(columns))
    write = partial(row, f"agreement: {question}", sample="all", group=scale, level=level, n=answers)
    alpha = jackknife(columns, _alpha(values, scale), [codes], level=level) if _varies(columns, values) else None
    pairs = _pairwise(columns, len(values), level)
    word = pairs[1] if alpha is not None else "all answers equal: no alpha"
    rows = [write("pairwise_agreement", found=pairs[0], method=remarked("Wilson by unit", word))]
    if alpha is not None:
        kept = Interval(alpha.estimate, alpha.low, max(min(alpha.high, 1.0), alpha.estimate), alpha.clusters)
        rows.insert(0, write("alpha", found=kept, method="jackknife by unit"))
    return Estimates.of(rows)


def rater_quality(ratings: Ratings, *, question: str, consensus: str = "dawid_skene", level: float = 0.95) -> Estimates:
    """Estimate how often each rater agrees with the consensus of the *others*, most at odds first.

    The consensus is formed without the rater's own answers (``majority``), or, with ``dawid_skene``, weighs raters
    by how reliable they are. Units without a single winner among the others are left out.
    """
    known: dict[str, Callable[[Votes], pd.DataFrame]] = {"majority": majority, "dawid_skene": dawid_skene}
    if consensus not in known:
        raise SpecError("consensus is 'majority' or 'dawid_skene'", got=repr(consensus), fix=nearest(consensus, known))
    votes = Votes.of(ratings, question)
    if len(votes.raters) < 2:
        raise TableError(f"two raters at least answered {question!r}", got=f"{len(votes.raters)}")
    rows = []
    for rater, name in enumerate(votes.raters):
        own = votes.rater == rater
        label = known[consensus](votes.without(rater)).idxmax(axis=1)
        mine = pd.Series(votes.values[votes.value[own]], index=[votes.units[u] for u in votes.unit[own]])
        both = mine.index.intersection(label.index)
        if not len(both):
            continue
        hits, n = float((mine.loc[both] == label.loc[both]).mean()), len(both)
        low, high, word = share_interval(hits, hits * (1 - hits) / n, n=n, clusters=n, level=level)
        method = remarked(f"{consensus} of the others, Wilson", word)
        found = Interval(hits, low, high, n)
        rows.append(
            row(f"agreement: {question}", "rater_accuracy", "all", name, found, level=level, n=n, method=method)
        )
    return Estimates.of(sorted(rows, key=lambda one: float(str(one["estimate"]))))


def _coincidences(votes: Votes) -> tuple[Floats, int]:
    """Return for each unit with two answers or more its table of coincidences, flat ``[U, K K]``; and the answers."""
    hits = np.zeros((len(votes.value), len(votes.values)))
    hits[np.arange(len(votes.value)), votes.value] = 1
    counts = totals(hits, votes.unit)  # [U, K]
    n = counts.sum(axis=1)
    counts, n = counts[n > 1], n[n > 1]
    tables = counts[:, :, None] * counts[:, None, :] - counts[:, :, None] * np.eye(counts.shape[1])
    return (tables / (n - 1)[:, None, None]).reshape(len(counts), len(votes.values) ** 2), int(n.sum())


def _varies(columns: Floats, values: Floats) -> bool:
    """Whether more than one answer occurs: without, nothing can be expected by chance and alpha does not exist."""
    margins = columns.sum(axis=0).reshape(len(values), -1).sum(axis=1)
    return bool((margins > 0).sum() > 1)


def _alpha(values: Floats, scale: str) -> Statistic:
    def statistic(total: Floats) -> Floats:
        table = total.reshape(*total.shape[:-1], len(values), len(values))
        margins = table.sum(axis=-1)
        apart = _APART[scale](values, margins)
        n = margins.sum(axis=-1)
        expected = margins[..., :, None] * margins[..., None, :] - margins[..., :, None] * np.eye(len(values))
        observed = (table * apart).sum(axis=(-1, -2))
        alpha: Floats = 1 - (n - 1) * observed / (expected * apart).sum(axis=(-1, -2))
        return alpha

    return statistic


def _ordinal(values: Floats, margins: Floats) -> Floats:
    """Squared number of answers from one value to the other, half of those at each end."""
    middle = np.cumsum(margins, axis=-1) - margins / 2
    apart: Floats = np.square(middle[..., :, None] - middle[..., None, :])
    return apart


_APART: dict[str, Callable[[Floats, Floats], Floats]] = {
    "nominal": lambda values, margins: 1 - np.eye(len(values)),
    "ordinal": _ordinal,
    "interval": lambda values, margins: np.square(values[:, None] - values),
}


def _pairwise(columns: Floats, k: int, level: float) -> tuple[Interval, str]:
    """Return the share of agreeing pairs, units with more answers counting more, as in alpha."""
    diagonal = np.arange(k) * (k + 1)
    sums = np.stack([columns[:, diagonal].sum(axis=1), columns.sum(axis=1)], axis=1)
    share = float(sums[:, 0].sum() / sums[:, 1].sum())
    units = np.arange(len(sums))
    variance = float(covariance(sums, lambda t: (t[..., 0] / t[..., 1])[..., None], [units])[0, 0])
    low, high, word = share_interval(share, variance, n=np.inf, clusters=len(sums), level=level)
    return Interval(share, low, high, len(sums)), word
