"""error_rates and det: error rates of recognizers by group, at thresholds that practitioners use.

Every recognizer has its own threshold, set on all its impostor trials for a pooled false match rate (FMR). Groups then
differ in their false non-match rate (FNMR) at it, and in the FMR within and across groups.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, get_args

import numpy as np

from likewise.analysis.verification.orientation import check_orientation
from likewise.analysis.verification.rate_rows import BY, RateRows
from likewise.analysis.verification.shown_rates import FEW_FALSE_MATCHES, RATES
from likewise.analysis.verification.trial_table import TrialTable, Weighting, trial_tables
from likewise.errors import InputError, SpecError, nearest, some
from likewise.stats.dof import cluster_dof
from likewise.stats.intervals import Interval, share_interval
from likewise.stats.jackknife import covariance
from likewise.tables import Contrast, Estimates, Images, Matches, Ratings, Trials
from likewise.tables.estimates import remarked, row

Failures = Literal["errors", "drop"]
_DET_IMPOSTORS = 40  # impostor trials within a group that a DET curve needs


def error_rates(
    ratings: Ratings,
    trials: Trials,
    images: Images,
    by: Contrast | str,
    *,
    pairs: Matches | None = None,
    impostor_pairs: Matches | None = None,
    rates: Sequence[float] = RATES,
    thresholds: Mapping[str, float] | None = None,
    failures: Failures = "errors",
    weighting: Weighting = "identity",
    level: float = 0.95,
) -> Estimates:
    """Estimate FNMR by group at pooled false match rates, and FMR within and across groups.

    Parameters
    ----------
    ratings
        Distances of the trials, one recognizer a rater.
    trials
        Genuine and impostor trials.
    images
        The images, with identities and attributes.
    by
        A column of ``images``, or a Contrast: then the gap (focal - reference) is estimated, too.
    pairs
        Matched pairs (of images or of trials). The same rates are then estimated for matched genuine trials, at the
        same thresholds, with the share of the unmatched gap that matching removes.
    impostor_pairs
        Matched pairs of impostor trials (``match`` with ``units=trials.impostors()``). The FMR within each group is
        then estimated for these, too, at the same thresholds.
    rates
        Pooled false match rates (see ``supported_rates``).
    thresholds
        Vendor defaults by rater; the rates at them are added.
    failures
        A trial without a distance is a rejection (``errors``) or left out (``drop``). Its share by group is reported
        either way.
    weighting
        ``identity``: every identity weighs 1, as it does in matching, so that unmatched and matched rates have one
        estimand. ``trial``: every genuine trial weighs 1 (ISO/IEC 19795 counts trials).
    level
        Confidence level.

    Returns
    -------
    Estimates
        Rows ``threshold``, ``fnmr``, ``gap``, ``gap_simultaneous`` (over all recognizers and operating points, when
        there are several), ``explained_share``, ``fmr``, ``fmr_gap``, ``enrolment_failure``, ``max_min``,
        ``max_geometric_mean`` and ``gini``.

    Raises
    ------
    InputError
        If genuine trials lie farther apart than impostors: the scores are similarities.

    Notes
    -----
    The variance of a rate counts trials that share an identity as dependent, and the threshold as estimated on the
    impostors (``operating_points``). It gives an effective sample size for Wilson's interval. Rates of zero get the
    rule of three, counted in identities. A genuine pair of images counts once, also if it was tried in both directions.

    Examples
    --------
    >>> from likewise.simulation.system_ratings import CONTRAST, VerificationTrials
    >>> ratings, trials, images, pairs = VerificationTrials(60, seed=1).tables()
    >>> found = error_rates(ratings, trials, images, CONTRAST, pairs=pairs, rates=[0.05])
    >>> found.where(stat="fnmr", sample="matched").frame["group"].tolist()
    ['female', 'male']
    """
    _check(failures, Failures, "failures")
    _check(weighting, Weighting, "weighting")
    tables = trial_tables(
        ratings, trials, images, by, pairs,
        drop=failures == "drop", weighting=weighting, impostor_pairs=impostor_pairs,
    )  # fmt: skip
    given = dict(thresholds or {})
    unknown = set(given) - {table.rater for table in tables}
    if unknown:
        known = some(table.rater for table in tables)
        raise SpecError(
            f"Thresholds for unknown raters {some(sorted(unknown))} (raters: {known})",
            fix=nearest(min(unknown), (table.rater for table in tables)),
        )
    many = len(tables) * len(rates) + len(given)
    rows: list[dict[str, object]] = []
    for table in tables:
        check_orientation(table.genuine_distances, table.impostors.distance, table.quantity)
        rows += [*_failures(table, level), *_at_rates(table, rates, level, many)]
        own = given.get(table.rater)
        if own is not None:
            found = table.errors(own, table.samples, None)
            rows += RateRows(table, f"{table.quantity} at its threshold {own:g}", found, level, many).rows(None)
    return Estimates.of(rows)


def det(
    ratings: Ratings,
    trials: Trials,
    images: Images,
    by: Contrast | str,
    *,
    points: int = 9,
    weighting: Weighting = "identity",
    level: float = 0.95,
) -> Estimates:
    """Estimate each group's DET curve: its FNMR at its *own* false match rate, from 1/2 down.

    The lowest rate shown is the one that ten impostor trials within the group still support. ``det`` rows have
    pointwise intervals; ``det_band`` rows are simultaneous over the points of a curve (Bonferroni). The ROC is the same
    curve as 1 - estimate.

    Examples
    --------
    >>> from likewise.simulation.system_ratings import VerificationTrials
    >>> ratings, trials, images, _ = VerificationTrials(60, seed=1).tables()
    >>> len(det(ratings, trials, images, "perceived_gender", points=3).where(stat="det"))
    6
    """
    _check(weighting, Weighting, "weighting")
    rows: list[dict[str, object]] = []
    for table in trial_tables(ratings, trials, images, by, None, drop=False, weighting=weighting):
        for group, name in enumerate(table.groups):
            own = table.cells.get((group, group))
            if own is None or len(own) < _DET_IMPOSTORS:
                count = 0 if own is None else len(own)
                fix = f"A DET curve needs {_DET_IMPOSTORS}: raise impostors in [trials]."
                raise InputError(f"Only {count} impostor trials within {name!r}", fix=fix)
            for rate in np.geomspace(0.5, 10 / len(own), points):
                genuine = [table.genuine[group]]
                found = table.errors(own.threshold(float(rate)), genuine, own)
                maker = RateRows(table, f"{table.quantity} at own FMR {rate:.3g}", found, level)
                rows += maker.errors("det", "all", [name], genuine, 0)
                rows += maker.errors("det_band", "all", [name], genuine, 0, comparisons=points)
    return Estimates.of(rows)


def _check(value: str, kind: object, name: str) -> None:
    if value not in get_args(kind):
        raise SpecError(f"Unknown value {value!r} of {name} (known: {some(get_args(kind))})")


def _at_rates(table: TrialTable, rates: Sequence[float], level: float, many: int) -> list[dict[str, object]]:
    """Write the error rates at thresholds that are set for pooled false match rates."""
    rows = []
    for rate in rates:
        table.impostors.need(rate, table.quantity)
        limit, accepted = table.impostors.threshold(rate), int(rate * len(table.impostors) + 1e-9)
        doubt = f"the threshold rests on {accepted} false matches" if accepted < FEW_FALSE_MATCHES else ""
        found = table.errors(limit, table.samples, table.impostors)
        rows += RateRows(table, f"{table.quantity} at FMR {rate:g}", found, level, many, doubt).rows(rate)
    return rows


def _failures(table: TrialTable, level: float) -> list[dict[str, object]]:
    """Report the share of genuine trials without a distance."""
    rows = []
    for name, (failed, identity) in zip(table.groups, table.failed, strict=True):
        codes = np.unique(identity, return_inverse=True)[1].astype(np.int64)
        columns = np.column_stack([failed, np.ones(len(failed))]).astype(np.float64)
        share, clusters = float(failed.mean()), int(codes.max()) + 1
        variance = float(covariance(columns, lambda s: (s[..., 0] / s[..., 1])[..., None], [codes])[0, 0])
        dof = cluster_dof([codes])
        low, high, word = share_interval(share, variance, n=len(failed), clusters=clusters, level=level, dof=dof)
        found, method = Interval(share, low, high, clusters), remarked(f"{BY}, Wilson", word)
        rows.append(
            row(table.quantity, "enrolment_failure", "all", name, found, level=level, n=len(failed), method=method)
        )
    return rows
