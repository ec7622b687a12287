"""The ground truth of a world is computed from its model; here it is compared with large draws."""

from __future__ import annotations

import doctest
import sys

import numpy as np
import pandas as pd
import pytest

import likewise as lw
from conftest import drawn
from invariants import check_estimates, check_images
from likewise.errors import SpecError
from likewise.rating.rate import rate_trials
from likewise.runtime.pixels import decode
from likewise.simulation.components import WorldClassifier, WorldCrowd, WorldEditor, WorldRecognizer
from likewise.simulation.scene import FACTORS
from likewise.simulation.world import CONTRAST, COVARIATES, LABELS, RATERS, RECOGNIZER


@pytest.fixture(scope="module")
def large():
    return drawn(identities=3000, images_each=2, seed=1)


def true(world: lw.World, quantity: str, sample: str) -> float:
    return float(world.truth().where(quantity=quantity, sample=sample).frame["estimate"].iloc[0])


def group_difference(images: lw.Images, column: str) -> float:
    values, side = images.attribute(column), CONTRAST.side(images)
    return float(values[side == 1].mean() - values[side == -1].mean())


def test_draws_are_determined_by_the_seed():
    for seed in (1, 2):
        (first, factors), (again, same) = (lw.World(seed=seed).draw() for _ in range(2))
        assert first == again
        assert np.array_equal(factors, same)
    assert lw.World(seed=1).draw()[0] != lw.World(seed=2).draw()[0]


def test_table_has_the_requested_size_and_balanced_groups():
    images, factors = lw.World(identities=20, images_each=4).draw()
    check_images(images)
    assert (len(images), images.identities.nunique(), len(factors)) == (80, 20, 80)
    assert images.frame.drop_duplicates("identity")["perceived_gender"].value_counts().tolist() == [10, 10]


def test_group_and_age_belong_to_the_identity_and_the_rest_to_the_image():
    frame = lw.World(identities=40, images_each=5, seed=3).draw()[0].frame
    distinct = frame.groupby("identity").nunique()
    assert (distinct[["perceived_gender", "perceived_age"]] == 1).all(axis=None)
    assert (distinct[["light", "yaw"]] == 5).all(axis=None)


def test_table_shows_the_factors_that_are_drawn():
    images, factors = lw.World(identities=40, seed=3).draw()
    for covariate in COVARIATES:
        shown = (images.attribute(covariate.column).to_numpy() - covariate.origin) / covariate.unit
        np.testing.assert_allclose(shown, factors[:, FACTORS.index(covariate.factor)], atol=1e-3)
        if not covariate.half:
            assert set(images.attribute(covariate.column)) == {0, 1}


@pytest.mark.parametrize("confounding", [0.0, 0.5, 1.0])
def test_confounding_has_the_chosen_strength(confounding):
    images, _ = lw.World(identities=12_000, images_each=2, confounding=confounding, seed=4).draw()
    for covariate in COVARIATES:
        expected = confounding * covariate.shift * covariate.unit
        assert group_difference(images, covariate.column) == pytest.approx(expected, abs=0.04 * covariate.unit)


def test_identity_shapes_are_independent_of_the_group_and_shared_by_its_images():
    _, factors = lw.World(identities=8000, images_each=2, seed=5).draw()
    shapes, side = factors[:, 7:10], factors[:, 0]
    assert np.abs(shapes[side > 0].mean(axis=0) - shapes[side < 0].mean(axis=0)).max() < 0.05
    within = np.linalg.norm(shapes[::2] - shapes[1::2], axis=1).mean()
    between = np.linalg.norm(shapes[::2] - np.roll(shapes[1::2], 1, axis=0), axis=1).mean()
    assert within < between / 3


def test_without_confounding_matched_and_unmatched_truth_are_equal():
    for quantity, effect in (("world-recognizer: distance", 0.08), ("people: same", -0.08)):
        calm = lw.World(confounding=0.0)
        assert true(calm, quantity, "truth: all") == pytest.approx(effect)
        assert true(calm, quantity, "truth: matched") == pytest.approx(effect)


@pytest.mark.parametrize(
    ("quantity", "weights"), [("world-recognizer: distance", RECOGNIZER), ("people: same", RATERS)]
)
def test_bias_of_the_unmatched_gap_is_linear_in_the_confounding(quantity, weights):
    bias = {}
    for confounding in (0.25, 0.5, 1.0):
        world = lw.World(confounding=confounding)
        bias[confounding] = true(world, quantity, "truth: all") - true(world, quantity, "truth: matched")
    assert bias[0.5] == pytest.approx(2 * bias[0.25])
    assert bias[1.0] == pytest.approx(sum(weights.get(c.factor, 0.0) * c.shift for c in COVARIATES))


def test_matched_truth_is_the_effect():
    world = lw.World(effect=0.03, people_effect=0.02)
    assert true(world, "world-recognizer: distance", "truth: matched") == pytest.approx(0.03)
    assert true(world, "people: same", "truth: matched") == pytest.approx(0.02)


def test_recognizer_truth_against_a_large_draw(large):
    trials = lw.trials(large.faces, seed=0)
    recognizer = WorldRecognizer(effect=large.world.effect)
    ratings = rate_trials(trials, recognizer.embed(large.pictures), large.faces.keys, recognizer)
    found = lw.gaps(ratings, trials, large.faces, CONTRAST).where(stat="gap").frame.iloc[0]
    half = found["high"] - found["estimate"]
    assert half < 0.01
    assert abs(found["estimate"] - true(large.world, "world-recognizer: distance", "truth: all")) < 2 * half


def test_recognizer_effect_on_counterfactual_twins_is_exact(large):
    editor, recognizer = WorldEditor(), WorldRecognizer(effect=large.world.effect)
    twins = [recognizer.embed(editor.edit(large.pictures[:2], level)) for level in (1, -1)]
    distances = [float(recognizer.distance(e[:1], e[1:])[0]) for e in twins]
    assert distances[0] - distances[1] == pytest.approx(large.world.effect, abs=1e-3)


def test_rater_truth_against_a_large_draw(large):
    trials = lw.trials(large.faces, seed=0)
    frame = WorldCrowd(effect=large.world.people_effect).answers(trials, large.look, seed=1).frame
    side = frame["unit"].map(trials.frame.set_index("trial")["a"]).map(CONTRAST.side(large.faces))
    gap = frame.loc[side == 1, "value"].mean() - frame.loc[side == -1, "value"].mean()
    assert gap == pytest.approx(true(large.world, "people: same", "truth: all"), abs=0.03)


@pytest.mark.parametrize("label", LABELS, ids=lambda label: label.name)
def test_label_rates_against_a_large_draw(large, label):
    for level in (-2.0, 0.0, 1.0):
        scores = WorldClassifier().score(WorldEditor().edit(large.pictures, level))[label.name]
        assert float(np.mean(scores >= 0.5)) == pytest.approx(large.world.rate(label, level), abs=0.03)


@pytest.mark.parametrize("label", LABELS, ids=lambda label: label.name)
def test_label_slopes_are_those_of_the_relative_rates(label):
    """Two routes to one number: a least-squares line through the relative rates."""
    world, levels = lw.World(), np.array([-2.0, -1.0, 0.0, 1.0, 2.0])
    rates = np.array([world.rate(label, level) for level in levels])
    expected = np.polyfit(levels, rates / rates[2], 1)[0]
    assert true(world, f"world-classifier: {label.name}", "truth: matched") == pytest.approx(expected)


def test_labels_without_an_effect_have_slope_zero():
    for label in LABELS:
        slope = true(lw.World(), f"world-classifier: {label.name}", "truth: matched")
        assert (slope == pytest.approx(0, abs=1e-12)) == (label.gender == 0)
        assert np.sign(round(slope, 9)) == np.sign(label.gender)


def test_truth_is_a_table_of_estimates():
    truth = lw.World().truth()
    check_estimates(truth)
    assert len(truth) == 2 * 2 + len(LABELS)
    assert set(truth.frame["method"]) == {"ground truth (simulation)"}
    assert truth.frame["low"].isna().all()


def test_write_gives_image_files_and_a_table(tmp_path):
    class Counter:
        done = 0

        def advance(self, items: int, failed: int = 0) -> None:
            self.done += items

    counter = Counter()
    small = drawn(identities=8, images_each=2, seed=6)
    folder, table = small.world.write(tmp_path, progress=counter)
    assert counter.done == len(list(folder.glob("*.png"))) == 16
    assert lw.Images.read(table).keys == small.faces.keys
    for key, picture in zip(small.faces.keys, small.pictures, strict=True):
        assert np.array_equal(decode(folder / f"{key}.png"), picture)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"identities": 3}, "A world of 3 identities with 3 images each is too small. Use at least 8"),
        ({"images_each": 1}, "with 1 images each is too small"),
        ({"confounding": 3.0}, "Confounding 3 gives shares of 'eyeglasses' outside 0 to 1"),
        ({"people_effect": -0.9}, "Raters' probabilities reach from .* outside 0 to 1. Lower confounding"),
    ],
)
def test_impossible_worlds_are_refused(options, says):
    with pytest.raises(SpecError, match=says):
        lw.World(**options)


def test_raters_probabilities_stay_within_the_announced_range():
    world = lw.World(identities=4000, seed=8)
    low, high = world._chances()
    _, factors = world.draw()
    weights = pd.Series(RATERS).reindex(FACTORS).fillna(0.0).to_numpy().copy()
    weights[0] = world.people_effect / 2
    chance = 0.70 + factors @ weights
    assert low <= chance.min() - 0.06
    assert chance.max() + 0.06 <= high


def test_examples_in_docstrings_run():
    assert doctest.testmod(sys.modules[lw.World.__module__]).failed == 0
