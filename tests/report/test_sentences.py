"""Sentences follow from the numbers and state no more."""

from __future__ import annotations

import pytest

import likewise as lw
from likewise.report.names import Naming
from likewise.report.sentences import balance_verdict, gap_findings, sensitivity_sentence, slope_finding
from report.rows import balance_of, make_point, make_row

SLOPE = {"stat": "slope", "sample": "counterfactual", "group": "attribute"}


def said(contrast, *rows: dict[str, object], **options: object) -> str:
    (sentence,) = gap_findings(lw.Estimates.of(rows), contrast, **options)
    return sentence


def test_a_gap_names_the_higher_group(contrast):
    assert "higher for female than for male by 0.200 (95 % CI 0.100 to 0.300)" in said(contrast, make_row())
    below = make_row(estimate=-0.2, low=-0.3, high=-0.1)
    assert "higher for male than for female by 0.200 (95 % CI 0.100 to 0.300)" in said(contrast, below)


def test_a_gap_that_is_not_significant_is_called_so(contrast):
    text = said(contrast, make_row(low=-0.1, high=0.5))
    assert "not statistically significant, 0.200 (95 % CI −0.100 to 0.500)" in text
    assert "without an interval" in said(contrast, make_point())


@pytest.mark.parametrize(
    ("method", "words"),
    [
        ("interval; too few", "unmatched, unadjusted, too few people for a conclusion (5 independent clusters)."),
        ("TOST, margin 0.4; equivalent", "equivalent within the margin, 0.200 (95 % CI"),
        ("TOST, margin 0.1; inconclusive", "inconclusive, 0.200 (95 % CI"),
    ],
)
def test_a_finding_says_the_verdict_of_the_analysis(contrast, method, words):
    """ "Too few" and "equivalent" were called inconclusive; of five people a number with an interval was printed."""
    gap = make_row(low=-0.1, high=0.3, clusters=5 if "too few" in method else 25)
    assert words in said(contrast, gap, make_point(stat="verdict", sample="all: gap", method=method))


def test_the_matched_gap_leads_and_the_adjusted_one_is_named(contrast):
    matched = make_row(sample="matched", estimate=0.15, low=0.1, high=0.2)
    adjusted = make_row(sample="matched", stat="adjusted_gap", estimate=0.1, low=0.05, high=0.15)
    text = said(contrast, make_row(), adjusted, matched)
    assert text.index(": matched, higher") < text.index("; matched, adjusted, higher") < text.index("; unmatched, una")
    text = said(contrast, make_row(), matched, adjusted, naming=Naming(balanced=False))
    assert text.count("not balanced") == 2


def test_other_quantities_are_left_to_their_sections(contrast):
    rate = make_row(quantity="arcface: distance at FMR 0.01", stat="fnmr", group="female")
    gap = make_row(quantity="arcface: distance at FMR 0.01")
    assert gap_findings(lw.Estimates.of([rate, gap]), contrast) == []
    assert gap_findings(lw.Estimates.of([make_row()]), contrast, ["arcface: distance"]) == []
    assert gap_findings(lw.Estimates.of([make_point(sample="truth: all")]), contrast) == []


def test_the_explained_share_is_stated_only_when_informative(contrast):
    share = make_row(stat="explained_share", sample="matched", estimate=0.4, low=-0.1, high=0.8)
    assert said(contrast, make_row(), share).endswith(
        " Matching and adjustment explain 40 % (−10 % to 80 %) of the unmatched gap."
    )
    for ends in ({"low": None, "high": None}, {"low": -0.4, "high": 0.9}):
        assert "explain" not in said(contrast, make_row(), {**share, **ends})


def sensitivity(gamma: float, *more: dict[str, object]) -> str:
    rows = [make_point(stat=stat, sample="matched", estimate=value)
            for stat, value in (("gamma", gamma), ("e_value", 4.5), ("e_value_limit", 3.5))]  # fmt: skip
    return sensitivity_sentence(lw.Estimates.of([*rows, *more]).frame)


def test_sensitivity_to_unmeasured_confounding():
    text = sensitivity(4.61)
    assert text.startswith("Sensitivity to unmeasured confounding: ")
    for number in ("× 4.61", "× 4.50", "× 3.50"):
        assert number in text
    assert "not statistically significant even without any" in sensitivity(1.0)
    assert "more than 1000-fold" in sensitivity(5000.0)
    assert sensitivity_sentence(lw.Estimates.of([make_row()]).frame) == ""


def test_the_strongest_observed_covariate_is_the_comparison():
    covariates = [
        make_row(stat=stat, group=f"{name} (per sd)", estimate=value, low=value / 2, high=value * 2)
        for name, odds, outcome in (("perceived_age", 0.25, 0.5), ("yaw", 1.1, 3.0))
        for stat, value in (("odds_ratio", odds), ("answer_ratio", outcome))
    ]
    assert sensitivity(2.0, *covariates).endswith(
        "perceived age: odds × 4.00 and outcome × 2.00 per standard deviation."
    )
    assert "For comparison" not in sensitivity(2.0, covariates[0])


def test_the_robustness_of_the_adjusted_gap():
    rows = [make_point(stat=stat, sample="matched", estimate=value)
            for stat, value in (("robustness_value", 0.285), ("robustness_value_limit", 0.157))]  # fmt: skip
    text = sensitivity(2.0, *rows)
    assert "Robustness value of the adjusted gap: 28 % of the residual variance" in text and "(16 % for the" in text
    strong = [make_row(stat="gap_with_confounder", sample="matched", group=name, estimate=value, low=-0.1, high=0.4)
              for name, value in (("age", 0.1), ("eye_glasses", 0.02))]  # fmt: skip
    assert sensitivity(2.0, *rows, *strong).endswith("as strong as eye glasses, it would be 0.020 (−0.100 to 0.400).")


def slopes(*values: tuple[str, float, float, float, float | None]) -> str:
    rows = []
    for name, estimate, low, high, q in values:
        rows.append(make_row(quantity=f"tagger: {name}", estimate=estimate, low=low, high=high, **SLOPE))
        if q is not None:
            rows.append(make_point(quantity=f"tagger: {name}", **{**SLOPE, "stat": "q_by"}, estimate=q))
    return slope_finding(lw.Estimates.of(rows))


def test_discoveries_are_counted_by_q_value():
    text = slopes(("Grin", 0.3, 0.2, 0.4, 0.001), ("Tie", 0.1, 0.01, 0.19, 0.08), ("Hat", 0.0, -0.1, 0.1, 0.9))
    assert text.startswith("Counterfactual edits of the attribute change 1 of 3 labels (")
    assert "images with valid edits, q < 0.05, Benjamini-Yekutieli); relative change" in text
    assert "Grin 0.300 (0.200 to 0.400)" in text
    assert "Tie" not in text


def test_no_discovery_is_not_no_effect():
    text = slopes(("Grin", 0.3, -0.2, 0.8, 0.4), ("Hat", 0.0, -0.1, 0.1, 0.9))
    assert text.startswith("Counterfactual edits are not shown to change any of 2 labels (")
    assert ": inconclusive; their intervals" in text
    assert text.endswith("their intervals include changes of up to 0.800 per unit of edit strength (Grin).")


def test_without_q_values_intervals_count_and_it_is_said():
    text = slopes(("Grin", 0.3, 0.2, 0.4, None), ("Hat", 0.0, -0.1, 0.1, None))
    assert "change 1 of 2 labels (" in text
    assert "images with valid edits, intervals not adjusted for multiplicity)" in text


def test_floating_point_noise_is_no_discovery():
    for q in (0.0, None):
        assert "not shown to change any of 1 labels" in slopes(("Hat", 5e-18, 6e-19, 1e-17, q))
    assert slope_finding(lw.Estimates.of([make_row()])) == ""


def test_the_balance_verdict_names_what_remains():
    before = lw.Estimates(balance_of(age=(-0.9, 0), light=(0.3, 0), yaw=(0.01, 0)).frame.query("sample == 'all'"))
    assert balance_verdict(before) == "2 of 3 covariates have an absolute SMD above 0.1."
    alike = balance_of(age=(-0.9, -0.05), light=(0.3, 0.0), yaw=(0.01, 0.02))
    assert balance_verdict(alike).endswith("; after matching, none does.")
    apart = balance_of(age=(-0.9, -0.2), light=(0.3, 0.0), yaw=(0.01, 0.02))
    assert balance_verdict(apart).endswith("; after matching, 1 still does: age (−0.200).")
    two = balance_of(age=(-0.9, -0.2), light=(0.3, 0.15))
    assert balance_verdict(two).endswith("2 still do: age (−0.200), light (0.150).")
    assert balance_verdict(lw.Estimates.of([])) == ""


@pytest.mark.parametrize(
    ("sample", "words"), [("weighted", "with overlap weights"), ("caliper", "in the sample 'caliper'")]
)
def test_other_samples_are_named_too(sample, words):
    rows = [make_point(quantity="age", stat="smd", sample=name, estimate=0.5) for name in ("all", sample)]
    assert f"; {words}, 1 still does: age (0.500)." in balance_verdict(lw.Estimates.of(rows))


def test_gaps_of_a_handful_are_no_findings_with_or_without_a_verdict(contrast):
    """'matched, adjusted, a difference of 0.027 (-1.069 to 1.122)' stood beside a matched gap of two pairs."""
    few = make_row(sample="matched", stat="adjusted_gap", clusters=2)
    judged = make_point(stat="verdict", sample="matched: gap", method="interval; too few", clusters=2)
    for rows in ((make_row(), few), (make_row(), make_row(sample="matched", clusters=2), few, judged)):
        assert "matched, adjusted, too few people for a conclusion (2 independent clusters)" in said(contrast, *rows)
