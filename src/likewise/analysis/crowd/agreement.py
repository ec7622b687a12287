"""agreement: how far raters agree with one another, and with a consensus.

Krippendorff's alpha is 1 - D_observed / D_expected over the table of coincidences: each pair of answers to one unit,
weighted by 1 / (answers to the unit - 1). That table is a sum over units, so leaving out all units of an identity
subtracts from it, and the interval is a jackknife over identities. It is about these raters and other identities.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np
import numpy.typing as npt
import pandas as pd

from likewise.analysis.crowd.consensus import Votes, dawid_skene, majority
from likewise.errors import SpecError, TableError, nearest, some
from likewise.stats.dof import cluster_dof
from likewise.stats.intervals import Interval, share_interval
from likewise.stats.jackknife import Statistic, covariance, jackknife, totals
from likewise.tables import Estimates, Images, Ratings, Trials
from likewise.tables.estimates import remarked, row

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]


def unit_identities(images: Images, trials: Trials | None = None) -> dict[str, str]:
    """Return the identity of every unit: of an image its own, of a trial that of its first image.

    Examples
    --------
    >>> import pandas as pd
    >>> unit_identities(Images(pd.DataFrame({"image": ["1", "2"], "identity": ["ann", "ann"]})))
    {'1': 'ann', '2': 'ann'}
    """
    whose = {str(key): str(value) for key, value in images.identities.items()}
    if trials is None:
        return whose
    frame = trials.frame
    return whose | {str(key): whose[a] for key, a in zip(frame["trial"], frame["a"], strict=True) if a in whose}


def agreement(
    ratings: Ratings,
    *,
    question: str,
    scale: str = "nominal",
    identities: Mapping[str, str] | pd.Series | None = None,
    level: float = 0.95,
) -> Estimates:
    """Estimate Krippendorff's alpha and the chance that two raters of a unit agree.

    Parameters
    ----------
    ratings
        Answers; missing ones are left out.
    question
        Which question.
    scale
        How far apart two answers are: ``nominal`` (equal or not), ``ordinal`` (by the answers between them) or
        ``interval`` (squared difference).
    identities
        The identity of each unit (see ``unit_identities``). Images of one person are alike, so their units are left
        out together. Without it every unit is taken for independent, which is right only if every identity has one.
    level
        Confidence level.

    Returns
    -------
    Estimates
        The rows ``alpha`` and ``agreement``, with intervals.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame([(u, r, "same", float(u % 2)) for u in range(6) for r in range(3)])
    >>> table.columns = ["unit", "rater", "question", "value"]
    >>> found = agreement(Ratings(table), question="same")
    >>> found.where(stat="alpha").frame["estimate"].tolist()
    [1.0]
    """
    if scale not in _APART:
        raise SpecError(f"Unknown scale {scale!r} (scales: {some(_APART)})", fix=nearest(scale, _APART))
    votes = Votes.of(ratings, question)
    columns, answers, units = _coincidences(votes)
    if len(columns) < 2:
        fix = "Agreement needs at least two units with two answers each."
        raise TableError(f"Only {len(columns)} units have two answers to {question!r}", fix=fix)
    codes = _clusters([votes.units[k] for k in units], identities)
    if codes.max() == 0:
        raise TableError(f"Only one identity has two answers to {question!r}", fix="An interval needs two.")
    values, by = votes.values, "unit" if identities is None else "identity"
    write = partial(row, f"agreement: {question}", sample="all", group=scale, level=level, n=answers)
    alpha = jackknife(columns, _alpha(values, scale), [codes], level=level) if _varies(columns, values) else None
    pairs = _pairwise(columns, len(values), codes, level)
    word = pairs[1] if alpha is not None else "all answers equal: no alpha"
    rows = [write("pairwise_agreement", found=pairs[0], method=remarked(f"Wilson by {by}", word))]
    if alpha is not None:
        kept = Interval(alpha.estimate, alpha.low, max(min(alpha.high, 1.0), alpha.estimate), alpha.clusters)
        rows.insert(0, write("alpha", found=kept, method=f"jackknife by {by}"))
    return Estimates.of(rows)


def rater_quality(
    ratings: Ratings,
    *,
    question: str,
    consensus: str = "dawid_skene",
    identities: Mapping[str, str] | pd.Series | None = None,
    level: float = 0.95,
) -> Estimates:
    """Estimate how often each rater agrees with the consensus of the *others*, lowest agreement first.

    The consensus is formed without the rater's own answers (``majority``), or, with ``dawid_skene``, weighs raters
    by how reliable they are. Units without a single winner among the others are left out and counted in the remark.
    ``identities`` is as in ``agreement``.
    """
    known: dict[str, Callable[[Votes], pd.DataFrame]] = {"majority": majority, "dawid_skene": dawid_skene}
    if consensus not in known:
        raise SpecError(f"Unknown consensus {consensus!r} (known: {some(known)})", fix=nearest(consensus, known))
    votes = Votes.of(ratings, question)
    if len(votes.raters) < 2:
        raise TableError(f"Only {len(votes.raters)} rater answered {question!r}", fix="Rater quality needs two.")
    rows = []
    for rater, name in enumerate(votes.raters):
        hit, ties = _hits(votes, rater, known[consensus])
        if not len(hit):
            continue
        found, word = _share_of_hits(hit, identities, level)
        word = ", ".join(filter(None, (word, f"{ties} ties left out" if ties else "")))
        method = remarked(f"{consensus} of the others, Wilson", word)
        write = partial(row, f"agreement: {question}", "rater_accuracy", "all", name, level=level)
        rows.append(write(found, n=len(hit), method=method))
    return Estimates.of(sorted(rows, key=lambda one: float(str(one["estimate"]))))


def _hits(votes: Votes, rater: int, consensus: Callable[[Votes], pd.DataFrame]) -> tuple[pd.Series, int]:
    """Return for each unit whether a rater agrees with the consensus of the others, and the number of ties."""
    own, others = votes.rater == rater, votes.without(rater)
    label = _winners(consensus(others)).idxmax(axis=1)
    mine = pd.Series(votes.values[votes.value[own]], index=[votes.units[u] for u in votes.unit[own]])
    both = mine.index.intersection(label.index)
    ties = len(mine.index.intersection(others.units)) - len(both)
    return (mine.loc[both] == label.loc[both]).astype("float64"), ties


def _share_of_hits(
    hit: pd.Series, identities: Mapping[str, str] | pd.Series | None, level: float
) -> tuple[Interval, str]:
    """Return Wilson's interval for the effective number of units; without identities, units are independent."""
    codes, n, share = _clusters(list(hit.index), identities), len(hit), float(hit.mean())
    columns: Floats = np.column_stack([hit, np.ones(n)]).astype(np.float64)
    variance = float(covariance(columns, lambda t: (t[..., 0] / t[..., 1])[..., None], [codes])[0, 0])
    variance = variance if identities is not None else share * (1 - share) / n
    clusters = int(codes.max()) + 1
    dof = cluster_dof([codes])
    low, high, word = share_interval(share, variance, n=n, clusters=clusters, level=level, dof=dof)
    return Interval(share, low, high, clusters), word


def _winners(chances: pd.DataFrame) -> pd.DataFrame:
    """Return the units whose most likely answer is a single one."""
    best = np.sort(chances.to_numpy(), axis=1)
    return chances[best[:, -1] > best[:, -2] + 1e-9] if best.shape[1] > 1 else chances


def _clusters(units: list[str], identities: Mapping[str, str] | pd.Series | None) -> Codes:
    """Return the code of each unit's identity; a unit without one stands for itself."""
    whose = {} if identities is None else dict(identities)  # also of a Series: Images.identities is one
    return pd.factorize(pd.Series([whose.get(unit, unit) for unit in units]))[0].astype(np.int64)


def _coincidences(votes: Votes) -> tuple[Floats, int, Codes]:
    """Return the flat table of coincidences ``[U, K K]`` of each unit with two answers, their number, and the units."""
    hits = np.zeros((len(votes.value), len(votes.values)))
    hits[np.arange(len(votes.value)), votes.value] = 1
    counts = totals(hits, votes.unit)  # [U, K]
    n = counts.sum(axis=1)
    kept = np.flatnonzero(n > 1)
    counts, n = counts[kept], n[kept]
    tables = counts[:, :, None] * counts[:, None, :] - counts[:, :, None] * np.eye(counts.shape[1])
    flat = (tables / (n - 1)[:, None, None]).reshape(len(counts), len(votes.values) ** 2)
    return flat, int(n.sum()), kept.astype(np.int64)


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


def _pairwise(columns: Floats, k: int, codes: Codes, level: float) -> tuple[Interval, str]:
    """Return the share of agreeing pairs, units with more answers counting more, as in alpha."""
    diagonal = np.arange(k) * (k + 1)
    sums = np.stack([columns[:, diagonal].sum(axis=1), columns.sum(axis=1)], axis=1)
    share = float(sums[:, 0].sum() / sums[:, 1].sum())
    variance = float(covariance(sums, lambda t: (t[..., 0] / t[..., 1])[..., None], [codes])[0, 0])
    clusters, dof = int(codes.max()) + 1, cluster_dof([codes], sums[:, 1])
    low, high, word = share_interval(share, variance, n=np.inf, clusters=clusters, level=level, dof=dof)
    return Interval(share, low, high, clusters), word
