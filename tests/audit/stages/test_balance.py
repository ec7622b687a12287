"""The stage balance, and what the page shows of it: together, left out, and the ground in common."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest

import likewise as lw
from likewise.audit.runner import run
from likewise.report.figures.verification import score_plot
from likewise.report.names import Naming
from likewise.report.numbers import number
from likewise.report.sections.sample.balance import energy_sentence, excluded_rows, joint_rows
from likewise.report.sections.sample.validity import overlap_sentence, overlap_warning
from likewise.runtime.progress import Quiet

CONTRAST = lw.Contrast("perceived_gender", focal="female", reference="male")
SPEC = 'distance = "propensity"\nscore_on = ["perceived_age", "light", "smiling"]\n'


def do(audit, *stages: str) -> lw.Estimates:
    for stage in stages:
        run(str(audit), reporter=Quiet(), only=stage)
    return lw.Estimates.read(audit / "balance.parquet")


def by_propensity(audit, spec: str = SPEC, more: str = "") -> None:
    plan = (audit / "audit.toml").read_text()
    (audit / "audit.toml").write_text(re.sub(r"caliper = [^\n]*\n", spec, plan) + more)


def text_of(audit) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", (audit / "report.html").read_text()))


def test_the_page_shows_who_was_left_out_and_two_covariates_together(audit):
    run(str(audit), reporter=Quiet())
    reported, text = lw.Estimates.read(audit / "balance.parquet"), text_of(audit)
    for heading in ("Excluded images", "Joint distribution of two covariates"):
        assert heading in text
    assert "<h3>Overlap</h3>" not in (audit / "report.html").read_text()
    assert energy_sentence(reported, Naming.of(reported)) in text
    samples = reported.where(stat="energy_distance").frame.set_index("sample")["estimate"]
    assert set(samples.index) == {"all", "matched"}
    for value in samples:
        assert number(value) in energy_sentence(reported)
    faces, pairs = lw.Images.read(audit / "images.parquet"), lw.Matches.read(audit / "matches.parquet")
    side, age = CONTRAST.side(faces), faces.attribute("perceived_age")
    left = age[side == 1].drop(pairs.frame["a"]).mean()
    entry = next(row for row in excluded_rows(reported, CONTRAST) if row["quantity"] == "perceived age")
    assert entry["sides"][0]["excluded"] == f"{left:.1f}"  # ages with one decimal
    assert entry["sides"][0]["matched"] == f"{age[pairs.frame['a'].tolist()].mean():.1f}"
    assert all(
        side[word] in text
        for row in excluded_rows(reported, CONTRAST)
        for side in row["sides"]
        for word in ("matched", "excluded", "smd")
    )
    cells = joint_rows(reported, CONTRAST)
    assert [row["cell"] for row in cells[:1]] == ["eyeglasses, smiling"] or "smiling" in cells[0]["cell"]
    shares = [sum(float(row[f"{sample}_{end}"].removesuffix(" %")) for row in cells[:4])
              for sample in ("all", "matched") for end in ("focal", "reference")]  # fmt: skip
    assert np.allclose(shares, 100, atol=2)  # each is rounded


def test_by_propensity_the_ground_in_common_and_the_weights_are_shown(audit):
    by_propensity(audit)
    run(str(audit), reporter=Quiet())
    reported, text = lw.Estimates.read(audit / "balance.parquet"), text_of(audit)
    assert {"all", "matched", "weighted", "left out"} == set(reported.frame["sample"])
    assert "<h3>Overlap</h3>" in (audit / "report.html").read_text()
    assert overlap_sentence(reported, CONTRAST) in text
    assert "with overlap weights" in text
    auc = reported.where(stat="auc").frame["estimate"].item()
    assert f"AUC of {auc:.3f}" in text
    assert overlap_warning(reported) == ""
    bars = score_plot(reported, CONTRAST).axes[0].patches
    drawn = reported.where(stat="score_share").frame
    assert np.allclose(sorted(abs(bar.get_height()) for bar in bars), sorted(drawn["estimate"]))
    assert sum(bar.get_height() for bar in bars) == pytest.approx(0, abs=1e-9)
    weighted = reported.where(sample="weighted", stat="smd").frame.set_index("quantity")["estimate"].abs()
    unmatched = reported.where(sample="all", stat="smd").frame.set_index("quantity")["estimate"].abs()
    assert weighted["light"] < unmatched["light"]


def test_groups_that_separate_are_warned_of_in_plain_words(audit):
    by_propensity(audit, 'distance = "propensity"\n')
    run(str(audit), reporter=Quiet())
    reported, text = lw.Estimates.read(audit / "balance.parquet"), text_of(audit)
    assert reported.where(stat="auc").frame["estimate"].item() > 0.95
    assert overlap_warning(reported) in text
    assert "almost completely" in overlap_warning(reported)


def test_given_scores_are_diagnosed_too(audit):
    run(str(audit), reporter=Quiet(), only="read")
    faces = lw.Images.read(audit / "images.parquet")
    scores = pd.Series(np.random.default_rng(0).normal(size=len(faces)), index=faces.keys, name="score")
    scores.rename_axis("image").reset_index().to_csv(audit / "scores.csv", index=False)
    by_propensity(audit, 'distance = "propensity"\n', '\n[precomputed_distances]\nscores = "scores.csv"\n')
    reported = do(audit, "project", "match", "balance")
    side = CONTRAST.side(faces)
    above = np.subtract.outer(scores[side == 1].to_numpy(), scores[side == -1].to_numpy()) > 0
    assert reported.where(stat="auc").frame["estimate"].item() == pytest.approx(above.mean())
    assert set(reported.where(stat="score_accuracy").frame["quantity"]) == {"propensity, as scored"}
    (scores * 2).rename_axis("image").reset_index().to_csv(audit / "scores.csv", index=False)
    again = {outcome.stage: outcome.status for outcome in run(str(audit), reporter=Quiet(), dry_run=True)}
    assert (again["match"], again["balance"]) == ("would run", "may run")


def test_without_pairs_the_groups_are_still_described(audit):
    plan = (audit / "audit.toml").read_text()
    (audit / "audit.toml").write_text(re.sub(r"distance = [\d.]+", "distance = 0.001", plan))
    reported = do(audit, "read", "project", "match", "balance")
    assert set(reported.frame["sample"]) == {"all"}
    assert reported.frame["stat"].isin(["energy_distance", "joint_share"]).any()
    assert "matched" not in energy_sentence(reported).replace("unmatched", "")
