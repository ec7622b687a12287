"""Figures that compare designs: estimates of one gap on one scale, and the specification curve."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import matplotlib as mpl
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

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
from likewise.report.names import in_short
from likewise.report.sections.findings.designs import Design, Panel
from likewise.tables import Contrast

_LOOKS = {"all": (OTHER, "o"), "counterfactual": (INK, "^"), "matched": (FOCAL, "s"), "adjusted": (FOCAL, "D")}


def design_plot(panels: Sequence[Panel], contrast: Contrast, *, unit: str = "", width: float = WIDE) -> Figure:
    """Draw the estimates of every quantity by design, on one scale.

    Parameters
    ----------
    panels
        What :func:`likewise.report.sections.findings.designs.panels` returns.
    contrast
        The groups; the axis names the one for which results to the right of 0 are worse.
    unit
        The unit of the differences; by default standard deviations of the outcome, where right of 0 is worse.
    width
        Width in inches.

    Returns
    -------
    matplotlib.figure.Figure
    """
    lines = sum(len(panel.designs) + 1 for panel in panels)
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(width, 0.9 + 0.32 * lines), layout="constrained")
        axes = figure.subplots()
        axes.axvline(0, color=FAINT, linewidth=1)
        height, ticks = float(lines), []
        for panel in panels:
            height -= 1
            ticks.append((height, in_short(panel.quantity).replace("$", r"\$"), True))
            for design in panel.designs:
                height -= 1
                _draw(axes, design, height)
                ticks.append((height, broken(design.name, width), False))
        axes.set_yticks([at for at, _, _ in ticks], [name for _, name, _ in ticks])
        for label, (_, _, heading) in zip(axes.get_yticklabels(), ticks, strict=True):
            label.set_fontweight("bold" if heading else "normal")
            label.set_fontsize(8.5 if width <= NARROW else 10)
        axes.tick_params(axis="y", length=0)
        axes.set_ylim(-0.6, lines - 0.4)
        label_axis(axes, _axis(contrast, unit), width)
    return figure


def specification_plot(rows: pd.DataFrame, *, width: float = WIDE) -> Figure:
    """Draw the gaps under all designs in order of size, and below them the design and adjustment of each.

    Parameters
    ----------
    rows
        The rows of one quantity, as :func:`likewise.report.sections.findings.designs.curves` returns them.
    width
        Width in inches.

    Returns
    -------
    matplotlib.figure.Figure
    """
    message = rows["sample"].str.removeprefix("design: ").str.partition(", without ")
    adjusted = rows["stat"].eq("adjusted_gap")
    kinds = (
        message[2]
        .where(message[2] == "", "all but " + message[2])
        .mask(adjusted & (message[2] == ""), "all covariates")
    )
    kinds = kinds.mask(~adjusted, "unadjusted")
    designs, sets = list(dict.fromkeys(message[0])), sorted(kinds.unique(), key=_rank)
    with mpl.rc_context(STYLE):
        height = 2.2 + 0.22 * (len(designs) + len(sets))
        figure = Figure(figsize=(width, height), layout="constrained")
        top, middle, bottom = figure.subplots(
            3, 1, sharex=True, gridspec_kw={"height_ratios": [2.0, 0.22 * len(designs), 0.22 * len(sets)]}
        )
        _values(top, rows, message[0].eq("plan") & kinds.eq("all covariates"))
        _marks(middle, message[0], designs)
        _marks(bottom, kinds, sets)
        bottom.set_xticks([])
        legend(figure)
    return figure


def _axis(contrast: Contrast, unit: str) -> str:
    worse = "higher" if unit else "worse"
    scale = f"difference in {unit or 'standard deviations of the outcome'}"
    side = f"right of 0: {worse} for {text(contrast.focal)}"
    return f"{scale}\n({side})"  # in one line it is wider than the axes, and cut off where the figure is a file


def _draw(axes: Axes, design: Design, height: float) -> None:
    color, marker = _LOOKS[design.kind]
    if pd.notna(design.low):
        axes.hlines(height, design.low, design.high, color=color, linewidth=2)
    axes.plot([design.estimate], [height], marker, color=color, markersize=7)
    if design.truth is not None:
        axes.plot([design.truth], [height], "|", color=TRUE, markersize=17, markeredgewidth=2.5)


def _rank(kind: str) -> tuple[int, str]:
    return ({"unadjusted": 0, "all covariates": 1}.get(kind, 2), kind)


def _values(axes: Axes, rows: pd.DataFrame, own: pd.Series) -> None:
    axes.axhline(0, color=FAINT, linewidth=1)
    for mine, color, label in ((False, FAINT, "another design"), (True, FOCAL, "the plan's design")):
        part = rows[own == mine]
        axes.vlines(part.index, part["low"], part["high"], color=color, linewidth=3 if mine else 1.5)
        look: dict[str, Any] = {"color": FOCAL, "markersize": 6} if mine else {"color": INK, "markersize": 3}
        axes.plot(part.index, part["estimate"], "o", label=label, **look)
    axes.set_ylabel(f"gap: {text(rows['group'].iloc[0]).replace(' - ', ' − ')}")


def _marks(axes: Axes, values: pd.Series, names: list[str]) -> None:
    rank = values.map({name: len(names) - 1 - k for k, name in enumerate(names)})
    axes.plot(values.index, rank, "|", color=INK, markersize=7, markeredgewidth=1.6)
    axes.set_yticks(range(len(names)), [text(name) for name in reversed(names)], fontsize=8.5)
    axes.set_ylim(-0.6, len(names) - 0.4)
    axes.tick_params(axis="y", length=0)
    axes.spines["bottom"].set_visible(False)
