"""Two recognisers whose networks come in TensorFlow's formats: FaceRes and FaceNet.

FaceRes: Savchenko, "Efficient facial representations for age, gender and identity recognition", PeerJ Computer
Science 2019; a MobileNet with three heads. FaceNet: Schroff, Kalenichenko and Philbin, CVPR 2015, here
an Inception-ResNet v1 that the package does not say the origin of. Both are fed the chip of dlib's five points.
"""

from __future__ import annotations

from likewise.models.intake import Intake
from likewise.models.needs import licence_of
from likewise.models.recognisers.aligned import BATCH, Card
from likewise.models.recognisers.known import SUBSET
from likewise.models.recognisers.onnx import OnnxRecogniser

FACERES_INTAKE = Intake(
    size=224, template="face-40", finder="dlib", colour="BGR", layout="NHWC",
    mean=(103.939, 116.779, 123.68), scale=(1.0, 1.0, 1.0),
)  # fmt: skip
FACENET_INTAKE = Intake(
    size=160, template="mesh", finder="dlib", layout="NHWC", mean=(0.0, 0.0, 0.0), scale=(1.0, 1.0, 1.0)
)


def faceres(*, weights: str = "faceres", device: str = "cpu", batch: int = BATCH) -> OnnxRecogniser:
    """FaceRes: 1,024 numbers."""
    card = Card(
        name="faceres", family="faceres", licence=licence_of(weights), intake=FACERES_INTAKE, distance="cosine",
        threshold=0.376, set_on=SUBSET,
    )  # fmt: skip
    return OnnxRecogniser(card, weights, output="embedding", device=device, batch=batch)


def facenet(*, weights: str = "facenet", device: str = "cpu", batch: int = BATCH) -> OnnxRecogniser:
    """FaceNet: 512 numbers; its graph whitens each crop itself."""
    card = Card(
        name="facenet", family="facenet", licence=licence_of(weights), intake=FACENET_INTAKE, distance="cosine",
        threshold=0.394, set_on=SUBSET,
    )  # fmt: skip
    return OnnxRecogniser(card, weights, output="embedding", device=device, batch=batch)
