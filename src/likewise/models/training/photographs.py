"""Computes how photographs lie off the encoder's guesses: ``python -m likewise.models.training.photographs TARGET``.

``--photographs DIR`` is a folder of ``benchmarks.fairface``: DIR/aligned has photographs in the generator's frame and
DIR/latents the refined latent of each. What a refined latent adds to the encoder's guess is regressed on the
recognizer's embedding of the photograph, along the directions of the average curvature. The ridge's strength is the one
that does best on photographs kept apart.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from PIL import Image
from safetensors.torch import save_file
from torch import Tensor

from likewise.models.generators.curvature import Curvature, curvature_of
from likewise.models.generators.encoder import FeatureExtractor, encode, encoder_of
from likewise.models.generators.mobilestylegan import MobileStyleGAN, fingerprint
from likewise.models.generators.photographs import Correction
from likewise.models.recognizers.pretrained import mobilefacenet
from likewise.runtime.registry import to_signals

SIZE = 128
"""Pixels of the photograph that the recognizer sees, as in a quick projection."""
FOLDS = 5
RIDGES = (1.0, 2.0, 4.0, 8.0, 16.0)
"""In units of the mean eigenvalue of the kernel."""


def looked_at(generator: MobileStyleGAN, folder: Path) -> tuple[Tensor, Tensor]:
    """Return of each photograph its embedding ``[n, 128]`` and what its latent adds to the guess, ``[n, DEPTH]``."""
    curvature, encoder, extractor, recognizer = (
        curvature_of(generator), encoder_of(generator), FeatureExtractor(), mobilefacenet(),
    )  # fmt: skip
    assert curvature is not None
    mean, embedded, added = torch.from_numpy(generator.mean_w()), [], []
    for path in sorted((folder / "latents").glob("*.npy")):
        (photograph,) = (folder / "aligned").glob(f"{path.stem}.*")
        x = torch.from_numpy(to_signals(np.asarray(Image.open(photograph).convert("RGB"))[None]))
        guess = curvature.within_reach(encode(encoder, extractor, x), mean)
        with torch.inference_mode():
            embedded.append(recognizer.embed_tensor(F.adaptive_avg_pool2d(x, SIZE)))
        added.append(curvature.along(torch.from_numpy(np.load(path))[None] - guess))
    return torch.cat(embedded), torch.cat(added)


def fit(embedded: Tensor, added: Tensor, curvature: Curvature) -> Correction:
    """Fit the map by ridge regression and print the share of the moves, weighed by the curvature, that it predicts."""
    fold = torch.arange(len(embedded)) % FOLDS
    left = {}
    for ridge in RIDGES:
        parts = [(ridged(embedded[fold != k], added[fold != k], ridge), fold == k) for k in range(FOLDS)]
        missed = sum(
            (curvature.values * (made(embedded[apart]) - added[apart]).square()).sum() for made, apart in parts
        )
        left[ridge] = float(missed / (curvature.values * added.square()).sum())
        print(f"ridge {ridge:g}: {left[ridge]:.4f} of {len(added)} photographs' moves is missed", flush=True)  # noqa: T201
    return ridged(embedded, added, min(left, key=left.__getitem__))


def ridged(embedded: Tensor, added: Tensor, ridge: float) -> Correction:
    """Return the map of one strength of the ridge; coordinates of the embedding are standardized."""
    made = Correction()
    made.offset.copy_(added.mean(dim=0))
    made.middle.copy_(embedded.mean(dim=0))
    spread = embedded.std(dim=0).clamp_min(1e-6)
    x = (embedded - made.middle) / spread
    kernel = x @ x.T
    strength = ridge * kernel.diagonal().mean() * torch.eye(len(x))
    made.slopes.copy_(x.T @ torch.linalg.solve(kernel + strength, added - made.offset) / spread[:, None])
    return made


def train(target: Path, folder: Path, *, weights: str) -> None:
    """Look, fit and write."""
    torch.set_num_threads(1)
    generator = MobileStyleGAN(weights)
    curvature = curvature_of(generator)
    assert curvature is not None
    write(fit(*looked_at(generator, folder), curvature), target, of=fingerprint(generator.network))


def write(correction: Correction, target: Path, *, of: str) -> None:
    """Write the correction, its matrix in half precision."""
    tensors = {name: value.contiguous() for name, value in correction.state_dict().items()}
    tensors["slopes"] = tensors["slopes"].half()
    save_file(tensors, target, {"network": "mobilestylegan-photographs", "form": "1", "of": of})


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("target", type=Path)
    parser.add_argument("--photographs", type=Path, required=True)
    parser.add_argument("--weights", default="mobilestylegan-ffhq")
    given = parser.parse_args()
    train(given.target, given.photographs, weights=given.weights)
