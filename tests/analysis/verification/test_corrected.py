"""The gap in FNMR between true groups, when the groups are predictions and a random part is labeled."""

from __future__ import annotations

import numpy as np
import pandas as pd

import likewise as lw
from likewise.analysis.verification.corrected import corrected_fnmr_gap
from likewise.tables.estimates import row
from picked import only

CONTRAST = lw.Contrast("predicted", focal="f", reference="m")
LIMIT = 0.6


def world(seed, *, identities=250, fnmr=(0.25, 0.08), labeled=0.4):
    """Genuine trials rejected more often in the group f; predictions err by group, and more often on hard people."""
    rng = np.random.default_rng(seed)
    person = np.repeat(np.arange(identities), rng.integers(2, 6, identities))
    true = (rng.random(identities) < 0.4)[person]
    hard = rng.gamma(2.0, 0.5, identities)[person]
    rejected = rng.random(len(person)) < np.minimum(np.where(true, *fnmr) * hard, 1)
    wrong = rng.random(len(person)) < np.where(true, 0.3, 0.08) * np.where(hard > 1, 1.2, 0.8)
    image = np.array([f"i{k}" for k in range(len(person))])
    frame = pd.DataFrame({"image": image, "identity": [f"p{k}" for k in person]})
    images = lw.Images(frame.assign(predicted=np.where(true != wrong, "f", "m")))
    kept = np.append(person[1:] == person[:-1], False)  # each image with the next of the same person
    trials = lw.Trials(
        pd.DataFrame({"trial": image[kept], "a": image[kept], "b": np.roll(image, -1)[kept], "same": True})
    )
    value = np.where(rejected, 0.8, 0.3)[kept]
    ratings = lw.Ratings(pd.DataFrame({"unit": image[kept], "rater": "m", "question": "distance", "value": value}))
    seen = (rng.random(identities) < labeled)[person]
    labels = dict(zip(image[seen], np.where(true[seen], "f", "m"), strict=True))
    rates = lw.Estimates.of([row("m: distance at FMR 0.01", "threshold", "all", "all", LIMIT, n=9, method="set")])
    return (rates, ratings, trials, images, CONTRAST), labels


def covered(seeds, **options):
    held, naive = [], []
    for seed in seeds:
        about, labels = world(seed, **options)
        found = corrected_fnmr_gap(*about, labels=labels)
        for sample, into in (("corrected for label noise", held), ("as predicted", naive)):
            line = only(found, sample=sample)
            into.append(line["low"] <= 0.17 <= line["high"])
    return np.mean(held), np.mean(naive)


def test_the_corrected_gap_in_fnmr_covers_the_truth_and_the_predicted_one_does_not():
    held, naive = covered(range(40), labeled=0.6)
    assert held >= 0.875  # 35 of 40; fewer has a chance of 1 % at 95 %
    assert naive <= 0.7


def test_a_handful_of_errors_is_not_corrected_and_says_so():
    about, labels = world(1, fnmr=(0.02, 0.01))
    found = corrected_fnmr_gap(*about, labels=labels)
    line = only(found, stat="gap")
    assert line["sample"] == "as predicted" and np.isnan(line["low"])
    assert "too few errors of labeled people to correct" in line["method"]


def test_errors_of_one_group_alone_are_not_enough():
    """With fewer than five labeled people with an error in a group the interval held in 83 % of worlds."""
    about, labels = world(2, fnmr=(0.25, 0.004))
    line = only(corrected_fnmr_gap(*about, labels=labels), stat="gap")
    assert line["sample"] == "as predicted" and np.isnan(line["low"])
    assert line["method"].endswith("of 8 in a group)")
