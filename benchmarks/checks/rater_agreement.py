"""Agreement of raters where images of a person are alike, people have 1 to 28 images and few raters answer most.

python -m benchmarks.checks.rater_agreement
"""

from __future__ import annotations

import argparse

import numpy as np
import pandas as pd

import likewise as lw
from likewise.analysis.crowd.agreement import agreement

RATERS, EACH = 30, 3


def expected_agreement() -> float:
    """Return the chance that two raters agree."""
    chance = np.clip(0.85 + np.random.default_rng(0).uniform(-0.12, 0.12, 400_000), 0.02, 0.98)
    return float(np.mean(chance**2 + (1 - chance) ** 2))


def drawn(identities: int, seed: int) -> tuple[lw.Ratings, pd.Series]:
    """Return answers, and the identity of each image."""
    rng = np.random.default_rng([31, seed, identities])
    who = np.repeat(np.arange(identities), np.clip((rng.pareto(1.1, identities) * 2 + 1).astype(int), 1, 28))
    chance = 0.5 + rng.choice([-0.35, 0.35], identities)[who] + rng.uniform(-0.12, 0.12, len(who))
    work = np.minimum(rng.pareto(1.2, RATERS) + 0.3, 8)
    image = np.repeat(np.arange(len(who)), EACH)
    raters = np.concatenate([rng.choice(RATERS, EACH, replace=False, p=work / work.sum()) for _ in who])
    value = (rng.random(len(image)) < np.clip(chance, 0.02, 0.98)[image]).astype(float)
    answers = {"unit": [f"i{k}" for k in image], "rater": [f"r{k}" for k in raters], "question": "q", "value": value}
    identity = pd.Series([f"p{k}" for k in who], index=[f"i{k}" for k in range(len(who))])
    return lw.Ratings(pd.DataFrame(answers)), identity


def main() -> None:
    """Print how often the intervals hold."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=150)
    given, truth = parser.parse_args(), expected_agreement()
    for identities in (60, 150):
        rows = []
        for seed in range(given.seeds):
            ratings, identity = drawn(identities, seed)
            found = agreement(ratings, question="q", identities=identity).frame.set_index("stat")
            rows.append(found.loc[["pairwise_agreement", "alpha"], ["estimate", "low", "high"]].to_numpy().ravel())
        _, low, high, alpha, alpha_low, alpha_high = np.array(rows, dtype=float).T
        middle = np.median(alpha)  # the value that alpha estimates has no closed form here
        print(f"{identities} identities: two raters agree {np.mean((low <= truth) & (truth <= high)):.1%}, "
              f"alpha around its median {np.mean((alpha_low <= middle) & (middle <= alpha_high)):.1%}")  # fmt: skip


if __name__ == "__main__":
    main()
