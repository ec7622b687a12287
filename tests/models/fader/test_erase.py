from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from likewise.models.fader.data import Lessons
from likewise.models.fader.erase import codes, erased, eraser
from likewise.models.fader.network import Fader, FaderShape, load_fader, save_fader


def erase(code, attributes):
    mean, reading, writing = eraser(code, attributes)
    return code - (code - mean) @ reading.T @ writing.T


@pytest.fixture
def reported():
    """Codes of many units, two attributes in them, and a unit that never varies."""
    rng = np.random.default_rng(0)
    attributes = rng.choice([-1.0, 1.0], (2000, 2))
    code = rng.normal(size=(2000, 12)) @ rng.normal(size=(12, 12)) + attributes @ rng.normal(size=(2, 12))
    code[:, 5] = 3.0
    return code, attributes


def auc(code, attribute) -> float:
    half = len(code) // 2
    score = LogisticRegression(max_iter=500).fit(code[:half], attribute[:half] > 0).decision_function(code[half:])
    return float(roc_auc_score(attribute[half:] > 0, score))


def test_nothing_linear_is_left(reported):
    code, attributes = reported
    without = erase(code, attributes)
    centered = without - without.mean(axis=0)
    assert np.abs(centered.T @ (attributes - attributes.mean(axis=0))).max() / len(code) < 1e-10
    assert min(auc(code, a) for a in attributes.T) > 0.9
    assert max(auc(without, a) for a in attributes.T) < 0.56


def test_little_else_is_taken(reported):
    """What is orthogonal to the reading stays as it was, and a second time nothing happens."""
    code, attributes = reported
    without = erase(code, attributes)
    assert np.linalg.matrix_rank(code - without, tol=1e-6) <= 2
    mean, reading, writing = eraser(code, attributes)
    assert np.allclose(without - (without - mean) @ reading.T @ writing.T, without)


def test_no_smaller_change_would_do(reported):
    """Among affine maps of rank two that leave no covariance, a rival that ignores the code's shape changes more."""
    code, attributes = reported
    both = (code - code.mean(axis=0)).T @ (attributes - attributes.mean(axis=0))
    rival = code - (code - code.mean(axis=0)) @ both @ np.linalg.pinv(both)
    assert auc(rival, attributes[:, 0]) < 0.56
    assert np.square(code - erase(code, attributes)).sum() < np.square(code - rival).sum()


@pytest.mark.parametrize("narrow", [0, 3])
def test_a_network_with_an_eraser(narrow, tmp_path):
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    attributes = rng.choice([-1, 1], (200, 2)).astype(np.float32)
    pictures = rng.integers(0, 120, (200, 32, 32, 3), dtype=np.uint8)
    pictures[attributes[:, 0] > 0, :16] += 100  # the first attribute is light from above
    lessons = Lessons(pictures, attributes, ("light", "other"))
    fader = Fader(FaderShape(attributes=lessons.names, size=32, width=4, code=narrow))
    made = erased(fader, lessons)
    assert (fader.shape.erased, made.shape.erased) == (False, True)

    def linear(network: Fader) -> float:
        code = codes(network, lessons)
        return float(np.abs(np.corrcoef(code.T, attributes[:, 0])[-1, :-1]).max())

    assert linear(fader) > 0.8
    assert linear(made) < 0.01
    save_fader(tmp_path / "f.safetensors", made, {})
    again, _ = load_fader(tmp_path / "f.safetensors")
    assert again.shape == made.shape
    assert linear(again) < 0.05  # kept in half precision
