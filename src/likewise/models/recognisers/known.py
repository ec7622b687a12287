"""The recognisers that likewise knows by name, each as its maker meant it: finder, crop, colours, distance, threshold.

A threshold is the maker's own where there is one. Where there is none it was set by ``benchmarks/crops.py`` on half of
the people of the CelebA-HQ subset, for one false match in a thousand; docs/networks.md shows what it does on others.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from likewise.models.intake import Intake
from likewise.models.needs import licence_of, needed
from likewise.models.recognisers.aligned import BATCH, AlignedRecogniser, Card
from likewise.models.recognisers.onnx import OnnxRecogniser
from likewise.plugins import Array, Pictures
from likewise.weights import where

_NONE = (0.0, 0.0, 0.0)
SUBSET = "300 people of the CelebA-HQ subset, FMR 0.001 for impostors of one perceived gender, by likewise"


class Dlib(AlignedRecogniser):
    """dlib's network of 2017: 29 convolutions, 128 numbers, Euclidean distance, 0.6."""

    def __init__(self, *, weights: str = "dlib-resnet", batch: int = BATCH) -> None:
        intake = Intake(size=150, template="chip", finder="dlib", mean=_NONE, scale=(1.0, 1.0, 1.0))
        card = Card(
            name="dlib", family="dlib", licence=licence_of(weights), intake=intake, distance="euclidean", unit=False,
            threshold=0.6, set_on="its maker's word, from LFW",
        )  # fmt: skip
        super().__init__(card, batch=batch)
        self._net = needed("dlib", "faces").face_recognition_model_v1(str(where(weights)))
        self.dim = 128

    def forward(self, crops: Pictures) -> Array:
        """Embed one batch of chips."""
        return np.asarray(
            self._net.compute_face_descriptor([np.ascontiguousarray(crop) for crop in crops], 0), np.float32
        )


def mobilefacenet(*, weights: str = "mobilefacenet", device: str = "cpu", batch: int = BATCH) -> Any:
    """MobileFaceNet, trained with ArcFace's loss; its angle in degrees. Differentiable."""
    from likewise.models.recognisers.torch import TorchRecogniser  # noqa: PLC0415  # torch only when asked for

    intake = Intake(
        size=112, template="arcface", finder="retinaface",
        mean=(123.675, 116.28, 103.53), scale=(58.395, 57.12, 57.375),
    )  # fmt: skip
    card = Card(
        name="mobilefacenet", family="mobilefacenet", licence=licence_of(weights), intake=intake, distance="angle",
        threshold=74.276, set_on="its maker's word, from LFW",
    )  # fmt: skip
    return TorchRecogniser(card, "mobilefacenet", weights, device=device, batch=batch)


def openface(*, weights: str = "openface", device: str = "cpu", batch: int = BATCH) -> Any:
    """OpenFace's nn4.small2, trained on CASIA-WebFace and FaceScrub with a triplet loss."""
    from likewise.models.recognisers.torch import TorchRecogniser  # noqa: PLC0415  # torch only when asked for

    intake = Intake(size=96, template="openface", finder="dlib", mean=_NONE, scale=(255.0, 255.0, 255.0))
    card = Card(
        name="openface", family="openface", licence=licence_of(weights), intake=intake, distance="euclidean",
        threshold=0.7, set_on="the word of the package's maker, without data",
    )  # fmt: skip
    return TorchRecogniser(card, "openface", weights, device=device, batch=batch)


def faceplugin(*, weights: str = "faceplugin", device: str = "cpu", batch: int = BATCH) -> OnnxRecogniser:
    """Return faceplugin's network, a MobileFaceNet of 512 numbers; the maker names no threshold."""
    intake = Intake(
        size=112, template="arcface", finder="retinaface", mean=(127.0, 127.0, 127.0), scale=(128.0, 128.0, 128.0)
    )
    card = Card(
        name="faceplugin", family="faceplugin", licence=licence_of(weights), intake=intake, distance="cosine",
        threshold=0.625, set_on=SUBSET,
    )  # fmt: skip
    return OnnxRecogniser(card, weights, device=device, batch=batch)
