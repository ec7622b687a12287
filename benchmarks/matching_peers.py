"""The peers of benchmarks/matching.py, and how work is timed.

The loop that was published with the method, written again; MatchIt in R; and a clock for CPU seconds.
"""

from __future__ import annotations

import resource
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.metrics import pairwise_distances
from threadpoolctl import threadpool_limits

Floats = npt.NDArray[np.floating]


def timed(work: Callable[[], Any]) -> tuple[Any, float, float]:
    """Return what the work returns, its wall seconds and its CPU seconds."""
    wall, cpu = time.perf_counter(), time.process_time()
    result = work()
    return result, time.perf_counter() - wall, time.process_time() - cpu


def calmly(work: Callable[[], Any]) -> Any:
    """Do a peer's work with one BLAS thread: several wait for each other by spinning, which would count as its work."""
    with threadpool_limits(1, user_api="blas"):
        return work()


def peak() -> float:
    """Return the largest resident size of this process so far, in GB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def say(*parts: object) -> None:
    """Print at once."""
    print(*parts, flush=True)


def published_loop(
    distances: Floats, difficulty: Floats, focal: npt.NDArray[np.bool_], who: npt.NDArray[Any], pairs: int
) -> list[tuple[int, int, int, int]]:
    """Match as the released program does, step by step: our own words for its loop, with its copies and its masks.

    For every pair it copies the whole matrix (double precision, because its recognizer rule adds a penalty to it),
    writes over what was refused, picks the rows and then the columns that are left, and searches all of that.
    References come from masks over the whole table and scikit-learn's distances between the difficulties of all
    combinations. Before, it passes over all rows of both matrices and over all people.
    """
    people, count = pd.Series(who), len(who)
    refused = np.zeros((count, count), dtype=bool)
    useful = useful_of(distances, difficulty, people)
    sides = [focal & useful, ~focal & useful]
    found: list[tuple[int, int, int, int]] = []
    while len(found) < pairs and sides[0].any() and sides[1].any():
        open_ = deepcopy(distances)
        open_[refused] = 1e5
        open_ = open_[sides[0]][:, sides[1]]
        at = divmod(int(np.argmin(open_)), open_.shape[1])
        tests = [int(np.where(side)[0][place]) for side, place in zip(sides, at, strict=True)]
        own = [(people == who[test]).to_numpy() & (np.arange(count) != test) for test in tests]
        hard = [difficulty[test][mask].reshape(-1, 1) for test, mask in zip(tests, own, strict=True)]
        apart = pairwise_distances(*hard, metric="l1")
        best = divmod(int(np.argmin(apart)), apart.shape[1])
        references = [int(np.where(mask)[0][place]) for mask, place in zip(own, best, strict=True)]
        found.append((tests[0], tests[1], references[0], references[1]))
        gone = ((people == who[tests[0]]) | (people == who[tests[1]])).to_numpy()
        for side in sides:
            side[gone] = False
    return found


def published_distances(flat: Floats) -> Floats:
    """Return all distances as the released program has them: infinite within an identity, in double precision."""
    found = pairwise_distances(flat)
    found[np.eye(len(found)).astype(bool)] = 1e3
    return np.asarray(
        found + np.zeros(found.shape, dtype=bool) * 1e6
    )  # its penalty; no pair violates the constraint here


def useful_of(distances: Floats, difficulty: Floats, people: pd.Series) -> npt.NDArray[np.bool_]:
    """Leave out, as the released program does, rows that are constant and people without a second image."""
    useful = pd.Series(True, index=people.index)
    for row in range(len(people)):
        if any(np.all(table[row] == table[row, 0]) for table in (distances, difficulty)):
            useful.iloc[row] = False
    frame = people.to_frame("who")
    for name in sorted(people.unique()):
        own = frame[(frame["who"] == name) & useful]
        if len(own) == 1:
            useful.loc[own.index] = False
    return useful.to_numpy()


def in_r(script: str, *arrays: npt.NDArray[Any]) -> list[float] | None:
    """Run R with these matrices and return the numbers that it prints, or nothing without R."""
    program = shutil.which("Rscript")
    if program is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        for index, array in enumerate(arrays):
            np.asarray(array, dtype=np.float64).ravel(order="F").tofile(Path(folder) / f"{index}.bin")
        reader = f"get <- function(k, n) readBin(sprintf('{folder}/%d.bin', k), 'double', n);"
        code = f"suppressMessages(library(MatchIt)); {reader} {script}"
        done = subprocess.run([program, "-e", code], capture_output=True, text=True, check=False)
    if done.returncode:
        say("  R:", (done.stderr.strip() or f"ended with {done.returncode}").splitlines()[-1])
        return None
    return [float(word) for word in done.stdout.split()]


def matchit(focal: npt.NDArray[np.bool_], who: npt.NDArray[Any], distances: Floats) -> tuple[float, int] | None:
    """Match by a ready matrix, each identity once, in data order; return CPU seconds and pairs, nothing without R."""
    script = (
        f"n <- {len(focal)}; t <- get(0, n); id <- get(1, n); d <- matrix(get(2, sum(t) * sum(1 - t)), sum(t));"
        "rownames(d) <- which(t == 1); colnames(d) <- which(t == 0);"
        "s <- sum(proc.time()[1:2]);"
        "m <- matchit(t ~ 1, data.frame(t = t, id = id), distance = d, unit.id = ~ id);"
        "cat(sum(!is.na(m$match.matrix)), sum(proc.time()[1:2]) - s)"
    )
    found = in_r(script, focal, who, distances)
    return None if found is None else (found[1], int(found[0]))
