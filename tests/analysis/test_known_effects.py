"""The ground truth of a sample is the mean effect on its own units."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import likewise as lw
from likewise.analysis.gaps.known_effects import known_effects
from likewise.errors import TableError

CONTRAST = lw.Contrast("group", "x", "y")


def tables() -> tuple[lw.Images, lw.Trials, lw.Matches, pd.DataFrame]:
    """Four identities of each group; the effect on a trial is the number of its identity, or ten times it."""
    people = np.repeat(np.arange(8), 3)
    frame = pd.DataFrame({"image": [f"{p}-{k % 3}" for k, p in enumerate(people)], "identity": people.astype(str)})
    images = lw.Images(frame.assign(group=np.where(people < 4, "x", "y")))
    trials = lw.trials(images, seed=0, genuine="all")
    known = trials.frame[["b", "a"]].set_axis(["a", "b"], axis=1)  # the other way round: order does not matter
    number = known["a"].str[0].astype(float)
    parts = [
        known.assign(quantity=f"{rater}: distance", effect=scale * number) for rater, scale in (("r", 1), ("s", 10))
    ]
    chosen = {person: trials.frame.loc[trials.frame["a"].str[0] == str(person), "trial"].iloc[0] for person in range(8)}
    pairs = pd.DataFrame({"pair": ["1", "2"], "a": [chosen[0], chosen[1]], "b": [chosen[4], chosen[7]]})
    ends = trials.frame.set_index("trial")
    for side in "ab":
        pairs[f"{side}_first"], pairs[f"{side}_second"] = (ends.loc[pairs[side], end].to_numpy() for end in "ab")
    return images, trials, lw.Matches(pairs, estimand="ATM", unit="trial"), pd.concat(parts)


def value(found: lw.Estimates, sample: str, quantity: str = "r: distance") -> float:
    return float(found.where(quantity=quantity, stat="gap", sample=f"truth: {sample}").frame["estimate"].iloc[0])


def test_each_sample_has_the_mean_over_its_own_units():
    images, trials, pairs, effects = tables()
    weights = {
        "overlap-weighted": pd.Series({trial: float(trial[0] in "37") for trial in trials.frame["trial"]}),
        "entropy-balanced": pd.Series(1.0, index=trials.frame["trial"]),
    }
    found = known_effects(effects, trials, images, CONTRAST, pairs=pairs, weights=weights)
    assert value(found, "everyone") == pytest.approx(3.5)
    assert value(found, "matched") == pytest.approx((0 + 1 + 4 + 7) / 4)
    assert value(found, "matched", "s: distance") == pytest.approx(30)
    assert value(found, "overlap-weighted") == pytest.approx((3 + 7) / 2)
    assert value(found, "entropy-balanced") == pytest.approx(1.5)  # of the focal group alone
    estimands = found.where(quantity="r: distance").frame.set_index("sample")["estimand"].to_dict()
    assert estimands == {
        "truth: everyone": "ATE", "truth: matched": "ATM", "truth: overlap-weighted": "ATO",
        "truth: entropy-balanced": "ATT",
    }  # fmt: skip


def test_without_pairs_there_is_no_matched_truth():
    images, trials, _, effects = tables()
    assert set(known_effects(effects, trials, images, CONTRAST).frame["sample"]) == {"truth: everyone"}


def test_a_table_of_something_else_is_refused():
    images, trials, _, effects = tables()
    with pytest.raises(TableError, match="no column 'effect'"):
        known_effects(effects.drop(columns="effect"), trials, images, CONTRAST)
    with pytest.raises(TableError, match="None of the known effects is of a trial"):
        known_effects(effects.assign(a="other"), trials, images, CONTRAST)
