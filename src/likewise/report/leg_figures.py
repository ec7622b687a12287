"""Figures that set the ways of asking side by side: the legs of an audit, and the curve of its designs."""

from __future__ import annotations

from typing import Any

import matplotlib as mpl
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from likewise.report.figures import FAINT, FOCAL, INK, NARROW, OTHER, STYLE, TRUE, WIDE, legend, plain
from likewise.report.legs import CRUDE, MADE, Leg, Panel
from likewise.tables import Contrast


def legs_plot(panels: list[Panel], contrast: Contrast, *, width: float = WIDE) -> Figure:
    """Draw the legs of every quantity below one another, on one scale."""
    lines = sum(len(panel.legs) + 1 for panel in panels)
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(width, 0.9 + 0.34 * lines), layout="constrained")
        axes = figure.subplots()
        axes.axvline(0, color=FAINT, linewidth=1)
        height, ticks = float(lines), []
        for panel in panels:
            height -= 1
            ticks.append((height, _name(panel.quantity), True))
            for leg in panel.legs:
                height -= 1
                _draw(axes, leg, height)
                ticks.append((height, leg.name, False))
        axes.set_yticks([at for at, _, _ in ticks], [name for _, name, _ in ticks])
        for label, (_, _, heading) in zip(axes.get_yticklabels(), ticks, strict=True):
            label.set_fontweight("bold" if heading else "normal")
        axes.tick_params(axis="y", length=0)
        axes.set_ylim(-0.6, lines - 0.4)
        axes.set_xlabel(_towards(contrast, width))
    return figure


def _towards(contrast: Contrast, width: float) -> str:
    scale, side = "standard deviations of the answers", f"right of 0: harder for {contrast.focal}"
    return f"{scale}\n({side})" if width <= NARROW else f"{scale} ({side})"


def _name(quantity: str) -> str:
    rater, _, question = quantity.partition(": ")
    return plain(f"{rater}: {question}")


def _draw(axes: Axes, leg: Leg, height: float) -> None:
    colour, marker = (OTHER, "o") if leg.name == CRUDE else (INK, "D") if leg.name == MADE else (FOCAL, "s")
    if pd.notna(leg.low):
        axes.hlines(height, leg.low, leg.high, color=colour, linewidth=2)
    axes.plot([leg.estimate], [height], marker, color=colour, markersize=7)
    if leg.truth is not None:
        axes.plot([leg.truth], [height], "|", color=TRUE, markersize=17, markeredgewidth=2.5)


def curve_plot(rows: pd.DataFrame, *, width: float = WIDE) -> Figure:
    """Draw the gaps under all designs in order of size, and below which design, with which adjustment, each is."""
    told = rows["sample"].str.removeprefix("design: ").str.partition(", without ")
    adjusted = rows["stat"].eq("adjusted_gap")
    kinds = told[2].where(told[2] == "", "all but " + told[2]).mask(adjusted & (told[2] == ""), "all covariates")
    kinds = kinds.mask(~adjusted, "not adjusted")
    designs, sets = list(dict.fromkeys(told[0])), sorted(kinds.unique(), key=_rank)
    with mpl.rc_context(STYLE):
        height = 2.2 + 0.22 * (len(designs) + len(sets))
        figure = Figure(figsize=(width, height), layout="constrained")
        top, middle, bottom = figure.subplots(
            3, 1, sharex=True, gridspec_kw={"height_ratios": [2.0, 0.22 * len(designs), 0.22 * len(sets)]}
        )
        _values(top, rows, told[0].eq("plan") & kinds.eq("all covariates"))
        _marks(middle, told[0], designs)
        _marks(bottom, kinds, sets)
        bottom.set_xticks([])
        legend(figure)
    return figure


def _rank(kind: str) -> tuple[int, str]:
    return ({"not adjusted": 0, "all covariates": 1}.get(kind, 2), kind)


def _values(axes: Axes, rows: pd.DataFrame, own: pd.Series) -> None:
    axes.axhline(0, color=FAINT, linewidth=1)
    for mine, colour, label in ((False, FAINT, "another design"), (True, FOCAL, "the plan's own")):
        part = rows[own == mine]
        axes.vlines(part.index, part["low"], part["high"], color=colour, linewidth=3 if mine else 1.5)
        look: dict[str, Any] = {"color": FOCAL, "markersize": 6} if mine else {"color": INK, "markersize": 3}
        axes.plot(part.index, part["estimate"], "o", label=label, **look)
    axes.set_ylabel("gap")


def _marks(axes: Axes, values: pd.Series, names: list[str]) -> None:
    rank = values.map({name: len(names) - 1 - k for k, name in enumerate(names)})
    axes.plot(values.index, rank, "|", color=INK, markersize=7, markeredgewidth=1.6)
    axes.set_yticks(range(len(names)), [plain(name) for name in reversed(names)], fontsize=8.5)
    axes.set_ylim(-0.6, len(names) - 0.4)
    axes.tick_params(axis="y", length=0)
    axes.spines["bottom"].set_visible(False)
