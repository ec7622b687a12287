"""Any ONNX embedding: its card, its batches, and what is refused."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from likewise.errors import InputError, PluginError, SpecError, WeightsError
from likewise.models import preprocessing
from likewise.models.detectors import registry
from likewise.models.detectors.detection import Detection
from likewise.models.recognizers.onnx import CardRecognizer
from likewise.runtime.registry import create

SIZE = 16
CARD = """
name = "own"
family = "arcface"
license = "ours"
model = "net.onnx"
distance = "cosine"
threshold = 0.4
set_on = "thirty pairs of colleagues"
[preprocessing]
size = 16
template = "arcface"
detector = "middle"
mean = 127.5
scale = 127.5
"""


class Middle:
    """Sees one face in the middle of every picture that is not black."""

    name, license, scheme = "middle", "none", "centers"

    def find(self, picture):
        if not picture.any():
            return []
        height, width = picture.shape[:2]
        points = np.array([[0.35, 0.4], [0.65, 0.4], [0.5, 0.55], [0.4, 0.7], [0.6, 0.7]]) * [width, height]
        return [Detection((0, 0, width, height), points, 1.0)]


@pytest.fixture(autouse=True)
def middle(monkeypatch):
    monkeypatch.setitem(registry.DETECTORS, "middle", f"{__name__}:Middle")
    registry.detector.cache_clear()
    yield
    registry.detector.cache_clear()


def model(path, *, batch="n", layout="NCHW", outputs=1):
    """A linear embedding of all pixels, so that its answer can be computed by hand."""
    rng = np.random.default_rng(0)
    matrix = rng.normal(size=(3 * SIZE * SIZE, 7)).astype(np.float32)
    shape = [batch, 3, SIZE, SIZE] if layout == "NCHW" else [batch, SIZE, SIZE, 3]
    nodes = [helper.make_node("Flatten", ["x"], ["flat"]), helper.make_node("MatMul", ["flat", "m"], ["e0"])]
    nodes += [helper.make_node("Identity", ["e0"], [f"e{k}"]) for k in range(1, outputs)]
    ends = [helper.make_tensor_value_info(f"e{k}", TensorProto.FLOAT, [batch, 7]) for k in range(outputs)]
    entry = helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)
    graph = helper.make_graph(nodes, "g", [entry], ends, [numpy_helper.from_array(matrix, "m")])
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    onnx.save(made, path)
    return matrix


def card(tmp_path, text=CARD):
    path = tmp_path / "card.toml"
    path.write_text(text)
    return str(path)


@pytest.fixture
def pictures():
    return np.random.default_rng(3).integers(1, 255, (9, 40, 50, 3), dtype=np.uint8)


@pytest.mark.parametrize("batch", ["n", 1, 4])
@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
@pytest.mark.parametrize("color", ["RGB", "BGR"])
def test_the_answer_is_what_the_card_says_it_is(tmp_path, pictures, batch, layout, color):
    matrix = model(tmp_path / "net.onnx", batch=batch, layout=layout)
    text = CARD + f'layout = "{layout}"\ncolor = "{color}"\n'
    recognizer = create("recognizer", "onnx", {"card": card(tmp_path, text), "batch": 4})
    pictures[2] = 0
    found = recognizer.embed(pictures)
    crops, there = recognizer.preprocessing.crops(pictures)
    assert there.tolist() == [k != 2 for k in range(9)]
    scaled = (crops[..., ::-1] if color == "BGR" else crops) / 127.5 - 1
    flat = (scaled if layout == "NHWC" else np.moveaxis(scaled, -1, 1)).reshape(8, -1) @ matrix
    expected = flat / np.linalg.norm(flat, axis=1, keepdims=True)
    assert np.isnan(found[2]).all()
    assert np.allclose(found[there], expected, atol=1e-4)
    assert (recognizer.family, recognizer.threshold, recognizer.set_on) == (
        "arcface",
        0.4,
        "thirty pairs of colleagues",
    )


def test_the_number_of_threads_changes_no_number(tmp_path, pictures, monkeypatch):
    model(tmp_path / "net.onnx")
    recognizer = CardRecognizer(card=card(tmp_path), batch=2)
    pictures[2] = 0
    found = []
    for count in ("1", "2", "3"):
        monkeypatch.setenv("OMP_NUM_THREADS", count)
        found.append(recognizer.embed(pictures))
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])


def test_distances_are_of_rows_and_nan_where_nobody_was_found(tmp_path, pictures):
    model(tmp_path / "net.onnx")
    a = np.array([[1, 0], [1, 0], [np.nan, np.nan]], np.float32)
    b = np.array([[0, 1], [2, 0], [1, 0]], np.float32)
    for word, expected in (("cosine", [1, 0]), ("angle", [90, 0]), ("euclidean", [2**0.5, 1])):
        recognizer = CardRecognizer(card=card(tmp_path, CARD.replace('"cosine"', f'"{word}"')))
        found = recognizer.distance(a, b)
        assert np.allclose(found[:2], expected, atol=1e-4)
        assert np.isnan(found[2])
        x, y = np.array([[0.6, 0.8]], np.float32), np.array([[1.0, 0.0]], np.float32)
        apart = float(recognizer.distance(x, y)[0])
        assert recognizer.as_euclidean(apart) == pytest.approx(float(np.linalg.norm(x - y)), rel=1e-4)


def test_gray_pictures_and_an_alpha_channel_are_read(tmp_path, pictures):
    model(tmp_path / "net.onnx")
    recognizer = CardRecognizer(card=card(tmp_path))
    gray = pictures[..., 0]
    threefold = recognizer.embed(np.repeat(gray[..., None], 3, axis=-1))
    assert np.array_equal(recognizer.embed(gray), threefold)
    four = np.concatenate([pictures, pictures[..., :1]], axis=-1)
    assert np.array_equal(recognizer.embed(four), recognizer.embed(pictures))


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        (("threshold = 0.4", "treshold = 0.4"), SpecError, "Did you mean 'threshold'"),
        (("set_on = ", "# "), SpecError, "set_on"),
        (("thirty pairs of colleagues", ""), SpecError, "set_on is empty"),
        (("size = 16", "size = 24"), InputError, "its model card says"),
        (("size = 16", "sise = 16"), SpecError, "Did you mean 'size'"),
        (("scale = 127.5", "scale = 0"), SpecError, "must not contain 0"),
        (("scale = 127.5", "scale = [1, 2]"), SpecError, "must be one number or three"),
        (('"cosine"', '"cosinus"'), SpecError, "Did you mean 'cosine'"),
        (('"net.onnx"', '"other.onnx"'), WeightsError, "other.onnx"),
        (("name = ", "name : "), InputError, "TOML"),
        (("[preprocessing]", 'output = "z"\n[preprocessing]'), SpecError, "output 'z'"),
    ],
)
def test_a_card_that_is_wrong_says_what_is_wrong(tmp_path, change, error, words):
    model(tmp_path / "net.onnx")
    with pytest.raises(error, match=words):
        CardRecognizer(card=card(tmp_path, CARD.replace(*change)))


def test_a_file_that_is_no_model_several_outputs_and_an_absent_device_are_refused(tmp_path):
    (tmp_path / "net.onnx").write_bytes(b"no model")
    with pytest.raises(InputError, match="is not an ONNX model"):
        CardRecognizer(card=card(tmp_path))
    (tmp_path / "more").mkdir()
    model(tmp_path / "more" / "net.onnx", outputs=2)
    with pytest.raises(SpecError, match="names none"):
        CardRecognizer(card=card(tmp_path / "more"))
    with pytest.raises(PluginError, match="Device"):
        CardRecognizer(
            card=card(tmp_path / "more", CARD.replace("[preprocessing]", 'output = "e1"\n[preprocessing]')),
            device="cuda",
        )


def test_an_unknown_finder_is_named(tmp_path, pictures):
    model(tmp_path / "net.onnx")
    recognizer = CardRecognizer(card=card(tmp_path, CARD.replace('"middle"', '"retinface"')))
    with pytest.raises(PluginError, match="Did you mean 'retinaface'"):
        recognizer.embed(pictures)


def test_crops_of_nobody_are_empty():
    crops, there = preprocessing.Preprocessing(size=SIZE, detector="middle").crops(np.zeros((3, 20, 20, 3), np.uint8))
    assert crops.shape == (0, SIZE, SIZE, 3)
    assert not there.any()
