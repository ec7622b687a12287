"""Where no sample is balanced an audit takes the closest pairs and says so; own directions from a file are removed."""

from __future__ import annotations

import numpy as np
import pytest

import likewise as lw
from likewise.errors import PlanError

GROUPS = ("perceived_gender", "female", "male")


@pytest.fixture
def given(tmp_path):
    """Images of a world, and vectors that hold the attribute itself."""
    world = lw.World(identities=60, seed=3)
    images, factors = world.draw()
    pictures, table = world.write(tmp_path / "world")
    noise = np.random.default_rng(0).normal(0, 0.05, len(images))
    factors = np.column_stack([4 * factors[:, 0] + noise, factors[:, 1:7]])
    lw.Vectors(images.keys, factors.astype(np.float32), source="own").write(tmp_path / "own.npz")
    return {"table": table, "images": pictures, "vectors": tmp_path / "own.npz", "contrast": GROUPS,
            "raters": ["recognizer:world"], "progress": False}  # fmt: skip


def test_vectors_that_hold_the_attribute_give_nearest_pairs_that_are_called_unbalanced(tmp_path, given):
    found = lw.audit(out=tmp_path / "audit", **given)
    assert found.matches.note.startswith("Not balanced: no sample has every balanced number within 0.1")
    assert 2 <= len(found.matches) <= 15  # the closest half of the smaller group
    assert found.matches.unit == "trial"
    apart = found.balance.where(stat="smd", sample="matched").frame
    assert apart["estimate"].abs().max() > 1  # the space itself is in the balance table
    assert "matched pairs (not balanced)" in (tmp_path / "audit" / "report.html").read_text()


def test_the_own_step_of_a_file_is_removed_so_that_a_balanced_sample_exists(tmp_path, given):
    step = np.zeros((1, 7), np.float32)
    step[0, 0] = 1
    lw.Vectors(["step"], step, source="the attribute").write(tmp_path / "step.npz")
    lw.audit(out=tmp_path / "audit", **{**given, "raters": []})
    plan = tmp_path / "audit" / "audit.toml"
    plan.write_text(plan.read_text().replace("[units]", '[units]\nown_step = "../step.npz"', 1))
    audit = lw.Audit(tmp_path / "audit")
    audit.run(progress=False)
    assert audit.matches.note.startswith("Balanced within")
    lw.Vectors(["step"], np.ones((1, 3), np.float32), source="too short").write(tmp_path / "step.npz")
    with pytest.raises(PlanError, match=r"own_step in \[units\]\) has shape \(1, 3\). It needs one row of 7 numbers"):
        audit.run(progress=False)


def test_a_plan_that_matches_images_while_trials_are_rated_is_told(audit):
    notes = " ".join(lw.Audit(audit).check().notes)
    assert "not balanced by trial" in notes
    assert '[units] with kind = "trials"' in notes
