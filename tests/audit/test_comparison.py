"""compare: the change between two audits, paired where the units are the same, and what it refuses."""

from __future__ import annotations

import json

import numpy as np
import pytest
from benchmarks.coverage_compare import coverage

import likewise as lw
from likewise.analysis.comparison.paired import paired_changes
from likewise.errors import SpecError, TableError
from likewise.simulation.system_ratings import CONTRAST, VerificationTrials
from scored_audit import scored_audit
from shell import run

FNMR = "vendor: FNMR at FMR 0.01"


@pytest.fixture(scope="module")
def first(tmp_path_factory) -> lw.Audit:
    return scored_audit(tmp_path_factory.mktemp("first") / "v1")


def test_two_versions_on_the_same_units_are_paired(first, tmp_path, capsys):
    old, new = first, scored_audit(tmp_path / "v2", shift=0.05)
    found = lw.compare(old, new)
    assert found.design == "paired"
    rows = found.estimates.where(quantity="vendor: distance", stat="change").frame.set_index("group")
    assert rows.loc["female", "estimate"] == pytest.approx(0.05) and rows.loc["male", "estimate"] == 0
    assert rows.loc["female - male", "estimate"] == pytest.approx(0.05)
    own = old.estimates.where(quantity="vendor: distance at FMR 0.01", stat="fnmr", sample="all", group="female").frame
    before = found.estimates.where(quantity=FNMR, stat="old_value", group="female").frame
    assert before["estimate"].iloc[0] == pytest.approx(own["estimate"].iloc[0])
    code, out, _ = run(capsys, "compare", old.folder, new.folder, "--out", tmp_path / "page.html")
    assert code == 0 and "design: paired" in out
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "same units, paired" in page and "Every version has its own threshold" in page
    code, out, _ = run(capsys, "compare", old.folder, new.folder, "--out", tmp_path / "page.html", "--json")
    assert code == 0 and json.loads(out)["design"] == "paired"


def test_the_same_audit_has_no_change(first):
    moved = lw.compare(first, first).estimates.where(stat="change").frame
    assert (moved["estimate"] == 0).all() and (moved["low"] <= 0).all() and (moved["high"] >= 0).all()


def test_the_page_marks_what_changed_and_nothing_else(first, tmp_path):
    calm = lw.compare(first, first).write(tmp_path / "calm.html").read_text(encoding="utf-8")
    assert "≠" not in calm.partition("<main>")[2].partition("<script>")[0] and "0 of " in calm
    new = scored_audit(tmp_path / "v2", shift=0.3)
    page = lw.compare(first, new).write(tmp_path / "moved.html").read_text(encoding="utf-8")
    rows = [line for line in page.splitlines() if line.startswith("<tr") and 'scope="row"' in line]
    marked = [line for line in rows if "≠" in line]
    assert 0 < len(marked) < len(rows)
    assert all("not significant" not in line for line in marked)


def test_two_data_sets_stand_side_by_side(first, tmp_path):
    old, new = first, scored_audit(tmp_path / "b", people="n", seed=2, name="other")
    found = lw.compare(old, new)
    assert found.design == "independent"
    row = found.estimates.where(quantity=FNMR, stat="change", sample="all", group="female - male").frame.iloc[0]
    assert row["low"] < row["estimate"] < row["high"]
    with pytest.raises(TableError, match="rated in both audits"):
        lw.compare(old, new, design="paired")
    with pytest.raises(SpecError, match="Unknown system 'nobody'"):
        lw.compare(old, new, raters={"nobody": "other"})


def test_people_in_both_data_sets_take_the_interval_away(first):
    changes = lw.compare(first, first, design="independent").estimates.where(stat="change").frame
    assert changes["low"].isna().all()


def test_labels_that_never_change_keep_a_width():
    ratings, trials, images, _ = VerificationTrials(40, seed=1).tables()
    same = lw.Ratings(ratings.frame.assign(value=(ratings.frame["value"] > 0.5).astype(float)))
    found = paired_changes(same, same, trials.genuine(), images, CONTRAST)
    row = found.where(stat="change", group="female").frame.iloc[0]
    assert row["estimate"] == 0 and row["high"] == pytest.approx(1 - 0.05 ** (1 / 20)) and row["low"] == -row["high"]


def test_paired_intervals_are_narrower_than_those_of_independent_samples():
    ratings, trials, images, _ = VerificationTrials(100, seed=1).tables()
    noise = np.random.default_rng(0).normal(0, 0.01, len(ratings))
    other = lw.Ratings(ratings.frame.assign(value=ratings.frame["value"] + noise))
    frame = paired_changes(ratings, other, trials, images, CONTRAST, rates=[0.05]).frame
    width = (frame["high"] - frame["low"]).groupby([frame["quantity"], frame["stat"]]).mean().unstack()
    assert (width["change"] < width["old_value"]).all()


def test_paired_intervals_hold_the_truth():
    """A fast look at what ``benchmarks.coverage_compare`` measures over 400 seeds."""
    found = coverage(12, 700_000).set_index("interval")["mean"]
    assert found.min() >= 0.66 and found.mean() >= 0.9
