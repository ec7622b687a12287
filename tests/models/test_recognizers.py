"""The recognizers with their real weights, on faces that nobody has: drawn by the embedded generator."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from PIL import Image

from likewise.models.detectors.detection import Detection, central
from likewise.models.detectors.landmarks import template
from likewise.models.detectors.registry import detector
from likewise.models.generators.mobilestylegan import MobileStyleGAN
from likewise.models.geometry import moved, similarity, warp
from likewise.models.recognizers.torch import between
from likewise.runtime.registry import create, to_pictures

PARTS = {
    "dlib": ("dlib-resnet", "dlib-landmarks-5"),
    "mobilefacenet": ("mobilefacenet", "retinaface"),
    "openface": ("openface", "dlib-landmarks-5"),
    "faceplugin": ("faceplugin", "retinaface"),
    "faceres": ("faceres", "dlib-landmarks-5"),
    "facenet": ("facenet", "dlib-landmarks-5"),
}
DETECTORS = {"dlib": "dlib-landmarks-5", "retinaface": "retinaface"}


@pytest.fixture(scope="module")
def people(weights):
    """Four faces of 512 px."""
    weights("mobilestylegan-ffhq")
    generator = MobileStyleGAN()
    w = np.repeat(generator.sample_w(4, seed=5)[:, None], generator.rows, axis=1)
    mean = generator.mean_w()
    drawn = to_pictures(generator.synthesize((mean + 0.7 * (w - mean)).astype(np.float32)))
    return np.stack([np.asarray(Image.fromarray(face).resize((512, 512), Image.Resampling.BOX)) for face in drawn])


@pytest.mark.parametrize("name", DETECTORS)
def test_points_are_found_where_the_frame_has_them_also_on_photographs_and_thumbnails(name, weights, people):
    weights(DETECTORS[name])
    looker = detector(name)
    for face in people[:2]:
        seen = central(looker.find(face), face)
        eyes = seen.points[:2].mean(axis=0) if looker.scheme == "centers" else seen.points[:4].mean(axis=0)
        assert np.abs(eyes / 512 - [0.5, 0.475]).max() < 0.03
        large = np.asarray(Image.fromarray(face).resize((3464, 3464)))  # 12 megapixels
        again = central(looker.find(large), large)
        assert np.abs(again.points / 3464 - seen.points / 512).max() < 0.02
    looker.find(np.asarray(Image.fromarray(people[0]).resize((20, 20))))  # whatever it answers, it answers
    assert looker.find(np.full((300, 200, 3), 128, np.uint8)) == []


def test_of_several_faces_the_central_one_is_meant(weights, people):
    weights("retinaface")
    wide = np.zeros((512, 1536, 3), np.uint8)
    wide[:, 512:1024], wide[128:384, :256], wide[128:384, 1280:] = people[0], people[1][::2, ::2], people[2][::2, ::2]
    found = detector("retinaface").find(wide)
    assert len(found) == 3
    assert np.abs(central(found, wide).points[:2].mean(axis=0) - [768, 243]).max() < 20
    assert central([], wide) is None
    assert central([Detection((0, 0, 9, 9), np.zeros((5, 2)), 1.0)], wide).score == 1.0


@pytest.mark.parametrize("name", PARTS)
def test_a_face_is_nearer_to_itself_turned_and_dimmed_than_to_others(name, weights, people):
    for part in PARTS[name]:
        weights(part)
    recognizer = create("recognizer", name)
    turned = [warp(face, similarity([[0, 0], [512, 0]], [[30, 50], [420, 10]]), 480) for face in people]
    dim = (np.stack(turned) * 0.8).astype(np.uint8)
    one, two = recognizer.embed(people), recognizer.embed(dim)
    assert one.shape == (4, recognizer.dim)
    own = recognizer.distance(one, two)
    others = [recognizer.distance(one, np.roll(one, k, axis=0)) for k in (1, 2, 3)]
    assert own.max() < recognizer.threshold < np.median(others)
    assert own.max() < np.min(others)
    assert recognizer.family
    assert recognizer.set_on
    assert recognizer.license
    assert recognizer.detector == recognizer.preprocessing.detector in DETECTORS


@pytest.mark.parametrize("name", PARTS)
def test_neither_the_batch_nor_the_order_changes_an_embedding_and_nobody_is_nan(name, weights, people):
    for part in PARTS[name]:
        weights(part)
    recognizer = create("recognizer", name, {"batch": 2})
    with_nobody = np.concatenate([people[:3], np.full((1, 512, 512, 3), 90, np.uint8)])
    found = recognizer.embed(with_nobody)
    assert np.isnan(found[3]).all()
    assert np.isfinite(found[:3]).all()
    single = np.concatenate([recognizer.embed(with_nobody[k : k + 1]) for k in (2, 0, 1)])
    assert np.allclose(single, found[[2, 0, 1]], atol=1e-4)
    assert np.isnan(recognizer.embed(with_nobody[3:])).all()


def test_dlibs_chip_is_cut_as_dlib_cuts_it(weights, people):
    dlib = pytest.importorskip("dlib")
    path = weights("dlib-landmarks-5")
    face = np.ascontiguousarray(people[1])
    (box, *_) = dlib.get_frontal_face_detector()(face, 0)
    shape = dlib.shape_predictor(str(path))(face, box)
    points = np.array([(part.x, part.y) for part in shape.parts()])
    ours = warp(face, template("chip").transform(points, "corners", 150), 150).astype(float)
    theirs = dlib.get_face_chip(face, shape, size=150, padding=0.25).astype(float)
    assert np.abs(ours - theirs)[5:-5, 5:-5].mean() < 6, "both interpolate, each in its own way"
    shifted = np.roll(theirs, 2, axis=1)
    assert np.abs(ours - theirs)[5:-5, 5:-5].mean() < np.abs(ours - shifted)[5:-5, 5:-5].mean() / 2


def test_gradients_reach_the_picture_and_the_fixed_crop_agrees_with_the_found_one(weights, people):
    for part in PARTS["mobilefacenet"]:
        weights(part)
    recognizer = create("recognizer", "mobilefacenet")
    x = torch.from_numpy(people[:2].astype(np.float32) / 127.5 - 1).permute(0, 3, 1, 2).requires_grad_()
    embedded = recognizer.embed_tensor(x)
    assert torch.allclose(embedded.norm(dim=1), torch.ones(2), atol=1e-5)
    apart = recognizer.distance(embedded.detach().numpy(), recognizer.embed(people[:2]))
    assert apart.max() < 35, "the crop is the same for all, so it is near, but not equal"
    embedded[:, 0].sum().backward()
    assert x.grad.abs().sum() > 0
    crop = warp(people[0], between("ffhq", "arcface", 512, 112), 112)
    exact = recognizer.embed_crops(crop[None])
    assert recognizer.distance(exact, embedded[:1].detach().numpy()).max() < 12


def test_a_template_names_the_point_that_lies_in_its_frame():
    typical = template("ffhq").typical("centers", 256)
    assert (
        np.abs(moved(typical, between("ffhq", "arcface", 256, 112)) - template("arcface").typical("centers", 112)).max()
        < 6
    )
