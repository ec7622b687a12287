"""Where there is no difference the report claims none: a fast version of benchmarks/null_worlds.py."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.null_arrays import LEVEL, ArrayWorld, world_decisions
from benchmarks.null_worlds import RECOGNIZERS, NullWorld, claims, edited_labels, world_claims

from likewise.analysis.gaps.rows import Gap
from likewise.audit.estimate.everything import estimate_everything
from likewise.tables import Ratings


@pytest.mark.slow
def test_hardly_a_world_without_a_difference_gets_a_claim(tmp_path):
    worlds = [world_claims(seed, tmp_path, identities=50, raters=15) for seed in range(12)]
    assert sum(any(world.values()) for world in worlds) <= 4  # 10 % on average; 5 or more have a chance of 0.4 %


def test_systems_of_one_report_are_judged_together(tmp_path):
    """Two recognizers, people and a classifier: four lines, of which each was judged as if it stood alone."""
    context = NullWorld(0, identities=50, raters=15).context(tmp_path)
    found = estimate_everything(context)
    verdicts = found.where(stat="verdict").frame
    heads = verdicts[verdicts["sample"] == "matched: gap"]
    alone = heads[heads["quantity"].str.contains("Share labeled")]  # labels have simultaneous intervals instead
    together = heads.drop(index=alone.index)
    assert together["method"].str.startswith("interval for 4 comparisons").all()
    assert {name.partition(":")[0] for name in together["quantity"]} == {*RECOGNIZERS, "people"}
    assert "one: distance" not in set(together["quantity"])  # it is judged by its error rate
    said = claims(found, edited_labels(0), context.notes)
    assert set(said.values()) <= {True, False} and len(said) == 8


def test_a_system_without_answers_does_not_take_the_others_with_it(tmp_path):
    context = NullWorld(4, identities=50, raters=15).context(tmp_path)
    frame = context.ratings().frame
    frame.loc[frame["rater"] == "two", "value"] = np.nan
    context.held["ratings"] = Ratings(frame)
    found = estimate_everything(context).where(stat="gap").frame
    assert {"one: distance", "people: same"} <= set(found["quantity"])
    assert "two: distance" not in set(found["quantity"])
    assert any(note.startswith("No gap of two: distance") for note in context.notes)


@pytest.mark.parametrize("seed", [0, 4])
def test_the_array_route_finds_the_intervals_of_the_estimate_stage(tmp_path, seed):
    """With impostor trials (0) and without (4): the worlds are the same, and so are people's and labels' gaps."""
    world = ArrayWorld(seed, identities=50, raters=15)
    found = estimate_everything(NullWorld(seed, identities=50, raters=15).context(tmp_path))
    gaps = found.where(stat="gap", sample="matched").frame.set_index("quantity")
    people = Gap(world.of_trials(world.responses, panel=True), "matched", LEVEL).gap()[0]
    assert gaps.loc["people: same", ["estimate", "low", "high"]].tolist() == pytest.approx(
        [people.estimate, people.low, people.high], abs=1e-6
    )
    labels = gaps[gaps.index.str.contains("Share labeled")].sort_index()
    made = world.label_intervals()["matched"]
    assert labels["low"].tolist() == pytest.approx([one.low for one in made], abs=1e-6)
    assert set(world_decisions(seed, identities=50, raters=15).values()) <= {True, False}
