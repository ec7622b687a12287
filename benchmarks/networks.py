"""What networks cost on this machine: ratios between settings and sizes, each pair measured in one run.

    python -m benchmarks.networks [NAME ...]     one function a benchmark; without names, all of them

exits, allocator: CPU seconds of one thread, the median of a few repetitions after a warm-up, so that a busy machine
changes little. threads, embedding, describing: wall time, which needs an idle machine.
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
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F  # noqa: N812

from benchmarks.embedding import FACES, describing, embedding
from likewise.models.generators.mobilestylegan import MobileStyleGAN
from likewise.models.perception.lpips import LpipsAlex
from likewise.models.training.exits import refined
from likewise.runtime.cpu import _VARIABLES, keep_freed_memory
from likewise.runtime.threads import cores

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
    """How close each exit is to the full image averaged down, for 8 fresh latents at three truncations."""
    for truncation in (0.5, 0.7, 1.0):
        generator = MobileStyleGAN(truncation=truncation)
        _fidelity(f"truncation {truncation}", generator, generator.sample_w(8, seed=20260))


def projected(folder: Path, few: int = 12) -> None:
    """The same for latents of photographs, those that the exits were not fitted on."""
    _, apart = refined(folder)
    _fidelity("projected", MobileStyleGAN(), apart[:: max(1, len(apart) // few)][:few].numpy())


def _fidelity(kind: str, generator: MobileStyleGAN, w: npt.NDArray[np.float32]) -> None:
    """Print the mean peak signal-to-noise ratio and the mean LPIPS of each exit."""
    torch.set_num_threads(1)
    keep_freed_memory()
    perceptual = LpipsAlex()
    full = torch.from_numpy(np.concatenate([generator.synthesize(row) for row in w[:, None]]))
    for size in generator.sizes[:-1]:
        goal, drawn = F.adaptive_avg_pool2d(full, size).numpy(), generator.synthesize(w, size)
        noise = 10 * np.log10(4 / np.square(drawn - goal).mean(axis=(1, 2, 3)))
        apart = perceptual.distance(drawn, goal)
        print(f"fidelity: {kind}, {size:3d} px: {noise.mean():.1f} dB, LPIPS {apart.mean():.3f}", flush=True)


def allocator() -> None:
    """The same step under the allocator's settings: the default, set by mallopt, set by the environment."""
    spent = {how: _elsewhere(how) for how in ("plain", "mallopt", "environment")}
    for how, seconds in spent.items():
        print(f"allocator: {how:12s} {1000 * seconds:7.0f} ms at 1024 px, {seconds / spent['plain']:.2f} of plain")


def _elsewhere(how: str) -> float:
    """Measure in a process of its own, because an allocator's settings stay."""
    clean = {name: value for name, value in os.environ.items() if name not in _VARIABLES}
    settings = {**clean, **(_VARIABLES if how == "environment" else {}), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "benchmarks.networks", "--measure", how]
    shown = subprocess.run(command, env=settings, capture_output=True, text=True, check=True)
    return float(json.loads(shown.stdout))


def threads() -> None:
    """Wall time of a projection's step with one thread and with one a core, and of two at once in processes."""
    keep_freed_memory()
    generator, count = MobileStyleGAN(), cores()
    for size in (128, 1024):
        spent = {}
        for used in (1, count):
            torch.set_num_threads(used)
            spent[used] = _cost(_step(generator, size), time.perf_counter)
        apart = _apart(size, count) / count
        ways = {"one thread": spent[1], f"{count} threads": spent[count], f"{count} processes": apart}
        said = ", ".join(f"{way} {1e3 * cost:.0f} ms ({spent[1] / cost:.2f} times)" for way, cost in ways.items())
        print(f"threads: {size:4d} px, a step: {said}")


def _apart(size: int, count: int) -> float:
    """Return the wall time of a step in each of so many processes at once."""
    command = [sys.executable, "-m", "benchmarks.networks", "--measure", f"step-{size}"]
    settings = {**os.environ, "OMP_NUM_THREADS": "1"}
    running = [subprocess.Popen(command, env=settings, stdout=subprocess.PIPE, text=True) for _ in range(count)]
    return statistics.fmean(float(json.loads(each.communicate()[0])) for each in running)


BENCHMARKS = {work.__name__: work for work in (exits, fidelity, allocator, threads)}
ON_PICTURES = {work.__name__: work for work in (embedding, describing)}


def main() -> None:
    """Run the benchmarks that are named, or all."""
    names = [*BENCHMARKS, *ON_PICTURES]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(names))
    parser.add_argument("--data", type=Path, default=Path("../shared/data"), help="where celebahq/images may lie")
    parser.add_argument("--faces", type=int, default=FACES, help="how many faces embedding and describing look at")
    parser.add_argument("--latents", type=Path, help="folder of projected latents, for fidelity (benchmarks.fairface)")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.measure:
        print(json.dumps(_measured(given.measure)))
        return
    unknown = set(given.names) - set(names)
    if unknown:
        parser.error(f"unknown: {', '.join(sorted(unknown))}")
    for name in given.names or names:
        if name in BENCHMARKS:
            BENCHMARKS[name]()
            if name == "fidelity" and given.latents:
                projected(given.latents)
        else:
            ON_PICTURES[name](given.data, given.faces)


def _measured(what: str) -> float:
    """Measure one thing in this process, for another."""
    if what not in {"plain", "environment"}:
        keep_freed_memory()
    kind, _, size = what.partition("-")
    clock = time.perf_counter if kind == "step" else time.process_time
    return _cost(_step(MobileStyleGAN(), int(size or 1024)), clock)


if __name__ == "__main__":
    main()
