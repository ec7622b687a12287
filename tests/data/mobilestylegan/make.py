"""Runs the export of MobileStyleGAN in OpenVINO's own runtime and keeps a sample of what it draws.

By hand, with openvino installed: python tests/data/mobilestylegan/make.py FOLDER, where the folder holds the four files
``{Mapping,Synthesis}Network.{xml,bin}`` of the package random-face 2021.7.21.1. The latents are drawn here; the faces
exist nowhere. Kept are 20,000 values of each 1024 px image, a patch of it, and its means over 16 x 16 pixels.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import openvino

SEEDS = (1, 2)


def main(folder: Path) -> None:
    core = openvino.Core()
    exact = {"INFERENCE_PRECISION_HINT": "f32"}
    mapping, synthesis = (core.compile_model(folder / f"{name}Network.xml", "CPU", exact) for name in NETWORKS)
    kept: dict[str, np.ndarray] = {"runtime": np.array(f"openvino {openvino.__version__}")}
    for seed in SEEDS:
        z = np.random.default_rng(seed).standard_normal((1, 512), dtype=np.float32)
        w = mapping([z])[0]
        image = synthesis([w])[0][0]
        places = np.random.default_rng(seed).choice(image.size, 20_000, replace=False)
        kept |= {
            f"w_{seed}": w[0],
            f"values_{seed}": image.ravel()[places],
            f"patch_{seed}": image[:, 480:544, 380:444],
            f"means_{seed}": image.reshape(3, 64, 16, 64, 16).mean(axis=(2, 4)),
        }
    np.savez_compressed(Path(__file__).with_name("reference.npz"), **kept)


NETWORKS = ("Mapping", "Synthesis")

if __name__ == "__main__":
    main(Path(sys.argv[1]))
