"""Coverage of paired changes: two versions of a recognizer and of a labeler on the same units, unequal clusters.

    python -m benchmarks.coverage_compare [--seeds 400] [--first 600000] [--independent] [--keep parts.csv]

Identities have 2 to 12 images (Pareto) and differ in how hard they are. That difficulty moves both versions alike, and
each version adds its own part. The truth of FNMR at FMR 5 % is computed from one large world of each group.
"""

from __future__ import annotations

import argparse
from functools import cache
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd

import likewise as lw
from likewise.analysis.comparison.paired import paired_changes
from likewise.analysis.gaps.pair_weights import identity_weights
from likewise.analysis.verification.operating_points import TrialSample
from likewise.analysis.verification.rate_rows import RateRows
from likewise.analysis.verification.trial_table import TrialTable
from likewise.stats.intervals import Interval, newcombe

GROUPS = ("focal", "reference")
PEOPLE = {"focal": 60, "reference": 120}
HARD = {("focal", "old"): 0.30, ("focal", "new"): 0.18, ("reference", "old"): 0.10, ("reference", "new"): 0.12}
"""How far each version shifts the genuine distances of a group."""
LABEL = {("focal", "old"): 0.10, ("focal", "new"): 0.06, ("reference", "old"): 0.05, ("reference", "new"): 0.05}
"""The share of images that each version labels."""
CONTRAST = lw.Contrast("perceived_group", "focal", "reference")
RATE = 0.05


def world(seed: int) -> tuple[dict[str, lw.Ratings], dict[str, lw.Ratings], lw.Trials, lw.Images]:
    """Draw the distances and the labels of both versions, the trials and the images."""
    rng = np.random.default_rng(seed)
    rows = [(f"{g[0]}{k}", g) for g in GROUPS for k in range(PEOPLE[g])]
    images = [(f"{who}-{n}", who, g) for who, g in rows for n in range(2 + min(int(2 * rng.pareto(1.5)), 10))]
    frame = pd.DataFrame(images, columns=["image", "identity", "perceived_group"])
    hard = dict(zip([who for who, _ in rows], rng.normal(0, 0.15, len(rows)), strict=True))
    trials = _trials(frame, rng)
    group, same = trials["a"].map(frame.set_index("image")["perceived_group"]), trials["same"].to_numpy()
    person = trials["a"].map(frame.set_index("image")["identity"]).map(hard).to_numpy()
    unit = rng.normal(0, 0.15, len(trials))  # common to both versions
    distances, labels = {}, {}
    for version in ("old", "new"):
        shift = group.map({g: HARD[g, version] for g in GROUPS}).to_numpy()
        genuine = 0.4 + shift + person + unit + rng.normal(0, 0.08, len(trials))
        impostor = 1.1 + unit + rng.normal(0, 0.15, len(trials))
        value = np.where(same, genuine, impostor)
        distances[version] = _ratings(trials["trial"], "distance", value)
        labels[version] = _ratings(frame["image"], "label", _labels(frame, version, seed, rng))
    return distances, labels, lw.Trials(trials), lw.Images(frame)


def _trials(frame: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    keys = frame["image"].to_numpy()
    genuine = [pair for _, part in frame.groupby("identity") for pair in combinations(part["image"], 2)]
    first, second = (rng.integers(0, len(frame), 4000) for _ in range(2))
    who = frame["identity"].to_numpy()
    other = [(keys[i], keys[j]) for i, j in zip(first, second, strict=True) if who[i] != who[j]]
    pairs = list(dict.fromkeys(tuple(sorted(pair)) for pair in [*genuine, *other]))
    owner = dict(zip(keys, who, strict=True))
    rows = [(f"{a}|{b}", a, b, owner[a] == owner[b]) for a, b in pairs]
    return pd.DataFrame(rows, columns=["trial", "a", "b", "same"])


def _labels(frame: pd.DataFrame, version: str, seed: int, rng: np.random.Generator) -> np.ndarray:
    """Return 0 or 1: identities differ in how likely they are labeled, alike in both versions (beta, by quantile)."""
    lean = np.random.default_rng(seed + 1).random(frame["identity"].nunique())
    person = pd.factorize(frame["identity"])[0]
    share = frame["perceived_group"].map({g: LABEL[g, version] for g in GROUPS}).to_numpy()
    chance = share * 2 * lean[person]  # mean: the share
    return (rng.random(len(frame)) < chance).astype(float)


def _ratings(units: pd.Series, question: str, value: np.ndarray) -> lw.Ratings:
    return lw.Ratings(pd.DataFrame({"unit": units, "rater": "net", "question": question, "value": value}))


@cache
def truth() -> dict[tuple[str, str], float]:
    """Return the FNMR of each group and version, at the threshold of its impostors' distribution."""
    rng, n = np.random.default_rng(0), 2_000_000
    limit = float(np.quantile(1.1 + rng.normal(0, np.hypot(0.15, 0.15), n), RATE))
    spread = rng.normal(0, np.sqrt(0.15**2 + 0.15**2 + 0.08**2), n)
    return {key: float((0.4 + shift + spread >= limit).mean()) for key, shift in HARD.items()}


def held(seed: int) -> list[tuple[str, bool]]:
    """Return for each kind of change whether its interval holds the truth."""
    distances, labels, trials, images = world(seed)
    rates = paired_changes(distances["old"], distances["new"], trials, images, CONTRAST, rates=[RATE])
    named = paired_changes(labels["old"], labels["new"], None, images, CONTRAST)
    rows = []
    for found, quantity, known in (
        (rates, "net: FNMR at FMR 0.05", truth()),
        (rates, "net: distance", HARD),
        (named, "net: label", LABEL),
    ):
        moved = {g: known[g, "new"] - known[g, "old"] for g in GROUPS}
        moved["focal - reference"] = moved["focal"] - moved["reference"]
        for group, value in moved.items():
            row = found.where(stat="change", quantity=quantity, group=group).frame.iloc[0]
            rows.append((f"{quantity}, {group}", bool(row["low"] <= value <= row["high"])))
    return rows


def held_side_by_side(seed: int) -> list[tuple[str, bool]]:
    """Return the same for two audits of different people: the old version on one world, the new one on another.

    The worlds are drawn as arrays, in a fiftieth of the time of tables.
    """
    old, new = (_rates(version, np.random.default_rng([seed, k])) for k, version in enumerate(("old", "new")))
    moved = {g: truth()[g, "new"] - truth()[g, "old"] for g in GROUPS}
    moved["focal - reference"] = moved["focal"] - moved["reference"]
    rows = []
    for group, value in moved.items():
        found = newcombe(new[group], old[group])  # as in analysis.comparison.independent
        rows.append((f"side by side, FNMR, {group}", bool(found.low <= value <= found.high)))
    return rows


def _rates(version: str, rng: np.random.Generator) -> dict[str, Interval]:
    """Return the FNMR of each group and the gap with their intervals, in a world of this version."""
    group = np.repeat([0, 1], [PEOPLE[g] for g in GROUPS])
    n = len(group)
    images, hard = 2 + np.minimum((2 * rng.pareto(1.5, n)).astype(np.int64), 10), rng.normal(0, 0.15, n)
    who = np.repeat(np.arange(n), images * (images - 1) // 2)
    shift = np.array([HARD[g, version] for g in GROUPS])[group[who]]
    near = 0.4 + shift + hard[who] + rng.normal(0, np.hypot(0.15, 0.08), len(who))
    left, right = rng.choice(np.repeat(np.arange(n), images), (2, 4000))
    left, right = left[left != right], right[left != right]
    dyad = np.unique(np.minimum(left, right) * n + np.maximum(left, right), return_inverse=True)[1]
    far = 1.1 + rng.normal(0, np.hypot(0.15, 0.15), len(left))
    genuine = []
    for g in (0, 1):
        rows = np.flatnonzero(group[who] == g)
        weight = identity_weights(who[rows], np.ones(len(rows)))
        genuine.append(TrialSample.of(near[rows], who[rows], who[rows], np.full(len(rows), -1), weight))
    table = TrialTable(
        rater="net", question="distance", contrast=CONTRAST, groups=list(GROUPS),
        strata=[np.flatnonzero(group == g) for g in (0, 1)], genuine=genuine, matched=[], linked=np.arange(n),
        impostors=TrialSample.of(far, left, right, dyad), cells={}, meetings=int(dyad.max()) + 1,
        failed=[], estimand="",
    )  # fmt: skip
    found = table.errors(table.impostors.threshold(RATE), genuine, table.impostors)
    rates = RateRows(table, "net", found, 0.95)
    values = {name: rates.rate(trials, k)[0] for k, (name, trials) in enumerate(zip(GROUPS, genuine, strict=True))}
    return values | {"focal - reference": rates.gap(genuine, 0)}


def coverage(seeds: int, first: int, *, independent: bool = False) -> pd.DataFrame:
    """Return how often each interval holds the truth."""
    one = held_side_by_side if independent else held
    frame = pd.DataFrame(
        [row for seed in range(first, first + seeds) for row in one(seed)], columns=["interval", "held"]
    )
    return frame.groupby("interval", sort=False)["held"].agg(["size", "mean"]).reset_index()


def main() -> None:
    """Print the coverage, in parts of 100 seeds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=400)
    parser.add_argument("--first", type=int, default=600_000)
    parser.add_argument("--keep", type=Path, help="CSV to which each finished part is appended.")
    parser.add_argument("--independent", action="store_true", help="Two audits of different people, side by side.")
    given = parser.parse_args()
    parts = []
    for first in range(given.first, given.first + given.seeds, 100):
        parts.append(coverage(min(100, given.first + given.seeds - first), first, independent=given.independent))
        if given.keep:
            parts[-1].to_csv(given.keep, mode="a", index=False, header=not given.keep.exists())
        whole = pd.concat(parts)
        whole["hits"] = whole["mean"] * whole["size"]
        sums = whole.groupby("interval", sort=False)[["size", "hits"]].sum()
        print((sums["hits"] / sums["size"]).round(4).to_string(), f"\n{int(sums['size'].iloc[0])} seeds", flush=True)


if __name__ == "__main__":
    main()
