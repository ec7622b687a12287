"""The values of two audits, group by group, with their intervals."""

from __future__ import annotations

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from likewise.errors import TableError
from likewise.report.figures.style import FAINT, FOCAL, OTHER, STYLE, WIDE, label_axis, legend, text
from likewise.report.names import measure
from likewise.tables import Estimates

_LOOKS = {"old_value": (OTHER, "o", 0.14, "old"), "new_value": (FOCAL, "s", -0.14, "new")}


def change_plot(estimates: Estimates, quantity: str, sample: str = "all", *, width: float = WIDE) -> Figure:
    """Draw both values of every group and of the gap.

    Parameters
    ----------
    estimates
        The estimates of a comparison.
    quantity, sample
        Which quantity, in which sample.
    width
        Width in inches.

    Returns
    -------
    matplotlib.figure.Figure
    """
    frame = estimates.frame
    part = frame[(frame["quantity"] == quantity) & (frame["sample"] == sample)]
    groups = list(dict.fromkeys(part["group"]))[::-1]
    if not groups:
        raise TableError(f"No comparison of {quantity!r} ({sample})", fix="Pass the estimates of lw.compare.")
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(width, 0.95 + 0.36 * len(groups)), layout="constrained")
        axes = figure.subplots()
        axes.axvline(0, color=FAINT, linewidth=1)
        for stat, (color, marker, lift, name) in _LOOKS.items():
            for height, group in enumerate(groups):
                row = part[(part["stat"] == stat) & (part["group"] == group)].iloc[0]
                axes.hlines(height + lift, row["low"], row["high"], color=color, linewidth=2)
                axes.plot([row["estimate"]], [height + lift], marker, color=color, markersize=6)
            axes.plot([], [], marker, color=color, label=name)
        axes.set_yticks(range(len(groups)), [text(name).replace(" - ", " − ") for name in groups])
        axes.set_ylim(-0.6, len(groups) - 0.4)
        if quantity.partition(": ")[2].startswith(("FNMR", "FMR", "Share ", "failure to")):
            axes.xaxis.set_major_formatter(PercentFormatter(1.0))
        label_axis(axes, text(measure(quantity)), width)
        legend(figure)
    return figure
