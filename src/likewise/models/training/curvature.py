"""Computes the average curvature of projection: ``python -m likewise.models.training.curvature TARGET --work DIR``.

J'J is the covariance of J'e for random e of variance 1. So one backward pass for a drawn face gives one sample of it,
and the eigenvectors of some thousand samples are those of the average. Two faces in three are seen by LPIPS, the third
by the recognizer; each part is weighed as in the loss. Samples lie in the work folder, so that a stopped run goes on.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import save_file
from torch import Tensor

from likewise.models.generators.curvature import DEPTH, Curvature
from likewise.models.generators.mobilestylegan import DIM, ROWS, MobileStyleGAN, fingerprint
from likewise.models.perception.lpips import LpipsAlex
from likewise.models.recognizers.pretrained import mobilefacenet
from likewise.models.recognizers.torch import TorchRecognizer
from likewise.models.training.encoder import PART, Arrays, parts
from likewise.models.training.exits import latents

SIZE = 128
"""Pixels of the exit at which faces are drawn."""
IDENTITY = 0.3
"""The weight of 1 - cosine in the loss of ``refine``."""
APART = 0.25
"""Each row is moved by up to so many standard deviations: rows of projected photographs differ."""
EVERY = 3
"""One face in so many is seen by the recognizer."""


def principal_axes(generator: MobileStyleGAN, n: int = 10_000) -> Tensor:
    """Return ``[dim, dim]``: a step of 1 along row k is one standard deviation of sampled latents."""
    w = generator.sample_w(n, 0).astype(np.float64)
    w -= w.mean(axis=0)
    variances, vectors = np.linalg.eigh(w.T @ w / n)
    return torch.from_numpy((vectors * np.sqrt(np.maximum(variances, 0))).T.astype(np.float32))


def faces(generator: MobileStyleGAN, axes: Tensor, number: int, n: int = PART) -> Tensor:
    """Return latents ``[n, rows, dim]`` as projection meets them: from W and, moved a little row by row, from W+."""
    rng = np.random.default_rng([5, number])
    w = latents(generator, n, seed=50_000 + number)
    apart = torch.from_numpy(rng.uniform(0, APART, (n, 1, 1)).astype(np.float32))
    return w + apart * torch.randn(n, ROWS, DIM) @ axes


def sample(generator: MobileStyleGAN, w: Tensor, network: LpipsAlex | TorchRecognizer) -> Tensor:
    """Return J'e ``[rows, dim]`` of one latent ``[1, rows, dim]`` for a random e."""
    w = w.clone().requires_grad_()
    drawn = generator.draw(w, size=SIZE)
    if isinstance(network, LpipsAlex):  # the distance is a mean over features, so each counts 1 / width
        seen = network.embed(drawn)
        seen = seen / seen.shape[1] ** 0.5
    else:
        seen = network.embed_tensor(drawn)
    (slope,) = torch.autograd.grad((seen * torch.randn_like(seen)).sum(), w)
    return slope[0]


def draw_part(generator: MobileStyleGAN, axes: Tensor, number: int, n: int = PART) -> Arrays:
    """Return samples ``g [n, rows, dim]`` of this part, whose number is the seed."""
    looked, known = LpipsAlex(), mobilefacenet()
    torch.manual_seed(number)  # after the networks, which draw random numbers when they are made
    w = faces(generator, axes, number, n)
    each = [sample(generator, row[None], known if _by_recognizer(k) else looked) for k, row in enumerate(w)]
    return {"g": torch.stack(each).half().numpy()}


def _by_recognizer(number: int) -> bool:
    return number % EVERY == EVERY - 1


def fit(samples: Tensor, axes: Tensor, depth: int = DEPTH) -> Curvature:
    """Return the leading eigenvectors of the average curvature of the loss from samples ``[n, rows, dim]``.

    LPIPS is a sum of squares, with the curvature 2 J'J; 1 - cosine is half the squared distance of embeddings.
    """
    n = len(samples)
    known = torch.tensor([_by_recognizer(k % PART) for k in range(n)])
    weight = torch.where(known, IDENTITY * n / known.sum(), 2 * n / (~known).sum())
    x = (samples @ axes.T).flatten(1) * weight.sqrt()[:, None]
    values, vectors = torch.linalg.eigh(x @ x.T / n)  # fewer samples than numbers in a latent: the small problem
    values, vectors = values.flip(0)[:depth], vectors.flip(1)[:, :depth]
    made = Curvature(samples.shape[1], samples.shape[2], depth)
    made.axes.copy_(axes)
    made.values.copy_(values)
    made.directions.copy_((x.T @ vectors / (values * n).sqrt()).T)
    return made


def write(curvature: Curvature, target: Path, *, of: str) -> None:
    """Write the curvature, its large matrix in half precision."""
    tensors = {name: value.contiguous() for name, value in curvature.state_dict().items()}
    tensors["directions"] = tensors["directions"].half()
    save_file(tensors, target, {"network": "mobilestylegan-curvature", "form": "1", "of": of})


def train(target: Path, work: Path, *, weights: str, count: int) -> None:
    """Sample, fit and write."""
    torch.set_num_threads(1)
    generator = MobileStyleGAN(weights)
    axes = principal_axes(generator)
    paths = parts(work, count // PART, lambda number: draw_part(generator, axes, number))
    samples = torch.from_numpy(np.concatenate([np.load(path)["g"] for path in paths])).float()
    write(fit(samples, axes), target, of=fingerprint(generator.network))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("target", type=Path)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--weights", default="mobilestylegan-ffhq")
    parser.add_argument("--samples", type=int, default=2_250)
    given = parser.parse_args()
    train(given.target, given.work, weights=given.weights, count=given.samples)
