"""The pretrained recognizers, each as published: detector, crop, channel order, distance, threshold.

A threshold is the vendor default where there is one. The others were set by ``benchmarks/crops.py`` on half of the
people of the CelebA-HQ subset, for one false match in a thousand; docs/networks.md shows what it does on others.

FaceRes: Savchenko, "Efficient facial representations for age, gender and identity recognition", PeerJ Computer
Science 2019; a MobileNet with three heads. FaceNet: Schroff, Kalenichenko and Philbin, CVPR 2015, here an
Inception-ResNet v1 whose origin the package does not state.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from likewise.models.preprocessing import Preprocessing
from likewise.models.recognizers.aligned import BATCH, AlignedRecognizer, ModelCard
from likewise.models.recognizers.onnx import OnnxRecognizer
from likewise.runtime.optional import require
from likewise.runtime.registry import Array, Pictures
from likewise.weights import where
from likewise.weights.licenses import license_of

_NONE = (0.0, 0.0, 0.0)
SUBSET = "300 people of the CelebA-HQ subset, FMR 0.001 for impostors of one perceived gender, by likewise"

FACERES_PREPROCESSING = Preprocessing(
    size=224, template="face-40", detector="dlib", color="BGR", layout="NHWC",
    mean=(103.939, 116.779, 123.68), scale=(1.0, 1.0, 1.0),
)  # fmt: skip
FACENET_PREPROCESSING = Preprocessing(
    size=160, template="mesh", detector="dlib", layout="NHWC", mean=(0.0, 0.0, 0.0), scale=(1.0, 1.0, 1.0)
)


class Dlib(AlignedRecognizer):
    """dlib's network of 2017: 29 convolutions, a 128-d embedding, Euclidean distance, threshold 0.6."""

    def __init__(self, *, weights: str = "dlib-resnet", batch: int = BATCH) -> None:
        preprocessing = Preprocessing(size=150, template="chip", detector="dlib", mean=_NONE, scale=(1.0, 1.0, 1.0))
        card = ModelCard(
            name="dlib", family="dlib", license=license_of(weights), preprocessing=preprocessing,
            distance="euclidean", unit=False,
            threshold=0.6, set_on="vendor default, from LFW",
        )  # fmt: skip
        super().__init__(card, batch=batch)
        self._net = require("dlib", "faces").face_recognition_model_v1(str(where(weights)))
        self.dim = 128

    def forward(self, crops: Pictures) -> Array:
        """Embed one batch of chips."""
        return np.asarray(
            self._net.compute_face_descriptor([np.ascontiguousarray(crop) for crop in crops], 0), np.float32
        )


def mobilefacenet(*, weights: str = "mobilefacenet", device: str = "cpu", batch: int = BATCH) -> Any:
    """MobileFaceNet, trained with ArcFace's loss; its angle in degrees. Differentiable."""
    from likewise.models.recognizers.torch import TorchRecognizer  # noqa: PLC0415  # torch only when asked for

    preprocessing = Preprocessing(
        size=112, template="arcface", detector="retinaface",
        mean=(123.675, 116.28, 103.53), scale=(58.395, 57.12, 57.375),
    )  # fmt: skip
    card = ModelCard(
        name="mobilefacenet", family="mobilefacenet", license=license_of(weights), preprocessing=preprocessing,
        distance="angle",
        threshold=74.276, set_on="vendor default, from LFW",
    )  # fmt: skip
    return TorchRecognizer(card, "mobilefacenet", weights, device=device, batch=batch)


def openface(*, weights: str = "openface", device: str = "cpu", batch: int = BATCH) -> Any:
    """OpenFace's nn4.small2, trained on CASIA-WebFace and FaceScrub with a triplet loss."""
    from likewise.models.recognizers.torch import TorchRecognizer  # noqa: PLC0415  # torch only when asked for

    preprocessing = Preprocessing(
        size=96, template="openface", detector="dlib", mean=_NONE, scale=(255.0, 255.0, 255.0)
    )
    card = ModelCard(
        name="openface", family="openface", license=license_of(weights), preprocessing=preprocessing,
        distance="euclidean",
        threshold=0.7, set_on="vendor default of the package, data not stated",
    )  # fmt: skip
    return TorchRecognizer(card, "openface", weights, device=device, batch=batch)


def faceplugin(*, weights: str = "faceplugin", device: str = "cpu", batch: int = BATCH) -> OnnxRecognizer:
    """Return faceplugin's network, a MobileFaceNet with a 512-d embedding; there is no vendor default."""
    preprocessing = Preprocessing(
        size=112, template="arcface", detector="retinaface", mean=(127.0, 127.0, 127.0), scale=(128.0, 128.0, 128.0)
    )
    card = ModelCard(
        name="faceplugin", family="faceplugin", license=license_of(weights), preprocessing=preprocessing,
        distance="cosine",
        threshold=0.625, set_on=SUBSET,
    )  # fmt: skip
    return OnnxRecognizer(card, weights, device=device, batch=batch)


def faceres(*, weights: str = "faceres", device: str = "cpu", batch: int = BATCH) -> OnnxRecognizer:
    """FaceRes: a 1,024-d embedding."""
    card = ModelCard(
        name="faceres", family="faceres", license=license_of(weights), preprocessing=FACERES_PREPROCESSING,
        distance="cosine",
        threshold=0.376, set_on=SUBSET,
    )  # fmt: skip
    return OnnxRecognizer(card, weights, output="embedding", device=device, batch=batch)


def facenet(*, weights: str = "facenet", device: str = "cpu", batch: int = BATCH) -> OnnxRecognizer:
    """FaceNet: a 512-d embedding; its graph standardizes each crop itself."""
    card = ModelCard(
        name="facenet", family="facenet", license=license_of(weights), preprocessing=FACENET_PREPROCESSING,
        distance="cosine",
        threshold=0.394, set_on=SUBSET,
    )  # fmt: skip
    return OnnxRecognizer(card, weights, output="embedding", device=device, batch=batch)


def sface(*, weights: str = "sface", device: str = "cpu", batch: int = BATCH) -> OnnxRecognizer:
    """SFace, a MobileFaceNet trained with a sigmoid-constrained hypersphere loss; its license is Apache-2.0.

    Zhong, Deng, Hu, Zhao, Li and Wen, "SFace: Sigmoid-constrained hypersphere loss for robust face recognition", IEEE
    TIP 2021. The network scales its input itself. The vendor default (OpenCV) is 1 - 0.363 = 0.637.
    """
    preprocessing = Preprocessing(size=112, template="arcface", detector="yunet", mean=_NONE, scale=(1.0, 1.0, 1.0))
    card = ModelCard(
        name="sface", family="sface", license=license_of(weights), preprocessing=preprocessing, distance="cosine",
        threshold=0.599, set_on=SUBSET,
    )  # fmt: skip
    return OnnxRecognizer(card, weights, device=device, batch=batch)
