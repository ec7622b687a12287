"""FNMR of matched pairs: by two routes the same number, and what is left is taken away."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import likewise as lw
from invariants import check_estimates
from likewise.analysis.verification.adjusted import adjusted_fnmr_gap, with_imbalance
from likewise.analysis.verification.error_rates import error_rates
from likewise.simulation.system_ratings import CONTRAST, VerificationTrials


def test_without_a_remaining_difference_it_is_the_plain_gap_of_verification():
    ratings, trials, faces, pairs = VerificationTrials(120, 3, genuine=1, impostors=8, failures=0.05).tables()
    rates = error_rates(ratings, trials, faces, CONTRAST, pairs=pairs, rates=[0.01], thresholds={"simulated": 0.45})
    about = (ratings, trials, faces, CONTRAST)
    found = adjusted_fnmr_gap(rates, *about, pairs=pairs, covariates=["eyeglasses"])
    check_estimates(found)
    plain = rates.where(stat="gap", sample="matched").frame.set_index("quantity")["estimate"]
    assert set(found.frame["quantity"]) == {
        "simulated: distance at FMR 0.01",
        "simulated: distance at its threshold 0.45",
    }
    for row in found.frame.itertuples():
        assert row.estimate == pytest.approx(plain[row.quantity]), (
            "matched pairs wear the same, so nothing is taken away"
        )


def unlike_pairs():
    """Matches that do not match on eyeglasses, which raise FNMR; there is no other difference."""
    ratings, trials, faces, _ = VerificationTrials(400, 5, genuine=1, impostors=8, effect=0.0, mixed=0.15).tables()
    images = np.sort([image for image in faces.keys if image.endswith("-1")])
    side = CONTRAST.side(faces).loc[images]
    frame = pd.DataFrame({"a": images[side == 1], "b": images[side == -1]})
    return ratings, trials, faces, CONTRAST, lw.Matches(frame.assign(pair=frame["a"]))


def test_a_difference_that_is_left_is_taken_away():
    """The plain gap carries the effect of eyeglasses, the adjusted one does not."""
    ratings, trials, faces, contrast, pairs = unlike_pairs()
    rates = error_rates(ratings, trials, faces, contrast, pairs=pairs, rates=[0.01])
    found = adjusted_fnmr_gap(rates, ratings, trials, faces, contrast, pairs=pairs, covariates=["eyeglasses"]).frame
    plain = rates.where(stat="gap", sample="matched").frame
    assert plain["low"].iloc[0] > 0
    assert found["low"].iloc[0] < 0 < found["high"].iloc[0]


def test_a_trial_without_a_distance_is_missed():
    """Nobody of one side is found: that is as bad as distances beyond all thresholds."""
    ratings, trials, faces, pairs = VerificationTrials(120, 3, genuine=1, impostors=8).tables()
    genuine = trials.genuine().frame
    focal = set(genuine.loc[genuine["a"].map(CONTRAST.side(faces)) == 1, "trial"])
    frame = ratings.frame
    found = []
    for value in (9.0, np.nan):
        given = lw.Ratings(frame.assign(value=frame["value"].where(~frame["unit"].isin(focal), value)))
        rates = error_rates(given, trials, faces, CONTRAST, rates=[0.01])
        row = adjusted_fnmr_gap(rates, given, trials, faces, CONTRAST, pairs=pairs, covariates=["eyeglasses"]).frame
        found.append(row["estimate"].iloc[0])
    assert found[0] == pytest.approx(found[1]) and found[1] > 0.5


def test_a_difference_that_is_left_moves_the_plain_interval_out_and_is_remarked():
    """The matched gap in FNMR heads the report; only its adjusted neighbor knew of the imbalance."""
    about = unlike_pairs()
    rates = error_rates(*about[:4], pairs=about[4], rates=[0.01])
    found = with_imbalance(rates, *about[:4], pairs=about[4], covariates=["eyeglasses"])
    check_estimates(found)
    before, after = (table.where(stat="gap", sample="matched").frame.iloc[0] for table in (rates, found))
    assert before["low"] > 0 > after["low"] and after["high"] == before["high"]
    assert "|SMD| > 0.1 left in eyeglasses; imbalance left adds " in after["method"]
    rest = [table.frame[~table.frame["stat"].eq("gap")].reset_index(drop=True) for table in (rates, found)]
    pd.testing.assert_frame_equal(*rest)
