"""Whether the demo's matched, unadjusted gap holds the ground truth, over many seeds of drawn people.

Run: python -m benchmarks.demo_seeds [SEEDS] [--first 0] [--keep demo_seeds.csv] [--work FOLDER] [--identities N]

Each seed draws the identities and the counterfactual twins of `likewise demo`, projects the images by the encoder,
matches trials by the demo's own plan and rates them with both recognizers; edits and simulated raters are left out. The
truth of a sample is the twins' effect on its own trials. A seed that is in the file of results is not run again, and a
seed that was interrupted keeps its images. Printed: how often the matched, unadjusted interval holds the truth, the
mean bias, and the share of the unmatched bias that is gone. By the cost of an image a seed takes some six CPU-minutes.

With ``--people FOLDER`` (see `benchmarks.demo_people`) worlds are drawn from people whose images and twins were drawn
before: some of them at random, each of a group by its probability given its covariates. Worlds then share people, and
one takes seconds.
"""

from __future__ import annotations

import argparse
import shutil
import time
from pathlib import Path
from tempfile import gettempdir
from typing import Any

import numpy as np
import pandas as pd
import tomlkit

import likewise as lw
from benchmarks.demo_people import People
from likewise.analysis.gaps.known_effects import known_effects
from likewise.audit.stages import enabled_stages
from likewise.cli.start.demo import IDENTITIES
from likewise.demo.portraits import KEEP, Demo
from likewise.design.balance.weighting import overlap_weights
from likewise.errors import SpecError
from likewise.runtime.executor import Executor
from likewise.runtime.progress import Quiet
from likewise.simulation.portraits import CONTRAST, COVARIATES, Portraits

PEOPLE, PEOPLE_SEED = 480, 1000
LEFT_OUT = ("variant", "counterfactual", "validity", "collect")
SAMPLES = ("all", "matched", "overlap-weighted")
STATS = {"gap": "", "adjusted_gap": ", adjusted", "regression_gap": ", regression"}


def run_seed(seed: int, folder: Path, identities: int) -> pd.DataFrame:
    """Draw, match and rate one seed; return a row for each recognizer and sample."""
    start = time.process_time()
    demo = Demo(folder, Portraits(identities=identities, seed=seed), Quiet(), Executor(chunk=24))
    if not (folder / "slim").exists():
        demo.make()
        _slim(folder / "audit.toml")
        (folder / "slim").touch()
    audit = lw.Audit(folder)
    names = [stage.name for stage in enabled_stages(audit.plan)]
    for name in names[: names.index("estimate") + 1]:
        audit.run(only=name, progress=False)
    rows = _rows(audit.estimates.frame)
    balanced = audit.matches.note.startswith("Balanced")
    return rows.assign(seed=seed, pairs=len(audit.matches), balanced=balanced, cpu=time.process_time() - start)


def _slim(path: Path) -> None:
    """Keep what the matched gap of the recognizers needs."""
    plan = tomlkit.parse(path.read_text(encoding="utf-8"))
    for name in LEFT_OUT:
        plan.pop(name, None)
    plan["rater"] = [rater for rater in plan["rater"] if rater["kind"] == "recognizer"]
    path.write_text(tomlkit.dumps(plan), encoding="utf-8")


def run_world(
    seed: int, people: People, identities: int, first: int, last: int | None, spec: lw.MatchSpec
) -> pd.DataFrame:
    """Draw a world from people with both potential outcomes, match it, and estimate."""
    start = time.process_time()
    world = people.world(seed, identities, first=first, last=last)
    names = [covariate.column for covariate in COVARIATES]
    trials, features = lw.trials(world.images, seed=seed, genuine="all"), world.features()
    pairs = lw.match(world.images, features, CONTRAST, spec, units=trials)
    ratings, effects = world.rate(trials)
    weights = _weights(world.images, trials, features, names)
    common: dict[str, Any] = {"pairs": pairs if len(pairs) > 1 else None, "weights": weights}
    found = lw.gaps(ratings, trials, world.images, CONTRAST, balanced=features, covariates=names, **common)
    known = known_effects(effects, trials, world.images, CONTRAST, **common)
    rows = _rows(pd.concat([found.frame, known.frame]))
    balanced = pairs.note.startswith("Balanced")
    return rows.assign(seed=seed, pairs=len(pairs), balanced=balanced, cpu=time.process_time() - start)


def _weights(images: lw.Images, trials: lw.Trials, features: lw.Vectors, names: list[str]) -> dict[str, pd.Series]:
    try:
        found = overlap_weights(images, CONTRAST, covariates=names, units=trials, vectors=features)
    except SpecError:
        return {}
    return {"overlap-weighted": found}


def _rows(estimates: pd.DataFrame) -> pd.DataFrame:
    """Set each gap of a recognizer beside the twins' effect on the units of its own sample."""
    gaps = estimates[estimates["stat"].isin(STATS) & estimates["quantity"].str.endswith(": distance")]
    known = gaps[gaps["sample"].str.startswith("truth: ")].set_index(["quantity", "sample"])["estimate"]
    gaps = gaps[gaps["sample"].isin(SAMPLES)]
    whose = [
        sample if f"truth: {sample}" in known.index.get_level_values(1) else "everyone" for sample in gaps["sample"]
    ]
    keys = [(quantity, f"truth: {sample}") for quantity, sample in zip(gaps["quantity"], whose, strict=True)]
    shown = gaps["sample"] + gaps["stat"].map(STATS)
    found = gaps.assign(truth=known.reindex(keys).to_numpy(), sample=shown)
    return found[["quantity", "sample", "estimate", "low", "high", "n", "truth"]].reset_index(drop=True)


def summary(rows: pd.DataFrame) -> pd.DataFrame:
    """Return by recognizer and sample: coverage, mean bias with its standard error, and the share of bias removed."""
    rows = rows.assign(
        miss=rows["estimate"] - rows["truth"],
        inside=rows["low"].le(rows["truth"]) & rows["truth"].le(rows["high"]),
        width=rows["high"] - rows["low"],
    )
    parts = rows.groupby(["quantity", "sample"], sort=False)
    table = parts.agg(seeds=("seed", "nunique"), inside=("inside", "mean"), bias=("miss", "mean"),
                      se=("miss", lambda miss: miss.std() / np.sqrt(len(miss))), width=("width", "mean"))  # fmt: skip
    crude = [abs(float(table.loc[(quantity, "all"), "bias"])) for quantity, _ in table.index]
    return table.assign(removed=1 - table["bias"].abs() / np.array(crude))


def main() -> None:
    """Run the seeds that are missing in the file of results, then print the summary."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("seeds", nargs="?", type=int, default=20)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--keep", type=Path, default=Path("demo_seeds.csv"))
    parser.add_argument("--work", type=Path, default=Path(gettempdir()) / "demo_seeds")
    parser.add_argument("--identities", type=int, default=IDENTITIES)
    parser.add_argument("--people", type=Path, help="draw worlds from these people (benchmarks.demo_people)")
    parser.add_argument("--max-smd", type=float, default=0.1, help="with --people: the limit of imbalance")
    parser.add_argument("--share", type=float, default=KEEP, help="with --people: of the largest balanced sample")
    parser.add_argument("--from-identity", type=int, default=0)
    parser.add_argument("--to-identity", type=int)
    given = parser.parse_args()
    spec = lw.MatchSpec(
        method="cardinality", max_smd=given.max_smd, keep=given.share, balance=tuple(each.column for each in COVARIATES)
    )
    people = People(Portraits(identities=PEOPLE, seed=PEOPLE_SEED), given.people) if given.people else None
    for seed in range(given.first, given.first + given.seeds):
        there = pd.read_csv(given.keep) if given.keep.is_file() else pd.DataFrame({"seed": []})
        if seed in set(there["seed"]):
            continue
        if people is not None:
            rows = run_world(seed, people, given.identities, given.from_identity, given.to_identity, spec)
        else:
            rows = run_seed(seed, given.work / f"{seed:05d}", given.identities)
            shutil.rmtree(given.work / f"{seed:05d}")
        pd.concat([there, rows]).to_csv(given.keep, index=False)
        print(rows.round(4).to_string(index=False), flush=True)
    done = pd.read_csv(given.keep)
    print(done.drop_duplicates("seed")[["seed", "pairs", "balanced", "cpu"]].to_string(index=False))
    print(summary(done).round(4).to_string())


if __name__ == "__main__":
    main()
