"""Whether planned sizes give what they promise, in a process that is not the planner's own.

    python -m benchmarks.checks.planning            power and identities needed
    python -m benchmarks.checks.planning --labels   half widths after labeling as many images as planned

Power: 15 % of people are hard to recognize (the planner draws beta-binomial people), Pareto sizes, `lw.gaps` on tables.
"""

from __future__ import annotations

import argparse
from dataclasses import replace

import numpy as np
import pandas as pd

import likewise as lw
from likewise.analysis.audit_power import AuditDesign, audit_power, identities_needed
from likewise.analysis.label_noise import corrected_gaps, labels_needed

CONTRAST = lw.Contrast("group", focal="f", reference="m")
HARD, EFFECT = 0.15, 0.4
DESIGNS = (AuditDesign(identities=600, fnmr=0.05, gap=0.08, images=4),
           AuditDesign(identities=400, fnmr=0.1, gap=0.15, images=3, focal_share=0.3, icc=0.1))  # fmt: skip
WORLDS = ((4000, 0.1, 0.15, 0.5, 1.0, False), (4000, 0.2, 0.2, 0.3, 1.0, False),
          (3000, 0.1, 0.15, 0.5, 1.0, True), (2500, 0.05, 0.12, 0.2, 0.5, False))  # fmt: skip
"""Images, error rate of the predicted attribute, half width, focal share, spread, skewed."""


def found_in(design: AuditDesign, seed: int) -> tuple[bool, bool]:
    """Return whether an audit of this design finds its gap, unmatched and matched."""
    rng, people = np.random.default_rng([9, seed]), design.identities
    count = np.clip(np.floor(rng.pareto(2.2, people) * (design.images - 1) * 1.2 + 1), 1, 28).astype(int)
    who, focal = np.repeat(np.arange(people), count), np.arange(people) < design.focal_share * people
    mean = np.where(focal, design.fnmr + design.gap, design.fnmr)
    high = np.minimum(mean + np.sqrt(design.icc * mean * (1 - mean) * (1 - HARD) / HARD), 1)
    chance = np.where(rng.random(people) < HARD, high, np.maximum((mean - HARD * high) / (1 - HARD), 0))
    value = (rng.random(len(who)) < chance[who]).astype(float)
    names = np.array([f"i{k}" for k in range(len(who))])
    images = _images(names, [f"p{k}" for k in who], focal[who])
    first = np.flatnonzero(np.r_[True, who[1:] != who[:-1]])
    a, b = rng.permutation(first[focal]), rng.permutation(first[~focal])
    pairs = int(design.matched_share * min(len(a), len(b)))
    sets = pd.DataFrame({"a": names[a[:pairs]], "b": names[b[:pairs]], "pair": [f"m{k}" for k in range(pairs)]})
    frame = lw.gaps(_answers(names, value), None, images, CONTRAST, pairs=lw.Matches(sets)).frame
    rows = frame[frame["stat"] == "gap"].set_index("sample")
    unmatched, matched = (bool(rows["low"][name] > 0 or rows["high"][name] < 0) for name in ("all", "matched"))
    return unmatched, matched


def _images(names: np.ndarray, identities: list[str], focal: np.ndarray) -> lw.Images:
    return lw.Images(pd.DataFrame({"image": names, "identity": identities, "group": np.where(focal, "f", "m")}))


def _answers(names: np.ndarray, value: np.ndarray) -> lw.Ratings:
    return lw.Ratings(pd.DataFrame({"unit": names, "rater": "system", "question": "q", "value": value}))


def power(runs: int) -> None:
    """Print planned and simulated power, and what the planned number of identities gives."""
    for design in DESIGNS:
        planned = audit_power(design, repeats=200).frame.set_index("sample")["estimate"].round(3).to_dict()
        unmatched, matched = np.mean([found_in(design, seed) for seed in range(runs)], axis=0)
        print(
            f"{design.identities} identities: planned {planned}; simulated {unmatched:.0%}, {matched:.0%}", flush=True
        )
    small = AuditDesign(identities=50, fnmr=0.05, gap=0.15, images=3)
    for place, sample in enumerate(("all", "matched")):
        design = replace(small, identities=identities_needed(small, sample=sample, most=6400))
        own = audit_power(design, repeats=300, seed=99).where(sample=sample).frame["estimate"].iloc[0]
        other = np.mean([found_in(design, 1000 + seed)[place] for seed in range(runs)])
        print(f"{sample}: {design.identities} identities needed for 80 %; {own:.0%} again, {other:.0%} elsewhere",
              flush=True)  # fmt: skip


def half_width(images: int, error: float, share: float, spread: float, skewed: bool, labels: int, seed: int) -> float:
    """Return the half width of a corrected gap with so many images labeled."""
    rng = np.random.default_rng([5, seed, images])
    true = rng.random(images) < share
    noise = rng.exponential(1, images) - 1 if skewed else rng.normal(size=images)
    wrong, names = rng.random(images) < error, np.array([f"i{k}" for k in range(images)])
    chosen = rng.choice(images, labels, replace=False)
    known = dict(zip(names[chosen], np.where(true[chosen], "f", "m"), strict=True))
    answers, table = _answers(names, EFFECT * true + spread * noise), _images(names, list(names), true != wrong)
    frame = corrected_gaps(answers, None, table, CONTRAST, labels=known).frame
    row = frame[(frame["stat"] == "gap") & (frame["sample"] == "corrected for label noise")].iloc[0]
    return float(row["high"] - row["low"]) / 2


def label_widths(runs: int) -> None:
    """Print planned and simulated half widths."""
    for images, error, planned, share, spread, skewed in WORLDS:
        labels = labels_needed(images=images, error=error, half_width=planned, focal_share=share, spread=spread)
        found = [half_width(images, error, share, spread, skewed, labels, seed) for seed in range(runs)]
        print(f"{images} images, {labels} labels: planned {planned}, simulated {np.mean(found):.3f}", flush=True)


def main() -> None:
    """Compare plans with simulations."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--labels", action="store_true")
    parser.add_argument("--runs", type=int, help="default: 80, and 25 for labels")
    given = parser.parse_args()
    (label_widths if given.labels else power)(given.runs or (25 if given.labels else 80))


if __name__ == "__main__":
    main()
