from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import likewise as lw
from likewise.errors import ImageError, InputError, LikewiseWarning, PluginError, SpecError, TableError
from likewise.rating.embed import embed
from likewise.rating.models import cosine_distance, labeled_scores, resolve_model
from likewise.rating.rate import rate
from likewise.runtime.executor import Executor
from likewise.runtime.pixels import save
from likewise.simulation.components import WorldClassifier, WorldRecognizer


def mean_color(pictures):
    return pictures.mean(axis=(1, 2))


class Half:
    """A recognizer that has nothing but embed; it detects no face in dark pictures."""

    def embed(self, pictures):
        found = mean_color(pictures)
        found[found.mean(axis=1) < 1] = np.nan
        return found


class Sized:
    def __init__(self, scale=1.0):
        self.scale = scale

    def score(self, pictures):
        return {"bright": pictures.mean(axis=(1, 2, 3)) / 255 * self.scale}


PICTURES = np.stack([np.full((8, 8, 3), value, np.uint8) for value in (0, 100, 200)])
IMAGES = lw.Images(pd.DataFrame({"image": ["a", "b", "c"], "identity": ["x", "y", "z"]}))


def test_a_component_an_object_a_class_and_an_import_path_give_the_same_ratings(world):
    models = ["world", WorldClassifier(), WorldClassifier, "likewise.simulation.components:WorldClassifier"]
    first, *others = [rate(world.faces, world.pictures, model=model).frame for model in models]
    for other in others:
        pd.testing.assert_frame_equal(first, other)


def test_a_folder_and_an_array_give_the_same_ratings(world, tmp_path):
    few = world.faces.subset(world.faces.keys[:4])
    for key, picture in zip(few.keys, world.pictures, strict=False):
        save(tmp_path / f"{key}.png", picture)
    one, two = (rate(few, pictures, model="world").frame for pictures in (tmp_path, world.pictures[:4]))
    pd.testing.assert_frame_equal(one, two)


def test_trials_are_rated_by_their_distance_and_decided_by_a_threshold(world):
    trials, pictures = lw.trials(world.faces, seed=0), world.pictures
    source = pictures[[world.faces.keys.index(key) for key in trials.images]]
    distances = rate(trials, source, model=WorldRecognizer()).frame
    decided = rate(trials, source, model="world", threshold=0.3).frame
    assert set(distances["question"]) == {"distance"} and set(decided["question"]) == {"same"}
    assert ((distances["value"] < 0.3) == (decided["value"] == 1)).all()


def test_any_function_is_a_recognizer_and_absent_faces_are_counted():
    assert len(embed(IMAGES, PICTURES, model=mean_color)) == 3
    with pytest.warns(LikewiseWarning, match="no face in 1 of 3 images"):
        vectors = embed(IMAGES, PICTURES, model=Half())
    assert vectors.keys == ["b", "c"]
    with pytest.raises(TableError, match="no face in any of 1 images"):
        embed(IMAGES.subset(["a"]), PICTURES[:1], model=Half())


def test_chunks_do_not_matter():
    whole, parts = (embed(IMAGES, PICTURES, model=mean_color, executor=Executor(chunk=k)) for k in (64, 1))
    assert whole == parts


def test_options_reach_a_class_and_not_an_object():
    doubled = rate(IMAGES, PICTURES, model=Sized, options={"scale": 0.5}).frame["value"]
    assert doubled.tolist() == pytest.approx([0, 50 / 255, 100 / 255])
    with pytest.raises(SpecError, match="Options have no effect"):
        rate(IMAGES, PICTURES, model=Sized(), options={"scale": 0.5})


@pytest.mark.parametrize(
    ("given", "labels"),
    [
        (["cat", "dog", "cat"], {"cat": [1, 0, 1], "dog": [0, 1, 0]}),
        (np.array([0.1, 0.2, 0.3]), {"score": [0.1, 0.2, 0.3]}),
        (np.eye(3)[:, :2], {"label 1": [1, 0, 0], "label 2": [0, 1, 0]}),
        (pd.DataFrame({"hat": [0.5, 0, 1]}), {"hat": [0.5, 0, 1]}),
    ],
)
def test_what_a_function_may_return_as_labels(given, labels):
    found = labeled_scores(given, 3, "mine")
    assert {label: values.tolist() for label, values in found.items()} == {
        label: pytest.approx(values) for label, values in labels.items()
    }


@pytest.mark.parametrize(
    ("kind", "model", "error", "said"),
    [
        ("recognizer", 3, PluginError, "A int cannot be used as a recognizer"),
        ("recogniser", "dlib", SpecError, "Unknown kind of model"),
        ("classifier", "nowhere.module:Thing", PluginError, "Cannot import nowhere.module:Thing"),
        ("classifier", "numpy:nothing_here", PluginError, "Cannot import"),
        ("recognizer", "missing.onnx", InputError, "Model file not found"),
    ],
)
def test_an_unusable_model_is_named(kind, model, error, said):
    with pytest.raises(error, match=said):
        resolve_model(kind, model)


def test_an_onnx_file_without_a_card_says_what_is_missing(tmp_path):
    (tmp_path / "net.onnx").write_bytes(b"x")
    with pytest.raises(InputError, match=r"net\.toml is missing"):
        resolve_model("recognizer", tmp_path / "net.onnx")


@pytest.mark.parametrize(
    ("pictures", "said"),
    [
        (PICTURES[:2], "2 pictures for 3 images"),
        (PICTURES.astype(float), "type float64"),
        ("no/such/folder", "Image folder not found"),
        (3, "Cannot read pictures from a int"),
    ],
)
def test_wrong_pictures_are_named(pictures, said):
    with pytest.raises(ImageError, match=said):
        embed(IMAGES, pictures, model=mean_color)


def test_cosine_distance_ignores_lengths():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 5, 4))
    assert np.allclose(cosine_distance(a, b), cosine_distance(3 * a, b / 7), atol=1e-6)
    assert np.allclose(cosine_distance(a, a), 0, atol=1e-6)


def test_a_mapping_a_picture_is_read_by_label():
    found = labeled_scores([{"smile": 0.9}, None, {"hat": 0.2}], 3, "mine")
    assert found["smile"].tolist() == pytest.approx([0.9, np.nan, 0.0], nan_ok=True)
    assert found["hat"].tolist() == pytest.approx([0.0, np.nan, 0.2], nan_ok=True)
    with pytest.raises(PluginError, match=r"a list of 'dict', 'str'"):
        labeled_scores([{"smile": 0.9}, "hat"], 2, "mine")
