"""Shares by term with their intervals, beside the benchmark."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from likewise.errors import TableError
from likewise.report.figures.style import FOCAL, INK, NARROW, OTHER, STYLE, WIDE, label_axis, legend, text
from likewise.report.generated.rows import ALL, CORRECTED, GENERATED
from likewise.tables import Estimates

_MOST = 60  # terms of one figure


def share_plot(
    estimates: Estimates, quantity: str, benchmark: Mapping[str, float] | None = None, *, width: float = WIDE
) -> Figure:
    """Draw the share of each term with its interval, as drawn and corrected for label noise, and the benchmark.

    Parameters
    ----------
    estimates
        What ``generated_shares`` and ``corrected_shares`` return.
    quantity
        E.g. ``"predicted_gender: female"``.
    benchmark
        The benchmark share of each term.
    width
        Width in inches.
    """
    frame = estimates.where(quantity=quantity, stat="share").frame
    drawn = frame[(frame["sample"] == GENERATED)].sort_values("estimate", kind="stable").tail(_MOST)
    if drawn.empty:
        raise TableError(f"No shares of {quantity!r}", fix="Pass what generated_shares() returns.")
    fixed = frame[(frame["sample"] == CORRECTED) & (frame["group"] != ALL)].set_index("group")
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(width, 1.1 + 0.34 * len(drawn)), layout="constrained")
        axes = figure.subplots()
        for height, (_, row) in enumerate(drawn.iterrows()):
            _mark(axes, row, height + (0.13 if row["group"] in fixed.index else 0.0), "o", FOCAL)
            if row["group"] in fixed.index:
                _mark(axes, fixed.loc[row["group"]], height - 0.17, "D", OTHER)
            if benchmark is not None:
                axes.plot([benchmark[str(row["group"])]], [height], "|", color=INK, markersize=15, markeredgewidth=2)
        words = f"share of images, {round(100 * float(drawn.iloc[0]['level']), 2):g} % CI"
        axes.plot([], [], "o", color=FOCAL, label=words)
        if len(fixed):
            axes.plot([], [], "D", color=OTHER, label="corrected for label noise")
        if benchmark is not None:
            axes.plot([], [], "|", color=INK, markersize=11, markeredgewidth=2, label="benchmark")
        axes.set_yticks(range(len(drawn)), [text(name) for name in drawn["group"]])
        for label in axes.get_yticklabels():
            label.set_fontsize(8 if width <= NARROW else 9.5)
        axes.set_ylim(-0.6, len(drawn) - 0.4)
        axes.set_xlim(0, 1)
        axes.xaxis.set_major_formatter(PercentFormatter(1.0))
        label_axis(axes, text(quantity), width)
        legend(figure, columns=1 if width <= NARROW else 3)
    return figure


def _mark(axes: Axes, row: Any, height: float, marker: str, color: str) -> None:
    axes.hlines(height, row["low"], row["high"], color=color, linewidth=2)
    axes.plot([row["estimate"]], [height], marker, color=color, markersize=6, clip_on=False)
