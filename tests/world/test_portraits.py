"""Portraits: planted people, and twins who differ from them in the attribute only."""

from __future__ import annotations

import numpy as np
import pytest

from likewise.errors import SpecError
from likewise.plugins import register
from likewise.world.portraits import CONTRAST, COVARIATES, PEOPLE, SIDE, Dials, Portraits


class Plain:
    """A generator that draws its first numbers as a flat colour."""

    name, licence, rows, dim, resolution = "plain", "ours", 2, 12, 8
    sizes = (8, 256)

    def mean_w(self):
        return np.full(self.dim, 0.1, np.float32)

    def sample_w(self, n, seed):
        return (0.1 + np.random.default_rng(seed).normal(size=(n, self.dim))).astype(np.float32)

    def synthesise(self, w, size=8):
        return np.repeat(np.repeat(np.tanh(w[:, 0, :3])[:, :, None, None], size, 2), size, 3).astype(np.float32)


def dials() -> Dials:
    """Return dials that overlap: a step along one score would move the others, were they not held."""
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(4, 12))
    return Dials(np.full(12, 0.1), scores, np.linalg.pinv(scores).T, ("gender", "age", "eyeglasses", "smile"))


def test_every_dial_stands_where_the_table_says_and_nothing_else_does():
    portraits, turn = Portraits(identities=20, seed=3), dials()
    faces, w = portraits.faces().frame, portraits.latents(Plain(), turn).astype(float)
    scores = (w - turn.mean) @ turn.scores.T
    side = np.where(faces[CONTRAST.column] == CONTRAST.focal, SIDE, -SIDE)
    np.testing.assert_allclose(scores[:, 0], side, atol=1e-4)
    np.testing.assert_allclose(scores[:, 1], faces["drawn_age"], atol=1e-3)
    np.testing.assert_allclose(scores[:, 2], np.where(faces["drawn_eyeglasses"] == 1, 2.0, -0.7), atol=1e-4)


def test_a_twin_differs_in_the_attribute_only():
    portraits, turn = Portraits(identities=20, seed=3), dials()
    own, twin = (portraits.latents(Plain(), turn, twins=twins).astype(float) for twins in (False, True))
    moved = (twin - own) @ turn.scores.T
    np.testing.assert_allclose(np.abs(moved[:, 0]), 2 * SIDE, atol=1e-4)
    np.testing.assert_allclose(moved[:, 1:], 0, atol=1e-4)


def test_confounding_is_planted_and_can_be_left_out():
    def apart(confounding):
        frame = Portraits(identities=4000, confounding=confounding, seed=1).faces().frame
        focal = frame[CONTRAST.column] == CONTRAST.focal
        return {c.column: frame.loc[focal, c.column].mean() - frame.loc[~focal, c.column].mean() for c in COVARIATES}

    for covariate in COVARIATES:
        assert apart(1.0)[covariate.column] == pytest.approx(covariate.shift, abs=0.05)
        assert apart(0.0)[covariate.column] == pytest.approx(0, abs=0.05)


def test_the_truth_of_simulated_people_is_that_of_their_chances():
    portraits = Portraits(identities=4000, seed=2)
    chance = portraits.chances()["chance"].to_numpy()
    assert ((chance > 0) & (chance < 1)).all()
    focal = (portraits.faces().frame[CONTRAST.column] == CONTRAST.focal).to_numpy()
    known = portraits.truth().frame.set_index("sample")["estimate"]
    assert chance[focal].mean() - chance[~focal].mean() == pytest.approx(known["truth: all"], abs=0.01)
    numbers = portraits.faces().frame
    left = chance - sum(PEOPLE[c.factor] * numbers[c.column].to_numpy() for c in COVARIATES)
    assert left[focal].mean() - left[~focal].mean() == pytest.approx(known["truth: alike"], abs=1e-3)


def test_pictures_are_drawn_once_and_lit(tmp_path):
    register("generator", "plain", Plain)
    portraits, turn = Portraits(identities=8, images_each=2, seed=4), dials()
    work = portraits.work(tmp_path, portraits.latents(Plain(), turn), "plain")
    assert int(work(portraits.images)["drawn"]) == 16
    first = work.path(portraits.images[0]).read_bytes()
    assert int(work(portraits.images)["drawn"]) == 0
    assert work.path(portraits.images[0]).read_bytes() == first


def test_what_cannot_be_planted_is_refused():
    with pytest.raises(SpecError, match="at least 8 people"):
        Portraits(identities=4)
    with pytest.raises(SpecError, match="confounding"):
        Portraits(confounding=2.0)
