"""The executive summary: one line a system, verdicts, warnings beside the finding, and the validity of the design."""

from __future__ import annotations

import pandas as pd
import pytest

import likewise as lw
from likewise.report.names import Naming
from likewise.report.sections.sample.fidelity import fidelity_differs
from likewise.report.sections.sample.validity import checks, dependence, residual
from likewise.report.sections.summary import Line, Summary, Verdict, headline, is_share
from likewise.tables.matching.matches import DROPPED
from report.rows import balance_of, make_point, make_row, operating_rows

BALANCED, APART = balance_of(age=(-0.9, 0.0)), balance_of(age=(-0.9, 0.3))
NOTE = "arcface is under audit, and its family chose the pairs. Its gap is not independent of the matching."


def lines(contrast, rows, balance=BALANCED, notes=()) -> list[Line]:
    return Summary(lw.Estimates.of(rows), balance, contrast, Naming.of(balance), notes).lines()


def matched(count: int = 40, offered: int = 50) -> lw.Matches:
    keys = [str(k) for k in range(count)]
    frame = pd.DataFrame({"pair": keys, "a": [f"a{k}" for k in keys], "b": [f"b{k}" for k in keys]})
    counts = dict(zip(DROPPED, (["female", "male"], "no partner", offered - count), strict=True))
    return lw.Matches(frame, offered={"female": offered, "male": offered}, dropped=pd.DataFrame(counts))


def by_name(*args, **options) -> dict[str, tuple[str, str, str]]:
    return {check.name: (check.mark, check.verdict, check.words) for check in checks(*args, **options)}


def test_a_recognizer_has_one_line_with_rates_difference_and_ratio(contrast):
    (line,) = lines(contrast, [make_row(), *operating_rows(), *operating_rows("its threshold 0.4")])
    assert (line.system, line.measure) == ("arcface", "genuine pairs rejected (FNMR at FMR 1 %)"), (
        "the first operating point leads"
    )
    assert (line.lead.design, line.lead.focal, line.lead.reference) == ("matched", "25.0 %", "10.0 %")
    assert line.lead.difference == "15.0 points (8.0 to 32.0)" and line.lead.ratio == "3.00 (1.50 to 5.90)"
    assert [other.design for other in line.beside] == ["matched, adjusted", "unmatched, unadjusted"]


def test_a_ratio_without_an_interval_is_not_shown(contrast):
    """With fewer than five errors half an error is added to each group, and the ratio means little."""
    rows = [
        {**row, "low": float("nan"), "high": float("nan")} if row["stat"] == "max_min" else row
        for row in operating_rows()
    ]
    (line,) = lines(contrast, [make_row(), *rows])
    assert line.lead.ratio == "too few errors"
    assert line.beside[0].difference == "12.0 points (1.0 to 23.0)" and line.beside[0].focal == ""
    assert (line.verdict.kind, line.verdict.words) == ("different", "different: worse for female")
    assert line.warnings == []


def test_other_outcomes_follow_with_their_own_units(contrast):
    rows = [make_row(quantity="people: same", sample=s, estimate=-0.2, low=-0.3, high=-0.1) for s in ("all", "matched")]
    rows += [
        make_row(quantity="people: same", stat="mean", sample="matched", group="male", estimate=0.7, low=0.6, high=0.8)
    ]
    rows += [make_row(quantity="dlib: distance", stat="mean", group="female"), make_row(quantity="dlib: distance")]
    people, dlib = lines(contrast, rows)
    assert (people.lead.focal, people.lead.reference) == ("", "70.0 %")
    assert people.verdict.words == "different: worse for female", "fewer answers 'same' to genuine pairs are worse"
    assert (dlib.lead.focal, dlib.lead.difference) == ("0.200", "0.200 (0.100 to 0.300)")
    assert dlib.lead.design == "unmatched, unadjusted"
    assert dlib.warnings == ["No matched estimate: the difference may be due to covariates."]


def test_labels_of_a_classifier_share_one_line(contrast):
    rows = []
    for k, (estimate, low, high) in enumerate(
        [(0.5, 0.4, 0.6), (-0.6, -0.7, -0.5), (0.0, -0.1, 0.1), (0.1, -0.1, 0.3)]
    ):
        rows += [make_row(quantity=f"tagger: Share labeled L{k}", sample=s, estimate=estimate, low=low, high=high)
                 for s in ("all", "matched")]  # fmt: skip
    (line,) = lines(contrast, rows)
    assert line.measure == "Share labeled L1 (largest difference of 4 labels)"
    assert (line.verdict.kind, line.verdict.words) == ("different", "2 of 4 labels differ (simultaneous intervals)")
    still = [{**row, "estimate": 0.0, "low": -0.1, "high": 0.1} for row in rows]
    (line,) = lines(contrast, still)
    assert line.verdict.kind == "open" and line.verdict.words.startswith("inconclusive: 0 of 4 labels")


def test_a_classifier_with_one_label_is_written_like_any_system(contrast):
    rows = [make_row(quantity="tagger: Share labeled Tie", sample=s) for s in ("all", "matched")]
    rows.append(make_point(quantity="tagger: Share labeled Tie", stat="q_value", sample="matched: gap"))
    (line,) = lines(contrast, rows)
    assert (line.measure, line.verdict.words) == ("Share labeled Tie", "different: higher for female")


@pytest.mark.parametrize(
    ("ends", "kind", "words"),
    [
        ({"low": 0.1, "high": 0.3}, "different", "different: worse for female"),
        ({"low": -0.1, "high": 0.3}, "open", "inconclusive: not statistically significant; no equivalence margin"),
        ({"low": None, "high": None, "level": None}, "open", "inconclusive: no interval"),
    ],
)
def test_verdicts_follow_from_the_interval(contrast, ends, kind, words):
    (line,) = lines(contrast, [make_row(**ends)])
    assert (line.verdict.kind, line.verdict.words) == (kind, words)


@pytest.mark.parametrize(
    ("method", "kind", "words"),
    [
        ("interval; different", "different", "different: worse for female"),
        ("TOST, margin 0.05; equivalent", "equivalent", "equivalent within ±0.05"),
        ("TOST, margin 0.05; inconclusive", "open", "inconclusive; smallest detectable difference 0.200"),
        ("interval; too few", "open", "inconclusive: too few independent clusters"),
    ],
)
def test_verdicts_of_the_analysis_are_taken_over(contrast, method, kind, words):
    rows = [make_row(sample=sample) for sample in ("all", "matched")]
    rows += [make_point(stat="verdict", sample="matched: gap", method=method)]
    rows += [make_point(stat="detectable_gap", sample="matched: gap")]
    (line,) = lines(contrast, rows)
    assert (line.verdict.kind, line.verdict.words) == (kind, words)


def test_margins_of_rates_are_in_points(contrast):
    name = "arcface: distance at FMR 0.01"
    stated = make_point(quantity=name, stat="verdict", sample="matched: gap", method="TOST, margin 0.05; equivalent")
    (line,) = lines(contrast, [*operating_rows(), stated])
    assert line.verdict.words == "equivalent within ±5 points"


def test_warnings_that_weaken_a_finding_stand_with_it(contrast):
    (line,) = lines(contrast, operating_rows(), APART, [NOTE, "dlib is not independent of the matching."])
    assert line.lead.design == "matched (not balanced)"
    assert line.warnings[0].startswith("Not balanced: age (SMD 0.300).")
    assert line.warnings[1:] == [NOTE]
    rare = [{**row, "method": "Wilson; rare"} for row in operating_rows()]
    (line,) = lines(contrast, rare)
    assert line.warnings == ["A rate here rests on errors of fewer than five people."]


def test_rare_false_matches_do_not_weaken_a_finding_on_false_non_matches(contrast):
    """The warning stood with an FNMR of 75 % because few people had a false match."""
    rows = [{**row, "method": "Wilson; rare"} if row["sample"] == "all" else row for row in operating_rows()]
    assert any(row["stat"] == "fmr" and row["sample"] == "all" for row in rows)
    (line,) = lines(contrast, rows)
    assert line.lead.design == "matched" and line.warnings == []


def test_a_verdict_has_a_head_and_a_rest():
    open_ended = Verdict("open", "inconclusive; smallest detectable difference 11.8 points")
    assert (open_ended.head, open_ended.rest) == ("inconclusive", "smallest detectable difference 11.8 points")
    assert (Verdict("different", "different: worse for F").rest, Verdict("open", "equal").rest) == ("worse for F", "")


def test_a_bias_that_matters_is_said_although_covariates_are_balanced(contrast):
    remark = {"method": "Newcombe; imbalance left adds 0.012"}
    rows = [{**row, **remark} if row["sample"] == "matched" else row for row in operating_rows()]
    estimates = lw.Estimates.of(rows)
    (line,) = Summary(estimates, BALANCED, contrast, Naming.of(BALANCED, estimates)).lines()
    assert "the remaining imbalance adds 1.2 points" in line.warnings[0]


def test_imbalance_of_the_compared_units_is_said_too(contrast):
    remark = {"method": "Newcombe; |SMD| > 0.1 left in eye_glasses, light ..."}
    rows = [{**row, **remark} if row["sample"] == "matched" else row for row in operating_rows()]
    estimates = lw.Estimates.of(rows)
    naming = Naming.of(BALANCED, estimates)
    assert not naming.balanced
    (line,) = Summary(estimates, BALANCED, contrast, naming).lines()
    assert line.warnings[0].startswith("Not balanced: |SMD| > 0.1 in eye glasses, light and others.")
    assert residual(estimates) == ["eye glasses", "light"]
    check = by_name(BALANCED, matched(), contrast, left=residual(estimates))["Balance"]
    assert check[:2] == ("bad", "not balanced") and check[2].endswith(
        "above 0.1 in the compared units: eye glasses, light"
    )


def test_regression_without_matching_stands_beside(contrast):
    rows = [make_row(), make_row(sample="matched"), make_row(stat="regression_gap")]
    (line,) = lines(contrast, rows)
    assert [other.design for other in line.beside] == ["unmatched, regression-adjusted", "unmatched, unadjusted"]


def test_nothing_audited_has_no_lines(contrast):
    assert lines(contrast, []) == []
    assert lines(contrast, [make_point(sample="truth: all")]) == []


def test_shares_are_known_by_their_question():
    assert is_share("arcface: distance at FMR 0.01") and is_share("people: same") and is_share("t: Share labeled Tie")
    assert not is_share("arcface: distance") and not is_share("people: same, confidence")
    assert is_share("t: Mean of hire"), "answers that are averaged are from 0 to 1"
    assert not is_share("look at me: distance")


def test_a_valid_design_in_words(contrast):
    found = by_name(BALANCED, matched(), contrast, validity={"originals": 9, "valid": 9})
    assert found["Balance"][:2] == ("good", "balanced")
    assert found["Overlap"] == ("good", "sufficient", "40 of 50 female and 40 of 50 male images matched")
    assert found["Fidelity"][:2] == ("none", "not measured")
    assert found["Edit validity"] == ("good", "valid", "9 of 9 images have valid edits at all strengths")
    assert found["Independence"][:2] == ("good", "no shared model family found")


def test_an_invalid_design_in_words(contrast):
    found = by_name(
        APART, matched(3), contrast, fidelity=[{"measure": "x"}], fidelity_gap=True,
        validity={"originals": 9, "certified": 3}, notes=[NOTE],
    )  # fmt: skip
    assert found["Balance"] == (
        "bad",
        "not balanced",
        "1 of 1 covariates above 0.1; largest SMD after matching 0.300 (age)",
    )
    assert found["Overlap"][:2] == ("warn", "partial") and "describe the matched images only" in found["Overlap"][2]
    assert found["Fidelity"][:2] == ("warn", "differs between the groups")
    assert found["Edit validity"][:2] == ("warn", "partly valid")
    assert found["Independence"] == ("bad", "not independent", NOTE)


def test_missing_parts_of_a_design_are_not_measured(contrast):
    found = by_name(lw.Estimates.of([]), matched(0), contrast, validity={})
    assert [found[name][0] for name in ("Balance", "Overlap", "Fidelity", "Edit validity")] == [
        "none",
        "bad",
        "none",
        "none",
    ]
    assert by_name(BALANCED, matched(), contrast, validity={"originals": 4, "valid": 0})["Edit validity"][0] == "bad"
    assert by_name(BALANCED, matched(), contrast, fidelity=[{"measure": "x"}])["Fidelity"][0] == "good"


def test_nothing_is_said_of_reconstructions_without_a_projection(contrast):
    assert "Fidelity" not in by_name(BALANCED, matched(), contrast, reconstructs=False)
    assert "Edit validity" in by_name(BALANCED, matched(), contrast, reconstructs=False)


def test_marks_are_words_too_and_never_color_alone(contrast):
    for check in checks(APART, matched(), contrast):
        assert check.verdict and check.mark in {"good", "warn", "bad", "none"}


def test_dependence_and_fidelity_gaps():
    assert dependence([NOTE, "10 images do not decode."]) == [NOTE]
    assert fidelity_differs(lw.Estimates.of([make_row()]))
    assert not fidelity_differs(lw.Estimates.of([make_row(low=-0.1)]))
    assert not fidelity_differs(None)


def test_the_headline_names_the_systems_by_verdict_and_what_weakens_them(contrast):
    found = lines(contrast, [*operating_rows(), make_row(quantity="people: same", low=-0.1, high=0.5)])
    good = checks(BALANCED, matched(), contrast)
    assert headline(found, good) == [
        "1 of 2 systems differs between the groups: arcface (worse for female).",
        "Inconclusive, neither a difference nor equivalence is shown: people.",
    ]
    weak = headline(found, checks(APART, matched(), contrast))
    assert weak[-1].startswith("Read with caution (balance: not balanced)")
    assert headline([], good) == []


def test_what_is_unbalanced_and_what_it_adds_stand_together(contrast):
    remark = {"method": "Newcombe; |SMD| > 0.1 left in age; imbalance left adds 0.012"}
    estimates = lw.Estimates.of([{**row, **remark} if row["sample"] == "matched" else row for row in operating_rows()])
    (line,) = Summary(estimates, BALANCED, contrast, Naming.of(BALANCED, estimates)).lines()
    assert line.warnings[0].startswith("Not balanced: |SMD| > 0.1 in age; by regression, the remaining imbalance adds")
    assert residual(estimates) == ["age"]
