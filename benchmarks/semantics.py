"""What a latent knows of a face: attributes read from the mean row of real photographs' latents.

    python -m benchmarks.semantics --images 1000 --work DIR     needs the CelebA-HQ subset that LIKEWISE_DATA names

Five folds by identity; ridge regression on the standardized columns, its strength chosen by leaving one out within the
training folds. The area under the ROC beside two baselines: all that the encoder's networks see, and principal
components of the pixels at 32 px. Intervals are 95 %, by resampling identities; the folds are not drawn again, so they
say how the photographs vary, not the training.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd
import torch
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GroupKFold

from benchmarks.projection import album, subset
from likewise.models.generators.encoder import FeatureExtractor, encoder_of
from likewise.models.generators.mobilestylegan import MobileStyleGAN
from likewise.runtime.cpu import keep_freed_memory
from likewise.runtime.registry import to_signals

ATTRIBUTES = ("Male", "Young", "Smiling", "Eyeglasses", "Pale_Skin")
PART, RESAMPLES = 50, 300
Floats = npt.NDArray[np.float64]


def looked_at(images: list[str], work: Path) -> dict[str, Floats]:
    """Return the columns of each way to describe the photographs; parts that are there are read again."""
    work.mkdir(parents=True, exist_ok=True)
    eye, show, seen, pixels = FeatureExtractor(), album(), [], []
    for at in range(0, len(images), PART):
        kept = work / f"{at:05d}.npz"
        if not kept.exists():
            x = torch.from_numpy(to_signals(show(images[at : at + PART], size=256)))
            small = torch.nn.functional.adaptive_avg_pool2d(x, 32).flatten(1)
            with torch.inference_mode():
                np.savez(kept, seen=eye(x).half().numpy(), pixels=small.half().numpy())
        part = np.load(kept)
        seen.append(part["seen"].astype(np.float32))
        pixels.append(part["pixels"].astype(np.float32))
    encoder = encoder_of(MobileStyleGAN())
    latent = encoder.at(encoder(torch.from_numpy(np.concatenate(seen)))).mean(dim=1).numpy()
    ways = {"mean latent (encoder)": latent, "what the networks see": np.concatenate(seen)}
    return {name: values.astype(np.float64) for name, values in (ways | {"pixels": np.concatenate(pixels)}).items()}


def scored(x: Floats, labels: Floats, groups: npt.NDArray[np.int64], *, components: int = 0) -> Floats:
    """Return scores ``[n, attributes]``, of each photograph by a model that did not see its identity."""
    scores = np.zeros_like(labels)
    for train, test in GroupKFold(5).split(x, groups=groups):
        mean, spread = x[train].mean(axis=0), np.maximum(x[train].std(axis=0), 1e-6)
        a, b = (x[train] - mean) / spread, (x[test] - mean) / spread
        if components:
            a, b = _principal(a, b, components)
        center = labels[train].mean(axis=0)
        scores[test] = b @ (a.T @ _weights(a @ a.T, labels[train] - center))
    return scores


def _principal(a: Floats, b: Floats, components: int) -> tuple[Floats, Floats]:
    _, _, directions = np.linalg.svd(a, full_matrices=False)
    return a @ directions[:components].T, b @ directions[:components].T


def _weights(gram: Floats, y: Floats) -> Floats:
    """Solve the dual ridge for each column of y, at the strength with the least error when one is left out."""
    values, vectors = np.linalg.eigh(gram)
    best, least = np.zeros_like(y), np.full(y.shape[1], np.inf)
    for strength in values.mean() * 10.0 ** np.arange(-3, 3.1, 0.5):
        inverse = (vectors / (np.maximum(values, 0) + strength)) @ vectors.T
        dual = inverse @ y
        error = np.square(dual / np.diag(inverse)[:, None]).sum(axis=0)
        best, least = np.where(error < least, dual, best), np.minimum(error, least)
    return best


def interval(y: Floats, score: Floats, groups: npt.NDArray[np.int64]) -> tuple[float, float, float]:
    """Return the area under the ROC and its interval, identities resampled."""
    rows = [np.flatnonzero(groups == group) for group in np.unique(groups)]
    rng, drawn = np.random.default_rng(0), []
    for _ in range(RESAMPLES):
        chosen = np.concatenate([rows[k] for k in rng.integers(0, len(rows), len(rows))])
        if 0 < y[chosen].mean() < 1:
            drawn.append(roc_auc_score(y[chosen], score[chosen]))
    low, high = np.quantile(drawn, [0.025, 0.975])
    return float(roc_auc_score(y, score)), float(low), float(high)


def main() -> None:
    """Look, fit and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--images", type=int, default=1000)
    given = parser.parse_args()
    torch.set_num_threads(1)
    keep_freed_memory()
    faces = subset()[: given.images]
    groups = pd.factorize(faces["identity"])[0].astype(np.int64)
    labels = faces[list(ATTRIBUTES)].to_numpy(np.float64)
    print(f"{len(faces)} photographs of {groups.max() + 1} identities; shares {labels.mean(axis=0).round(3)}")
    for way, x in looked_at(list(faces["image"]), given.work).items():
        scores = scored(x, labels, groups, components=100 if way == "pixels" else 0)
        for k, name in enumerate(ATTRIBUTES):
            auc, low, high = interval(labels[:, k], scores[:, k], groups)
            print(f"{way}: {name} {auc:.3f} ({low:.3f} to {high:.3f})", flush=True)


if __name__ == "__main__":
    main()
