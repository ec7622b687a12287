"""Figures of Estimates: each function returns a matplotlib Figure, and none computes a statistic."""

from __future__ import annotations

from itertools import cycle
from typing import Any

import matplotlib as mpl
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from likewise.errors import TableError, nearest, some
from likewise.report.figures.style import (
    FAINT,
    FOCAL,
    INK,
    NARROW,
    OTHER,
    STYLE,
    TRUE,
    WIDE,
    broken,
    label_axis,
    legend,
    text,
)
from likewise.report.names import Naming, measure, truth_of
from likewise.tables import Estimates

_LOOKS = {
    ("all", "gap"): (OTHER, "o"),
    ("matched", "gap"): (FOCAL, "s"),
    ("matched", "adjusted_gap"): (FOCAL, "D"),
    ("counterfactual", "gap"): (INK, "^"),
}
_AFTER = ((FOCAL, "o"), (TRUE, "s"), (INK, "D"), (OTHER, "^"))  # matched and weighted samples, in the given order


def love_plot(balance: Estimates, *, width: float = WIDE) -> Figure:
    """Draw each covariate's absolute standardized mean difference before (hollow) and after (filled) matching.

    Parameters
    ----------
    balance
        A balance table, as ``likewise.balance`` returns it. Every sample besides ``all`` gets its own mark.
    width
        Width in inches.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    TableError
        If the table has no standardized mean differences.

    Examples
    --------
    >>> import likewise as lw
    >>> row = {"quantity": "age", "stat": "smd", "group": "F - M", "n": 90, "clusters": 90, "method": "pooled"}
    >>> rows = [{**row, "sample": "all", "estimate": -0.9}, {**row, "sample": "matched", "estimate": -0.07}]
    >>> figure = love_plot(lw.Estimates.of(rows))
    >>> figure.axes[0].get_xlabel()
    'absolute standardized mean difference'
    """
    frame = balance.where(stat="smd").frame.assign(size=lambda rows: rows["estimate"].abs())
    if frame.empty:
        raise TableError("No standardized mean differences to plot", fix="Pass the table that balance() returns.")
    samples = list(dict.fromkeys(frame["sample"]))
    before = "all" if "all" in samples else samples[0]
    wide = frame.pivot(index="quantity", columns="sample", values="size").sort_values(before)
    naming = Naming.of(balance)
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(width, 1.1 + 0.32 * len(wide)), layout="constrained")
        axes = figure.subplots()
        for line, style in ((0.1, "--"), (0.05, ":")):
            axes.axvline(line, color=FAINT, linestyle=style, linewidth=1)
        rows = range(len(wide))
        axes.hlines(rows, wide.min(axis=1), wide.max(axis=1), color=FAINT, linewidth=1)
        common: dict[str, Any] = {"markersize": 8, "linestyle": "", "clip_on": False, "zorder": 3}
        first = "unmatched" if before == "all" else naming.sample(before)
        axes.plot(wide[before], rows, marker="o", color=OTHER, fillstyle="none", label=first, **common)
        for sample, (color, marker) in zip([s for s in samples if s != before], cycle(_AFTER)):
            axes.plot(wide[sample], rows, marker=marker, color=color, label=text(naming.sample(sample)), **common)
        axes.set_yticks(list(rows), [text(name) for name in wide.index])
        axes.set_xlim(left=0)
        axes.set_ylim(-0.6, len(wide) - 0.4)
        axes.set_xlabel("absolute standardized mean difference")
        legend(figure)
    return figure


def gap_plot(
    estimates: Estimates, quantity: str | None = None, *, naming: Naming | None = None, width: float = WIDE
) -> Figure:
    """Draw the gaps of one quantity with their intervals, and the ground truth of a simulation.

    Parameters
    ----------
    estimates
        Estimates with rows of the stat ``gap`` or ``adjusted_gap``.
    quantity
        Which quantity; may be omitted when the table has gaps of only one.
    naming
        How matched samples are called; by default without a remark on balance.
    width
        Width in inches.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    TableError
        If there is nothing to draw, or several quantities and none was named.

    Examples
    --------
    >>> import likewise as lw
    >>> row = {"quantity": "arcface: distance", "stat": "gap", "group": "F - M", "estimate": 0.2, "low": 0.1,
    ...        "high": 0.3, "level": 0.95, "n": 90, "clusters": 45, "method": "jackknife by identity"}
    >>> figure = gap_plot(lw.Estimates.of([{**row, "sample": "all"}, {**row, "sample": "matched"}]))
    >>> figure.axes[0].get_xlabel()
    'Mean genuine (mated) distance: F − M, with 95 % CI'
    """
    frame = _one_quantity(estimates, quantity)
    found = [(key, frame[(frame["sample"] == key[0]) & (frame["stat"] == key[1])]) for key in _LOOKS]
    rows = [(key, hit.iloc[0]) for key, hit in found if len(hit)]
    names = naming or Naming()
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(width, 1.0 + 0.42 * len(rows)), layout="constrained")
        axes = figure.subplots()
        axes.axvline(0, color=FAINT, linewidth=1)
        for height, (key, row) in enumerate(reversed(rows)):
            draw_interval(axes, row, height, _LOOKS[key])
            _draw_truth(axes, frame, key[0], height)
        shown = [names.sample(*key) for key, _ in reversed(rows)]
        axes.set_yticks(range(len(rows)), [broken(name, width) for name in shown])
        axes.set_ylim(-0.6, len(rows) - 0.4)
        label_axis(axes, _gap_axis(rows[0][1], narrow=width <= NARROW), width)
    return figure


def rate_plot(estimates: Estimates, *, width: float = WIDE) -> Figure:
    """Draw each label's rate over the edit strength, with its interval.

    Parameters
    ----------
    estimates
        Estimates with rows of the stat ``rate``.
    width
        Width in inches.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    TableError
        If there are no rates.

    Examples
    --------
    >>> import likewise as lw
    >>> row = {"quantity": "tagger: Smile", "stat": "rate", "sample": "counterfactual", "low": None, "high": None,
    ...        "level": None, "n": 9, "clusters": 9, "method": "Wilson"}
    >>> steps = [{**row, "group": f"level {step:+d}", "estimate": 0.5 + 0.1 * step} for step in (-1, 0, 1)]
    >>> rate_plot(lw.Estimates.of(steps)).axes[0].get_title()
    'Smile'
    """
    frame = estimates.where(stat="rate").frame
    if frame.empty:
        raise TableError("No label rates to plot", fix="Pass the table that slopes() returns.")
    frame["strength"] = frame["group"].str.extract(r"([-+]?[\d.]+)\s*$")[0].astype(float)
    names = sorted(frame["quantity"].unique())
    with mpl.rc_context(STYLE):
        columns = min(max(2, int(width / 1.8)), len(names))
        lines = -(-len(names) // columns)
        figure = Figure(figsize=(width, 0.5 + 1.8 * lines), layout="constrained")
        grid = figure.subplots(lines, columns, sharex=True, sharey=True, squeeze=False)
        for axes, name in zip(grid.flat, names, strict=False):
            _rate_panel(axes, frame[frame["quantity"] == name].sort_values("strength"), name)
        for axes in grid.flat[len(names) :]:
            axes.set_visible(False)
        figure.supxlabel("edit strength", fontsize=10)
        figure.supylabel("images with the label", fontsize=10)
    return figure


def draw_interval(axes: Axes, row: pd.Series, height: float, look: tuple[str, str], *, size: float = 8) -> None:
    """Draw an estimate with its interval at one height."""
    color, marker = look
    if pd.notna(row["low"]):
        axes.hlines(height, row["low"], row["high"], color=color, linewidth=2)
    axes.plot([row["estimate"]], [height], marker, color=color, markersize=size)


def _one_quantity(estimates: Estimates, quantity: str | None) -> pd.DataFrame:
    frame = estimates.frame
    drawn = pd.Series(list(zip(frame["sample"], frame["stat"], strict=True)), index=frame.index).isin(list(_LOOKS))
    names = list(dict.fromkeys(frame.loc[drawn, "quantity"]))
    if not names:
        raise TableError("No gaps to plot", fix="Pass the table that gaps() returns.")
    if quantity is None and len(names) > 1:
        raise TableError(f"Gaps of {len(names)} quantities to choose from: {some(names)}", fix="Pass quantity=...")
    if quantity is not None and quantity not in names:
        raise TableError(f"No gap of {quantity!r} (quantities: {some(names)})", fix=nearest(quantity, names))
    return frame[frame["quantity"] == (quantity or names[0])]


def _draw_truth(axes: Axes, frame: pd.DataFrame, sample: str, height: float) -> None:
    gaps = frame[frame["stat"] == "gap"]
    truth = gaps[gaps["sample"] == truth_of(sample, gaps["sample"])]
    if len(truth):
        axes.plot(truth["estimate"], [height], "|", color=TRUE, markersize=22, markeredgewidth=2.5)


def _gap_axis(row: pd.Series, *, narrow: bool) -> str:
    groups = text(row["group"]).replace(" - ", " − ")
    ends = "" if pd.isna(row["low"]) else f", with {round(100 * row['level'], 2):g} % CI"
    return f"{text(measure(row['quantity']))}:{chr(10) if narrow else ' '}{groups}{ends}"


def _rate_panel(axes: Axes, rows: pd.DataFrame, name: str) -> None:
    axes.axvspan(-1, 1, color=FAINT, alpha=0.12, linewidth=0)
    axes.fill_between(rows["strength"], rows["low"], rows["high"], color=FOCAL, alpha=0.25, linewidth=0)
    axes.plot(rows["strength"], rows["estimate"], color=FOCAL, marker="o", markersize=4)
    axes.set_title(text(name.split(": ", 1)[-1]), fontsize=10)
    axes.set_ylim(0, 1)
    axes.yaxis.set_major_formatter(PercentFormatter(1.0))
