from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from likewise.analysis.exclusion import exclusion_rates
from likewise.errors import TableError
from likewise.tables import Contrast, Images

CONTRAST = Contrast("perceived_gender", focal="female", reference="male")


def people(rng, *, rates, sizes=(1, 4), identities=(60, 60), lean=2.0):
    """Draw faces and who is left out; a person's images share a leaning, so they pass or fail together."""
    rows, gone = [], []
    for group, rate, count in zip(("female", "male"), rates, identities, strict=True):
        for person in range(count):
            chance = rng.beta(rate * lean, (1 - rate) * lean) if 0 < rate < 1 else rate
            for image in range(rng.integers(*sizes) if group == "female" else rng.integers(1, 3)):
                key = f"{group}{person}-{image}"
                rows.append({"image": key, "identity": f"{group}{person}", "perceived_gender": group})
                gone += [key] if rng.random() < chance else []
    return Images(pd.DataFrame(rows)), gone


def p_of(faces, gone, **options):
    return float(
        exclusion_rates(gone, faces, CONTRAST, quantity="gate", **options)
        .where(stat="p_value")
        .frame["estimate"]
        .iloc[0]
    )


def test_shares_gap_and_p_are_said():
    faces, gone = people(np.random.default_rng(0), rates=(0.4, 0.05))
    found = exclusion_rates(gone, faces, CONTRAST, quantity="gate", permutations=999)
    frame = found.frame.set_index(["stat", "group"])
    female = faces.frame["perceived_gender"] == "female"
    expected = faces.frame.loc[female, "image"].isin(gone).mean()
    assert frame.loc[("left_out", "female"), "estimate"] == pytest.approx(expected)
    assert frame.loc[("gap", CONTRAST.label), "low"] > 0
    assert frame.loc[("p_value", CONTRAST.label), "estimate"] < 0.01
    assert frame.loc[("left_out", "female"), "clusters"] == 60


def test_nobody_left_out_is_no_difference_but_not_certainty():
    faces, _ = people(np.random.default_rng(1), rates=(0.4, 0.4))
    found = exclusion_rates([], faces, CONTRAST, quantity="gate").frame.set_index(["stat", "group"])
    assert found.loc[("p_value", CONTRAST.label), "estimate"] == 1
    assert found.loc[("left_out", "male"), "high"] > 0.03


def test_all_of_one_side_and_none_of_the_other_is_as_clear_as_can_be():
    faces, gone = people(np.random.default_rng(2), rates=(1.0, 0.0), identities=(12, 12))
    assert p_of(faces, gone, permutations=999) <= 0.003


def test_one_person_with_many_images_proves_nothing():
    """Twenty images of one person are one failure, not twenty; a test by images would be sure of a difference."""
    rows = [{"image": f"f0-{k}", "identity": "f0", "perceived_gender": "female"} for k in range(20)]
    rows += [{"image": f"f{k}", "identity": f"f{k}", "perceived_gender": "female"} for k in range(1, 30)]
    rows += [{"image": f"m{k}", "identity": f"m{k}", "perceived_gender": "male"} for k in range(49)]
    gone = [f"f0-{k}" for k in range(20)]
    assert p_of(Images(pd.DataFrame(rows)), gone, permutations=999) > 0.2


def test_too_few_people_are_refused():
    frame = pd.DataFrame(
        {"image": ["a", "b", "c"], "identity": ["a", "b", "c"], "perceived_gender": ["female", "male", "male"]}
    )
    with pytest.raises(TableError, match="Too few identities"):
        exclusion_rates(["a"], Images(frame), CONTRAST, quantity="gate")


@pytest.mark.slow
def test_the_test_keeps_its_level_also_when_people_have_unequal_numbers_of_images():
    """No difference in rates, but women have more images each: 5 % of 400 worlds may look different, not more."""
    hits = 0
    for seed in range(400):
        faces, gone = people(np.random.default_rng(seed), rates=(0.2, 0.2), sizes=(2, 7), identities=(50, 70))
        hits += p_of(faces, gone, permutations=199, seed=seed) <= 0.05
    assert 0.02 < hits / 400 < 0.085  # 5 % give or take three standard errors of 400 worlds
