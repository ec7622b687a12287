"""Figures of Estimates: each function returns a matplotlib Figure, and none computes a statistic."""

from __future__ import annotations

import html
import io
import re
import warnings
from itertools import cycle
from typing import Any

import matplotlib as mpl
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter

from likewise.report.words import SAMPLES
from likewise.tables import Contrast, Estimates

# Stand-ins: in a page they become the page's own colours, so that a figure follows light and dark.
INK, FAINT, FOCAL, OTHER, TRUE = "#1b1f24", "#8b949e", "#0b6e75", "#b3541e", "#6b3fa0"
WIDE, NARROW = 7.2, 3.9  # inches: a desk, a phone
_VARIABLES = {INK: "--ink", FAINT: "--faint", FOCAL: "--focal", OTHER: "--other", TRUE: "--true"}
STYLE: dict[Any, Any] = {
    "font.family": "sans-serif", "font.size": 10, "svg.fonttype": "none",
    "axes.edgecolor": FAINT, "axes.labelcolor": INK, "text.color": INK, "xtick.color": INK, "ytick.color": INK,
    "axes.spines.top": False, "axes.spines.right": False, "figure.facecolor": "none", "axes.facecolor": "none",
    "savefig.facecolor": "none",
}  # fmt: skip
_LOOKS = {("all", "gap"): (OTHER, "o"), ("matched", "gap"): (FOCAL, "s"), ("matched", "adjusted_gap"): (FOCAL, "D")}
_AFTER = ((FOCAL, "o"), (TRUE, "s"), (INK, "D"), (OTHER, "^"))  # matchings and weightings, in the order they were given


def love_plot(balance: Estimates, *, width: float = WIDE) -> Figure:
    """Draw every covariate's absolute standardised mean difference before (hollow) and after (filled, each sample)."""
    frame = balance.where(stat="smd").frame.assign(size=lambda rows: rows["estimate"].abs())
    wide = frame.pivot(index="quantity", columns="sample", values="size").sort_values("all")
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(width, 1.1 + 0.32 * len(wide)), layout="constrained")
        axes = figure.subplots()
        for line, style in ((0.1, "--"), (0.05, ":")):
            axes.axvline(line, color=FAINT, linestyle=style, linewidth=1)
        rows = range(len(wide))
        axes.hlines(rows, wide.min(axis=1), wide.max(axis=1), color=FAINT, linewidth=1)
        common: dict[str, Any] = {"markersize": 8, "linestyle": "", "clip_on": False, "zorder": 3}
        axes.plot(wide["all"], rows, marker="o", color=OTHER, fillstyle="none", label="as the images come", **common)
        after = [sample for sample in frame["sample"].unique() if sample != "all"]
        for sample, (colour, marker) in zip(after, cycle(_AFTER)):
            name = {"matched": "look-alikes", "weighted": "overlap weights"}.get(sample, sample)
            axes.plot(wide[sample], rows, marker=marker, color=colour, label=name, **common)
        axes.set_yticks(list(rows), [plain(name) for name in wide.index])
        axes.set_xlim(left=0)
        axes.set_ylim(-0.6, len(wide) - 0.4)
        axes.set_xlabel("absolute standardised mean difference")
        legend(figure)
    return figure


def gap_plot(estimates: Estimates, quantity: str, *, width: float = WIDE) -> Figure:
    """Draw the gaps of one quantity with their intervals, and the planted truth where it is known."""
    frame = estimates.where(quantity=quantity).frame
    rows = [(key, frame[(frame["sample"] == key[0]) & (frame["stat"] == key[1])]) for key in _LOOKS]
    rows = [(key, found) for key, found in rows if len(found)]
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(width, 1.0 + 0.42 * len(rows)), layout="constrained")
        axes = figure.subplots()
        axes.axvline(0, color=FAINT, linewidth=1)
        for height, ((sample, stat), found) in enumerate(reversed(rows)):
            _interval(axes, found.iloc[0], height, _LOOKS[sample, stat])
            known = "truth: all" if sample == "all" else "truth: alike"
            truth = frame[(frame["sample"] == known) & (frame["stat"] == "gap")]
            if len(truth):
                axes.plot(truth["estimate"], [height], "|", color=TRUE, markersize=22, markeredgewidth=2.5)
        axes.set_yticks(range(len(rows)), [SAMPLES[key] for key, _ in reversed(rows)])
        axes.set_ylim(-0.6, len(rows) - 0.4)
        axes.set_xlabel("focal − reference")
    return figure


def rate_plot(estimates: Estimates, *, width: float = WIDE) -> Figure:
    """Draw each label's rate over the level of the attribute, with its interval."""
    frame = estimates.where(stat="rate").frame
    frame["step"] = frame["group"].str.removeprefix("level ").astype(float)
    names = sorted(frame["quantity"].unique())
    with mpl.rc_context(STYLE):
        columns = min(max(2, int(width / 1.8)), len(names))
        lines = -(-len(names) // columns)
        figure = Figure(figsize=(width, 0.5 + 1.8 * lines), layout="constrained")
        grid = figure.subplots(lines, columns, sharex=True, sharey=True, squeeze=False)
        for axes, name in zip(grid.flat, names, strict=False):
            _rates(axes, frame[frame["quantity"] == name].sort_values("step"), name)
        for axes in grid.flat[len(names) :]:
            axes.set_visible(False)
        figure.supxlabel("level of the attribute", fontsize=10)
        figure.supylabel("share of faces", fontsize=10)
    return figure


def det_plot(steps: pd.DataFrame, contrast: Contrast, *, width: float = WIDE) -> Figure:
    """Draw each group's false non-match rate over its own false match rate, both on log scales, with bands."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(width, 3.1), layout="constrained")
        axes = figure.subplots()
        for name, colour, marker in ((contrast.focal, FOCAL, "s"), (contrast.reference, OTHER, "o")):
            rows = steps[(steps["group"] == str(name)) & (steps["estimate"] > 0)]
            floor = rows["estimate"].min() / 3 if len(rows) else 1e-3
            axes.fill_between(
                rows["fmr"], rows["low"].clip(lower=floor), rows["high"], color=colour, alpha=0.2, linewidth=0
            )
            axes.plot(rows["fmr"], rows["estimate"], color=colour, marker=marker, markersize=4, label=str(name))
        axes.set_xscale("log")
        axes.set_yscale("log")
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:g} %"))
            axis.set_minor_formatter(NullFormatter())
        axes.set_xlabel("impostors of the group let in (FMR)")
        axes.set_ylabel("genuine pairs missed (FNMR)")
        legend(figure)
    return figure


def _rates(axes: Axes, rows: pd.DataFrame, name: str) -> None:
    axes.axvspan(-1, 1, color=FAINT, alpha=0.12, linewidth=0)
    axes.fill_between(rows["step"], rows["low"], rows["high"], color=FOCAL, alpha=0.25, linewidth=0)
    axes.plot(rows["step"], rows["estimate"], color=FOCAL, marker="o", markersize=4)
    axes.set_title(plain(name.split(": ", 1)[-1]), fontsize=10)
    axes.set_ylim(0, 1)


def _interval(axes: Axes, row: pd.Series, height: int, look: tuple[str, str]) -> None:
    colour, marker = look
    if pd.notna(row["low"]):
        axes.hlines(height, row["low"], row["high"], color=colour, linewidth=2)
    axes.plot([row["estimate"]], [height], marker, color=colour, markersize=8)


def legend(figure: Figure) -> None:
    """Say above the figure what its marks mean."""
    figure.legend(loc="outside upper left", ncols=2, frameon=False, fontsize=9.5, handletextpad=0.3)


def plain(name: str) -> str:
    """Make a column's name readable; a dollar sign would start a formula."""
    return name.replace("_", " ").replace("$", r"\$")


def to_svg(figure: Figure, description: str) -> str:
    """Return the figure for a page: text stays text, colours are the page's, the same input gives the same bytes."""
    buffer = io.StringIO()
    salt = f"likewise {figure.get_figwidth()}"  # the wide and the narrow drawing may not share names
    with mpl.rc_context({**STYLE, "svg.hashsalt": salt}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from font")  # the reader's fonts draw it, not ours
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    svg = buffer.getvalue()
    svg = svg[svg.index("<svg") :]
    for colour, name in _VARIABLES.items():
        svg = re.sub(re.escape(colour), f"var({name})", svg, flags=re.IGNORECASE)
    svg = re.sub(r"font: ([\d.]+)px [^;\"]*", r"font-size: \1px", svg)  # the page's own typeface
    return svg.replace("<svg ", f'<svg role="img" aria-label="{html.escape(description)}" ', 1)
