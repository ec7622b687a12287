"""Planted artifacts are found, clean edits are kept: fast, on drawn faces of the simulated world."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from benchmarks.artifact_examples import Example, read
from benchmarks.artifact_training import Network

from likewise.counterfactuals.validation.artifact_measures import global_measures
from likewise.counterfactuals.validation.artifacts import (
    MOST_TINT,
    RECONSTRUCTION_WEIGHTS,
    WEIGHTS,
    artifact_logits,
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
    assert WEIGHTS.stat().st_size + RECONSTRUCTION_WEIGHTS.stat().st_size < 600_000


def test_reconstructions_have_a_network_of_their_own(world):
    edits = WorldEditor().edit(world.pictures[:1], 1.0)
    assert artifact_scores(world.pictures[0], edits, redrawn=True) != artifact_scores(world.pictures[0], edits)


def test_training_goes_on_from_the_shipped_weights():
    """Norms that undo the spread they find: before the first step the network says what the shipped one says."""
    rng = np.random.default_rng(4)
    inputs = rng.normal(0, 0.5, (6, 11, 128, 128)).astype(np.float32)
    nowhere = np.zeros((16, 16), bool)
    examples = [Example(x.astype(np.float16), global_measures(x), "", nowhere, 0) for x in inputs]
    network = Network()
    with np.load(WEIGHTS, allow_pickle=False) as stored:
        network.unfold(dict(stored), examples[:3])
    measures = torch.from_numpy(np.stack([one.measures for one in examples]))
    with torch.inference_mode():
        said = network.eval()(torch.from_numpy(inputs), measures)[0].numpy()
    assert np.allclose(said, artifact_logits(inputs, 0), atol=0.02)


def test_photographs_are_for_one_thing_only(tmp_path):
    face = {"photographs": np.full((1, 64, 64, 3), (150, 110, 90), np.uint8), "points": np.zeros((1, 5, 2), np.float32)}
    face |= {"drawn": face["photographs"], "moved": face["photographs"][:, None].repeat(6, axis=1)}
    for number in range(16):
        np.savez(tmp_path / f"photograph-{number:04d}.npz", masks=np.ones((1, 64, 64), bool), **face)
    np.savez(tmp_path / "photograph-0016.npz")  # its projection failed
    counts = {part: len(read(tmp_path, part)) for part in ("training", "thresholds", "apart", "all")}
    assert counts == {"training": 10, "thresholds": 2, "apart": 4, "all": 16}
    assert all(one.real for one in read(tmp_path, "all"))


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
