"""panel: the share of yes by kind of unit, with raters and identities both as samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd

from likewise.errors import TableError, some
from likewise.stats.dof import cluster_dof
from likewise.stats.intervals import Interval, newcombe, share_interval
from likewise.stats.jackknife import Statistic, covariance, jackknife
from likewise.tables import Estimates, Ratings
from likewise.tables.estimates import remarked, row

Floats = npt.NDArray[np.float64]


def panel(
    ratings: Ratings,
    kind: Mapping[str, str],
    *,
    question: str,
    compare: tuple[str, str] | None = None,
    sample: str = "all",
    identities: Mapping[str, str] | pd.Series | None = None,
    level: float = 0.95,
) -> Estimates:
    """Estimate the share of 1 among the answers (0 or 1) about each kind of unit, and the gap between two kinds.

    Parameters
    ----------
    ratings
        Answers of a panel; missing ones are left out.
    kind
        The kind of each unit; units without one are left out.
    question
        Which question.
    compare
        Two kinds whose gap is estimated.
    sample
        How the sample is called in the result.
    identities
        The identity that each unit shows (see ``unit_identities``). Units of one identity are dependent; without it
        every unit is taken for independent, which is right only if every identity has one.
    level
        Confidence level.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame([(u, r, "same", float((u + r) % 3 > 0)) for u in range(12) for r in range(5)])
    >>> table.columns = ["unit", "rater", "question", "value"]
    >>> kinds = {str(u): "even" if u % 2 == 0 else "odd" for u in range(12)}
    >>> panel(Ratings(table), kinds, question="same").frame["group"].tolist()
    ['even', 'odd']
    """
    frame = _answers(ratings, kind, question, compare or ())
    kinds = sorted(frame["kind"].unique())
    y = frame["value"].to_numpy()
    own = [(frame["kind"] == name).to_numpy(dtype=float) for name in kinds]
    columns = np.stack([part for hit in own for part in (hit, hit * y)], axis=1)
    about = frame["unit"] if identities is None else frame["unit"].map(dict(identities)).fillna(frame["unit"])
    codes = [pd.factorize(names)[0].astype(np.int64) for names in (about, frame["rater"])]
    by = f"jackknife by {'unit' if identities is None else 'identity'} and rater"
    quantity = f"people: {question}"
    rows = []
    shares = [_share(columns[:, 2 * k : 2 * k + 2], codes, level) for k in range(len(kinds))]
    for k, (name, (found, word)) in enumerate(zip(kinds, shares, strict=True)):
        method, n = remarked(by, word), int(own[k].sum())
        rows.append(row(quantity, "share", sample, name, found, level=level, n=n, method=method))
    if compare is not None:
        first, second = (kinds.index(name) for name in compare)
        fewest = min(len(np.unique(code[own[k] > 0])) for code in codes for k in (first, second))
        found, method = jackknife(columns, _gap(first, second), codes, level=level, clusters=fewest), by
        if shares[first][1] or shares[second][1]:  # a jackknife of rare answers has hardly any width
            wide = newcombe(shares[first][0], shares[second][0])
            ends = max(min(found.low, wide.low), -1.0), min(max(found.high, wide.high), 1.0)
            found, method = Interval(found.estimate, *ends, found.clusters), f"{by}, Newcombe; rare"
        rows.append(row(quantity, "gap", sample, " - ".join(compare), found, level=level, n=len(y), method=method))
    return Estimates.of(rows)


def _answers(ratings: Ratings, kind: Mapping[str, str], question: str, compare: Sequence[str]) -> pd.DataFrame:
    """Return the answers to a question about units of some kind."""
    frame = ratings.frame
    frame = frame[(frame["question"] == question) & frame["value"].notna()]
    frame["kind"] = frame["unit"].map(dict(kind))
    frame = frame.dropna(subset=["kind"])
    if not frame["value"].isin([0.0, 1.0]).all():
        raise TableError(
            f"Answers to {question!r} other than 0 and 1: {some(frame['value'].unique())}", fix="Use scales."
        )
    missing = [name for name in compare if name not in set(frame["kind"])]
    if missing or frame.empty:
        raise TableError(
            f"No answers to {question!r} about {some(missing) or 'any of these units'}",
            fix="Check the question's name and the units of the responses.",
        )
    return frame


def _gap(first: int, second: int) -> Statistic:
    return lambda t: t[..., 2 * first + 1] / t[..., 2 * first] - t[..., 2 * second + 1] / t[..., 2 * second]


def _share(columns: Floats, codes: list[npt.NDArray[np.int64]], level: float) -> tuple[Interval, str]:
    mine = columns[:, 0] > 0
    own = [pd.factorize(code[mine])[0].astype(np.int64) for code in codes]
    clusters = min(int(code.max()) + 1 for code in own)
    share = float(columns[:, 1].sum() / columns[:, 0].sum())
    variance = float(covariance(columns[mine], lambda t: (t[..., 1] / t[..., 0])[..., None], own)[0, 0])
    low, high, word = share_interval(
        share, variance, n=int(mine.sum()), clusters=clusters, level=level, dof=cluster_dof(own)
    )
    return Interval(share, low, high, clusters), word
