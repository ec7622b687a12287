"""The frontier of balance: pairs kept against imbalance left, at several tolerances."""

from __future__ import annotations

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from likewise.errors import TableError
from likewise.report.figures.style import FAINT, FOCAL, OTHER, STYLE, WIDE, label_axis, legend
from likewise.report.sections.sample.frontier import frontier_points, unmatched_imbalance
from likewise.tables import Estimates


def frontier_plot(balance: Estimates, *, tolerance: float | None = None, width: float = WIDE) -> Figure:
    """Draw how many pairs are kept at each tolerance, and how much imbalance is left.

    Parameters
    ----------
    balance
        A balance table with rows of ``likewise.design.balance.frontier.frontier``.
    tolerance
        The tolerance of the plan; its mark is filled.
    width
        Width in inches.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    TableError
        If fewer than two tolerances have pairs.

    Examples
    --------
    >>> import likewise as lw
    >>> row = {"sample": "matched", "group": "F - M", "n": 9, "clusters": 9, "method": "cardinality matching"}
    >>> values = {"pairs_kept": (20, 30), "imbalance_left": (0.01, 0.04), "imbalance_by_chance": (0.25, 0.21)}
    >>> rows = [
    ...     {**row, "quantity": f"max_smd {smd}", "stat": stat, "estimate": both[place]}
    ...     for stat, both in values.items() for place, smd in enumerate((0.05, 0.1))
    ... ]
    >>> frontier_plot(lw.Estimates.of(rows)).axes[0].get_xlabel()
    'matched pairs'
    """
    points, before = frontier_points(balance), unmatched_imbalance(balance)
    if len(points) < 2:
        raise TableError("Fewer than two tolerances have pairs: no frontier to draw", fix="Add tolerances.")
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(width, 2.9), layout="constrained")
        axes = figure.subplots()
        if before is not None:
            axes.axhline(before, color=OTHER, linewidth=1.2, label="unmatched")
        axes.plot(points["pairs"], points["chance"], color=FAINT, linestyle="--", label="expected in an experiment")
        axes.plot(
            points["pairs"],
            points["left"],
            color=FOCAL,
            marker="s",
            fillstyle="none",
            label="within max_smd (beside it)",
        )
        for smd, pairs, left in points[["tolerance", "pairs", "left"]].to_numpy(dtype=float):
            own = tolerance is not None and abs(smd - tolerance) < 1e-9
            if own:
                axes.plot(pairs, left, color=FOCAL, marker="s", linestyle="", label="the plan's design")
            axes.annotate(f"{smd:g}", (pairs, left), xytext=(0, 6), fontsize=9, textcoords="offset points",
                          ha="center", fontweight="bold" if own else "normal")  # fmt: skip
        axes.set_ylim(bottom=0)
        axes.xaxis.set_major_locator(MaxNLocator(nbins=6, integer=True))
        label_axis(axes, "matched pairs", width)
        axes.set_ylabel("mean absolute SMD")
        legend(figure)
    return figure
