"""panel: the share of people who say yes, by kind of unit, when people and units are both samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd

from likewise.analyse.resample import Interval, Statistic, covariance, jackknife
from likewise.analyse.rows import remarked, row
from likewise.analyse.shares import share_interval
from likewise.errors import TableError, some
from likewise.tables import Estimates, Ratings

Floats = npt.NDArray[np.float64]
_BY = "jackknife by unit and rater"


def panel(
    ratings: Ratings,
    kind: Mapping[str, str],
    *,
    question: str,
    compare: tuple[str, str] | None = None,
    sample: str = "all",
    level: float = 0.95,
) -> Estimates:
    """Estimate the share of 1 among the answers (0 or 1) about each kind of unit, and one kind less another.

    An empty answer is no answer: it is left out, never taken for one.
    """
    frame = _answers(ratings, kind, question, compare or ())
    kinds = sorted(frame["kind"].unique())
    y = frame["value"].to_numpy()
    own = [(frame["kind"] == name).to_numpy(dtype=float) for name in kinds]
    columns = np.stack([part for hit in own for part in (hit, hit * y)], axis=1)
    codes = [pd.factorize(frame[name])[0].astype(np.int64) for name in ("unit", "rater")]
    quantity = f"people: {question}"
    rows = []
    for k, name in enumerate(kinds):
        found, word = _share(columns[:, 2 * k : 2 * k + 2], codes, level)
        method, n = remarked(_BY, word), int(own[k].sum())
        rows.append(row(quantity, "share", sample, name, found, level=level, n=n, method=method))
    if compare is not None:
        first, second = (kinds.index(name) for name in compare)
        fewest = min(len(np.unique(code[own[k] > 0])) for code in codes for k in (first, second))
        found = jackknife(columns, _gap(first, second), codes, level=level, clusters=fewest)
        rows.append(row(quantity, "gap", sample, " - ".join(compare), found, level=level, n=len(y), method=_BY))
    return Estimates.of(rows)


def _answers(ratings: Ratings, kind: Mapping[str, str], question: str, compare: Sequence[str]) -> pd.DataFrame:
    """Return the answers to a question about units of some kind."""
    frame = ratings.frame
    frame = frame[(frame["question"] == question) & frame["value"].notna()]
    frame["kind"] = frame["unit"].map(dict(kind))
    frame = frame.dropna(subset=["kind"])
    if not frame["value"].isin([0.0, 1.0]).all():
        raise TableError(f"answers to {question!r} are 0 or 1", got=some(frame["value"].unique()))
    missing = [name for name in compare if name not in set(frame["kind"])]
    if missing or frame.empty:
        got = f"no answers about {some(missing) or 'any'}"
        raise TableError(f"{question!r} was answered about every kind", got=got)
    return frame


def _gap(first: int, second: int) -> Statistic:
    return lambda t: t[..., 2 * first + 1] / t[..., 2 * first] - t[..., 2 * second + 1] / t[..., 2 * second]


def _share(columns: Floats, codes: list[npt.NDArray[np.int64]], level: float) -> tuple[Interval, str]:
    mine = columns[:, 0] > 0
    own = [pd.factorize(code[mine])[0].astype(np.int64) for code in codes]
    clusters = min(int(code.max()) + 1 for code in own)
    share = float(columns[:, 1].sum() / columns[:, 0].sum())
    variance = float(covariance(columns[mine], lambda t: (t[..., 1] / t[..., 0])[..., None], own)[0, 0])
    low, high, word = share_interval(share, variance, n=int(mine.sum()), clusters=clusters, level=level)
    return Interval(share, low, high, clusters), word
