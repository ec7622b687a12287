"""Contracts of the simulated components: what they depend on, and what they do not."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import likewise as lw
from likewise.runtime.registry import KINDS, create, to_pictures, to_signals
from likewise.simulation.components import (
    Pixels,
    WorldAttributes,
    WorldClassifier,
    WorldCrowd,
    WorldEditor,
    WorldGenerator,
    WorldRecognizer,
)
from likewise.simulation.scene import FACTORS, SHAPES, base, draw, see
from likewise.simulation.world import RATERS
from likewise.tables import Trials


def faces(count: int = 12, seed: int = 0, **fixed: float) -> np.ndarray:
    factors = np.random.default_rng(seed).uniform(-0.8, 0.8, (count, len(FACTORS)))
    for name, value in fixed.items():
        factors[:, FACTORS.index(name)] = value
    return to_pictures(draw(factors))


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "perceptual"])
def test_every_kind_has_a_world_component(kind):
    assert create(kind, "world").name.startswith("world-")


def test_generator_samples_by_seed():
    generator = WorldGenerator()
    assert np.array_equal(generator.sample_w(5, 1), generator.sample_w(5, 1))
    assert not np.array_equal(generator.sample_w(5, 1), generator.sample_w(5, 2))
    assert generator.sample_w(5, 1).shape == (5, generator.dim)


def test_generator_draws_the_mean_face_and_is_linear():
    generator, rng = WorldGenerator(), np.random.default_rng(0)
    mean = np.tile(generator.mean_w(), (1, generator.rows, 1))
    np.testing.assert_allclose(generator.synthesize(mean)[0], base(), atol=1e-6)
    w, step = rng.normal(size=(2, 3, generator.rows, generator.dim)).astype(np.float32)
    moved = generator.synthesize(w + step) - generator.synthesize(w)
    np.testing.assert_allclose(generator.synthesize(w + 2 * step) - generator.synthesize(w), 2 * moved, atol=1e-4)


def test_generator_has_one_direction_a_factor():
    generator = WorldGenerator()
    np.testing.assert_allclose(generator.directions @ generator.directions.T, np.eye(len(FACTORS)), atol=1e-12)
    w = 0.5 * np.repeat(generator.directions[:, None], generator.rows, axis=1)  # [F, L, D]: equal rows
    np.testing.assert_allclose(see(to_pictures(generator.synthesize(w))), 0.5 * np.eye(len(FACTORS)), atol=0.03)


@pytest.mark.parametrize("level", [-2.0, -1.0, 0.0, 1.5])
def test_editor_changes_the_attribute_only(level):
    pictures = faces()
    before, after = see(pictures), see(WorldEditor().edit(pictures, level))
    np.testing.assert_allclose(after[:, 0], level, atol=0.03)
    np.testing.assert_allclose(after[:, 1:], before[:, 1:], atol=0.05)


def test_reconstruction_control_changes_nothing():
    pictures = faces()
    assert np.abs(WorldEditor().redraw(pictures).astype(int) - pictures.astype(int)).max() <= 1


def test_recognizer_separates_identities(world):
    recognizer = WorldRecognizer()
    embeddings = recognizer.embed(world.pictures)
    assert embeddings.shape == (len(world.pictures), 4)
    genuine = recognizer.distance(embeddings[::3], embeddings[1::3])
    impostor = recognizer.distance(embeddings[::3], np.roll(embeddings[1::3], 1, axis=0))
    assert genuine.mean() < impostor.mean() - 0.2
    assert (genuine < recognizer.threshold).mean() > (impostor < recognizer.threshold).mean()


def test_recognizer_distance_is_symmetric_and_keeps_missing_faces():
    recognizer = WorldRecognizer()
    embeddings = recognizer.embed(faces())
    a, b = embeddings[:6], embeddings[6:].copy()
    np.testing.assert_allclose(recognizer.distance(a, b), recognizer.distance(b, a), atol=1e-6)
    b[2] = np.nan
    assert np.flatnonzero(np.isnan(recognizer.distance(a, b))).tolist() == [2]


@pytest.mark.parametrize("effect", [0.0, 0.08, -0.2])
def test_recognizer_effect_is_the_difference_between_groups(effect):
    recognizer = WorldRecognizer(effect=effect)
    focal, reference = (recognizer.embed(faces(gender=side)) for side in (1.0, -1.0))
    gap = recognizer.distance(focal[:6], focal[6:]) - recognizer.distance(reference[:6], reference[6:])
    np.testing.assert_allclose(gap, effect, atol=0.01)


def test_classifier_confidences_are_probabilities_with_threshold_at_zero():
    scores = WorldClassifier().score(faces(200))
    assert set(scores) == {"Lipstick", "Necktie", "Spectacles", "Grin"}
    for confidence in scores.values():
        assert ((confidence > 0) & (confidence < 1)).all()
        assert confidence.std() > 0.05


def test_labels_depend_on_the_attribute_as_designed():
    low, high = (WorldClassifier().score(faces(gender=side)) for side in (-1.0, 1.0))
    assert (high["Lipstick"] > low["Lipstick"]).all()
    assert (high["Necktie"] < low["Necktie"]).all()
    for label in ("Spectacles", "Grin"):
        np.testing.assert_allclose(high[label], low[label], atol=0.06)


def test_attribute_scores_follow_their_own_factor_only():
    own = {"female": "gender", "older": "age", "eyeglasses": "eyeglasses", "smiling": "smiling"}
    for label, factor in own.items():
        low, high = (WorldAttributes().score(faces(**{factor: value})) for value in (-0.5, 0.7))
        assert (high[label] > low[label] + 0.2).all()
        for other in set(own) - {label}:
            np.testing.assert_allclose(high[other], low[other], atol=0.02)


def test_raters_answer_every_trial_with_distinct_raters(world):
    trials = lw.trials(world.faces, seed=0)
    frame = WorldCrowd(raters=10, each=4).answers(trials, world.look, seed=1).frame
    assert set(frame["unit"]) == set(trials.frame["trial"])
    assert frame.groupby("unit")["rater"].nunique().eq(4).all()
    assert frame["rater"].nunique() == 10
    assert set(frame["value"]) <= {0.0, 1.0}


def test_raters_answers_depend_on_the_seed_and_not_on_the_order_of_trials(world):
    trials = lw.trials(world.faces, seed=0)
    turned = Trials(trials.frame.iloc[::-1])
    crowd = WorldCrowd()
    assert crowd.answers(trials, world.look, seed=1) == crowd.answers(turned, world.look, seed=1)
    assert crowd.answers(trials, world.look, seed=1) != crowd.answers(trials, world.look, seed=2)


def test_no_trials_give_no_responses(world):
    empty = Trials(pd.DataFrame({"trial": [], "a": [], "b": [], "same": []}, dtype="str"))
    assert len(WorldCrowd().answers(empty, world.look, seed=1)) == 0


def test_raters_probability_is_linear_in_the_factors():
    crowd = WorldCrowd(effect=-0.08)
    one = np.eye(len(FACTORS))
    slopes = crowd._chance(one) - crowd._chance(0 * one)
    expected = {"gender": -0.04, **RATERS}
    np.testing.assert_allclose(slopes, [expected.get(name, 0.0) for name in FACTORS], atol=1e-12)
    assert np.abs(slopes[SHAPES]).max() == 0


def test_pixel_distance_is_the_mean_squared_difference():
    signals = to_signals(faces(6))
    distance = Pixels().distance(signals[:3], signals[3:])
    np.testing.assert_allclose(distance, ((signals[:3] - signals[3:]) ** 2).mean(axis=(1, 2, 3)), rtol=1e-5)
    assert Pixels().distance(signals, signals).tolist() == [0.0] * 6
    assert Pixels().features(signals).shape == (6, signals[0].size)
