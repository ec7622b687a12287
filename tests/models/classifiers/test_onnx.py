"""A user's own ONNX classifier with a card and a file of labels."""

from __future__ import annotations

import numpy as np
import pytest

from likewise.errors import InputError, SpecError
from likewise.runtime.registry import create
from likewise.weights.formats.graph import Graph, Step
from likewise.weights.formats.onnx_graph import write_onnx

CARD = """
name = "warmth"
license = "mine"
model = "model.onnx"
labels = "labels.txt"
activation = "{activation}"
[preprocessing]
size = 16
layout = "NHWC"
mean = 0
scale = 255
"""


@pytest.fixture
def folder(tmp_path):
    steps = [Step("Mean", "y", ("x", "axes"))]
    write_onnx(Graph({"x": (1, 16, 16, 3)}, ("y",), {"axes": np.array([1, 2])}, steps), tmp_path / "model.onnx")
    (tmp_path / "labels.txt").write_text("red\ngreen\nblue\n")
    (tmp_path / "card.toml").write_text(CARD.format(activation="none"))
    return tmp_path


def test_it_scores_what_its_model_says(folder):
    pictures = np.zeros((3, 20, 30, 3), np.uint8)
    pictures[1, ..., 0], pictures[2, ..., 2] = 255, 51
    scores = create("classifier", "onnx", {"card": str(folder / "card.toml"), "batch": 2}).score(pictures)
    np.testing.assert_allclose(scores["red"], [0, 1, 0], atol=1e-6)
    np.testing.assert_allclose(scores["blue"], [0, 0, 0.2], atol=1e-6)


@pytest.mark.parametrize("activation", ["softmax", "sigmoid"])
def test_an_activation_makes_scores_of_logits(folder, activation):
    (folder / "card.toml").write_text(CARD.format(activation=activation))
    scores = create("classifier", "onnx", {"card": str(folder / "card.toml")}).score(np.zeros((1, 16, 16, 3), np.uint8))
    np.testing.assert_allclose(
        [scores[name][0] for name in ("red", "green")], 1 / 3 if activation == "softmax" else 0.5
    )


@pytest.mark.parametrize(
    ("file", "old", "new", "said"),
    [
        ("card.toml", 'license = "mine"', "", "Missing key 'license'"),
        ("card.toml", "activation", "activision", "Did you mean 'activation'"),
        ("card.toml", '"none"', '"argmax"', "activation is 'argmax'"),
        ("card.toml", "size = 16", "size = 20", "as its model card says"),
        ("card.toml", "size = 16", "", "Missing key 'size'"),
        ("card.toml", "name =", "name", "is not valid TOML"),
        ("labels.txt", "blue\n", "", "3 outputs, but its label file has 2"),
        ("labels.txt", "blue", "red", "Duplicate labels.*'red'"),
    ],
)
def test_a_wrong_card_says_what_is_wrong(folder, file, old, new, said):
    path = folder / file
    path.write_text(path.read_text().replace(old, new))
    with pytest.raises((InputError, SpecError), match=said):
        create("classifier", "onnx", {"card": str(folder / "card.toml")})
