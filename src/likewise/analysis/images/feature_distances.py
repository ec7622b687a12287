"""Distances between two sets of features, and the Inception Score, without the bias of small samples.

- Inception Score: exp of the mean divergence of each image's class chances from their mean. The mean is estimated from
  the same images, which influence the score down; the jackknife takes off the first-order bias.
- FID falls with 1 / n as n grows, so groups of different size cannot be compared. The jackknife carries it on to
  1 / n = 0, as FID-infinity does from random parts (Chong and Forsyth 2020); but it leaves out identities: n is a count
  of people, and random parts of clustered images shrink it less than they should. Its replicates give the variance.
- KID needs no correction: it is the U-statistic of the squared MMD under the kernel (x'y / d + 1)^3. Images of one
  identity resemble one another, so only pairs of images of two identities count, and identities are left out whole.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from likewise.errors import VectorError

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]
_BLOCKS = 20


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

    tr (S_x S_y)^1/2 is the sum of singular values of X Y' for centered X and Y, or of what is left of it when both are
    written as Q R: that of R_x R_y', which is no larger than the fewer of images and features.
    """
    centered = [(z - z.mean(axis=0)) / (len(z) - 1) ** 0.5 for z in (x, y)]
    upper: list[Floats] = [np.asarray(np.linalg.qr(z, mode="r")) for z in centered]
    shared = float(np.linalg.svd(upper[0] @ upper[1].T, compute_uv=False).sum())
    apart = float(np.square(x.mean(axis=0) - y.mean(axis=0)).sum())
    return apart + float(sum(np.square(z).sum() for z in centered)) - 2 * shared


def frechet_distance(
    x: Floats, y: Floats, x_who: Codes | None = None, y_who: Codes | None = None
) -> tuple[float, float, int]:
    """Return the Frechet distance less its small-sample bias, its variance, and how many blocks were left out.

    Identities (as in ``kernel_distance``) are dealt to 20 blocks at most, of both sets alike: each costs a singular
    value decomposition.
    """
    _need(x, y)
    first, second, people = _codes(x, y, x_who, y_who)
    own = np.isin(np.arange(people), first)
    blocks = min(_BLOCKS, int(own.sum()), len(np.unique(second)))
    if blocks < 2 or min(len(x), len(y)) < 4:
        fix = "FID needs four images of at least two identities in each."
        raise VectorError(f"Too few images in a set: {len(x)} and {len(y)}", fix=fix)
    dealt = np.where(own, np.cumsum(own), np.cumsum(~own)) % blocks
    whole = frechet(x, y)
    without = np.array([frechet(x[dealt[first] != k], y[dealt[second] != k]) for k in range(blocks)])
    away = without - without.mean()
    return float(whole - (blocks - 1) * (without.mean() - whole)), float((blocks - 1) / blocks * (away @ away)), blocks


def kernel_distance(
    x: Floats, y: Floats, x_who: Codes | None = None, y_who: Codes | None = None
) -> tuple[float, float]:
    """Return KID and its variance, by leaving out one identity at a time.

    ``x_who`` and ``y_who`` are codes of identities, common to both sets; without them every image is its own. Somebody
    who is in both sets is left out of both.
    """
    _need(x, y)
    first, second, people = _codes(x, y, x_who, y_who)
    kept = [_Block.of(*pair, people) for pair in ((x, first, x, first), (y, second, y, second), (x, first, y, second))]
    if min(block.count for block in kept) <= 0:
        raise VectorError(f"Too few identities in a set: {people} in both together", fix="KID needs two in each.")
    estimate = sum(sign * block.mean for sign, block in zip((1, 1, -2), kept, strict=True))
    with np.errstate(divide="ignore", invalid="ignore"):
        without = sum(sign * block.means_without() for sign, block in zip((1, 1, -2), kept, strict=True))
    away = np.asarray(without) - np.mean(without)
    return float(estimate), float((people - 1) / people * (away @ away))


def _codes(x: Floats, y: Floats, x_who: Codes | None, y_who: Codes | None) -> tuple[Codes, Codes, int]:
    """Return the identity of each image of both sets, coded from 0, and how many there are."""
    people = [np.arange(len(x)) if x_who is None else x_who, len(x) + np.arange(len(y)) if y_who is None else y_who]
    names, code = np.unique(np.concatenate(people), return_inverse=True)
    return code[: len(x)], code[len(x) :], len(names)


@dataclass(frozen=True)
class _Block:
    """The kernel between two sets, summed by identity; pairs of images of one identity are left out."""

    total: float
    count: float
    own: Floats
    """What goes when an identity is left out of both sets, ``[G]``; and how many pairs of images that is."""
    own_count: Floats

    @classmethod
    def of(cls, a: Floats, a_who: Codes, b: Floats, b_who: Codes, people: int) -> _Block:
        values = (a @ b.T / a.shape[1] + 1) ** 3
        values[a_who[:, None] == b_who] = 0.0
        sizes = [np.bincount(who, minlength=people).astype(np.float64) for who in (a_who, b_who)]
        sums = ((a_who, values.sum(axis=1)), (b_who, values.sum(axis=0)))
        own: Floats = np.sum([np.bincount(who, weights=part, minlength=people) for who, part in sums], axis=0)
        count = float(len(a) * len(b) - sizes[0] @ sizes[1])
        own_count = sizes[0] * (len(b) - sizes[1]) + sizes[1] * (len(a) - sizes[0])
        return cls(float(values.sum()), count, own, own_count)

    @property
    def mean(self) -> float:
        """The mean over all pairs of two identities."""
        return self.total / self.count

    def means_without(self) -> Floats:
        """Return the same without each identity, ``[G]``."""
        means: Floats = (self.total - self.own) / (self.count - self.own_count)
        return means


def _need(x: Floats, y: Floats) -> None:
    if min(len(x), len(y)) < 3 or x.shape[1] != y.shape[1]:
        fix = "Both sets need three images and the same number of features."
        raise VectorError(f"Feature arrays of shapes {x.shape} and {y.shape} cannot be compared", fix=fix)
