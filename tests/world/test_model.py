"""The world's truth is computed from its model; here it is held against brute force over many draws."""

from __future__ import annotations

import numpy as np
import pytest

import likewise as lw
from conftest import drawn
from invariants import check_estimates, check_faces
from likewise.errors import SpecError
from likewise.make.rate import rate_trials
from likewise.world.model import CONTRAST, COVARIATES, LABELS
from likewise.world.occupants import WorldClassifier, WorldCrowd, WorldEditor, WorldRecogniser


@pytest.fixture(scope="module")
def large():
    return drawn(identities=3000, images_each=2, seed=1)


def true(world: lw.World, quantity: str, sample: str) -> float:
    return float(world.truth().where(quantity=quantity, sample=sample).frame["estimate"].iloc[0])


def test_faces_are_drawn_from_the_seed_alone():
    assert lw.World(seed=1).draw()[0] == lw.World(seed=1).draw()[0]
    assert lw.World(seed=1).draw()[0] != lw.World(seed=2).draw()[0]
    faces, _ = lw.World(identities=20).draw()
    check_faces(faces)
    assert faces.identities.nunique() == 20


def test_confounding_is_as_strong_as_it_was_chosen(large):
    side = CONTRAST.side(large.faces)
    for covariate in COVARIATES:
        column = large.faces.attribute(covariate.column)
        gap = column[side == 1].mean() - column[side == -1].mean()
        assert gap == pytest.approx(covariate.shift * covariate.unit, abs=0.08 * covariate.unit)
    calm = drawn(identities=2000, images_each=2, confounding=0.0)
    column = calm.faces.attribute("light")
    assert abs(column[CONTRAST.side(calm.faces) == 1].mean()) < 0.08


def test_the_recognisers_truth(large):
    asked = lw.trials(large.faces, seed=0)
    recogniser = WorldRecogniser(effect=large.world.effect)
    ratings = rate_trials(asked, recogniser.embed(large.pictures), large.faces.images, recogniser)
    found = lw.gaps(ratings, asked, large.faces, CONTRAST).where(stat="gap").frame.iloc[0]
    half = found["high"] - found["estimate"]
    assert half < 0.01
    assert abs(found["estimate"] - true(large.world, "world-recogniser: distance", "truth: all")) < 2 * half
    # ... and the same pictures with only the attribute turned: exactly the planted effect
    editor = WorldEditor()
    turned = [recogniser.embed(editor.edit(large.pictures[:2], level)) for level in (1, -1)]
    apart = [float(recogniser.distance(e[:1], e[1:])[0]) for e in turned]
    assert apart[0] - apart[1] == pytest.approx(large.world.effect, abs=1e-3)


def test_peoples_truth(large):
    asked = lw.trials(large.faces, seed=0)
    ratings = WorldCrowd(effect=large.world.people_effect).answers(asked, large.look, seed=1)
    frame = ratings.frame
    assert frame.groupby("unit").size().eq(3).all()
    assert set(frame["value"]) == {0.0, 1.0}
    side = frame["unit"].map(asked.frame.set_index("pair")["a"]).map(CONTRAST.side(large.faces))
    gap = frame.loc[side == 1, "value"].mean() - frame.loc[side == -1, "value"].mean()
    assert gap == pytest.approx(true(large.world, "people: same", "truth: all"), abs=0.03)


@pytest.mark.parametrize("label", LABELS, ids=lambda label: label.name)
def test_the_label_rates_truth(large, label):
    for level in (-2.0, 0.0, 1.0):
        scores = WorldClassifier().score(WorldEditor().edit(large.pictures, level))[label.name]
        assert float(np.mean(scores >= 0.5)) == pytest.approx(large.world.rate(label, level), abs=0.03)


def test_the_truth_is_a_table_like_any_other():
    truth = lw.World().truth()
    check_estimates(truth)
    assert len(truth) == 2 * 2 + len(LABELS)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"identities": 3}, "at least 8"),
        ({"confounding": 3.0}, "lies in 0 to 1"),
        ({"people_effect": -0.9}, "chances lie in 0 to 1"),
    ],
)
def test_an_impossible_world_is_refused(options, says):
    with pytest.raises(SpecError, match=says):
        lw.World(**options)
