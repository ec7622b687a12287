"""Figures: labels with groups and units, no argument needed for the only choice, the same bytes for the same input."""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

import likewise as lw
from likewise.errors import TableError
from likewise.report.figures.designs import design_plot, specification_plot
from likewise.report.figures.estimates import gap_plot, love_plot, rate_plot
from likewise.report.figures.frontier import frontier_plot
from likewise.report.figures.lambdas import lambda_figure, save_png
from likewise.report.figures.loss_curve import descent_figure, pixels_of
from likewise.report.figures.style import NARROW, WIDE, text, to_svg
from likewise.report.figures.verification import det_plot, score_plot
from likewise.report.names import Naming
from likewise.report.sections.findings.designs import curves, panels
from likewise.report.sections.sample.frontier import frontier_rows, frontier_sentence
from report.rows import balance_of, make_point, make_row


def ticks(figure: Figure, axes: int = 0) -> list[str]:
    return [label.get_text() for label in figure.axes[axes].get_yticklabels()]


def legend_of(figure: Figure) -> list[str]:
    return [entry.get_text() for entry in figure.legends[0].get_texts()]


def gaps() -> lw.Estimates:
    rows = [make_row(), make_row(sample="matched"), make_row(sample="matched", stat="adjusted_gap")]
    return lw.Estimates.of([*rows, make_point(sample="truth: matched", estimate=0.15)])


def rates() -> lw.Estimates:
    return lw.Estimates.of(
        make_row(quantity=f"tagger: {name}", stat="rate", sample="counterfactual", group=f"level {step:+d}")
        for name in ("Grin", "Dark_Hair")
        for step in (-1, 0, 1)
    )


def det(*raters: str) -> lw.Estimates:
    return lw.Estimates.of(
        make_row(quantity=f"{rater}: distance at own FMR {fmr}", stat="det", group=group)
        for rater in raters
        for fmr in ("0.01", "0.1")
        for group in ("female", "male")
    )


def test_the_love_plot_marks_each_sample():
    figure = love_plot(balance_of(perceived_age=(-0.9, -0.05), light=(0.3, 0.02)))
    assert figure.axes[0].get_xlabel() == "absolute standardized mean difference"
    assert ticks(figure) == ["light", "perceived age"]
    assert legend_of(figure) == ["unmatched", "matched"]
    assert legend_of(love_plot(balance_of(age=(0.9, 0.5)))) == ["unmatched", "matched (not balanced)"]
    rows = [make_point(quantity="age", stat="smd", sample=s, estimate=0.3) for s in ("all", "caliper_2", "weighted")]
    assert legend_of(love_plot(lw.Estimates.of(rows))) == ["unmatched", "caliper 2", "overlap-weighted"]


def frontier_of(*points: tuple[float, int, float]) -> lw.Estimates:
    rows = [make_point(quantity="unmatched", stat="imbalance_left", sample="all", estimate=0.3)]
    for tolerance, pairs, left in points:
        values = {"pairs_kept": pairs} | ({"imbalance_left": left, "imbalance_by_chance": 0.2} if pairs else {})
        rows += [
            make_point(quantity=f"max_smd {tolerance:g}", stat=stat, sample="matched", estimate=value)
            for stat, value in values.items()
        ]
    return lw.Estimates.of(rows)


def test_the_frontier_marks_the_plan_and_leaves_out_tolerances_without_pairs():
    table = frontier_of((0.1, 31, 0.05), (0.02, 0, 0.0), (0.05, 24, 0.02))
    figure = frontier_plot(table, tolerance=0.1)
    assert [text.get_text() for text in figure.axes[0].texts] == ["0.05", "0.1"]
    assert [text.get_fontweight() for text in figure.axes[0].texts] == ["normal", "bold"]
    assert "the plan's design" in legend_of(figure)
    assert [row["pairs"] for row in frontier_rows(table)] == ["24", "31"]
    assert "keeps 24 pairs with a mean absolute SMD of 0.020, at 0.1 it keeps 31" in frontier_sentence(table)


def test_a_frontier_needs_two_tolerances_with_pairs():
    alone = frontier_of((0.1, 31, 0.05), (0.05, 0, 0.0))
    assert frontier_sentence(alone) == ""
    with pytest.raises(TableError, match="Fewer than two tolerances"):
        frontier_plot(alone)
    assert frontier_rows(lw.Estimates.of([make_point(stat="smd")])) == []


def test_the_gap_plot_names_groups_and_measure():
    figure = gap_plot(gaps(), naming=Naming(balanced=False))
    assert figure.axes[0].get_xlabel() == "Mean genuine (mated) distance: female − male, with 95 % CI"
    assert ticks(figure) == ["matched, adjusted (not balanced)", "matched (not balanced)", "unmatched, unadjusted"]
    marks = [line.get_xdata()[0] for line in figure.axes[0].lines if line.get_marker() == "|"]
    assert marks == [0.15, 0.15], "the ground truth stands in the matched rows"


def test_the_only_thing_to_draw_needs_no_name():
    assert gap_plot(gaps()).axes[0].get_xlabel() == gap_plot(gaps(), "arcface: distance").axes[0].get_xlabel()
    assert legend_of(det_plot(det("arcface"))) == ["female", "male"]
    assert isinstance(rate_plot(rates()), Figure)


def test_several_things_to_draw_need_a_name():
    two = lw.Estimates.of([make_row(), make_row(quantity="dlib: distance")])
    with pytest.raises(TableError, match=r"Gaps of 2 quantities.*Pass quantity="):
        gap_plot(two)
    with pytest.raises(TableError, match=r"No gap of 'dlib: distanc'.*Did you mean 'dlib: distance'"):
        gap_plot(two, "dlib: distanc")
    with pytest.raises(TableError, match=r"DET points of 2 recognizers: 'arcface', 'dlib'. Pass rater="):
        det_plot(det("arcface", "dlib"))
    with pytest.raises(TableError, match=r"No DET points of 'arcfase'.*Did you mean 'arcface'"):
        det_plot(det("arcface", "dlib"), "arcfase")


@pytest.mark.parametrize("plot", [love_plot, gap_plot, rate_plot, det_plot])
def test_nothing_to_draw_is_an_error(plot):
    with pytest.raises(TableError, match=r"^No .* to plot\. Pass the table that \w+\(\) returns\.$"):
        plot(lw.Estimates.of([]))


def test_det_curves_have_percent_on_both_axes():
    axes = det_plot(det("arcface", "dlib"), "dlib").axes[0]
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    assert axes.get_ylabel() == "false non-match rate (FNMR)"
    assert axes.get_xlabel() == "false match rate within the group (FMR)"
    assert axes.yaxis.get_major_formatter()(0.1, 0) == "10 %"


def test_det_bands_are_simultaneous_where_the_table_has_them():
    frame = det("arcface").frame
    wide = lw.Estimates(pd.concat([frame, frame.assign(stat="det_band", low=0.01, high=0.9)]))
    (band, _) = det_plot(wide).axes[0].collections
    assert band.get_paths()[0].vertices[:, 1].max() == pytest.approx(0.9)


@pytest.mark.parametrize("word", ["level", "strength"])
def test_rates_stand_over_the_edit_strength(word):
    frame = rates().frame
    frame["group"] = frame["group"].str.replace("level", word)
    figure = rate_plot(lw.Estimates(frame))
    assert [axes.get_title() for axes in figure.axes] == ["Dark Hair", "Grin"]
    assert figure.axes[0].lines[0].get_xdata().tolist() == [-1, 0, 1]
    assert figure.get_supxlabel() == "edit strength"


def panel_rows() -> lw.Estimates:
    rows = [make_row(sample=s, stat=t) for s, t in (("all", "gap"), ("matched", "gap"), ("matched", "adjusted_gap"))]
    return lw.Estimates.of([*rows, *({**row, "stat": f"{row['stat']}_in_sd"} for row in rows)])


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_the_design_plot_says_who_is_worse_off(contrast, width):
    figure = design_plot(panels(panel_rows(), contrast, Naming(balanced=False)), contrast, width=width)
    assert "right of 0: worse for female" in figure.axes[0].get_xlabel()
    figure.draw_without_rendering()
    label = figure.axes[0].xaxis.label.get_window_extent()
    assert label.x0 >= 0 and label.x1 <= figure.bbox.x1, "a downloaded file cuts off what is outside"
    shown = [label.replace("\n", " ") for label in ticks(figure)]
    assert shown[:2] == ["arcface: genuine distance", "unmatched, unadjusted" if width == WIDE else shown[1]]
    assert shown[2:] == ["matched (not balanced)", "matched, adjusted (not balanced)"]


def test_the_specification_plot_names_designs_and_adjustments():
    names = ("plan", "plan, without age", "caliper 3")
    rows = [make_row(sample=f"design: {name}", stat=stat) for name in names for stat in ("gap", "adjusted_gap")]
    ((_, curve),) = curves(lw.Estimates.of(rows))
    figure = specification_plot(curve)
    assert figure.axes[0].get_ylabel() == "gap: female − male"
    assert ticks(figure, 1) == ["caliper 3", "plan"]
    assert ticks(figure, 2)[-1] == "unadjusted" and "all but age" in ticks(figure, 2)
    assert legend_of(figure) == ["another design", "the plan's design"]


def test_the_score_plot_draws_one_group_down(contrast):
    rows = [
        make_point(quantity=f"propensity {low:.1f} to {low + 0.5:.1f}", stat="score_share", group=group, estimate=share)
        for low, share in ((0.0, 0.75), (0.5, 0.25))
        for group in ("female", "male")
    ]
    figure = score_plot(lw.Estimates.of(rows), contrast)
    assert sorted(bar.get_height() for bar in figure.axes[0].patches) == [-0.75, -0.25, 0.25, 0.75]
    assert figure.axes[0].get_xlabel() == "propensity score (estimated probability of female)"
    assert figure.axes[0].yaxis.get_major_formatter()(-0.5, 0) == "50 %"


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_svg_is_stable_escaped_and_follows_the_page_s_colors(width):
    hostile = lw.Estimates.of([make_row(quantity="<b>&: $x$", group="<i> - $y$")])
    for plot in (
        partial(love_plot, balance_of(age=(0.9, 0.0))),
        partial(gap_plot, hostile),
        partial(rate_plot, rates()),
    ):
        svg = to_svg(plot(width=width), "a <figure>")
        assert svg == to_svg(plot(width=width), "a <figure>")
        assert 'aria-label="a &lt;figure&gt;"' in svg
        assert "var(--ink)" in svg and "#1b1f24" not in svg.lower()
        assert "<b>" not in svg and "<i>" not in svg
    assert text("$a_b$") == r"\$a b\$"


def test_lambda_figures_and_loss_curves(tmp_path):
    rows = [make_row(quantity="dlib: distance", stat="mean", sample=f"lambda {v}", group="all") for v in ("0", "inf")]
    rows += [make_point(quantity="smiling", stat="skill", sample=f"lambda {v}", group="all") for v in ("0", "inf")]
    figure = lambda_figure(lw.Estimates.of(rows))
    assert [axes.get_xlabel() for axes in figure.axes] == ["lambda", "lambda"]
    assert [label.get_text() for label in figure.axes[0].get_xticklabels()] == ["0", "restricted"]
    save_png(figure, tmp_path / "f.png")
    assert (tmp_path / "f.png").read_bytes()[:4] == b"\x89PNG"
    curve = descent_figure(np.linspace(1, 0, 9, dtype=np.float32), 400)
    assert curve.axes[0].get_ylabel() == "loss"
    assert pixels_of(curve).shape == (180, 400, 3)
    assert isinstance(pd.Series(pixels_of(curve).ravel()).max(), np.uint8 | int)
