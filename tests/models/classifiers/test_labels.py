"""EfficientNet-Lite: equal to the published implementation, its labels, its features as Vectors."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

import likewise as lw
from likewise.errors import PluginError, SpecError, WeightsError
from likewise.models.classifiers.efficientnet_lite import VARIANTS, EfficientNetLite, prepared
from likewise.models.classifiers.labels import EfficientNetLabels, label_names
from likewise.models.state import fill
from likewise.weights.convert.efficientnet import convert, renamed
from portraits import portrait

STORED = Path(__file__).parents[2] / "fixtures" / "networks"


@pytest.fixture(scope="module")
def labels(weights):
    weights("efficientnet-lite0")
    return EfficientNetLabels()


def test_it_is_the_published_network(labels):
    x = np.random.default_rng(0).normal(size=(2, 3, 224, 224)).astype(np.float32)
    with np.load(STORED / "reference.npz") as stored, torch.inference_mode():
        np.testing.assert_allclose(labels._network(torch.from_numpy(x)), stored["efficientnet-lite0/logits"], atol=2e-4)


@pytest.mark.parametrize(("variant", "size"), [(1, 240), (2, 260)])
def test_the_larger_variants_are_the_published_networks(variant, size, weights):
    weights(f"efficientnet-lite{variant}")
    x = np.random.default_rng(0).normal(size=(2, 3, size, size)).astype(np.float32)
    network = EfficientNetLabels(variant=variant)._network
    with np.load(STORED / "reference.npz") as stored, torch.inference_mode():
        expected = stored[f"efficientnet-lite{variant}/logits"]
        np.testing.assert_allclose(network(torch.from_numpy(x)), expected, atol=2e-4)


@pytest.mark.parametrize(("variant", "tensors"), [(0, 296), (1, 386), (2, 386)])
def test_the_variants_have_the_published_tensors(variant, tensors):
    assert len(EfficientNetLite(VARIANTS[variant]).state_dict()) == tensors


def test_a_portrait_is_called_by_what_is_worn(labels):
    scores = labels.score(portrait(size=512))
    best = sorted(scores, key=lambda label: -scores[label][0])[:5]
    assert {"suit", "military uniform", "Windsor tie", "academic gown", "bow tie"} & set(best)
    assert sum(values[0] for values in scores.values()) == pytest.approx(1, abs=1e-4)


def test_there_are_a_thousand_names_of_their_own():
    names = label_names()
    assert len(names) == len({name.lower() for name in names}) == 1000
    assert (names[0], names[207], names[652], names[999]) == (
        "tench",
        "golden retriever",
        "military uniform",
        "toilet tissue",
    )


def test_features_are_vectors_that_say_whose_they_are(labels):
    pictures = np.concatenate([portrait(size=240), portrait(size=240, mirrored=True)])
    vectors = labels.vectors(["a", "b"], pictures)
    assert isinstance(vectors, lw.Vectors)
    assert vectors.values.shape == (2, 1280)
    assert vectors.source == "efficientnet-lite0, pooled features"
    np.testing.assert_allclose(vectors.values[1:], labels.features(pictures[1:]), atol=1e-4)
    assert labels.logits(["a", "b"], pictures).values.shape == (2, 1000)


def test_the_crop_is_central_and_scaled_as_its_makers_say():
    picture = np.zeros((1, 256, 256, 3), np.uint8)
    picture[:, 16:240, 16:240] = 255
    np.testing.assert_allclose(prepared(picture, 224), 1)
    assert float(prepared(np.zeros((1, 50, 90, 3), np.uint8), 224).min()) == pytest.approx(-127 / 128)


def test_wrong_options_and_wrong_tensors_are_errors(labels, tmp_path):
    with pytest.raises(SpecError, match="Unknown variant 3"):
        EfficientNetLabels(variant=3)
    with pytest.raises(PluginError, match="'cuda:7' is not available"):
        EfficientNetLabels(device="cuda:7")
    with pytest.raises(WeightsError, match=r"'_blocks\.0\._se\.weight'"):
        renamed("_blocks.0._se.weight")
    with pytest.raises(WeightsError, match="missing"):
        fill(EfficientNetLite(VARIANTS[0]), {}, "nothing")
    torch.save({"_fc.bias": torch.zeros(1)}, tmp_path / "other.pth")
    with pytest.raises(WeightsError, match="does not name an EfficientNet-Lite variant"):
        convert({"other.pth": tmp_path / "other.pth"}, tmp_path / "out")
