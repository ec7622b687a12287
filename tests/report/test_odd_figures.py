"""Figures of odd tables: names of any script, one sample only, no interval, values that are all equal."""

from __future__ import annotations

import matplotlib.pyplot as plt
import pytest

import likewise as lw
from likewise.report import gap_plot, love_plot
from likewise.tables.estimates import row


class Ends:
    """An estimate with its interval."""

    def __init__(self, estimate: float, low: float, high: float) -> None:
        self.estimate, self.low, self.high, self.clusters = estimate, low, high, 20


def gap(quantity: str = "net: distance", sample: str = "all", group: str = "F - M", ends: object = 0.1):
    return row(quantity, "gap", sample, group, ends, n=40, method="mean", level=0.95)


def ticks(figure) -> list[str]:
    return [label.get_text() for label in figure.axes[0].get_yticklabels()]


@pytest.mark.parametrize("group", ["женщина - мужчина", "$x$ - $y$", "a_b - c^d"])
def test_names_of_groups_are_shown_as_they_are_written(group):
    figure = gap_plot(lw.Estimates.of([gap(group=group, ends=Ends(0.2, 0.1, 0.3))]))
    figure.canvas.draw()
    shown = figure.axes[0].get_xlabel().replace("\\", "").replace("−", "-")
    assert group.replace("_", " ") in shown  # underscores of names are shown as spaces


def test_a_gap_without_an_interval_is_drawn_and_a_single_sample_is_enough():
    figure = gap_plot(lw.Estimates.of([gap()]))
    assert len(ticks(figure)) == 1
    table = lw.Estimates.of([row("age", "smd", "all", "F - M", 0.0, n=9, method="pooled")])
    assert ticks(love_plot(table)) == ["age"]
    plt.close("all")


def test_equal_values_do_not_collapse_the_axis():
    rows = [gap(sample=sample, ends=Ends(0.2, 0.2, 0.2)) for sample in ("all", "matched")]
    low, high = gap_plot(lw.Estimates.of(rows)).axes[0].get_xlim()
    assert low <= 0
    assert high >= 0.2
