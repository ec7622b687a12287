"""Where there is no difference the report claims none: a fast version of benchmarks/null_worlds.py."""

from __future__ import annotations

import pytest
from benchmarks.null_worlds import ALONE, RECOGNIZERS, NullWorld, claims, edited_labels, world_claims

from likewise.audit.estimate.everything import estimate_everything


@pytest.mark.slow
def test_hardly_a_world_without_a_difference_gets_a_claim(tmp_path):
    worlds = [world_claims(seed, tmp_path, identities=50, raters=15) for seed in range(12)]
    assert (
        sum(any(said for name, said in world.items() if name != ALONE) for world in worlds) <= 4
    )  # 10 % on average; 5 or more have a chance of 0.4 %


def test_systems_of_one_report_are_judged_together(tmp_path):
    """Two recognizers, people and a classifier: four lines, of which each was judged as if it stood alone."""
    context = NullWorld(1, identities=50, raters=15).context(tmp_path)
    found = estimate_everything(context)
    verdicts = found.where(stat="verdict").frame
    heads = verdicts[verdicts["sample"] == "matched: gap"]
    alone = heads[heads["quantity"].str.contains("Share labeled")]  # labels have simultaneous intervals instead
    together = heads.drop(index=alone.index)
    assert together["method"].str.startswith("interval for 4 comparisons").all()
    assert {name.partition(":")[0] for name in together["quantity"]} == {*RECOGNIZERS, "people"}
    assert "one: distance" not in set(together["quantity"])  # it is judged by its error rate
    said = claims(found, edited_labels(1), context.notes)
    assert set(said.values()) <= {True, False} and len(said) == 8
