"""Text-to-image audits: do planted shares come back, clustered by prompt and not?

    python -m benchmarks.generated_shares --worlds 2000

A world has one term, 30 prompts and 12 seeds of each. Every prompt has a share of its own around the planted one
(normal on the logit scale, standard deviation 0.5), as the wordings of one term have. The estimand is the mean share of
all prompts that could have been written. Printed: how often the 95 % interval holds it, when images are clustered by
prompt (the default) and when they are taken for independent; for common and rare levels, and for people in the image.
"""

from __future__ import annotations

import argparse

import numpy as np
import pandas as pd

from likewise.analysis.generated import generated_shares, people_counts
from likewise.stats.intervals import wilson
from likewise.tables import Images

PROMPTS, SEEDS, SPREAD = 30, 12, 0.5
SHARES = (0.5, 0.3, 0.1)


def mean_share(center: float) -> float:
    """Return the mean share over prompts, by quadrature over their distribution."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(61)
    logits = np.log(center / (1 - center)) + SPREAD * nodes
    return float((1 / (1 + np.exp(-logits)) * weights).sum() / weights.sum())


def world(center: float, seed: int) -> Images:
    """Draw the images of one term; ``people`` is 1 for the level, 0 otherwise."""
    rng = np.random.default_rng([seed, round(1000 * center)])
    own = 1 / (1 + np.exp(-np.log(center / (1 - center)) - SPREAD * rng.standard_normal(PROMPTS)))
    hit = rng.random((PROMPTS, SEEDS)) < own[:, None]
    prompt = np.repeat(np.arange(PROMPTS), SEEDS)
    frame = pd.DataFrame({"image": np.arange(PROMPTS * SEEDS).astype(str), "identity": prompt.astype(str)})
    return Images(frame.assign(term="t", prompt=prompt.astype(str), g=np.where(hit.ravel(), "f", "m"),
                               people=hit.ravel().astype(int)))  # fmt: skip


def held(images: Images, truth: float) -> dict[str, bool]:
    """Say which intervals hold the truth."""
    apart = images.with_attribute("prompt", dict.fromkeys(images.keys, "one"))
    rows = {
        "clustered": generated_shares(images, attribute="g", share_of="f").frame.iloc[0],
        "not clustered": generated_shares(apart, attribute="g", share_of="f").frame.iloc[0],
        "people": people_counts(images).frame.set_index("group").loc["t: one"],
    }
    return {name: bool(row["low"] <= truth <= row["high"]) for name, row in rows.items()}


def main() -> None:
    """Print the coverage."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--worlds", type=int, default=2000)
    given = parser.parse_args()
    for center in SHARES:
        truth = mean_share(center)
        found = pd.DataFrame([held(world(center, seed), truth) for seed in range(given.worlds)])
        for name, share in found.mean().items():
            low, high = wilson(share, len(found), level=0.95)
            print(f"share {truth:.3f}  {name:<14} covered {100 * share:.1f} % ({100 * low:.1f} to {100 * high:.1f})")


if __name__ == "__main__":
    main()
