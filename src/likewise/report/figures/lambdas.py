"""Figure of a range of lambdas: how faithful the reconstructions are, and how well labels are read from the latents."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from likewise.report.figures.style import FAINT, FOCAL, STYLE, text
from likewise.tables import Estimates
from likewise.tables.io import replacing


def lambda_figure(estimates: Estimates) -> Figure:
    """Draw a panel a quantity over the lambdas, and one with the skill of every label."""
    frame = estimates.frame
    order = list(dict.fromkeys(frame["sample"]))
    means = frame[frame["stat"] == "mean"]
    quantities, skills = list(dict.fromkeys(means["quantity"])), frame[frame["stat"] == "skill"]
    panels = len(quantities) + bool(len(skills))
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(3.1 * panels, 3.1), layout="constrained", facecolor="white")
        axes = figure.subplots(1, panels, squeeze=False)[0]
        for place, quantity in zip(axes, quantities, strict=False):
            _means(place, means[means["quantity"] == quantity].set_index("sample").loc[order], quantity)
        if len(skills):
            _skills(axes[-1], skills, order)
        for place in axes:
            place.set_xticks(range(len(order)), [_named(sample) for sample in order])
            place.set_xlabel("lambda")
    return figure


def _named(sample: str) -> str:
    value = sample.removeprefix("lambda ")
    return "restricted" if value == "inf" else value


def _means(axes: Axes, rows: pd.DataFrame, quantity: str) -> None:
    rater, _, question = quantity.partition(": ")
    low, high = (rows["estimate"] - rows["low"]).to_numpy(), (rows["high"] - rows["estimate"]).to_numpy()
    axes.errorbar(range(len(rows)), rows["estimate"], yerr=[low, high], color=FOCAL, marker="o", linewidth=1, capsize=0)
    axes.set_title(f"{question} ({rater})", fontsize=9)
    axes.set_ylim(bottom=0)


def _skills(axes: Axes, skills: pd.DataFrame, order: list[str]) -> None:
    for quantity, part in skills.groupby("quantity", sort=False):
        rows = part.set_index("sample")["estimate"].reindex(order)
        axes.plot(range(len(order)), rows, marker="o", linewidth=1, label=text(str(quantity)))
    axes.axhline(0.5, color=FAINT, linestyle=":", linewidth=1)
    axes.set_title("label read from the latent", fontsize=9)
    axes.legend(fontsize=7, frameon=False)


def save_png(figure: Figure, path: Path) -> None:
    """Write a figure as PNG, whole or not at all."""
    with replacing(path) as temporary:
        figure.savefig(temporary, format="png", dpi=150)
