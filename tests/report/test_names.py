"""Display names, and the remark on balance."""

from __future__ import annotations

import pytest

import likewise as lw
from likewise.errors import TableError
from likewise.report.names import Naming, difference, first, label, measure, quantity, system, unbalanced
from likewise.report.operating_points import OperatingPoint, det_points, operating_quantities
from report.rows import balance_of, make_row


def test_quantities_are_named_for_readers():
    assert quantity("arcface: distance") == "Mean genuine (mated) distance (arcface)"
    assert quantity("people: same") == "Share of genuine pairs answered 'same person' (people)"
    assert quantity("perceived_age") == "perceived age"
    assert quantity("tagger: Share labeled Dark_Hair") == "Share labeled Dark Hair (tagger)"
    assert measure("arcface: distance") == "Mean genuine (mated) distance"
    assert system("arcface: distance") == "arcface"
    assert label("tagger: Share labeled Dark_Hair") == label("tagger: Dark_Hair") == "Dark Hair"


def test_samples_are_named_in_the_field_s_words():
    names = Naming()
    assert names.sample("all") == "unmatched, unadjusted"
    assert names.sample("matched") == "matched"
    assert names.sample("matched", "adjusted_gap") == "matched, adjusted"
    assert names.sample("counterfactual") == "counterfactual edits"
    assert names.sample("weighted") == "overlap-weighted"
    assert names.sample("left out") == names.sample("excluded") == "excluded"
    assert names.sample("design: caliper 3") == "design: caliper 3"


def test_an_unbalanced_design_is_named_so_wherever_it_stands():
    balanced, apart = balance_of(age=(-0.9, -0.1)), balance_of(age=(-0.9, -0.05), light=(0.3, 0.25), yaw=(1.0, -0.4))
    assert Naming.of(balanced) == Naming() == Naming.of(None)
    assert unbalanced(balanced) == []
    assert unbalanced(apart) == [("yaw", -0.4), ("light", 0.25)]
    names = Naming.of(apart)
    for text in (
        names.matched,
        names.adjusted,
        names.pairs,
        names.sample("matched"),
        names.sample("matched", "adjusted_gap"),
    ):
        assert "not balanced" in text


def test_the_first_wanted_row_is_taken():
    frame = lw.Estimates.of([make_row(sample="matched", estimate=0.25), make_row()]).frame
    found = first(frame, ("matched", "adjusted_gap"), ("matched", "gap"), ("all", "gap"))
    assert found is not None and found["estimate"] == 0.25
    assert first(frame, ("counterfactual", "gap")) is None
    assert first(frame, ("all", "gap"), group="nobody") is None


def test_differences_do_not_break(contrast):
    assert difference(contrast) == "female\u00a0−\u00a0male"


def test_operating_points_are_read_from_names():
    point = OperatingPoint.of("a: b: distance at FMR 0.001")
    assert (point.rater, point.words) == ("a: b", "at FMR 0.1 %")
    assert OperatingPoint.of("r: distance at its threshold 0.8").words == "at the vendor's default threshold (0.8)"
    with pytest.raises(TableError, match="names no operating point"):
        OperatingPoint.of("arcface: distance")


def test_det_points_are_those_of_one_recognizer_in_order():
    rows = [
        make_row(quantity=f"{rater}: distance at own FMR {fmr}", stat="det", group="female")
        for rater in ("r", "s")
        for fmr in ("0.5", "0.01")
    ]
    estimates = lw.Estimates.of(rows)
    assert det_points(estimates, "s")["fmr"].tolist() == [0.01, 0.5]
    assert len(operating_quantities(estimates)) == 4
    assert det_points(lw.Estimates.of([make_row()]), "r").empty


def test_remarks_on_other_designs_say_nothing_about_the_plans():
    """The specification curve holds designs that leave covariates apart; the plan's own may be balanced."""
    remark = "jackknife by pair; |SMD| > 0.1 left in age"
    other = lw.Estimates.of([make_row(sample="design: nearest", method=remark)])
    own = lw.Estimates.of([make_row(sample="matched", method=remark)])
    balanced = balance_of(age=(-0.9, -0.05))
    assert Naming.of(balanced, other).balanced
    assert not Naming.of(balanced, own).balanced
