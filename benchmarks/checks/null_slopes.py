"""p-values of slopes where nothing changes: how often they are small, with 1 to 28 images an identity.

    python -m benchmarks.checks.null_slopes --identities 25 --seeds 2500
    python -m benchmarks.checks.null_slopes --edits

Each person drifts at random with the strength of the edit, so the mean slope is zero. ``--edits`` counts in the worlds
of ``benchmarks.null_worlds`` how often any of eight labels is a discovery (Benjamini-Hochberg, Benjamini-Yekutieli).
"""

from __future__ import annotations

import argparse

import numpy as np
from scipy import stats

from benchmarks.coverage_hard import sizes
from benchmarks.null_worlds import LABELS
from likewise.analysis.slopes.estimate import Grid
from likewise.analysis.slopes.tests import _slope_p

STRENGTHS = np.array([-2.0, -1.0, 0.0, 1.0, 2.0])


def drifting(identities: int, seed: int) -> float:
    """Return p in a world in which people drift."""
    rng = np.random.default_rng([5, seed])
    who = np.repeat(np.arange(identities), sizes(rng, identities))
    lean, start = (rng.normal(0, 0.5, identities)[who][:, None] for _ in range(2))
    chance = 1 / (1 + np.exp(-(lean * STRENGTHS + start)))
    present = (rng.random(chance.shape) < chance).astype(np.float64)
    return _slope_p(Grid("label", STRENGTHS, present, [str(k) for k in range(len(who))], who))


def discoveries(seed: int, identities: int = 60) -> tuple[bool, bool]:
    """Return whether any label of a null world is a discovery, by either correction."""
    rng, p = np.random.default_rng([seed, 1]), []
    parent, keys = np.repeat(np.arange(identities), 5), [str(k) for k in range(identities)]
    for _ in range(LABELS):
        chance = 0.4 + rng.uniform(-0.3, 0.3, identities)[parent]
        present = (rng.random(len(parent)) < chance).astype(np.float64).reshape(identities, 5)
        p.append(_slope_p(Grid("label", STRENGTHS, present, keys, np.arange(identities))))
    first, second = (bool((stats.false_discovery_control(p, method=name) < 0.05).any()) for name in ("bh", "by"))
    return first, second


def main() -> None:
    """Print the shares."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--identities", type=int, default=60)
    parser.add_argument("--seeds", type=int, default=2500)
    parser.add_argument("--edits", action="store_true")
    given = parser.parse_args()
    if given.edits:
        for first in (1000, 2000):
            found = np.mean([discoveries(seed) for seed in range(first, first + 400)], axis=0)
            print(
                f"seeds {first} to {first + 399}: Benjamini-Hochberg {found[0]:.2%}, Benjamini-Yekutieli {found[1]:.2%}"
            )
        return
    p = np.array([drifting(given.identities, seed) for seed in range(given.seeds)])
    print(f"p < 0.05: {(p < 0.05).mean():.2%}, p < 0.00625: {(p < 0.00625).mean():.2%}")


if __name__ == "__main__":
    main()
