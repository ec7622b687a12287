"""Trains the encoder of MobileStyleGAN: ``python -m likewise.models.training.encoder TARGET --work DIR``.

Draw faces, degrade them as photographs are degraded, look at them, and fit a ridge regression from what is seen to
where the face lies. Only faces that the generator drew are used. What was seen lies in the work
folder, so that a stopped run goes on.
"""

from __future__ import annotations

import argparse
import io
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F  # noqa: N812
from PIL import Image
from safetensors.torch import save_file
from torch import Tensor

from likewise.models.generators.encoder import DEPTH, SIZE, Encoder, FeatureExtractor
from likewise.models.generators.mobilestylegan import MobileStyleGAN, fingerprint
from likewise.models.training.exits import latents
from likewise.runtime.registry import to_pictures, to_signals

PART = 250
"""Images drawn between two writes to the work folder."""
UNSEEN = 6
"""One part in so many is kept apart to choose the ridge's strength."""
RIDGES = tuple(10.0**k for k in (4, 4.5, 5))
"""Added to the diagonal of the Gram matrix of standardized features."""
Arrays = dict[str, npt.NDArray[np.generic]]


def degraded(x: Tensor, rng: np.random.Generator) -> Tensor:
    """Turn drawn faces into something like photographs: moved, of other light and sharpness, compressed."""
    return torch.cat([_spoilt_one(image[None].clamp(-1, 1), rng) for image in x])


def _spoilt_one(x: Tensor, rng: np.random.Generator) -> Tensor:
    if rng.random() < 0.25:
        return x
    zoom, angle = 1 + 0.03 * rng.standard_normal(), 0.03 * rng.standard_normal()
    turn = zoom * np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    theta = torch.from_numpy(np.column_stack([turn, 0.02 * rng.standard_normal(2)])).to(x)[None]
    x = F.grid_sample(x, F.affine_grid(theta, list(x.shape), align_corners=False), padding_mode="reflection",
                      align_corners=False)  # fmt: skip
    light = torch.from_numpy(np.exp(0.08 * rng.standard_normal() + 0.03 * rng.standard_normal(3))).to(x)
    bright = 0.04 * rng.standard_normal()
    x = ((x + 1) * light[:, None, None] - 1 + bright).clamp(-1, 1)
    return _compressed(x, int(rng.integers(40, 96)))


def _compressed(x: Tensor, quality: int) -> Tensor:
    file = io.BytesIO()
    Image.fromarray(to_pictures(x.numpy())[0]).save(file, "JPEG", quality=quality)
    return torch.from_numpy(to_signals(np.asarray(Image.open(file))[None]))


def directions_of(generator: MobileStyleGAN, n: int = 20_000) -> Tensor:
    """Return the principal directions of W, ``[DEPTH, DIM]``, those of the largest variance first."""
    w = generator.sample_w(n, seed=7).astype(np.float64) - generator.mean_w()
    _, vectors = np.linalg.eigh(w.T @ w)
    return torch.from_numpy(np.ascontiguousarray(vectors[:, ::-1][:, :DEPTH].T).astype(np.float32))


def draw_part(generator: MobileStyleGAN, extractor: FeatureExtractor, number: int) -> Arrays:
    """Draw faces, and return what is seen of them when they are degraded, with their latents.

    In bfloat16: what it rounds is far less than what an exit gets wrong.
    """
    rng = np.random.default_rng([1, number])
    w = latents(generator, PART, seed=1000 + number)
    seen = []
    with torch.inference_mode(), torch.autocast("cpu", dtype=torch.bfloat16):
        for rows in torch.split(w, 10):
            seen.append(extractor(degraded(generator.draw(rows, size=SIZE).float(), rng)).half())
    return {"seen": torch.cat(seen).numpy(), "w": w.half().numpy()}


def parts(work: Path, count: int, draw: Callable[[int], Arrays]) -> list[Path]:
    """Make the parts that are not there yet; return all."""
    work.mkdir(parents=True, exist_ok=True)
    paths = [work / f"{number:03d}.npz" for number in range(count)]
    for number, path in enumerate(paths):
        if not path.exists():
            fresh = path.with_suffix(".part.npz")
            np.savez(fresh, **draw(number))  # type: ignore[arg-type]
            fresh.replace(path)
            print(f"part {number + 1} of {count}", flush=True)  # noqa: T201
    return paths


def fit(encoder: Encoder, paths: list[Path]) -> None:
    """Fit the map by ridge regression; its strength is the one that does best on parts that are kept apart."""
    apart = paths[UNSEEN - 1 :: UNSEEN]
    seen, wanted = _read(encoder, [path for path in paths if path not in apart])
    new, truth = _read(encoder, apart)
    encoder.middle.copy_(seen.mean(dim=0))
    encoder.spread.copy_(seen.std(dim=0).clamp_min(1e-4))
    x = (seen - encoder.middle) / encoder.spread
    gram = x @ x.T  # there are fewer faces than features, so the dual is the smaller problem
    tried = {}
    for ridge in RIDGES:
        _set_slopes(encoder, x.T @ torch.linalg.solve(gram + ridge * torch.eye(len(gram)), wanted))
        left = float((encoder(new).flatten(1) - truth).square().sum() / truth.square().sum())
        print(f"ridge {ridge:.3g}: {left:.4f} of the variance is missed on faces kept apart", flush=True)  # noqa: T201
        tried[left] = encoder.slopes.clone(), encoder.scale.clone()
    slopes, scale = tried[min(tried)]
    encoder.slopes.copy_(slopes)
    encoder.scale.copy_(scale)


def _read(encoder: Encoder, paths: list[Path]) -> tuple[Tensor, Tensor]:
    """Return what is seen ``[n, SEEN]`` and the places that belong to it ``[n, GROUPS * DEPTH]``."""
    held = [np.load(path) for path in paths]
    w = torch.from_numpy(np.concatenate([part["w"] for part in held])).float()
    seen = torch.from_numpy(np.concatenate([part["seen"] for part in held])).float()
    return seen, encoder.coordinates(w).flatten(1)


def _set_slopes(encoder: Encoder, slopes: Tensor) -> None:
    """Keep slopes in half precision, as they are shipped: each column has its own scale."""
    scale = slopes.abs().amax(dim=0).clamp_min(1e-12)
    encoder.scale.copy_(scale)
    encoder.slopes.copy_((slopes / scale).half())


def train(target: Path, work: Path, *, weights: str, faces: int) -> None:
    """Draw, fit and write."""
    torch.set_num_threads(1)
    generator, extractor, encoder = MobileStyleGAN(weights), FeatureExtractor(), Encoder()
    encoder.mean.copy_(torch.from_numpy(generator.mean_w()))
    encoder.directions.copy_(directions_of(generator))
    fit(encoder, parts(work, faces // PART, lambda number: draw_part(generator, extractor, number)))
    write(encoder, target, of=fingerprint(generator.network))


def write(encoder: Encoder, target: Path, *, of: str) -> None:
    """Write the encoder, its large matrix in half precision."""
    tensors = {name: value.contiguous() for name, value in encoder.state_dict().items()}
    tensors["slopes"] = tensors["slopes"].half()
    save_file(tensors, target, {"network": "mobilestylegan-encoder", "form": "1", "of": of})


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("target", type=Path)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--weights", default="mobilestylegan-ffhq")
    parser.add_argument("--faces", type=int, default=6_000)
    given = parser.parse_args()
    train(given.target, given.work, weights=given.weights, faces=given.faces)
