"""Beta-binomial shrinkage of shares, the stronger the fewer images they rest on.

The shares of all terms are taken for draws from one beta distribution, whose mean and weight are not known either:
both are averaged over (a grid of) what they may be, given all the counts. Their prior is flat in the mean and
(a + b)^(-5/2) in the parameters (Gelman and others, Bayesian Data Analysis), so that terms which differ no more than by
chance are drawn together, but not to a point. With few terms that matters: taking the likeliest distribution for known
makes intervals far too narrow.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy import stats
from scipy.special import betaln, expit

Floats = npt.NDArray[np.float64]
_WEIGHTS = np.linspace(np.log(0.1), np.log(1e5), 40)  # log of a + b, the prior sample size


def shrunk_shares(hits: Floats, sizes: Floats, *, level: float) -> Floats:
    """Return for each term the mean of its share and the ends of its interval ``[T, 3]``, given all counts."""
    a, b, chance = _distributions(hits, sizes)
    one, all_of = a[:, None] + hits, a[:, None] + b[:, None] + sizes  # [G, T]
    means = one / all_of
    mean = chance @ means
    variance = chance @ (means * (1 - means) / (all_of + 1) + means**2) - mean**2
    effective_size = mean * (1 - mean) / variance - 1  # the beta distribution with this mean and variance
    low, high = stats.beta(mean * effective_size, (1 - mean) * effective_size).interval(level)
    return np.stack([mean, low, high], axis=1)


def _distributions(hits: Floats, sizes: Floats) -> tuple[Floats, Floats, Floats]:
    """Return beta distributions (a, b) and how likely each is: first on a wide grid of means, then on a close one."""
    middle = np.linspace(-7, 7, 71)
    for _ in range(2):
        mean, weight = (part.ravel() for part in np.meshgrid(middle, _WEIGHTS))
        a, b = expit(mean) * np.exp(weight), expit(-mean) * np.exp(weight)
        log = (betaln(a[:, None] + hits, b[:, None] + sizes - hits) - betaln(a, b)[:, None]).sum(axis=1)
        log += np.log(expit(mean) * expit(-mean)) - weight / 2  # the prior, on these scales
        chance: Floats = np.exp(log - log.max())
        chance /= chance.sum()
        center = float(chance @ mean)
        reach = 5 * max(float(chance @ (mean - center) ** 2) ** 0.5, 0.02)
        middle = np.linspace(center - reach, center + reach, 41)
    likely = chance > 1e-8 * chance.max()
    return a[likely], b[likely], chance[likely] / chance[likely].sum()
