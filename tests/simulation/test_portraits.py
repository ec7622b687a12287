"""Portraits: known confounding in a generator's latent space, and counterfactual twins."""

from __future__ import annotations

import numpy as np
import pytest

from likewise.errors import SpecError
from likewise.runtime.pixels import decode
from likewise.runtime.registry import register
from likewise.simulation.portraits import (
    AXIS_RANGE,
    CONTRAST,
    COVARIATES,
    GROUP_SHIFT,
    RATERS,
    AttributeAxes,
    Portraits,
)


class Plain:
    """A generator that renders its first numbers as a uniform color."""

    name, license, rows, dim, resolution = "plain", "ours", 2, 12, 8
    sizes = (8, 256)

    def mean_w(self):
        return np.full(self.dim, 0.1, np.float32)

    def sample_w(self, n, seed):
        return (0.1 + np.random.default_rng(seed).normal(size=(n, self.dim))).astype(np.float32)

    def synthesize(self, w, size=8):
        return np.repeat(np.repeat(np.tanh(w[:, 0, :3])[:, :, None, None], size, 2), size, 3).astype(np.float32)


def axes() -> AttributeAxes:
    """Return axes that overlap: a step along one score would change the others, were they not held."""
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(4, 12))
    return AttributeAxes(np.full(12, 0.1), scores, np.linalg.pinv(scores).T, ("gender", "age", "eyeglasses", "smile"))


def scores_of(w) -> np.ndarray:
    return (w.astype(float) - axes().mean) @ axes().scores.T


def test_latents_have_the_scores_of_the_table():
    portraits = Portraits(identities=20, seed=3)
    table, scores = portraits.table().frame, scores_of(portraits.latents(Plain(), axes()))
    side = np.where(table[CONTRAST.column] == CONTRAST.focal, GROUP_SHIFT, -GROUP_SHIFT)
    np.testing.assert_allclose(scores[:, 0], side, atol=1e-4)
    np.testing.assert_allclose(scores[:, 1], table["drawn_age"], atol=1e-3)
    for column, k in (("drawn_eyeglasses", 2), ("drawn_smile", 3)):
        low, high = AXIS_RANGE[column.removeprefix("drawn_")]
        np.testing.assert_allclose(scores[:, k], np.where(table[column] == 1, high, low), atol=1e-4)


def test_centered_latents_have_every_score_at_zero():
    base = axes().centered(Plain().sample_w(30, 1))
    np.testing.assert_allclose(base @ axes().scores.T, 0, atol=1e-6)
    assert np.linalg.norm(base, axis=1).min() > 0.5


def test_axes_are_independent_of_each_other():
    turn, base = axes(), np.zeros((1, 12))
    for k, name in enumerate(turn.names):
        moved = scores_of(turn.at(base, {name: np.array([2.0])}))[0]
        np.testing.assert_allclose(moved, 2.0 * np.eye(4)[k], atol=1e-5)


def test_twins_differ_in_the_attribute_only():
    portraits = Portraits(identities=20, seed=3)
    own, twin = (portraits.latents(Plain(), axes(), twins=twins) for twins in (False, True))
    moved = scores_of(twin) - scores_of(own)
    np.testing.assert_allclose(np.abs(moved[:, 0]), 2 * GROUP_SHIFT, atol=1e-4)
    np.testing.assert_allclose(moved[:, 1:], 0, atol=1e-4)
    step = axes().steps[0]
    off_axis = (twin - own) - np.outer((twin - own) @ step / (step @ step), step)
    np.testing.assert_allclose(off_axis, 0, atol=1e-4)


def test_everything_else_is_independent_of_the_group():
    portraits = Portraits(identities=2000, images_each=2, seed=5)
    w = portraits.latents(Plain(), axes())
    rest = axes().centered(w)
    focal = (portraits.table().frame[CONTRAST.column] == CONTRAST.focal).to_numpy()
    gap = rest[focal].mean(axis=0) - rest[~focal].mean(axis=0)
    assert np.abs(gap / (rest.std(axis=0) * np.sqrt(2 / 1000))).max() < 4  # standard errors


def test_images_of_an_identity_are_more_alike_than_those_of_two():
    rest = axes().centered(Portraits(identities=200, images_each=2, seed=6).latents(Plain(), axes()))
    within = np.linalg.norm(rest[::2] - rest[1::2], axis=1).mean()
    between = np.linalg.norm(rest[::2] - np.roll(rest[1::2], 1, axis=0), axis=1).mean()
    assert within < between / 2


def test_draws_are_determined_by_the_seed():
    for twins in (False, True):
        first, again, other = (
            Portraits(identities=10, seed=seed).latents(Plain(), axes(), twins=twins) for seed in (1, 1, 2)
        )
        assert np.array_equal(first, again)
        assert not np.array_equal(first, other)
    assert Portraits(seed=1).table() == Portraits(seed=1).table()


@pytest.mark.parametrize("confounding", [0.0, 0.5, 1.0])
def test_confounding_has_the_chosen_strength(confounding):
    frame = Portraits(identities=4000, confounding=confounding, seed=1).table().frame
    focal = frame[CONTRAST.column] == CONTRAST.focal
    for covariate in COVARIATES:
        gap = frame.loc[focal, covariate.column].mean() - frame.loc[~focal, covariate.column].mean()
        assert gap == pytest.approx(confounding * covariate.shift, abs=0.05)


def test_age_belongs_to_the_identity():
    distinct = Portraits(identities=20, images_each=4).table().frame.groupby("identity").nunique()
    assert (distinct[["drawn_age", CONTRAST.column]] == 1).all(axis=None)
    assert (distinct["drawn_light"] == 4).all()


def test_rater_truth_is_that_of_the_probabilities():
    portraits = Portraits(identities=4000, seed=2)
    chance = portraits.chances()["chance"].to_numpy()
    assert ((chance > 0) & (chance < 1)).all()
    table = portraits.table().frame
    focal = (table[CONTRAST.column] == CONTRAST.focal).to_numpy()
    known = portraits.truth().frame.set_index("sample")["estimate"]
    assert chance[focal].mean() - chance[~focal].mean() == pytest.approx(known["truth: all"], abs=0.01)
    adjusted = chance - sum(RATERS[c.factor] * table[c.column].to_numpy() for c in COVARIATES)
    assert adjusted[focal].mean() - adjusted[~focal].mean() == pytest.approx(known["truth: matched"], abs=1e-3)


def test_without_confounding_matched_and_unmatched_truth_are_equal():
    assert Portraits(confounding=0.0).truth().frame["estimate"].nunique() == 1


def test_images_are_rendered_once(tmp_path):
    register("generator", "plain", Plain)
    portraits = Portraits(identities=8, images_each=2, seed=4)
    work = portraits.work(tmp_path, portraits.latents(Plain(), axes()), "plain")
    assert int(work(portraits.images)["drawn"]) == 16
    first = work.path(portraits.images[0]).read_bytes()
    assert int(work(portraits.images)["drawn"]) == 0
    assert work.path(portraits.images[0]).read_bytes() == first


def test_light_is_the_exposure_of_the_image(tmp_path):
    register("generator", "plain", Plain)
    portraits = Portraits(identities=40, images_each=2, seed=4)
    latents = np.tile(Plain().mean_w(), (len(portraits.images), 1))  # the same face in every image
    work = portraits.work(tmp_path, latents, "plain")
    work(portraits.images)
    brightness = [decode(work.path(image)).mean() for image in portraits.images]
    light = portraits.table().frame["drawn_light"]
    assert np.corrcoef(brightness, light)[0, 1] > 0.999


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"identities": 4}, "4 identities with 3 images each are too few. Use at least 8"),
        ({"images_each": 1}, "with 1 images each are too few"),
        ({"confounding": 2.0}, "Confounding is 2. Use a number from 0 to 1"),
        ({"confounding": -0.1}, "Confounding is -0.1"),
    ],
)
def test_impossible_portraits_are_refused(options, says):
    with pytest.raises(SpecError, match=says):
        Portraits(**options)
