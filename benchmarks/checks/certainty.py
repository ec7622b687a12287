"""Certainty in three steps, as in ``benchmarks.crowd``: how often the mean of a group is held.

    python -m benchmarks.checks.certainty --seeds 1000 [--spread 0.5]

200 images of two groups (of 400 that are shown), five answers each, 52 raters. ``--spread``: standard deviation by
which images and raters differ, on a latent scale of noise 1.
"""

from __future__ import annotations

import argparse

import numpy as np
from scipy import stats

from likewise.analysis.crowd.scales import _Laid, _mean

SHARES, STEPS = (0.64, 0.28, 0.08), np.arange(3.0)
MEAN = float(np.dot(SHARES, STEPS))


def held(seed: int, spread: float) -> list[bool]:
    """Return for both groups whether the interval of the mean holds."""
    rng = np.random.default_rng([4, seed])
    image, rater = np.repeat(np.arange(400), 5), rng.permutation(np.repeat(np.arange(52), 40)[:2000])
    lean = rng.normal(0, spread, 52)[rater] + rng.normal(0, spread, 400)[image]
    latent = (rng.normal(size=2000) + lean) / (1 + 2 * spread**2) ** 0.5
    answer = np.searchsorted(stats.norm.ppf(np.cumsum(SHARES)[:2]), latent)
    image, rater, answer = (each[image < 200] for each in (image, rater, answer))
    side = np.where(image % 2 == 0, 1, -1)
    hit = answer[:, None] == np.arange(3)
    columns = np.concatenate([hit & (side == sign)[:, None] for sign in (1, -1)], axis=1).astype(np.float64)
    codes = [np.unique(each, return_inverse=True)[1].astype(np.int64) for each in (image, rater)]
    laid = _Laid(columns, side, codes, 0.95)
    rows = [laid.row("certainty", "mean", "", _mean(g, STEPS), (sign,)) for g, sign in enumerate((1, -1))]
    return [float(str(row["low"])) <= MEAN <= float(str(row["high"])) for row in rows]


def main() -> None:
    """Print how often each group's mean is held."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=1000)
    parser.add_argument("--spread", type=float, default=0.0)
    given = parser.parse_args()
    print([f"{share:.1%}" for share in np.mean([held(seed, given.spread) for seed in range(given.seeds)], axis=0)])


if __name__ == "__main__":
    main()
