"""Labels of images as they are: which are compared, and whether their intervals hold all together."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import likewise as lw
from invariants import check_estimates, check_ratings
from likewise.analysis.labels import FEWEST, binarize, same_labels
from likewise.errors import InputError

CONTRAST = lw.Contrast("perceived_gender", focal="female", reference="male")
RATES = {"Common": (0.6, 0.6), "Rarer": (0.3, 0.15), "Rare": (0.02, 0.02)}


def answered(seed: int, people: int = 120, each: int = 2) -> tuple[lw.Images, lw.Ratings]:
    """Images whose labels go together within a person."""
    rng = np.random.default_rng(seed)
    side = np.repeat(["female", "male"], people // 2)
    frame = pd.DataFrame({"identity": np.repeat(np.arange(people), each).astype(str)})
    frame["image"] = frame["identity"] + "-" + frame.groupby("identity").cumcount().astype(str)
    frame["perceived_gender"] = np.repeat(side, each)
    parts = []
    for label, (focal, reference) in RATES.items():
        rate = np.where(side == "female", focal, reference)
        own = rng.beta(rate * 4, (1 - rate) * 4)
        given = rng.uniform(size=people * each) < np.repeat(own, each)
        value = np.where(given, 0.9, 0.1)
        parts.append(pd.DataFrame({"unit": frame["image"], "rater": "api", "question": label, "value": value}))
    return lw.Images(frame), lw.Ratings(pd.concat(parts, ignore_index=True))


def test_labels_are_chosen_by_how_common_they_are():
    _, ratings = answered(0)
    kept, remarks = binarize(ratings, {"api": 0.5})
    check_ratings(kept)
    assert set(kept.frame["question"]) == {"Share labeled Common", "Share labeled Rarer"}
    assert set(kept.frame["value"]) == {0.0, 1.0}
    assert "2 of 3 labels are compared; 1 are in or missing from fewer than 10" in remarks[0]
    assert set(binarize(ratings, {"api": 0.5}, most=1)[0].frame["question"]) == {"Share labeled Common"}
    assert set(binarize(ratings, {"api": 0.5}, labels=["Rarer"])[0].frame["question"]) == {"Share labeled Rarer"}
    with pytest.raises(InputError, match="'Hat'"):
        binarize(ratings, {"api": 0.5}, labels=["Hat"])


def test_the_same_labels_are_asked_of_other_pictures():
    _, ratings = answered(0)
    kept, _ = binarize(ratings, {"api": 0.5}, most=1)
    other = lw.Ratings(ratings.frame.assign(unit="turned " + ratings.frame["unit"]))
    again = same_labels(other, {"api": 0.5}, kept)
    assert set(again.frame["question"]) == {"Share labeled Common"}
    assert again.frame["value"].tolist() == kept.frame["value"].tolist()
    assert len(same_labels(other, {"api": 0.95}, kept).frame.query("value == 1")) == 0


def test_a_refused_picture_is_no_answer():
    _, ratings = answered(0)
    frame = ratings.frame
    frame.loc[frame["unit"] == "0-0", "value"] = np.nan
    kept, _ = binarize(lw.Ratings(frame), {"api": 0.5})
    assert kept.frame.set_index("unit").loc["0-0", "value"].isna().all()
    assert FEWEST == 10


@pytest.mark.slow
def test_intervals_of_all_labels_hold_together():
    """Nominal 95 % for both labels at once (Bonferroni, so a little more); images of one person are not independent."""
    truth = {f"api: Share labeled {label}": focal - reference for label, (focal, reference) in RATES.items()}
    held = []
    for seed in range(300):
        faces, ratings = answered(seed)
        kept, _ = binarize(ratings, {"api": 0.5}, labels=["Common", "Rarer"])
        found = lw.gaps(kept, None, faces, CONTRAST, level=1 - 0.05 / 2)
        rows = found.where(stat="gap").frame
        true = rows["quantity"].map(truth)
        held.append(bool(((rows["low"] <= true) & (true <= rows["high"])).all()))
    check_estimates(found)
    assert 0.92 < np.mean(held) < 0.99
