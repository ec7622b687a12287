"""Rare errors at a threshold that is estimated on the same people: how often FNMR and its gaps are held.

    python -m benchmarks.checks.estimated_threshold --identities 200 --seeds 115
    python -m benchmarks.checks.estimated_threshold --identities 600 --seeds 154

Identities with 2 to 28 images, a fifth of them focal; FNMR 1 % (focal) and 0.5 % at FMR 1 %, 4,000 impostor trials.
"""

from __future__ import annotations

import argparse

import numpy as np
import pandas as pd
from scipy import stats

import likewise as lw
from likewise.analysis.verification.adjusted import adjusted_fnmr_gap
from likewise.analysis.verification.error_rates import error_rates

CONTRAST = lw.Contrast("group", focal="f", reference="m")
FMR, SHARE, IMPOSTORS = 0.01, 0.2, 4000
GENUINE_SD, IMPOSTOR_SD, CENTER = float(np.sqrt(0.1**2 + 0.05**2 + 0.02**2)), 0.12, 0.9


class World:
    """People, their trials and a system that rejects a known share of them."""

    def __init__(self, identities: int, rate: float, seed: int) -> None:
        self.rng, self.rate = np.random.default_rng([77, seed]), rate
        count = np.clip((self.rng.pareto(1.1, identities) * 2 + 2).astype(int), 2, 28)
        self.who = np.repeat(np.arange(identities), count)
        self.focal = np.arange(identities) < SHARE * identities
        self.names = np.array([f"i{k}" for k in range(len(self.who))])
        self.age = self.rng.normal(size=len(self.who))
        columns = {"image": self.names, "identity": [f"p{k}" for k in self.who]}
        groups = np.where(self.focal[self.who], "f", "m")
        self.images = lw.Images(pd.DataFrame({**columns, "group": groups, "age": self.age}))
        self.ratings, self.trials = self._rated()

    def _rated(self) -> tuple[lw.Ratings, lw.Trials]:
        first = np.r_[True, self.who[1:] != self.who[:-1]]
        anchor, self.rest = np.flatnonzero(first)[self.who], np.flatnonzero(~first)
        genuine = self._genuine(anchor)
        a, b = self.rng.integers(0, len(self.who), (2, IMPOSTORS))
        other = self.who[a] != self.who[b]
        a, b = a[other], b[other]
        values = np.r_[genuine, self._impostors(a, b)]
        frame = pd.DataFrame({"a": np.r_[self.names[self.rest], self.names[a]],
                              "b": np.r_[self.names[anchor[self.rest]], self.names[b]],
                              "same": np.r_[np.ones(len(self.rest), bool), np.zeros(len(a), bool)]})  # fmt: skip
        once = ~frame.duplicated(["a", "b"]).to_numpy()
        frame, values = frame[once].reset_index(drop=True), values[once]
        frame["trial"] = [f"t{k}" for k in range(len(frame))]
        answers = {"unit": frame["trial"], "rater": "system", "question": "distance", "value": values}
        return lw.Ratings(pd.DataFrame(answers)), lw.Trials(frame)

    def _genuine(self, anchor: np.ndarray) -> np.ndarray:
        people = len(self.focal)
        threshold = CENTER - stats.norm.ppf(1 - FMR) * IMPOSTOR_SD
        rates = np.where(self.focal, self.rate, self.rate / 2)
        center = threshold - stats.norm.ppf(1 - rates) * GENUINE_SD
        own, rest = self.rng.normal(0, 0.05, people), self.rest
        ages = (self.age[rest] + self.age[anchor[rest]]) / np.sqrt(2)
        found: np.ndarray = (center + own)[self.who[rest]] + 0.02 * ages + self.rng.normal(0, 0.1, len(rest))
        return found

    def _impostors(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        own = self.rng.normal(0, 0.05, len(self.focal))
        noise = self.rng.normal(0, np.sqrt(IMPOSTOR_SD**2 - 2 * 0.05**2), len(a))
        found: np.ndarray = CENTER + own[self.who[a]] + own[self.who[b]] + noise
        return found

    def pairs(self) -> lw.Matches:
        """Pair one trial of each focal identity with one of a reference identity, at random."""
        people = self.who[self.rest]
        one = self.rest[np.r_[True, people[1:] != people[:-1]]]
        sides = [one[self.focal[self.who[one]]], one[~self.focal[self.who[one]]]]
        fewer = min(map(len, sides))
        a, b = (self.names[self.rng.permutation(side)[:fewer]] for side in sides)
        return lw.Matches(pd.DataFrame({"a": a, "b": b, "pair": [f"m{k}" for k in range(fewer)]}))


def held(world: World) -> dict[tuple[str, str, str], bool]:
    """Return whether each interval holds its truth."""
    pairs, rate = world.pairs(), world.rate
    tables = (world.ratings, world.trials, world.images, CONTRAST)
    rates = error_rates(*tables, pairs=pairs, rates=[FMR])
    frame = pd.concat([rates.frame, adjusted_fnmr_gap(rates, *tables, pairs=pairs, covariates=["age"]).frame])
    truths = {("fnmr", "all", "f"): rate, ("fnmr", "all", "m"): rate / 2, ("fnmr", "matched", "f"): rate,
              ("gap", "all", "f - m"): rate / 2, ("gap", "matched", "f - m"): rate / 2,
              ("adjusted_gap", "matched", "f - m"): rate / 2}  # fmt: skip
    found = {}
    for (stat, sample, group), true in truths.items():
        chosen = (frame["stat"] == stat) & (frame["sample"] == sample) & (frame["group"] == group)
        row = frame[chosen].iloc[0]
        found[stat, sample, group] = bool(row["low"] <= true <= row["high"])
    return found


def main() -> None:
    """Print how often each interval holds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--identities", type=int, default=200)
    parser.add_argument("--rate", type=float, default=0.01)
    parser.add_argument("--seeds", type=int, default=115)
    given = parser.parse_args()
    found = [held(World(given.identities, given.rate, seed)) for seed in range(given.seeds)]
    for key in found[0]:
        print(*key, f"{np.mean([row[key] for row in found]):.1%}")


if __name__ == "__main__":
    main()
