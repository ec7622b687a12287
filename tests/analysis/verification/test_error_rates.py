"""Error rates of a recognizer: known answers, two routes to one number, and what is refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import likewise as lw
from likewise.analysis.gaps.estimate import gaps
from likewise.analysis.gaps.explained_share import explained_share, fieller
from likewise.analysis.verification.differentials import differentials, gini
from likewise.analysis.verification.error_rates import det, error_rates
from likewise.errors import InputError, SpecError, TableError
from likewise.simulation.system_ratings import CONTRAST, VerificationTrials
from picked import only


def simulated(identities=120, seed=0, **options):
    world = VerificationTrials(identities, seed, **options)
    return world, *world.tables()


def test_rates_are_the_plain_counts():
    _, ratings, trials, faces, _ = simulated()
    found = error_rates(ratings, trials, faces, CONTRAST, rates=[0.01])
    sheet = trials.frame.merge(ratings.frame, left_on="trial", right_on="unit")
    far = np.sort(sheet.loc[~sheet["same"].astype(bool), "value"])
    steps = 0.01 * (len(far) + 1)
    limit = np.interp(steps, np.arange(1, len(far) + 1), far)
    women = sheet["a"].map(faces.attribute("perceived_gender")) == "female"
    near = sheet[sheet["same"].astype(bool) & women]
    row = found.where(stat="fnmr", group="female", sample="all").frame.iloc[0]
    assert row["estimate"] == pytest.approx((near["value"] >= limit).mean())
    assert row["n"] == len(near) and row["clusters"] == 60
    fmr = found.where(stat="fmr").frame
    assert (fmr["estimate"] * fmr["n"]).sum() / fmr["n"].sum() == pytest.approx(0.01, abs=1 / len(far))
    assert set(fmr["group"]) == {"within female", "within male", "female x male"}


def test_the_order_of_the_rows_does_not_matter():
    _, ratings, trials, faces, pairs = simulated()
    plain = error_rates(ratings, trials, faces, CONTRAST, pairs=pairs, rates=[0.01])
    mixed = [table.frame.sample(frac=1, random_state=3) for table in (ratings, trials, faces)]
    again = error_rates(
        lw.Ratings(mixed[0]),
        lw.Trials(mixed[1]),
        lw.Images(mixed[2]),
        CONTRAST,
        pairs=pairs,
        rates=[0.01],
    )
    numbers = ["estimate", "low", "high"]
    assert again.frame[numbers].to_numpy() == pytest.approx(plain.frame[numbers].to_numpy(), nan_ok=True)


def test_failures_are_errors_unless_they_are_dropped():
    _, ratings, trials, faces, _ = simulated(failures=0.1)
    options = {"rates": [0.01], "weighting": "trial"}
    kept = error_rates(ratings, trials, faces, CONTRAST, **options).frame
    gone = error_rates(ratings, trials, faces, CONTRAST, **options, failures="drop").frame

    def rate(frame, group):
        return frame[(frame["stat"] == "fnmr") & (frame["group"] == group)]["estimate"].iloc[0]

    failed = kept[(kept["stat"] == "enrolment_failure") & (kept["group"] == "female")].iloc[0]
    assert failed["estimate"] == pytest.approx(0.1, abs=0.06) and failed["low"] < 0.1 < failed["high"]
    dropped = rate(gone, "female")
    assert rate(kept, "female") == pytest.approx(failed["estimate"] + (1 - failed["estimate"]) * dropped)
    assert rate(kept, "male") == rate(gone, "male")


def test_each_recognizer_has_its_own_threshold():
    _, ratings, trials, faces, _ = simulated()
    other = ratings.frame.assign(rater="doubled", value=lambda rows: rows["value"] * 2)
    both = lw.Ratings(pd.concat([ratings.frame, other], ignore_index=True))
    found = error_rates(both, trials, faces, CONTRAST, rates=[0.01])
    limits = found.where(stat="threshold").frame["estimate"].to_numpy()
    assert limits[0] == pytest.approx(2 * limits[1])
    wide = found.where(stat="fnmr").frame.pivot(index="group", columns="quantity", values="estimate")
    assert wide.iloc[:, 0].to_numpy() == pytest.approx(wide.iloc[:, 1].to_numpy())


def test_a_threshold_that_is_given_is_used_as_it_is():
    _, ratings, trials, faces, _ = simulated()
    found = error_rates(ratings, trials, faces, CONTRAST, rates=[], thresholds={"simulated": 0.5})
    sheet = trials.frame.merge(ratings.frame, left_on="trial", right_on="unit")
    men = sheet["a"].map(faces.attribute("perceived_gender")) == "male"
    missed = (sheet[sheet["same"].astype(bool) & men]["value"] >= 0.5).mean()
    assert only(found, stat="fnmr", group="male")["estimate"] == pytest.approx(missed)
    limit = only(found, stat="threshold")
    assert (limit["estimate"], limit["method"]) == (0.5, "given")
    assert np.isnan([limit["low"], limit["high"]]).all()  # it is known, so it has no interval
    with pytest.raises(SpecError, match="'nobody'"):
        error_rates(ratings, trials, faces, CONTRAST, rates=[], thresholds={"nobody": 0.5})


def test_no_error_is_flagged_and_ratios_still_exist():
    _, ratings, trials, faces, _ = simulated(effect=-0.2, mixed=0.0)
    found = error_rates(ratings, trials, faces, CONTRAST, rates=[0.05]).frame
    women = found[(found["stat"] == "fnmr") & (found["group"] == "female")].iloc[0]
    assert women["estimate"] == 0 and "rule of three" in women["method"]
    assert women["high"] == pytest.approx(1 - 0.05 ** (1 / 60))
    ratio = found[(found["stat"] == "max_min") & (found["group"] == "FNMR, all groups")].iloc[0]
    assert "half an error" in ratio["method"] and ratio["estimate"] > 1 and np.isnan(ratio["high"])


def test_a_det_curve_falls_as_false_matches_are_allowed():
    _, ratings, trials, faces, _ = simulated()
    curve = det(ratings, trials, faces, "perceived_gender", points=5).frame
    for _, part in curve.groupby("group"):
        assert part["estimate"].is_monotonic_increasing  # from FMR 1/2 down to the lowest
        assert (part["low"] <= part["estimate"]).all() and part["high"].between(0, 1).all()


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"rates": [1e-6]}, InputError, "too few for FMR"),
        ({"failures": "ignore"}, SpecError, "'errors', 'drop'"),
        ({"by": "perceived_age"}, TableError, "perceived_age"),
    ],
)
def test_what_cannot_be_answered_is_refused(change, error, words):
    _, ratings, trials, faces, _ = simulated()
    options = {"by": CONTRAST, "rates": [0.01], **change}
    with pytest.raises(error, match=words):
        error_rates(ratings, trials, faces, options.pop("by"), **options)


def test_trials_need_genuine_and_impostor():
    _, ratings, trials, faces, _ = simulated()
    frame = trials.frame
    only = lw.Trials(frame[frame["same"]])
    few = lw.Ratings(ratings.frame[ratings.frame["unit"].isin(only.frame["trial"])])
    with pytest.raises(TableError, match="impostor"):
        error_rates(few, only, faces, CONTRAST, rates=[0.01])
    with pytest.raises(TableError, match="'same'"):
        error_rates(ratings, lw.Trials(frame.drop(columns="same")), faces, CONTRAST, rates=[0.01])
    with pytest.raises(TableError, match="contradicts the identities"):
        error_rates(ratings, lw.Trials(frame.assign(same=True)), faces, CONTRAST, rates=[0.01])


def test_gini_of_known_rates():
    assert gini(np.array([0.1, 0.1, 0.1])) == 0
    assert gini(np.array([0.0, 0.0, 0.3])) == pytest.approx(1.0)  # all errors in one group
    assert gini(np.array([0.1, 0.3])) == pytest.approx(0.5)  # |0.1 - 0.3| / (0.1 + 0.3)


def test_differentials_hold_one_when_groups_are_alike():
    rng = np.random.default_rng(0)
    inside = []
    for _ in range(200):
        rates = rng.binomial(400, 0.1, 4) / 400
        spread = np.diag(rates * (1 - rates) / 400)
        parts = differentials(rates, spread, np.full(4, 400.0), clusters=400, level=0.95)
        found = {stat: interval for stat, interval, _ in parts}
        inside.append([found["max_min"].low == 1, found["max_geometric_mean"].low == 1, found["gini"].low == 0])
    assert (np.mean(inside, axis=0) > 0.93).all()


def test_fieller_is_where_the_difference_is_not_significant():
    spread = np.array([[0.04, 0.01], [0.01, 0.02]])
    ends = fieller(0.5, 2.0, spread, 1.96)
    assert ends is not None
    for r in ends:
        z = (0.5 - r * 2.0) / np.sqrt(spread[0, 0] - 2 * r * spread[0, 1] + r**2 * spread[1, 1])
        assert abs(z) == pytest.approx(1.96)
    assert "not significantly different from zero" in explained_share(0.1, 0.2, spread, dof=49, level=0.95)[3]


def test_the_share_that_goes_away_is_that_of_the_two_gaps():
    world, ratings, trials, faces, pairs = simulated(400)
    same = trials.genuine()
    own = lw.Ratings(ratings.frame[ratings.frame["unit"].isin(same.frame["trial"])])
    every = gaps(own, same, faces, CONTRAST, pairs=pairs)
    found = only(every, stat="explained_share")
    both = every.where(stat="gap").frame.set_index("sample")["estimate"]
    assert found["estimate"] == pytest.approx(1 - both["matched"] / both["all"])
    unmatched, alike = world.gaps
    assert found["low"] < 1 - alike / unmatched < found["high"]
