"""Gaps: plain means, an independent cluster-robust regression, and input that has no answer."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm

import likewise as lw
from likewise.errors import ContrastError, InputError, TableError
from likewise.simulation.system_ratings import CONTRAST, VerificationTrials
from picked import only


def tables(identities=200, seed=0, **options):
    ratings, trials, faces, pairs = VerificationTrials(identities, seed, **options).tables()
    same = trials.genuine()
    return lw.Ratings(ratings.frame[ratings.frame["unit"].isin(same.frame["trial"])]), same, faces, pairs


def test_the_gap_is_that_of_a_cluster_robust_regression():
    ratings, trials, faces, _ = tables()
    frame = ratings.frame.assign(image=ratings.frame["unit"].str.split("|").str[0])
    focal = (frame["image"].map(CONTRAST.side(faces)) == 1).to_numpy(dtype=float)
    codes = frame["image"].map(faces.identities).astype("category").cat.codes.to_numpy()
    model = sm.OLS(frame["value"].to_numpy(), sm.add_constant(focal))
    other = model.fit(cov_type="cluster", cov_kwds={"groups": codes}, use_t=True)
    row = only(lw.gaps(ratings, trials, faces, CONTRAST), stat="gap")
    assert row["estimate"] == pytest.approx(other.params[1])
    low, high = other.conf_int()[1]
    assert (row["low"], row["high"]) == pytest.approx((low, high), abs=0.03 * (high - low))


def test_ratings_without_any_value_are_refused_and_not_an_empty_table():
    """An empty table of gaps reads as "nothing found"."""
    ratings, trials, faces, _ = tables(identities=40)
    frame = ratings.frame
    for missing in (frame.assign(value=np.nan), pd.concat([frame, frame.assign(value=np.nan, rater="broken")])):
        with pytest.raises(TableError, match=r"none of its .* ratings has a value"):
            lw.gaps(lw.Ratings(missing), trials, faces, CONTRAST)


def test_answers_that_never_differ_are_flagged():
    ratings, trials, faces, pairs = tables()
    still = lw.Ratings(ratings.frame.assign(value=0.5))
    found = lw.gaps(still, trials, faces, CONTRAST, pairs=pairs).frame
    assert found["method"].str.endswith("all answers equal").all()
    assert found[["estimate", "low", "high"]].notna().all(axis=None)


def test_a_group_without_answers_is_named():
    ratings, trials, faces, _ = tables()
    men = set(faces.frame.loc[faces.frame["perceived_gender"] == "male", "image"])
    gone = ratings.frame["unit"].str.split("|").str[0].isin(men)
    with pytest.raises(TableError, match="'male'"):
        lw.gaps(lw.Ratings(ratings.frame[~gone]), trials, faces, CONTRAST)
    with pytest.raises(ContrastError, match="'other'"):
        lw.gaps(ratings, trials, faces, lw.Contrast("perceived_gender", focal="other", reference="male"))


def test_one_identity_has_no_interval():
    ratings, trials, faces, _ = tables()
    own = faces.frame[faces.frame["identity"].isin(["p00000", "p00001", "p00003"])]["image"]
    few = ratings.frame[ratings.frame["unit"].str.split("|").str[0].isin(own)]
    with pytest.raises(TableError, match="two identities"):
        lw.gaps(lw.Ratings(few), trials, faces, CONTRAST)


def test_covariates_with_holes_are_refused():
    ratings, trials, faces, pairs = tables()
    holes = faces.with_attribute("light", dict.fromkeys(faces.keys[:5], 1.0))
    with pytest.raises(InputError, match="empty cells"):
        lw.gaps(ratings, trials, holes, CONTRAST, pairs=pairs, covariates=["light"])


def test_matching_takes_off_what_eyeglasses_add():
    ratings, trials, faces, pairs = tables(1000, 4)
    found = lw.gaps(ratings, trials, faces, CONTRAST, pairs=pairs, covariates=["eyeglasses"])
    unmatched, matched, adjusted = (
        only(found, stat=stat, sample=sample)["estimate"]
        for stat, sample in (("gap", "all"), ("gap", "matched"), ("adjusted_gap", "matched"))
    )
    assert unmatched == pytest.approx(0.074, abs=0.012) and matched == pytest.approx(0.05, abs=0.015)
    assert np.abs(adjusted - matched) < 1e-9  # the pairs agree in eyeglasses: there is nothing left to adjust


def star(seed: int, sets: int = 60, gap: float = 0.3) -> tuple[lw.Ratings, lw.Trials, lw.Images, lw.Matches]:
    """One focal person with one to three references a set; sets that answer high have more references."""
    rng = np.random.default_rng(seed)
    rows, trials, pairs, answers = [], [], [], []
    for number in range(sets):
        level = rng.normal()
        for place in range(2 + (level > -0.5) + (level > 0.5)):
            who, side = f"s{number}-{place}", "female" if place == 0 else "male"
            rows += [(f"{who}-{k}", who, side) for k in (0, 1)]
            trials.append((f"t{who}", f"{who}-0", f"{who}-1"))
            answers.append((f"t{who}", level + gap * (place == 0) + 0.5 * rng.normal()))
            if place:
                pairs.append((f"p{number}-{place}", f"s{number}-0-0", f"{who}-0", f"s{number}"))
    frame = pd.DataFrame(answers, columns=["unit", "value"]).assign(rater="model", question="distance")
    return (
        lw.Ratings(frame),
        lw.Trials(pd.DataFrame(trials, columns=["trial", "a", "b"]).assign(same=True)),
        lw.Images(pd.DataFrame(rows, columns=["image", "identity", "perceived_gender"])),
        lw.Matches(pd.DataFrame(pairs, columns=["pair", "a", "b", "set"])),
    )


FEMALE = lw.Contrast("perceived_gender", focal="female", reference="male")


def test_references_of_a_set_count_as_one_together():
    ratings, trials, faces, pairs = star(1)
    found = lw.gaps(ratings, trials, faces, FEMALE, pairs=pairs)
    value = ratings.frame.set_index(ratings.frame["unit"].str.removeprefix("t") + "-0")["value"]
    frame = pairs.frame.assign(other=value.loc[pairs.frame["b"]].to_numpy())
    means = frame.groupby("a")["other"].mean()
    row = only(found, stat="gap", sample="matched")
    assert row["estimate"] == pytest.approx((value.loc[means.index] - means).mean())
    assert row["clusters"] == 60


@pytest.mark.slow
def test_the_gap_of_sets_covers_the_truth():
    """Sets of unequal size that go with the answer: every image counting once would miss the truth by far."""
    hits, estimates, plain = 0, [], []
    for seed in range(300):
        ratings, trials, faces, pairs = star(seed)
        row = only(lw.gaps(ratings, trials, faces, FEMALE, pairs=pairs), stat="gap", sample="matched")
        hits += row["low"] <= 0.3 <= row["high"]
        estimates.append(row["estimate"])
        value, focal = ratings.frame["value"], ratings.frame["unit"].str.endswith("-0")
        plain.append(value[focal].mean() - value[~focal].mean())
    assert 0.92 <= hits / 300 <= 0.98
    assert abs(np.mean(estimates) - 0.3) < 0.02
    assert abs(np.mean(plain) - 0.3) > 0.15
