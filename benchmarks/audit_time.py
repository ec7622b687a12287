"""CPU time of an audit of a file of scores, from the table to the report, by the number of images.

    python -m benchmarks.audit_time [--images 100 1000 10000]

The people and the scores are simulated: three images of each identity, every genuine trial within an identity and ten
impostor trials an image. Each audit runs in a process of its own, so that imports count.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import likewise as lw

OPTIONS = ["--protected", "perceived_gender", "--focal", "female", "--reference", "male", "--quiet"]
EACH = 3


def write_files(folder: Path, images: int, seed: int = 0) -> int:
    """Write people.csv and scores.csv, and return the number of trials."""
    people, _ = lw.World(identities=-(-images // EACH), images_each=EACH, seed=seed).draw()
    people.write(folder / "people.csv")
    trials = lw.trials(people, seed=seed, impostors=10).frame
    women = people.frame.set_index("image")["perceived_gender"].eq("female")
    mean = np.where(trials["same"], 0.4 + 0.05 * women[trials["a"]].to_numpy(), 0.9)
    score = mean + np.random.default_rng(seed).normal(0, 0.12, len(trials))
    trials[["a", "b"]].assign(score=score.round(4)).to_csv(folder / "scores.csv", index=False)
    return len(trials)


def cpu_seconds(folder: Path) -> float:
    """Audit the files in a process of its own; return the CPU seconds of the process."""
    command = [sys.executable, "-m", "likewise", "audit", "audit", "--table", "people.csv", "--scores", "scores.csv"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([*command, *OPTIONS], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Print a line a size."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--images", type=int, nargs="+", default=[100, 1000, 10_000])
    for images in parser.parse_args().images:
        with tempfile.TemporaryDirectory() as name:
            trials, start = write_files(Path(name), images), time.monotonic()
            spent = cpu_seconds(Path(name))
        print(f"{images:6,} images, {trials:7,} trials: {spent:5.1f} CPU s, {time.monotonic() - start:5.1f} s elapsed")


if __name__ == "__main__":
    main()
