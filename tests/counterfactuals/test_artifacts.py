"""Planted artifacts are found, clean edits are kept: fast, on drawn faces of the simulated world."""

from __future__ import annotations

import numpy as np
import pytest

from likewise.counterfactuals.validation.artifacts import (
    MOST_TINT,
    WEIGHTS,
    artifact_scores,
    changed_region,
    network_input,
    recolor,
    tint,
)
from likewise.counterfactuals.validation.synthetic_artifacts import ARTIFACTS, add_artifact
from likewise.simulation.components import WorldArtifacts, WorldEditor

_Y, _X = np.mgrid[-1:1:48j, -1:1:48j]
FACE = np.hypot(_X / 0.56, (_Y - 0.08) / 0.72) < 1
VISIBLE = [kind for kind in ARTIFACTS if kind != "blur"]  # at 48 px the added blur is below a third of a pixel


def rejected(pictures):
    return WorldArtifacts().score(pictures)["artifact"] > 0.5


def test_clean_edits_are_kept(world):
    for strength in (-2, -1, 0, 1, 2):
        assert rejected(WorldEditor().edit(world.pictures, strength)).mean() <= 0.1


@pytest.mark.parametrize("kind", VISIBLE)
def test_synthetic_artifacts_are_rejected(world, kind):
    rng, edits = np.random.default_rng(0), WorldEditor().edit(world.pictures[:60], 1)
    assert rejected(np.stack([add_artifact(kind, edit, FACE, rng) for edit in edits])).mean() >= 0.95


@pytest.mark.parametrize("kind", ARTIFACTS)
def test_an_artifact_is_added_inside_the_mask_only(world, kind):
    picture = world.pictures[0]
    spoiled = add_artifact(kind, picture, FACE, np.random.default_rng(1))
    assert (spoiled != picture).any()
    assert (spoiled[~FACE] == picture[~FACE]).all()


def test_the_network_sees_where_edits_differ(world):
    edits = WorldEditor().edit(world.pictures[:1].repeat(2, axis=0), 1)
    region = changed_region(world.pictures[0], edits)
    assert region.any() and not (edits[0] != world.pictures[0]).any(axis=-1)[~region].any()
    assert network_input(world.pictures[0], edits[0], region).shape == (11, 128, 128)
    untouched = np.stack([world.pictures[0]] * 2)
    assert artifact_scores(world.pictures[0], untouched).tolist() == [0, 0]


def test_the_shipped_network_gives_a_probability_for_every_edit(world):
    edits = np.stack([WorldEditor().edit(world.pictures[:1], strength)[0] for strength in (-1, 1)])
    scores = artifact_scores(world.pictures[0], edits)
    assert scores.shape == (2,)
    assert ((scores >= 0) & (scores <= 1)).all()
    assert WEIGHTS.stat().st_size < 500_000


def _skin_and_tones():
    rng = np.random.default_rng(3)
    picture = np.clip(150 + rng.normal(0, 12, (96, 96, 1)) + np.array([30, 0, -20]), 0, 255).astype(np.uint8)
    y, x = np.mgrid[-1:1:96j, -1:1:96j]
    return picture, np.hypot(x, y) < 0.8


def test_a_change_of_tone_is_followed_and_a_tint_is_not():
    picture, mask = _skin_and_tones()
    darker = np.where(mask[..., None], picture * 0.82, picture).astype(np.uint8)
    left = np.abs(recolor(picture, darker, mask).astype(int) - darker)[mask]
    assert np.median(left) <= 1
    assert tint(picture, darker, mask) < MOST_TINT
    green = np.clip(picture + mask[..., None] * np.array([-30, 25, -10]), 0, 255).astype(np.uint8)
    assert tint(picture, green, mask) > MOST_TINT
    assert artifact_scores(picture, green[None], recolored=True)[0] == 1


def test_recoloring_does_not_follow_a_patch():
    picture, mask = _skin_and_tones()
    patched = picture.copy()
    patched[40:56, 40:56] = (40, 200, 60)
    assert np.abs(recolor(picture, patched, mask).astype(int) - patched)[40:56, 40:56].mean() > 20
