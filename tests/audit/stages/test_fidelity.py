"""The stage fidelity in a whole audit: measured, gated, counted, reported, resumed."""

from __future__ import annotations

import pytest

import likewise as lw
from likewise.audit.folder.store import Folder
from likewise.audit.runner import run
from likewise.errors import PlanError
from likewise.latents import fidelity
from likewise.runtime.progress import Quiet
from shell import PROJECT

SECTION = '\n[fidelity]\nrecognizer = "world"\nclassifier = "world"\n'


def extended(audit, text=SECTION):
    plan = audit / "audit.toml"
    plan.write_text(plan.read_text() + text)
    return str(audit)


def stages(folder, *names):
    return [run(folder, reporter=Quiet(), only=name)[0] for name in names]


def test_faithful_reconstructions_all_pass_and_are_estimated_by_group(audit):
    folder = extended(audit)
    *_, outcome = stages(folder, "read", "project", "fidelity")
    assert outcome.summary["excluded"] <= 0.1 * outcome.summary["images"]
    estimates = lw.Estimates.read(audit / "fidelity" / "estimates.parquet").frame
    assert set(estimates["sample"]) == {"projected"}
    means = estimates[estimates["stat"] == "mean"]
    assert set(means["group"]) == {"female", "male"}
    assert means["quantity"].str.contains("distance to the reconstruction").any()
    assert means["quantity"].str.contains("same answer").any()
    assert {"left_out", "p_value", "gap"} <= set(estimates["stat"])
    assert run(folder, reporter=Quiet(), only="fidelity")[0].status == "up to date"
    assert Folder(audit).sidecar("fidelity").licenses


def test_what_is_another_person_is_not_matched_and_is_counted(audit):
    folder = extended(audit, '\n[fidelity]\nrecognizer = "world"\n')
    stages(folder, "read", "project", "fidelity")
    first = lw.Ratings.read(audit / "fidelity" / "ratings.parquet").frame
    far = first["value"][first["question"].str.startswith("distance") & (first["rater"] != "pixels")]
    extended(audit, f"limit = {far.quantile(0.8):.6f}\n")
    (assessed,) = stages(folder, "fidelity")
    gone = assessed.summary["excluded"]
    assert 0 < gone < assessed.summary["images"]
    assert f"{gone} reconstructions show another person" in assessed.notes[0]
    outcomes = run(folder, reporter=Quiet())
    assert all(outcome.status in ("wrote", "up to date") for outcome in outcomes)
    pairs = lw.Matches.read(audit / "matches.parquet")
    ratings = lw.Ratings.read(audit / "fidelity" / "ratings.parquet").frame
    out = set(ratings["unit"][(ratings["rater"] == "gate") & (ratings["value"] == 0)])
    assert len(out) == gone
    assert not out & set(pairs.images)
    dropped = pairs.dropped
    assert dropped.loc[dropped["reason"] == "not reconstructed faithfully", "images"].sum() == gone
    page = (audit / "report.html").read_text()
    assert "Fidelity of the reconstructions" in page
    assert "share excluded" in page


def test_without_a_gate_nobody_is_left_out(audit):
    folder = extended(audit, '\n[fidelity]\nrecognizer = "world"\ngate = false\n')
    *_, outcome = stages(folder, "read", "project", "fidelity")
    assert outcome.summary["excluded"] == 0
    ratings = lw.Ratings.read(audit / "fidelity" / "ratings.parquet").frame
    assert "gate" not in set(ratings["rater"])


def test_rates_that_differ_are_pointed_out(audit, monkeypatch):
    """Half of the women's reconstructions fail here and no man's: the gate then selects, and that is said."""
    folder = extended(audit, '\n[fidelity]\nrecognizer = "world"\n')
    stages(folder, "read", "project")
    frame = lw.Images.read(audit / "images.parquet").frame
    out = set(frame["image"][frame["perceived_gender"] == "female"][::2])

    def some_women_fail(ratings, **_):
        return [image for image in ratings.frame["unit"].drop_duplicates() if image not in out]

    monkeypatch.setattr("likewise.audit.stages.vectors.fidelity.passed", some_women_fail)
    (outcome,) = stages(folder, "fidelity")
    assert any("different rates" in note and "female" in note for note in outcome.notes)


def test_a_killed_judgment_goes_on(audit, monkeypatch):
    folder = extended(audit, SECTION + "\n[executor]\nchunk = 20\nretries = 0\n")
    stages(folder, "read", "project")
    own, calls = fidelity.MeasureFidelity.__call__, []

    def stops(self, images):
        calls.append(images)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return own(self, images)

    monkeypatch.setattr(fidelity.MeasureFidelity, "__call__", stops)
    with pytest.raises(KeyboardInterrupt):
        stages(folder, "fidelity")
    stopped = len(calls)
    (outcome,) = stages(folder, "fidelity")
    total = -(-outcome.summary["images"] // 20)
    assert len(calls) == stopped + total - 2


def test_given_vectors_have_no_fidelity(audit):
    extended(audit)
    plan = audit / "audit.toml"
    plan.write_text('vectors = "own.npz"\n' + plan.read_text().replace(PROJECT, ""))
    with pytest.raises(PlanError, match=r"\[fidelity\] has no effect"):
        run(str(audit), reporter=Quiet(), dry_run=True)
