"""What networks cost on this machine: ratios between settings and sizes, each pair measured in one run.

    python benchmarks/networks.py [NAME ...]     one function a benchmark; without names, all of them

CPU seconds of one thread, the median of a few repetitions after a warm-up, so that a busy machine changes little.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np
import torch

from likewise.cli.tuning import _VARIABLES, keep_freed_memory
from likewise.models.mobilestylegan import MobileStyleGAN

REPEATS = 3


def _cost(work: Callable[[], object], clock: Callable[[], float] = time.process_time) -> float:
    work()
    seconds = []
    for _ in range(REPEATS):
        start = clock()
        work()
        seconds.append(clock() - start)
    return statistics.median(seconds)


def _step(generator: MobileStyleGAN, size: int) -> Callable[[], None]:
    """One forward and backward pass of one latent, as a projection does."""
    w = torch.from_numpy(generator.sample_w(1, seed=0))[:, None].repeat(1, generator.rows, 1).requires_grad_()

    def step() -> None:
        w.grad = None
        generator.draw(w, size=size).square().mean().backward()  # type: ignore[no-untyped-call]

    return step


def exits() -> None:
    """Forward and backward of MobileStyleGAN at each exit against 1024 px."""
    torch.set_num_threads(1)
    keep_freed_memory()
    generator = MobileStyleGAN()
    seconds = {size: _cost(_step(generator, size)) for size in generator.sizes}
    full = seconds[generator.resolution]
    for size, spent in seconds.items():
        cheaper = f"{full / spent:.1f} times cheaper than 1024 px"
        print(f"exits: {size:5d} px forward + backward {1000 * spent:7.0f} ms, {cheaper}")


def fidelity() -> None:
    """How close each exit is to the full image averaged down: mean peak signal-to-noise ratio of 16 fresh latents."""
    torch.set_num_threads(1)
    keep_freed_memory()
    generator = MobileStyleGAN()
    w = generator.sample_w(16, seed=20260)
    full = torch.from_numpy(generator.synthesise(w))
    for size in generator.sizes[:-1]:
        goal = torch.nn.functional.adaptive_avg_pool2d(full, size).numpy()
        errors = np.square(generator.synthesise(w, size) - goal).mean(axis=(1, 2, 3))
        print(f"fidelity: {size:5d} px {np.mean(10 * np.log10(4 / errors)):.1f} dB against 1024 px averaged down")


def allocator() -> None:
    """The same step under the allocator's settings: as it comes, told by mallopt, told by the environment."""
    spent = {how: _elsewhere(how) for how in ("plain", "mallopt", "environment")}
    for how, seconds in spent.items():
        print(f"allocator: {how:12s} {1000 * seconds:7.0f} ms at 1024 px, {seconds / spent['plain']:.2f} of plain")


def _elsewhere(how: str) -> float:
    """Measure in a process of its own, because an allocator's settings stay."""
    clean = {name: value for name, value in os.environ.items() if name not in _VARIABLES}
    settings = {**clean, **(_VARIABLES if how == "environment" else {}), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, __file__, "--measure", how]
    shown = subprocess.run(command, env=settings, capture_output=True, text=True, check=True)
    return float(json.loads(shown.stdout))


def threads() -> None:
    """Wall time of the step at 1024 px with one thread and with one for each core (two need an idle machine)."""
    keep_freed_memory()
    generator = MobileStyleGAN()
    spent = {}
    for count in (1, os.cpu_count() or 1):
        torch.set_num_threads(count)
        spent[count] = _cost(_step(generator, 1024), time.perf_counter)
        print(f"threads: {count} takes {1000 * spent[count]:7.0f} ms wall, {spent[count] / spent[1]:.2f} of one thread")


BENCHMARKS = {work.__name__: work for work in (exits, fidelity, allocator, threads)}


def main() -> None:
    """Run the benchmarks that are named, or all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(BENCHMARKS))
    parser.add_argument("--measure", choices=("plain", "mallopt", "environment"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.measure:
        if given.measure == "mallopt":
            keep_freed_memory()
        print(json.dumps(_cost(_step(MobileStyleGAN(), 1024))))
        return
    unknown = set(given.names) - set(BENCHMARKS)
    if unknown:
        parser.error(f"unknown: {', '.join(sorted(unknown))}")
    for name in given.names or BENCHMARKS:
        BENCHMARKS[name]()


if __name__ == "__main__":
    main()
