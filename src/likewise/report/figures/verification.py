"""The DET figure of a recognizer, and the distribution of the propensity score."""

from __future__ import annotations

from itertools import cycle

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter

from likewise.errors import TableError, nearest, some
from likewise.report.figures.style import FAINT, FOCAL, OTHER, STYLE, WIDE, legend, text
from likewise.report.operating_points import OperatingPoint, det_points
from likewise.tables import Contrast, Estimates

_LOOKS = ((FOCAL, "s"), (OTHER, "o"))


def det_plot(estimates: Estimates, rater: str | None = None, *, width: float = WIDE) -> Figure:
    """Draw each group's false non-match rate (FNMR) over its own false match rate (FMR), with pointwise bands.

    Parameters
    ----------
    estimates
        Estimates with rows of the stat ``det``.
    rater
        Which recognizer; may be omitted when there is only one.
    width
        Width in inches.

    Returns
    -------
    matplotlib.figure.Figure
        Both axes are logarithmic, so points without an error are not drawn.

    Raises
    ------
    TableError
        If there is nothing to draw, or several recognizers and none was named.

    Examples
    --------
    >>> import likewise as lw
    >>> row = {"stat": "det", "sample": "all", "estimate": 0.2, "low": 0.1, "high": 0.3, "level": 0.95, "n": 90,
    ...        "clusters": 45, "method": "Wilson", "quantity": "arcface: distance at own FMR 0.01"}
    >>> figure = det_plot(lw.Estimates.of([{**row, "group": group} for group in ("F", "M")]))
    >>> figure.axes[0].get_ylabel()
    'false non-match rate (FNMR)'
    """
    steps = det_points(estimates, _one_rater(estimates, rater))
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(width, 3.1), layout="constrained")
        axes = figure.subplots()
        groups = estimates.where(stat="det").frame["group"].unique()  # focal first, as the table has them
        for name, (color, marker) in zip(groups, cycle(_LOOKS)):
            seen = steps[(steps["group"] == name) & (steps["estimate"] > 0)]
            floor = seen["estimate"].min() / 3 if len(seen) else 1e-3
            low = seen["low"].clip(lower=floor)
            axes.fill_between(seen["fmr"], low, seen["high"], color=color, alpha=0.2, linewidth=0)
            axes.plot(seen["fmr"], seen["estimate"], color=color, marker=marker, markersize=4, label=text(name))
        axes.set_xscale("log")
        axes.set_yscale("log")
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:g} %"))
            axis.set_minor_formatter(NullFormatter())
        axes.set_xlabel("false match rate within the group (FMR)")
        axes.set_ylabel("false non-match rate (FNMR)")
        legend(figure)
    return figure


def score_plot(balance: Estimates, contrast: Contrast, *, width: float = WIDE) -> Figure:
    """Draw the distribution of the propensity score in both groups, one upward and one downward.

    Parameters
    ----------
    balance
        A balance table with rows of the stat ``score_share``.
    contrast
        The groups.
    width
        Width in inches.

    Returns
    -------
    matplotlib.figure.Figure
    """
    rows = balance.where(stat="score_share").frame
    edges = rows["quantity"].str.extract(r"propensity ([\d.]+) to ([\d.]+)").astype(float)
    rows = rows.assign(start=edges[0], size=edges[1] - edges[0])
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(width, 2.6), layout="constrained")
        axes = figure.subplots()
        axes.axhline(0, color=FAINT, linewidth=1)
        for side, (color, _), sign in zip((contrast.focal, contrast.reference), _LOOKS, (1, -1), strict=True):
            own = rows[rows["group"] == str(side)]
            height, size = sign * own["estimate"], own["size"] * 0.92
            axes.bar(own["start"], height, size, align="edge", color=color, label=text(side))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda share, _: f"{abs(100 * share):.0f} %"))
        axes.set_xlim(0, 1)
        axes.set_xlabel(f"propensity score (estimated probability of {text(contrast.focal)})")
        axes.set_ylabel("share of the group")
        legend(figure)
    return figure


def _one_rater(estimates: Estimates, rater: str | None) -> str:
    quantities = estimates.where(stat="det").frame["quantity"]
    names = list(dict.fromkeys(OperatingPoint.of(name).rater for name in quantities))
    if not names:
        raise TableError("No DET points to plot", fix="Pass the table that error_rates() returns.")
    if rater is None and len(names) > 1:
        raise TableError(f"DET points of {len(names)} recognizers: {some(names)}", fix="Pass rater=...")
    if rater is not None and rater not in names:
        raise TableError(f"No DET points of {rater!r} (recognizers: {some(names)})", fix=nearest(rater, names))
    return rater or names[0]
