"""Distances between two sets of features, and the Inception Score, without the bias of small samples.

- Inception Score: exp of the mean divergence of each image's class chances from their mean. The mean is estimated from
  the same images, which pushes the score down; the jackknife takes off the first-order bias.
- FID falls with 1 / n as n grows, so groups of different size cannot be compared. It is computed at several sizes and
  carried on along a straight line in 1 / n to 1 / n = 0 (Chong and Forsyth 2020).
- KID needs no correction: it is the U-statistic of the squared MMD under the kernel (x'y / d + 1)^3.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from likewise.errors import VectorError

Floats = npt.NDArray[np.float64]


def log_inception(total: Floats) -> Floats:
    """Return the log score from sums: images, minus entropy, chances ``[..., 2 + K]``."""
    mean = total[..., 2:] / total[..., :1]
    entropy = -(mean * np.log(np.maximum(mean, 1e-300))).sum(axis=-1)
    score: Floats = entropy + total[..., 1] / total[..., 0]
    return score


def inception_columns(logits: Floats) -> Floats:
    """Return the columns whose sums ``log_inception`` takes."""
    shifted = logits - logits.max(axis=1, keepdims=True)
    chances = np.exp(shifted) / np.exp(shifted).sum(axis=1, keepdims=True)
    inside = (chances * np.log(np.maximum(chances, 1e-300))).sum(axis=1)
    return np.column_stack([np.ones(len(logits)), inside, chances])


def frechet(x: Floats, y: Floats) -> float:
    """Return the Frechet distance of two sets of features, as they are (biased upwards for small sets).

    tr (S_x S_y)^1/2 is the sum of singular values of X Y' for centred X and Y, which needs no d x d root.
    """
    _need(x, y)
    centred = [(z - z.mean(axis=0)) / (len(z) - 1) ** 0.5 for z in (x, y)]
    shared = float(np.linalg.svd(centred[0] @ centred[1].T, compute_uv=False).sum())
    apart = float(np.square(x.mean(axis=0) - y.mean(axis=0)).sum())
    return apart + float(sum(np.square(z).sum() for z in centred)) - 2 * shared


def frechet_limit(x: Floats, y: Floats, *, seed: int, sizes: int = 5, repeats: int = 4) -> float:
    """Return the Frechet distance carried on to infinitely many images, from random parts of both sets."""
    _need(x, y)
    rng = np.random.default_rng(seed)
    shares = np.linspace(0.4, 1.0, sizes)
    points = []
    for share in shares:
        for _ in range(1 if share == 1 else repeats):
            parts = [z[rng.permutation(len(z))[: max(2, round(share * len(z)))]] for z in (x, y)]
            points.append((1 / len(parts[0]) + 1 / len(parts[1]), frechet(*parts)))
    size, value = np.array(points).T
    return float(np.polyfit(size, value, 1)[1])


def kernel_distance(x: Floats, y: Floats) -> tuple[float, float]:
    """Return KID and its variance, by leaving out one image of either set at a time."""
    _need(x, y)
    n, m, d = len(x), len(y), x.shape[1]
    xx, yy, xy = ((a @ b.T / d + 1) ** 3 for a, b in ((x, x), (y, y), (x, y)))
    np.fill_diagonal(xx, 0.0)
    np.fill_diagonal(yy, 0.0)
    own = [(xx.sum(axis=1), n), (yy.sum(axis=1), m)]
    cross, total = [xy.sum(axis=1), xy.sum(axis=0)], float(xy.sum())
    estimate = own[0][0].sum() / (n * (n - 1)) + own[1][0].sum() / (m * (m - 1)) - 2 * total / (n * m)
    variance = 0.0
    for k in (0, 1):
        (mine, count), (theirs, other) = own[k], own[1 - k]
        without = (mine.sum() - 2 * mine) / ((count - 1) * (count - 2))
        without = without + theirs.sum() / (other * (other - 1)) - 2 * (total - cross[k]) / ((count - 1) * other)
        variance += float((count - 1) / count * np.square(without - without.mean()).sum())
    return float(estimate), variance


def _need(x: Floats, y: Floats) -> None:
    if min(len(x), len(y)) < 3 or x.shape[1] != y.shape[1]:
        raise VectorError("both sets have three images and the same features", got=f"shapes {x.shape} and {y.shape}")
