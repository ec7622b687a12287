"""The fader network on the simulated world: a known slope comes back, if what goes along is held."""

from __future__ import annotations

import pandas as pd
import pytest
from benchmarks.held_attributes import ON_ATTRIBUTE, ON_OTHERS
from benchmarks.held_fader import sweep, trained

SEEDS = (1, 2, 3)


@pytest.fixture(scope="module")
def weights(tmp_path_factory):
    return trained(tmp_path_factory.mktemp("fader") / "world.safetensors")


def slopes(weights, *, hold: bool) -> pd.DataFrame:
    """One row a label and world: its slope beside the true one."""
    return pd.concat([sweep(seed, weights, hold=hold, identities=120) for seed in SEEDS]).set_index("label")


def test_known_truth_comes_back_only_if_co_attributes_are_held(weights):
    held, free = slopes(weights, hold=True), slopes(weights, hold=False)
    assert held["inside"].sum() >= len(held) - 1, "an interval of 95 % may miss once in twelve"
    assert not free["inside"].any()
    kept, lost = (table.groupby("label")["estimate"].mean().abs() for table in (held, free))
    assert kept[list(ON_OTHERS)].max() < 0.06
    assert lost[list(ON_OTHERS)].min() > 0.18
    assert kept[list(ON_ATTRIBUTE)].min() > 0.3
