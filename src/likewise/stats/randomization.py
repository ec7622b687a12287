"""Randomization tests of matched pairs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from likewise.errors import InputError

Floats = npt.NDArray[np.float64]
_BLOCK = 1 << 22  # numbers held at once
_EXACT = 14  # pairs up to which all 2^n swaps are enumerated


def sign_flip(differences: npt.ArrayLike, *, seed: int, resamples: int = 9999) -> float:
    """Return the two-sided p of the mean difference when each pair's sides might as well be swapped.

    Up to 14 pairs all swaps are gone through; beyond, a random sample of them, the one that happened included.
    """
    d = np.asarray(differences, dtype=np.float64)
    if len(d) == 0 or not np.isfinite(d).all():
        raise InputError(
            f"Differences of {len(d)} pairs are empty or not finite",
            fix="Leave out pairs without an answer; at least one must remain.",
        )
    seen = abs(d.sum()) - 1e-9 * np.abs(d).sum()  # equal sums must count as equal, however they were added up
    if len(d) <= _EXACT:
        signs = 1.0 - 2.0 * ((np.arange(2 ** len(d))[:, None] >> np.arange(len(d))) & 1)
        return float(np.mean(np.abs(signs @ d) >= seen))
    hits, size = 0, max(1, _BLOCK // len(d))
    for start in range(0, resamples, size):
        shape = (min(size, resamples - start), len(d))
        swapped = np.random.default_rng([seed, start]).integers(0, 2, shape, dtype=np.int8)
        hits += int((np.abs(d.sum() - 2.0 * np.einsum("bn,n->b", swapped, d)) >= seen).sum())
    return float(hits + 1) / (resamples + 1)


def set_permutation(sets: Sequence[Floats], *, seed: int, resamples: int = 9999) -> float:
    """Return the two-sided p of the mean difference within 1:k sets when any unit of a set might be the focal one.

    Parameters
    ----------
    sets
        The answers of each set, the focal unit's first. Sets of two are ``sign_flip``'s pairs.
    seed, resamples
        Of the random choices of focal units; the observed choice is one of them.
    """
    observed, draws = 0.0, np.zeros(resamples)
    rng = np.random.default_rng(seed)
    for values in sets:
        n = len(values)
        away = (values - values.mean()) * n / (n - 1)  # focal less the mean of the others, for every choice
        observed += float(away[0])
        draws += away[rng.integers(0, n, resamples)]
    hits = int((np.abs(draws) >= abs(observed) - 1e-9 * np.abs(draws).max()).sum())
    return float(hits + 1) / (resamples + 1)
