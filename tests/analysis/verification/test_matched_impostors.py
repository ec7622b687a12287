"""The false match rate of matched impostor trials: a known confounder, a known truth, and people who recur."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import likewise as lw
from likewise.errors import SpecError, TableError
from likewise.simulation.impostor_ratings import ConfoundedImpostors
from likewise.simulation.system_ratings import CONTRAST

SPEC = lw.MatchSpec(method="cardinality", max_smd=0.1, antiexact=())
THRESHOLD = 0.62


def tried(world: ConfoundedImpostors) -> lw.Trials:
    return lw.trials(world.images, seed=world.seed, impostors=10, contrast=CONTRAST, groups="any")


def gaps(world: ConfoundedImpostors) -> tuple[pd.DataFrame, float, lw.Matches]:
    """Return the gaps of the FMR by sample, the true one of the matched trials, and the pairs."""
    trials = tried(world)
    pairs = lw.match(world.images, world.vectors, CONTRAST, SPEC, units=trials.impostors())
    found = lw.error_rates(
        world.ratings(trials), trials, world.images, CONTRAST,
        impostor_pairs=pairs, rates=[0.05], thresholds={"simulated": THRESHOLD},
    )  # fmt: skip
    rows = found.where(stat="fmr_gap", quantity=f"simulated: distance at its threshold {THRESHOLD:g}").frame
    return rows.set_index("sample"), world.true_gap(trials, pairs, THRESHOLD), pairs


def test_matched_impostors_hold_the_truth_that_unmatched_ones_miss():
    held, missed, errors = [], [], []
    for seed in range(8):
        rows, truth, pairs = gaps(ConfoundedImpostors(identities=80, seed=seed, effect=-0.03 * (seed % 2)))
        assert len(pairs) > 50
        held.append(rows.loc["matched", "low"] <= truth <= rows.loc["matched", "high"])
        missed.append(not rows.loc["all", "low"] <= truth <= rows.loc["all", "high"])
        errors.append([rows.loc[sample, "estimate"] - truth for sample in ("matched", "all")])
    assert sum(held) >= 7
    assert sum(missed) >= 7
    matched, unmatched = np.abs(np.mean(errors, axis=0))
    assert matched < unmatched / 4


def test_rates_of_matched_impostors_are_those_of_the_trials_themselves():
    world = ConfoundedImpostors(identities=60, seed=3)
    trials, ratings = tried(world), world.ratings(tried(world))
    pairs = lw.match(world.images, world.vectors, CONTRAST, SPEC, units=trials.impostors())
    found = lw.error_rates(ratings, trials, world.images, CONTRAST, impostor_pairs=pairs, rates=[0.05])
    limit = found.where(stat="threshold").frame["estimate"].iloc[0]
    value = ratings.frame.set_index("unit")["value"]
    rates = found.where(stat="fmr", sample="matched").frame.set_index("group")["estimate"]
    assert rates["within female"] == pytest.approx((value.loc[pairs.frame["a"]] < limit).mean())
    assert rates["within male"] == pytest.approx((value.loc[pairs.frame["b"]] < limit).mean())
    gap = found.where(stat="fmr_gap", sample="matched").frame["estimate"].iloc[0]
    assert gap == pytest.approx(rates["within female"] - rates["within male"])
    assert set(pairs.ledger.columns) >= {"max_smd 0.1"}


def test_an_unrated_impostor_takes_its_pair_out():
    world = ConfoundedImpostors(identities=60, seed=4)
    trials = tried(world)
    pairs = lw.match(world.images, world.vectors, CONTRAST, SPEC, units=trials.impostors())
    frame = world.ratings(trials).frame
    fewer = lw.Ratings(frame[frame["unit"] != pairs.frame["a"].iloc[0]])
    found = lw.error_rates(fewer, trials, world.images, CONTRAST, impostor_pairs=pairs, rates=[0.05])
    assert found.where(stat="fmr", sample="matched").frame["n"].tolist() == [len(pairs) - 1] * 2


def test_a_person_on_both_sides_is_refused_or_left_out_with_a_reason():
    world = ConfoundedImpostors(identities=20, seed=0)
    frame = world.images.frame
    frame.loc[frame["image"] == "p0000-1", CONTRAST.column] = "male"
    images = lw.Images(frame)
    trials = lw.trials(images, seed=0, impostors=5, contrast=CONTRAST, groups="any").impostors()
    with pytest.raises(TableError, match="1 identities are on both sides"):
        lw.match(images, world.vectors, CONTRAST, SPEC, units=trials)
    found = lw.match(images, world.vectors, CONTRAST, lw.MatchSpec(**{**SPEC.to_dict(), "both_sides": "drop"}),
                     units=trials)  # fmt: skip
    assert "identity on both sides" in set(found.dropped["reason"])
    shown = {*found.frame["a_first"], *found.frame["a_second"], *found.frame["b_first"], *found.frame["b_second"]}
    assert not shown & {"p0000-0", "p0000-1"}


def test_impostors_across_the_groups_are_counted_as_such():
    world = ConfoundedImpostors(identities=20, seed=1)
    found = lw.match(world.images, world.vectors, CONTRAST, SPEC, units=tried(world).impostors())
    assert "its images are of both groups" in set(found.dropped["reason"])


def test_each_identity_once_needs_closest_pairs():
    world = ConfoundedImpostors(identities=20, seed=1)
    with pytest.raises(SpecError, match=r"keeps one person once.*antiexact"):
        lw.match(
            world.images, world.vectors, CONTRAST, lw.MatchSpec(method="cardinality"), units=tried(world).impostors()
        )
