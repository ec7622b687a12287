"""paired_changes: two versions of a system that rated the same units.

Every unit is its own control, so what is estimated is the *change* of a unit, clustered by identity, and not two
independent samples.

- Mean ratings (distances, shares of a label): the change of a unit is new - old; group means and their difference have
  jackknife intervals by identity. Where no unit changes, the jackknife has no width; a kind of change that n identities
  do not show may still happen to 1 - (1 - level)^(1 / n) of them (rule of three), which is the least half-width for
  labels.
- FNMR: each version has its own threshold, for the same pooled false match rate of its own impostor trials (or as
  given). Both rates and both thresholds are functions of the same identities, so their influences add up by identity:
  the covariance over both versions is that of the stacked influences (``verification.operating_points``), and the
  change is joined from Wilson's intervals with that correlation (MOVER).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from likewise.analysis.comparison.rows import Change, change_rows, difference
from likewise.analysis.groups.measured import MeanCells
from likewise.analysis.verification.operating_points import Errors
from likewise.analysis.verification.rate_rows import RateRows
from likewise.analysis.verification.trial_table import TrialTable, trial_tables
from likewise.errors import TableError
from likewise.stats.intervals import Interval
from likewise.stats.jackknife import Floats
from likewise.tables import Contrast, Estimates, Images, Ratings, Trials

OLD, NEW = "0 old", "1 new"  # in the order in which tables sort them
_MOVER = "MOVER, clustered by identity"


@dataclass(frozen=True)
class _Moved(MeanCells):
    """Means of changes; those of labels (-1, 0, 1) are never narrower than the rule of three."""

    labels: bool = False

    @property
    def proportion(self) -> bool:
        """A change is no proportion, even if all are 0 or 1."""
        return False

    def interval(self, cells: Sequence[int], level: float) -> tuple[Interval, str]:
        """Return the mean change with its interval."""
        found, word = super().interval(cells, level)
        if not self.labels:
            return found, word
        least = 1 - (1 - level) ** (1 / found.clusters)
        half = max(found.high - found.estimate, least)
        low, high = max(found.estimate - half, -1.0), min(found.estimate + half, 1.0)
        return Interval(found.estimate, low, high, found.clusters), word


def paired_changes(
    old: Ratings,
    new: Ratings,
    trials: Trials | None,
    images: Images,
    contrast: Contrast,
    *,
    rates: Sequence[float] = (0.01,),
    thresholds: Mapping[str, tuple[float, float]] | None = None,
    level: float = 0.95,
) -> Estimates:
    """Estimate how the ratings and error rates of a system changed on the units that both versions rated.

    Parameters
    ----------
    old, new
        Ratings of both versions, under the same rater names.
    trials
        The trials that were rated; None for ratings of images.
    images
        The images, with identities and attributes.
    contrast
        Which groups are compared.
    rates
        Pooled false match rates at which the change of FNMR is estimated, if there are impostor trials.
    thresholds
        Vendor defaults by rater, old and new; the change of FNMR from one to the other is added.
    level
        Confidence level.

    Returns
    -------
    Estimates
        ``old_value``, ``new_value`` and ``change`` (new - old) of each group and of the gap (focal - reference).

    Raises
    ------
    TableError
        If no unit was rated by both.

    Examples
    --------
    >>> from likewise.simulation.system_ratings import CONTRAST, VerificationTrials
    >>> ratings, trials, images, _ = VerificationTrials(60, seed=1).tables()
    >>> better = Ratings(ratings.frame.assign(value=ratings.frame["value"] * 0.9))
    >>> found = paired_changes(ratings, better, trials, images, CONTRAST, rates=[0.05])
    >>> found.where(stat="change", quantity="simulated: FNMR at FMR 0.05").frame["group"].tolist()
    ['female', 'male', 'female - male']
    """
    both = old.frame.merge(new.frame, on=["unit", "rater", "question"], suffixes=("_old", "_new"))
    if both.empty:
        raise TableError("No unit was rated in both audits", fix="Compare them as two data sets.")
    genuine = None if trials is None else trials.genuine()
    rows = [line for found in _means(both, genuine, images, contrast, level) for line in found]
    if trials is not None and genuine is not None and len(genuine) < len(trials):
        for rater, part in both.groupby("rater", sort=True):
            given = (thresholds or {}).get(str(rater))
            rows += _rates(str(rater), part, trials, images, contrast, rates, given, level)
    return Estimates.of(rows)


def _means(
    both: pd.DataFrame, genuine: Trials | None, images: Images, contrast: Contrast, level: float
) -> Iterator[list[dict[str, object]]]:
    """Yield the rows of each quantity's means."""
    first = None if genuine is None else genuine.frame.set_index("trial")["a"]
    image = both["unit"] if first is None else both["unit"].map(first)
    frame = both.assign(side=image.map(contrast.side(images)), identity=image.map(images.identities))
    frame = frame[frame["side"].isin([1, -1])].dropna(subset=["value_old", "value_new", "identity"])
    for (rater, question), part in frame.groupby(["rater", "question"], sort=True):
        people = part.groupby("side")["identity"].nunique()
        if len(people) == 2 and people.min() > 1:
            yield _mean_rows(f"{rater}: {question}", part, contrast, level)


def _mean_rows(quantity: str, part: pd.DataFrame, contrast: Contrast, level: float) -> list[dict[str, object]]:
    cell = (part["side"] == -1).to_numpy().astype(np.int64)
    identity = pd.factorize(part["identity"])[0].astype(np.int64)
    own = np.unique(identity * 2 + cell, return_inverse=True)[1]
    names, size = (str(contrast.focal), str(contrast.reference)), 1.0 / np.bincount(own)[own]
    before = part["value_old"].to_numpy(dtype=np.float64)
    after = part["value_new"].to_numpy(dtype=np.float64)
    plain = [MeanCells(quantity, names, y, cell, size, (identity,)) for y in (before, after)]
    labels = all(sheet.proportion for sheet in plain)
    sheets = [*plain, _Moved(quantity, names, after - before, cell, size, (identity,), labels=labels)]
    changes = [
        Change(name, *(sheet.interval([k], level)[0] for sheet in sheets), n=sheets[0].count([k]))  # type: ignore[arg-type,misc]
        for k, name in enumerate(names)
    ]
    gaps = [
        difference(sheet.interval([0], level)[0], sheet.interval([1], level)[0], sheet.covariance([[0], [1]]))
        for sheet in sheets
    ]
    changes.append(Change(contrast.label, gaps[0], gaps[1], gaps[2], len(part)))
    return change_rows(quantity, "all", changes, level=level, method="paired by unit, jackknife by identity")


def _rates(
    rater: str,
    part: pd.DataFrame,
    trials: Trials,
    images: Images,
    contrast: Contrast,
    rates: Sequence[float],
    given: tuple[float, float] | None,
    level: float,
) -> list[dict[str, object]]:
    """Write the changes of FNMR at every operating point."""
    plain = part.assign(question="distance")[["unit", "question"]]
    stacked = pd.concat([plain.assign(rater=name, value=part[f"value_{name[2:]}"]) for name in (OLD, NEW)])
    tables = trial_tables(Ratings(stacked), trials, images, contrast, None, drop=False)
    rows = []
    for rate in rates:
        limits = [table.impostors.threshold(rate) for table in tables]
        for table in tables:
            table.impostors.need(rate, rater)
        rows += _at(f"{rater}: FNMR at FMR {rate:g}", tables, limits, True, level)
    if given is not None:
        rows += _at(f"{rater}: FNMR at its threshold", tables, list(given), False, level)
    return rows


def _at(
    quantity: str, tables: Sequence[TrialTable], limits: Sequence[float], found: bool, level: float
) -> list[dict[str, object]]:
    errors = [
        table.errors(limit, table.genuine, table.impostors if found else None)
        for table, limit in zip(tables, limits, strict=True)
    ]
    ends = [
        [RateRows(table, quantity, one, level).rate(trials, k)[0] for k, trials in enumerate(table.genuine)]
        for table, one in zip(tables, errors, strict=True)
    ]
    both = _stacked(errors).covariance  # [4, 4]: old focal, old reference, new focal, new reference
    changes = [
        Change(
            name, ends[0][k], ends[1][k], difference(ends[1][k], ends[0][k], both[np.ix_([2 + k, k], [2 + k, k])]), n
        )
        for k, (name, n) in enumerate(zip(tables[0].groups, map(len, tables[0].genuine), strict=True))
    ]
    gaps = [
        difference(focal, reference, both[at : at + 2, at : at + 2])
        for at, (focal, reference) in zip((0, 2), ends, strict=True)
    ]
    apart = np.array([[0.0, 0.0, 1.0, -1.0], [1.0, -1.0, 0.0, 0.0]])  # new gap, old gap
    moved = difference(gaps[1], gaps[0], apart @ both @ apart.T)
    label = tables[0].contrast.label if tables[0].contrast else ""
    changes.append(Change(label, gaps[0], gaps[1], moved, sum(map(len, tables[0].genuine))))
    return change_rows(quantity, "all", changes, level=level, method=f"paired by trial, {_MOVER}")


def _stacked(errors: Sequence[Errors]) -> Errors:
    """Return the error rates of both versions as those of one table; identities have the same codes in both."""

    def side_by_side(name: str) -> Floats:
        return np.concatenate([getattr(one, name) for one in errors], axis=-1)

    joined = {name: side_by_side(name) for name in ("rates", "people", "meetings", "from_threshold", "matched")}
    return replace(errors[0], **joined)  # type: ignore[arg-type]
