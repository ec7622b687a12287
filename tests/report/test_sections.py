"""Rows of each section, from constructed tables."""

from __future__ import annotations

import pandas as pd
import pytest

import likewise as lw
from likewise.report.names import Naming
from likewise.report.sections.findings.crowd import families
from likewise.report.sections.findings.designs import conclusion, curve_sentence, curves, panels
from likewise.report.sections.findings.error_rates import enrollment_rows, error_findings, recognizers
from likewise.report.sections.findings.gaps import gap_tables
from likewise.report.sections.findings.labels import label_finding, label_tables, many_labels
from likewise.report.sections.findings.slopes import placebo_tables, plotted_labels, slope_tables, validity_rows
from likewise.report.sections.findings.truth import truth_rows
from likewise.report.sections.sample.balance import (
    balance_rows,
    energy_sentence,
    excluded_rows,
    joint_rows,
    sample_table,
)
from likewise.report.sections.sample.fidelity import fidelity_rows
from likewise.report.sections.sample.validity import overlap_sentence, overlap_warning
from report.rows import balance_of, make_point, make_row, operating_rows

EMPTY = lw.Estimates.of([])


def test_error_rates_have_a_row_a_group_and_one_for_the_gap(contrast):
    (entry,) = recognizers(lw.Estimates.of(operating_rows()), contrast)
    (point,) = entry["points"]
    focal, reference, gap = point["rows"]
    assert entry["rater"] == "arcface" and entry["matched"] and point["where"] == "at FMR 1 %"
    assert (focal["all"], focal["matched"]) == ("30.0 % (20.0 to 40.0)", "25.0 % (20.0 to 40.0)")
    assert focal["all_worse"] and focal["matched_worse"] and not reference["all_worse"]
    assert focal["fmr"] == "1.0 % (0.5 to 2.0)"
    assert gap["all"] == "20.0 (8.0 to 32.0)" and gap["adjusted"] == "12.0 (1.0 to 23.0)"
    assert point["across"] == "0.2 % (0.1 to 0.4)"
    assert point["ratios"] == "max / min 3.00 (1.50 to 5.90); Gini coefficient 0.40 (0.20 to 0.60)"
    assert point["remarks"] == ""


def test_the_error_finding_leads_with_the_matched_rates(contrast):
    (text,) = error_findings(lw.Estimates.of(operating_rows()), contrast)
    assert text.startswith(
        "FNMR of arcface at FMR 1 %: matched, 25.0 % (20.0 to 40.0) for female and 10.0 % (5.0 to 18.0) for male, "
        "a difference of 15.0 points (8.0 to 32.0); matched, adjusted, 12.0 points (1.0 to 23.0); unmatched"
    )
    (text,) = error_findings(lw.Estimates.of(operating_rows(matched=False)), contrast)
    assert text.startswith("FNMR of arcface at FMR 1 %: unmatched, unadjusted, 30.0 %") and " matched" not in text
    assert error_findings(EMPTY, contrast) == []


def test_the_error_finding_of_a_handful_of_people_is_too_few(contrast):
    quantity = operating_rows()[0]["quantity"]
    few = [make_point(quantity=quantity, stat="verdict", sample=f"{sample}: gap", method="interval; too few")
           for sample in ("all", "matched")]  # fmt: skip
    (text,) = error_findings(lw.Estimates.of([*operating_rows(), *few]), contrast)
    assert text.count("too few people for a conclusion") == 2 and "points" not in text


def test_a_group_without_rates_and_rare_errors_are_said(contrast):
    rows = [{**row, "method": "Wilson; rare"} for row in operating_rows() if row["group"] != "male"]
    (entry,) = recognizers(lw.Estimates.of(rows), contrast)
    assert entry["points"][0]["rows"][1]["all"] == "–"
    assert entry["points"][0]["remarks"] == "A rate here rests on errors of fewer than five people."
    rows = [{**row, "method": "Wilson; the threshold was set on other people"} for row in operating_rows()]
    (entry,) = recognizers(lw.Estimates.of(rows), contrast)
    assert entry["points"][0]["remarks"] == "Warning: the threshold was set on other people."


def test_several_recognizers_have_entries_of_their_own(contrast):
    rows = [*operating_rows(), *operating_rows("its threshold 0.4", "dlib", matched=False)]
    first, second = recognizers(lw.Estimates.of(rows), contrast)
    assert first["matched"] and not second["matched"]
    assert second["points"][0]["where"] == "at the vendor's default threshold (0.4)"


def test_failures_to_acquire():
    rows = [make_row(stat="enrolment_failure", group=group, estimate=0.05, low=0.01, high=0.1) for group in "fm"]
    assert enrollment_rows(lw.Estimates.of(rows)) == [
        {"rater": "arcface", "group": group, "share": "5.0 % (1.0 to 10.0)"} for group in "fm"
    ]
    assert enrollment_rows(EMPTY) == []


def gaps_of(name: str, **designs: tuple[float, float, float]) -> list[dict[str, object]]:
    keys = {"all": ("all", "gap"), "matched": ("matched", "gap"), "adjusted": ("matched", "adjusted_gap"),
            "edited": ("counterfactual", "gap")}  # fmt: skip
    return [
        make_row(quantity=name, sample=keys[design][0], stat=keys[design][1], estimate=e, low=low, high=high)
        for design, (e, low, high) in designs.items()
    ]


def labels(count: int) -> lw.Estimates:
    rows = []
    for k in range(count):
        clear, open_ = (0.1 * k + 0.1, 0.05, 0.9), (0.01, -0.1, 0.1)
        rows += gaps_of(f"tagger: Share labeled L{k}", all=clear, matched=open_, adjusted=open_, edited=clear)
        rows.append(
            make_point(
                quantity=f"tagger: Share labeled L{k}", stat="agreement_p", sample="matched - counterfactual",
                estimate=0.04,
            )
        )  # fmt: skip
    return lw.Estimates.of(rows)


def test_few_labels_are_reported_one_by_one_and_many_as_a_table(contrast):
    assert many_labels(labels(3).frame) == set()
    assert label_tables(labels(3)) == [] and label_finding(labels(3), contrast) == ""
    (table,) = label_tables(labels(4))
    assert [row["label"] for row in table["rows"]] == ["L3", "L2", "L1", "L0"]
    assert table["rows"][0]["all"] == "+40.0 (+5.0 to +90.0)" and table["rows"][0]["all_clear"] == "yes"
    assert table["rows"][0]["matched"] == "+1.0 (−10.0 to +10.0)" and table["rows"][0]["matched_clear"] == ""
    assert table["rows"][0]["p"] == "0.040"


def test_label_discoveries_are_counted_by_simultaneous_intervals(contrast):
    text = label_finding(labels(4), contrast, Naming(balanced=False))
    assert text.startswith("Of 4 labels, assigned at significantly different rates to female and male images (simult")
    assert "0 (matched (not balanced)), 0 (matched, adjusted (not balanced)), 4 (counterfactual edits), 4 (unm" in text


def test_gap_tables_lead_with_the_matched_sample():
    rows = gaps_of("arcface: distance", all=(0.2, 0.1, 0.3), matched=(0.1, -0.1, 0.3), edited=(0.05, 0.04, 0.06))
    rows += [make_row(stat="mean", sample=sample, group="female", estimate=0.2) for sample in ("all", "matched")]
    rows += [make_point(sample="truth: all"), make_row(sample="design: other")]
    (table,) = gap_tables(lw.Estimates.of(rows))
    assert table["name"] == "Mean genuine (mated) distance (arcface)"
    assert [row["what"] for row in table["rows"]] == [
        "female − male: matched", "female: matched", "female − male: counterfactual edits",
        "female − male: unmatched, unadjusted", "female: unmatched, unadjusted",
    ]  # fmt: skip
    assert [row["kind"] for row in table["rows"]] == ["gap", "group", "gap", "gap", "group"]
    assert gap_tables(lw.Estimates.of(operating_rows())) == [], "operating points have a section of their own"


def in_sd(name: str, **designs: tuple[float, float, float]) -> list[dict[str, object]]:
    rows = gaps_of(name, **designs)
    scaled = [{**row, "stat": f"{row['stat']}_in_sd", **{end: 2 * row[end] for end in ("estimate", "low", "high")}}
              for row in rows]  # fmt: skip
    return rows + scaled


def test_designs_stand_on_one_scale_and_above_zero_is_worse(contrast):
    rows = in_sd("people: same", all=(-0.2, -0.3, -0.1), matched=(-0.1, -0.3, 0.1), adjusted=(-0.05, -0.2, 0.1))
    rows += [make_point(quantity="people: same", stat="gap_in_sd", sample="truth: all", estimate=-0.5)]
    (panel,) = panels(lw.Estimates.of(rows), contrast)
    assert [design.name for design in panel.designs] == ["unmatched, unadjusted", "matched", "matched, adjusted"]
    assert [design.kind for design in panel.designs] == ["all", "matched", "adjusted"]
    unmatched = panel.designs[0]
    assert (unmatched.estimate, unmatched.low, unmatched.high, unmatched.truth) == (0.4, 0.2, 0.6, 0.5)
    assert unmatched.text == "−0.200 (−0.300 to −0.100)", "the text is in the outcome's own units"
    assert panel.designs[1].truth is None


def test_questions_without_a_worse_side_have_no_panel(contrast):
    assert panels(lw.Estimates.of(in_sd("tagger: age", all=(0.2, 0.1, 0.3))), contrast) == []


def concluded(contrast, **designs: tuple[float, float, float]) -> str:
    return conclusion(lw.Estimates.of(gaps_of("arcface: distance", **designs)).frame, contrast)


def test_conclusions_name_the_group_with_the_worse_outcome(contrast):
    text = concluded(contrast, all=(0.2, 0.1, 0.3), matched=(0.1, -0.1, 0.3), edited=(-0.1, -0.2, -0.05))
    assert "Matched: not statistically significant, 0.100 (95 % CI −0.100 to 0.300)." in text
    assert "Counterfactual edits: worse for male, −0.100 (95 % CI −0.200 to −0.050)." in text
    assert "Unmatched, unadjusted: worse for female, 0.200 (95 % CI 0.100 to 0.300)." in text
    assert "reverses" not in text
    assert "reverses with matching" in concluded(contrast, all=(0.2, 0.1, 0.3), matched=(-0.2, -0.3, -0.1))
    assert "masked" in concluded(contrast, all=(0.1, -0.1, 0.3), matched=(0.2, 0.1, 0.3))
    assert concluded(contrast, matched=(0.2, 0.1, 0.3)) == ""


@pytest.mark.parametrize(("p", "words"), [(0.2, "do not differ significantly"), (0.01, "disagree")])
def test_agreement_of_matching_and_edits(contrast, p, words):
    rows = gaps_of("arcface: distance", all=(0.2, 0.1, 0.3))
    both = {"sample": "matched - counterfactual"}
    rows += [make_row(stat="design_difference", estimate=0.01, low=-0.1, high=0.12, **both)]
    rows += [make_point(stat="agreement_p", estimate=p, **both)]
    text = conclusion(lw.Estimates.of(rows).frame, contrast)
    assert f"Matching and edits {words} (difference 0.010 (−0.100 to 0.120), p = {p:.3f})" in text


def test_the_specification_curve_counts_its_intervals():
    values = [("plan", 0.1, 0.05, 0.15), ("wide", -0.2, -0.3, -0.1), ("plan, without age", 0.0, -0.1, 0.1)]
    rows = [make_row(sample=f"design: {name}", estimate=e, low=low, high=high) for name, e, low, high in values]
    ((name, curve),) = curves(lw.Estimates.of(rows))
    assert name == "arcface: distance" and curve["estimate"].tolist() == [-0.2, 0.0, 0.1]
    assert curve_sentence(curve) == (
        "3 specifications (2 designs, unadjusted or adjusted): estimates from −0.200 to +0.100; 1 intervals lie above "
        "zero, 1 below, 1 include it."
    )


def test_balance_rows_and_their_missing_cells(contrast):
    (row,) = balance_rows(balance_of(perceived_age=(-0.9, -0.05)), contrast)
    assert row["quantity"] == "perceived age"
    assert (row["all_focal"], row["all_smd"], row["matched_smd"]) == ("−0.900", "−0.900", "−0.050")
    before = lw.Estimates(balance_of(age=(-0.9, 0.0)).frame.query("sample == 'all'"))
    assert balance_rows(before, contrast)[0]["matched_smd"] == "–"


@pytest.mark.parametrize("sample", ["left out", "excluded"])
def test_excluded_images_are_compared_with_matched_ones(contrast, sample):
    rows = [
        make_point(quantity=name, stat="excluded_smd", sample=sample, group=group, estimate=value)
        for name, value in (("age", 0.2), ("light", -0.6))
        for group in ("female", "male")
    ]
    rows += [
        make_point(quantity="light", stat="mean", sample=s, group="female", estimate=1.5) for s in (sample, "matched")
    ]
    found = excluded_rows(lw.Estimates.of(rows), contrast)
    assert [row["quantity"] for row in found] == ["light", "age"]
    assert found[0]["sides"][0] == {"matched": "1.50", "excluded": "1.50", "smd": "−0.600", "apart": True}
    assert found[0]["sides"][1]["matched"] == "–"


def test_joint_shares_and_energy_distance(contrast):
    cells = [make_row(quantity="hat & not tie", stat="joint_share", group="female", estimate=0.25, low=0.2, high=0.3)]
    assert joint_rows(lw.Estimates.of(cells), contrast)[0]["all_focal"] == "25 %"
    assert joint_rows(lw.Estimates.of(cells), contrast)[0]["matched_reference"] == "–"
    rows = [
        make_point(quantity="vectors", stat="energy_distance", sample=s, estimate=v)
        for s, v in (("all", 3.5), ("matched", 3.0))
    ]
    assert "3.500 unmatched, 3.000 matched (not balanced) (" in energy_sentence(
        lw.Estimates.of(rows), Naming(balanced=False)
    )
    assert "matched" not in energy_sentence(lw.Estimates.of(rows[:1])).replace("unmatched", "")
    assert energy_sentence(EMPTY) == ""


def overlap(auc: float) -> lw.Estimates:
    rows = [
        make_point(quantity="propensity", stat="auc", estimate=auc),
        make_point(quantity="propensity", stat="overlap", estimate=0.4),
    ]
    rows += [
        make_point(quantity="propensity", stat="effective_size", group=g, estimate=31.6, n=50)
        for g in ("female", "male")
    ]
    return lw.Estimates.of(rows)


def test_overlap_in_words(contrast):
    text = overlap_sentence(overlap(0.75), contrast)
    assert "AUC of 0.750" in text and "overlap by 40 %" in text and "32 of 50 female and 32 of 50 male images" in text
    assert overlap_warning(overlap(0.75)) == "" == overlap_warning(EMPTY) == overlap_sentence(EMPTY, contrast)
    assert "separates the groups almost completely" in overlap_warning(overlap(0.999))


def test_the_sample_is_counted_by_group_and_reason(contrast):
    matches = lw.Matches(
        pd.DataFrame({"pair": ["p"], "a": ["1"], "b": ["2"]}),
        ledger=pd.DataFrame({"contrast": [True]}),
        dropped=pd.DataFrame({"side": ["female", "male"], "reason": ["no partner", "no partner"], "images": [2, 3]}),
        offered={"female": 3, "male": 4},
    )
    table = sample_table(matches, contrast)
    assert (table["offered"], table["matched"]) == ([3, 4], 1)
    assert table["reasons"] == [{"reason": "no partner", "counts": [2, 3]}]
    assert table["constraints"] == [{"name": "contrast", "kept": 1}]


def test_fidelity_rows(contrast):
    rows = [
        make_row(quantity="dlib: distance", stat="mean", group="female"),
        make_row(quantity="dlib: distance", stat="gap"),
        make_point(quantity="dlib: distance", stat="p_value", estimate=0.0001),
        make_row(quantity="gate", stat="left_out", group="male"),
    ]
    measure, gate = fidelity_rows(lw.Estimates.of(rows), contrast)
    assert (measure["focal"], measure["reference"], measure["p"]) == ("0.200 (0.100 to 0.300)", "–", "< 0.001")
    assert (gate["kind"], gate["p"], gate["reference"]) == ("gate", "", "0.200 (0.100 to 0.300)")
    assert fidelity_rows(None, contrast) == []


def slope(name: str, estimate: float, width: float, **change: object) -> dict[str, object]:
    where = {"stat": "slope", "sample": "counterfactual", "group": "attribute", **change}
    return make_row(quantity=f"tagger: {name}", estimate=estimate, low=estimate - width, high=estimate + width, **where)


def test_slopes_are_sorted_and_labels_without_change_are_listed():
    rows = [slope("A", 0.1, 0.05), slope("B", 0.3, 0.1, stat="rate_slope"), slope("C", 0.0, 0.0)]
    rows += [make_point(quantity="tagger: A", stat="q_by", sample="counterfactual", group="attribute", estimate=0.01)]
    (table,) = slope_tables(lw.Estimates.of(rows))
    assert [row["label"] for row in table["rows"]] == ["B", "A"] and table["unchanged"] == ["C"]
    assert table["rows"][0]["remark"] == "absolute rate" and table["rows"][0]["q_by"] == "–"
    assert table["rows"][1]["q_by"] == "0.010" and table["rows"][1]["p_value"] == "–"
    assert slope_tables(EMPTY) == []


def test_the_figure_takes_the_clearest_slopes():
    rows = [slope(f"L{k}", 0.01 * k, 0.1) for k in range(30)] + [slope("still", 0.0, 0.0)]
    shown = set(plotted_labels(lw.Estimates.of(rows)).frame["quantity"])
    assert len(shown) == 24 and "tagger: L29" in shown and "tagger: still" not in shown
    assert len(plotted_labels(lw.Estimates.of([slope("still", 0.0, 0.0)]))) == 1


def test_controls_stand_beside_the_slopes():
    rows = [slope("A", 0.3, 0.1), slope("A", 0.1, 0.05, sample="random direction")]
    rows += [slope("A", 0.2, 0.1, stat="slope_excess", group="random direction")]
    rows += [slope("A", 0.0, 0.01, stat="rate_shift", sample="placebo: reconstruct", group="reconstruct")]
    ((row,),) = (table["rows"] for table in placebo_tables(lw.Estimates.of(rows)))
    assert row["slope"] == "0.300 (0.200 to 0.400)" and row["excess"] == "0.200 (0.100 to 0.300)"
    assert row["reconstruct"] == "0.000 (−0.010 to 0.010)" and row["mask"] == "–"


def test_edit_validity_is_counted():
    made = {
        "v": {"stage": "validate-edits", "summary": {"originals": 1200, "identity changed": 3}},
        "x": {"stage": "match", "summary": {"pairs": 1}},
    }
    assert validity_rows(made) == [{"what": "originals", "count": "1,200"}, {"what": "identity changed", "count": "3"}]
    assert validity_rows({}) == []


def test_families_are_tables_by_quantity():
    rows = [
        make_row(quantity="agreement: same", stat="alpha", group="nominal"),
        *(make_row(quantity="agreement: same", stat="rater_accuracy", group=f"rater {k}") for k in range(31)),
        make_row(quantity="people: real", stat="pass_rate", group="female"),
        make_row(quantity="people: same"),
        make_row(quantity="nurse", stat="shrunk_share", group="female"),
        make_point(quantity="people: real", stat="pass_rate", sample="truth: all", group="female"),
    ]
    people, raters, shown = families(lw.Estimates.of(rows))
    assert [family["key"] for family in (people, raters, shown)] == ["people", "raters", "representation"]
    assert [table["name"] for table in people["tables"]] == ["same (agreement)", "real (people)"] or len(
        people["tables"]
    ) == 2
    assert raters["tables"][0]["long"] and not people["tables"][0]["long"]
    assert "people: same" not in str(people), "its gap is plotted with the gaps"
    assert families(EMPTY) == []


def test_ground_truth_is_set_beside_the_estimates_of_its_sample():
    rows = [make_row(), make_row(sample="matched", stat="adjusted_gap"), make_row(sample="design: other")]
    rows += [make_point(sample="truth: all", estimate=0.25), make_point(sample="truth: matched", estimate=0.5)]
    unmatched, matched = truth_rows(lw.Estimates.of(rows))
    assert (unmatched["true"], unmatched["covered"], unmatched["sample"]) == ("0.250", "yes", "unmatched, unadjusted")
    assert (matched["true"], matched["covered"], matched["sample"]) == ("0.500", "no", "matched, adjusted")
    assert truth_rows(EMPTY) == []


def test_ground_truth_of_a_sample_is_that_of_its_own_units():
    rows = [make_row(), make_row(sample="matched"), make_row(sample="counterfactual")]
    own = {"method": "ground truth, mean over the sample's own units", "n": 68}
    rows += [make_point(sample="truth: matched", estimate=0.5, **own)]
    rows += [make_point(sample="truth: everyone", estimate=0.25, **own)]
    found = {row["sample"]: (row["true"], row["of"]) for row in truth_rows(lw.Estimates.of(rows))}
    assert found == {"matched": ("0.500", "matched (68)"), "counterfactual edits": ("0.250", "everyone")}
