"""Networks in TensorFlow's formats (TensorFlow.js, TFLite, frozen graphs) become ONNX models."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from likewise.weights.formats.graph import Graph, Step
from likewise.weights.formats.onnx_graph import write_onnx
from likewise.weights.formats.tf_graphdef import read_frozen
from likewise.weights.formats.tfjs import read_tfjs
from likewise.weights.formats.tflite import read_tflite


def convert_faceres(members: Mapping[str, Path], target: Path) -> None:
    """FaceRes: the embedding, the probability of male, and 100 bins of age."""
    outputs = {"embedding": "global_pooling/Mean", "male": "gender_pred/Sigmoid", "age": "age_pred/Softmax"}
    _convert_tfjs(members, target, outputs)


def convert_gear(members: Mapping[str, Path], target: Path) -> None:
    """GEAR: seven bins of age, two of gender, five of race."""
    _convert_tfjs(members, target, {"age": "Identity", "gender": "Identity_1", "race": "Identity_2"})


def convert_emotion(members: Mapping[str, Path], target: Path) -> None:
    """Seven emotions."""
    _convert_tfjs(members, target, {"emotion": "Identity"})


def convert_mesh(members: Mapping[str, Path], target: Path) -> None:
    """The face mesh: 468 points in three dimensions, and whether there is a face at all."""
    _convert_tfjs(members, target, {"mesh": "Identity_2", "face": "Identity_1"})


def convert_segmentation(members: Mapping[str, Path], target: Path) -> None:
    """A segmentation: the logits of its classes, pixel by pixel."""
    (path,) = members.values()
    write_onnx(read_tflite(path), target, names=("classes",))


def convert_facenet(members: Mapping[str, Path], target: Path) -> None:
    """FaceNet (Inception-ResNet v1): a 512-d embedding of length 1 from an image of 160 px, RGB from 0 to 255.

    Each image is standardized by its own mean and standard deviation first, as in the published code; that becomes
    part of the graph.
    """
    (path,) = members.values()
    read = read_frozen(path, outputs=("embeddings",), shapes={})
    axes = {"own/axes": np.array([1, 2, 3]), "own/least": np.array(1 / (160 * 160 * 3), np.float32)}
    kept = {"keep_dims": True}
    standardized = [  # the prefix keeps these names apart from those of the file
        Step("Mean", "own/mean", ("picture", "own/axes"), kept),
        Step("Sub", "own/centered", ("picture", "own/mean")),
        Step("Square", "own/squared", ("own/centered",)),
        Step("Mean", "own/variance", ("own/squared", "own/axes"), kept),
        Step("Maximum", "own/spread", ("own/variance", "own/least")),
        Step("Rsqrt", "own/factor", ("own/spread",)),
        Step("Mul", "input", ("own/centered", "own/factor")),
    ]
    shapes = {"picture": (-1, 160, 160, 3)}
    graph = Graph(shapes, read.outputs, {**read.constants, **axes}, [*standardized, *read.steps])
    write_onnx(graph, target, names=("embedding",))


def _convert_tfjs(members: Mapping[str, Path], target: Path, outputs: Mapping[str, str]) -> None:
    topology, numbers = (next(p for name, p in members.items() if name.endswith(end)) for end in (".json", ".bin"))
    write_onnx(read_tfjs(topology, numbers, outputs=tuple(outputs.values())), target, names=tuple(outputs))
