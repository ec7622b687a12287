"""The distilled editor on tiny pairs: it learns the change, strength 0 is the picture, a stopped training goes on."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from likewise.errors import SpecError, WeightsError
from likewise.models.distilled.data import Pairs, batch_of
from likewise.models.distilled.editor import DistilledEditor
from likewise.models.distilled.network import EditorNetwork, EditorShape, load_editor, save_editor
from likewise.models.distilled.training import Trainer, TrainSpec, explained, train_editor

SHAPE = EditorShape(attributes=("one", "two"), toward=("female", "darker"), size=24, window=(4, 4, 16), widths=(8, 8))
SPEC = TrainSpec(seconds=1e6, batch=8, lr=3e-3, shares=(0.5, 0.5))


def write_pairs(folder, faces=24, seed=0):
    """Faces of smooth noise; the first attribute reddens the upper skin, the second darkens all of it."""
    rng = np.random.default_rng(seed)
    own = rng.uniform(90, 160, (faces, 1, 1, 3)) + rng.normal(0, 6, (faces, 24, 24, 3))
    skin = np.zeros((24, 24), bool)
    skin[6:18, 6:18] = True
    up = np.zeros((24, 24, 1))
    up[6:12, 6:18] = 1
    shift = rng.uniform(0.5, 1, (faces, 2)) * rng.choice([-1, 1], (faces, 2))
    red = own + shift[:, 0, None, None, None] * up * [60, 0, 0]
    dark = own - shift[:, 1, None, None, None] * skin[..., None] * 40
    places = np.zeros((faces, 3, 2), np.float32)
    places[:, 1, 0], places[:, 2, 1] = 2 * shift[:, 0], 2 * shift[:, 1]
    pictures = np.clip(np.stack([own, red, dark], axis=1), 0, 255).astype(np.uint8)
    folder.mkdir(exist_ok=True)
    np.savez(
        folder / f"{seed:05d}.npz", pictures=pictures, skin=np.broadcast_to(skin, (faces, 3, 24, 24)), places=places
    )
    return folder


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    work = tmp_path_factory.mktemp("distilled")
    trainer = Trainer(Pairs(write_pairs(work / "pairs")), SHAPE, SPEC, work / "checkpoint")
    while trainer.step < 250:
        trainer._one()
    trainer.save()
    save_editor(work / "editor.safetensors", trainer.average, {"held": {"one": ["age", "smile"]}})
    return work, trainer


def test_it_learns_the_change_of_the_skin(trained, tmp_path):
    unseen = Pairs(write_pairs(tmp_path / "held", seed=5))
    for attribute in (0, 1):
        assert explained(trained[1].average, unseen, attribute=attribute)["L2"] > 0.5
        assert abs(explained(EditorNetwork(SHAPE), unseen, attribute=attribute)["L2"]) < 0.2


def test_strength_zero_is_the_picture_and_strengths_go_two_ways(trained):
    editor = DistilledEditor(str(trained[0] / "editor.safetensors"))
    pictures = np.full((2, 48, 48, 3), 120, np.uint8)
    strips = editor.sweep(pictures, (-1, 0, 1))
    assert (strips[:, 1] == pictures).all()
    red = strips[:, :, 14:22, 14:34, 0].astype(float).mean(axis=(0, 2, 3))
    assert red[0] < red[1] - 8 and red[2] > red[1] + 8
    assert (strips[:, :, 0] == pictures[:, None, 0]).all()  # beyond the window nothing changes
    assert (editor.edit(pictures, 1) == strips[:, 2]).all()
    assert editor.held == ("age", "smile") and editor.license


def test_plus_one_looks_like_the_focal_level(trained):
    path = str(trained[0] / "editor.safetensors")
    pictures = np.full((1, 24, 24, 3), 120, np.uint8)
    toward, away = (DistilledEditor(path, focal=focal).edit(pictures, 1) for focal in ("F", "M"))
    assert (toward.astype(int).sum(), away.astype(int).sum()) != (pictures.astype(int).sum(),) * 2
    assert (away == DistilledEditor(path).edit(pictures, -1)).all()
    assert DistilledEditor(path, attribute="two").attribute == "two"
    with pytest.raises(SpecError, match="group 1"):
        DistilledEditor(path, focal="group 1")
    with pytest.raises(SpecError, match="no attribute 'three'"):
        DistilledEditor(path, attribute="three")


def test_a_stopped_training_goes_on(trained, tmp_path):
    pairs = Pairs(write_pairs(tmp_path / "pairs"))
    whole, first = (Trainer(pairs, SHAPE, SPEC, tmp_path / name) for name in ("whole", "parts"))
    for _ in range(4):
        whole._one()
    for _ in range(2):
        first._one()
    first.save()
    second = Trainer(pairs, SHAPE, SPEC, tmp_path / "parts")
    assert second.step == 2
    for _ in range(2):
        second._one()
    for one, other in zip(whole.network.parameters(), second.network.parameters(), strict=True):
        assert torch.allclose(one, other, atol=1e-6)
    other = EditorShape(attributes=("one", "two"), toward=("a", "b"), size=24, window=(4, 4, 16), widths=(4, 4))
    with pytest.raises(WeightsError, match="not a checkpoint of this editor"):
        Trainer(pairs, other, SPEC, tmp_path / "parts")


def test_training_goes_on_from_given_weights_and_in_half_precision(trained, tmp_path):
    work, _ = trained
    pairs = Pairs(write_pairs(tmp_path / "pairs"))
    start, _ = load_editor(work / "editor.safetensors")
    gone_on = Trainer(pairs, SHAPE, replace(SPEC, bfloat16=True), tmp_path / "on", work / "editor.safetensors")
    for one, other in zip(start.parameters(), gone_on.average.parameters(), strict=True):
        assert torch.equal(one, other)
    first = explained(gone_on.average, pairs, attribute=0)["L2"]
    assert first > explained(Trainer(pairs, SHAPE, SPEC, tmp_path / "new").average, pairs, attribute=0)["L2"]
    for _ in range(5):
        gone_on._one()
    assert all(bool(torch.isfinite(each).all()) for each in gone_on.average.parameters())
    other = EditorShape(attributes=("one", "two"), toward=("a", "b"), size=24, window=(4, 4, 16), widths=(4, 4))
    with pytest.raises(WeightsError, match="another shape"):
        Trainer(pairs, other, SPEC, tmp_path / "other", work / "editor.safetensors")


def test_training_writes_weights_with_a_card(tmp_path):
    pairs, held = write_pairs(tmp_path / "pairs"), write_pairs(tmp_path / "held", seed=3)
    spec = TrainSpec(seconds=0.2, batch=4, shares=(0.5, 0.5))
    train_editor(pairs, held, tmp_path / "e.safetensors", SHAPE, spec, about={"held": {}})
    network, card = load_editor(tmp_path / "e.safetensors")
    assert network.shape == SHAPE
    assert card["training"]["faces"] == 24 and card["held-out faces"] == 24
    with pytest.raises(SpecError, match="No pairs"):
        Pairs(tmp_path / "empty")


def test_skin_weighs_the_loss_and_both_get_the_same_light(tmp_path):
    pairs = Pairs(write_pairs(tmp_path / "pairs"))
    batch = batch_of(pairs, np.arange(6), np.random.default_rng(0), shares=(1.0, 0.0), window=SHAPE.window)
    assert batch.seen.shape == batch.goal.shape == (6, 3, 16, 16)
    assert torch.allclose(batch.weight.mean(dim=(1, 2, 3)), torch.ones(6), atol=1e-5)
    assert (batch.strengths[:, 1] == 0).all() and (batch.strengths[:, 0] != 0).all()
    plain = batch_of(
        pairs, np.arange(6), np.random.default_rng(0), shares=(0.0, 1.0), window=SHAPE.window, augment=False
    )
    darker = plain.goal[:, :, 3:13, 3:13].mean(dim=(1, 2, 3)) * plain.strengths[:, 1]
    assert (darker < 0).all()


@pytest.mark.parametrize("bad", [{"window": (4, 4, 18)}, {"window": (20, 4, 16)}, {"toward": ("a",)}])
def test_a_shape_that_does_not_fit_is_refused(bad):
    with pytest.raises(SpecError):
        EditorShape(**{"attributes": ("one", "two"), "toward": ("a", "b"), "size": 24, "widths": (4, 4), **bad})
