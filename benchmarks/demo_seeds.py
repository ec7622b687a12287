"""Whether the demo's matched, unadjusted gap holds the ground truth, over many seeds of drawn people.

Run: python -m benchmarks.demo_seeds [SEEDS] [--first 0] [--keep demo_seeds.csv] [--work FOLDER] [--identities N]

Each seed draws the identities and the counterfactual twins of `likewise demo`, projects the images by the encoder,
matches trials by the demo's own plan and rates them with both recognizers; edits and simulated raters are left out. The
truth is that of the twins. A seed that is in the file of results is not run again, and a seed that was interrupted
keeps its images. Printed: how often the matched, unadjusted interval holds the truth, the mean bias, and the share of
the unmatched bias that is gone.
"""

from __future__ import annotations

import argparse
import shutil
import time
from pathlib import Path
from tempfile import gettempdir

import numpy as np
import pandas as pd
import tomlkit

import likewise as lw
from likewise.audit.stages import enabled_stages
from likewise.cli.start.demo import IDENTITIES
from likewise.demo.portraits import Demo
from likewise.runtime.executor import Executor
from likewise.runtime.progress import Quiet
from likewise.simulation.portraits import Portraits
from likewise.tables import Estimates

LEFT_OUT = ("variant", "counterfactual", "validity", "collect")
SAMPLES = ("all", "matched", "matched + adjusted", "all + adjusted", "overlap-weighted")


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
    rows = _rows(audit.estimates.frame, Estimates.read(folder / "truth.parquet").frame)
    balanced = audit.matches.note.startswith("Balanced")
    return rows.assign(seed=seed, pairs=len(audit.matches), balanced=balanced, cpu=time.process_time() - start)


def _slim(path: Path) -> None:
    """Keep what the matched gap of the recognizers needs."""
    plan = tomlkit.parse(path.read_text(encoding="utf-8"))
    for name in LEFT_OUT:
        plan.pop(name, None)
    plan["rater"] = [rater for rater in plan["rater"] if rater["kind"] == "recognizer"]
    path.write_text(tomlkit.dumps(plan), encoding="utf-8")


def _rows(estimates: pd.DataFrame, known: pd.DataFrame) -> pd.DataFrame:
    """Set each gap of a recognizer beside the truth of its twins."""
    truth = known[known["sample"].eq("truth: matched")].set_index("quantity")["estimate"]
    gaps = estimates[estimates["stat"].eq("gap") & estimates["quantity"].str.endswith(": distance")]
    gaps = gaps[gaps["sample"].isin(SAMPLES)].assign(truth=gaps["quantity"].map(truth))
    return gaps[["quantity", "sample", "estimate", "low", "high", "n", "truth"]].reset_index(drop=True)


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
    given = parser.parse_args()
    for seed in range(given.first, given.first + given.seeds):
        there = pd.read_csv(given.keep) if given.keep.is_file() else pd.DataFrame({"seed": []})
        if seed in set(there["seed"]):
            continue
        folder = given.work / f"{seed:05d}"
        rows = run_seed(seed, folder, given.identities)
        pd.concat([there, rows]).to_csv(given.keep, index=False)
        shutil.rmtree(folder)
        print(rows.round(4).to_string(index=False), flush=True)
    done = pd.read_csv(given.keep)
    print(done.drop_duplicates("seed")[["seed", "pairs", "balanced", "cpu"]].to_string(index=False))
    print(summary(done).round(4).to_string())


if __name__ == "__main__":
    main()
