"""Map work over chunks of images: in this process, in several, or on a Ray cluster; with progress, retries and resume.

A chunk's result is a dict of arrays. With a ``folder`` every finished chunk is stored there as ``.npz``, so that an
interrupted run resumes; the caller names the folder after everything the work depends on. The result does not depend on
the executor or the number of workers, because chunks are concatenated in their own order.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures import Executor as Pool
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from likewise.errors import ExecutorError, LikewiseError, SpecError, nearest, some
from likewise.runtime.gpus import needs_gpu, take_gpu, visible_gpus
from likewise.runtime.optional import require
from likewise.tables.io import replacing

Result = dict[str, npt.NDArray[Any]]
Work = Callable[[list[str]], Result]
KINDS = ("local", "processes", "ray")
_FORMER = {"here": "local"}  # values that older plans use


class Progress(Protocol):
    """Counts the items that are done."""

    def advance(self, items: int, failed: int = 0) -> None:
        """Count ``items`` more, ``failed`` of which have no result."""


class Silent:
    """Counts nothing."""

    def advance(self, items: int, failed: int = 0) -> None:
        """Ignore the progress."""


@dataclass(frozen=True, kw_only=True)
class Executor:
    """Where the work runs and how often it is retried.

    Examples
    --------
    >>> import numpy as np
    >>> executor = Executor(chunk=2)
    >>> work = lambda names: {"length": np.array([len(name) for name in names])}
    >>> [result["length"].tolist() for result in executor.map(work, ["a", "bb", "ccc"])]
    [[1, 2], [3]]
    """

    kind: str = "local"
    """``local`` (this process), ``processes`` (several on this machine) or ``ray`` (a Ray cluster)."""
    workers: int = 1
    """Number of processes, or of concurrent chunks on a cluster; 1 with ``local``."""
    address: str = ""
    """Address of the Ray cluster, e.g. "auto"; empty starts one on this machine. All machines must see the images under
    the same path."""
    chunk: int = 64
    """Images per chunk: the most that each worker can lose when a run is killed."""
    retries: int = 2
    """How often a failed chunk is retried; invalid input is not retried."""
    gpus: float = 1.0
    """On a Ray cluster, GPUs for each chunk whose network runs on one (``device = "cuda"``); 0.5 runs two chunks on a
    GPU."""

    cache: bool = True
    """Keep aligned images, latents and embeddings of pretrained networks across audits (``likewise cache``)."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "kind", _FORMER.get(self.kind, self.kind))
        if self.kind not in KINDS:
            fix = nearest(str(self.kind), KINDS) or f"Choose one of {some(KINDS)}."
            raise SpecError(f"Unknown executor kind {str(self.kind)[:80]!r}", fix=fix)
        for name, least in (("workers", 1), ("chunk", 1), ("retries", 0)):
            if getattr(self, name) < least:
                raise SpecError(f"Executor option {name} is {getattr(self, name)}", fix=f"Use at least {least}.")
        if self.kind == "local" and self.workers > 1:
            raise SpecError(f"{self.workers} workers with kind = 'local'", fix="Use kind = 'processes' or 'ray'.")
        self._check_ray_options()

    def _check_ray_options(self) -> None:
        if self.kind != "ray":
            for name, unused in (("address", ""), ("gpus", 1)):
                if getattr(self, name) != unused:
                    problem = f"Executor option {name} has no effect with kind = {self.kind!r}"
                    raise SpecError(problem, fix=f"Remove {name}, or use kind = 'ray'.")
        if not self.gpus > 0 or (self.gpus > 1 and self.gpus != int(self.gpus)):
            raise SpecError(f"Executor option gpus is {self.gpus}", fix="Use a fraction up to 1, or a whole number.")

    def map(
        self,
        work: Work,
        items: Sequence[str],
        *,
        folder: Path | None = None,
        progress: Progress | None = None,
        failures: Callable[[Result], int] | None = None,
    ) -> Iterator[Result]:
        """Yield the results of ``work`` over chunks of ``items``, in order.

        Parameters
        ----------
        work
            A function of a chunk; it must be picklable unless ``kind`` is ``local``.
        items
            Keys of images.
        folder
            Where finished chunks are stored, for resuming; in memory when None.
        progress
            Is message of every finished chunk.
        failures
            Counts the items of a chunk's result that failed, for ``progress``.

        Raises
        ------
        ExecutorError
            A chunk failed after all retries. Errors of likewise itself (invalid input) are raised at once.
        """
        chunks = [list(items[start : start + self.chunk]) for start in range(0, len(items), self.chunk)]
        kept = _Kept(folder)
        progress = progress or Silent()
        open_ = [index for index in range(len(chunks)) if not kept.has(index)]
        done = sorted(set(range(len(chunks))) - set(open_))
        lost = sum(failures(kept.get(index)) for index in done) if failures else 0
        _report(progress, sum(len(chunks[index]) for index in done), lost)
        run = {"local": self._local, "processes": self._processes, "ray": self._ray}[self.kind]
        for index, result in run(work, chunks, open_):
            kept.put(index, result)
            _report(progress, len(chunks[index]), failures(result) if failures else 0)
        for index in range(len(chunks)):
            yield kept.get(index)

    def _local(self, work: Work, chunks: list[list[str]], open_: list[int]) -> Iterator[tuple[int, Result]]:
        for index in open_:
            for attempt in range(self.retries + 1):
                try:
                    result = work(chunks[index])
                except Exception as error:
                    _give_up(error, chunks[index], attempt, self.retries)
                else:
                    yield index, result
                    break

    def _processes(self, work: Work, chunks: list[list[str]], open_: list[int]) -> Iterator[tuple[int, Result]]:
        tries, spawn = dict.fromkeys(open_, 0), multiprocessing.get_context("spawn")
        gpus = visible_gpus() if needs_gpu(work, several=self.workers > 1) else []
        while tries:
            start: dict[str, Any] = {"initializer": take_gpu, "initargs": (spawn.Value("i", 0), gpus)} if gpus else {}
            with ProcessPoolExecutor(self.workers, mp_context=spawn, **start) as pool:
                yield from self._one_pool(pool, work, chunks, tries)

    def _one_pool(
        self, pool: Pool, work: Work, chunks: list[list[str]], tries: dict[int, int]
    ) -> Iterator[tuple[int, Result]]:
        """Run until all chunks are done or a worker died; ``tries`` holds the open chunks and their failures."""
        waiting = iter(list(tries))
        running: dict[Future[Result], int] = {}
        try:
            while True:
                for index in waiting:  # only a few chunks ahead, so that results do not accumulate
                    running[pool.submit(work, chunks[index])] = index
                    if len(running) >= 2 * self.workers:
                        break
                if not running:
                    return
                done, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    index = running.pop(future)
                    try:
                        result = future.result()
                    except BrokenProcessPool:
                        running[future] = index
                        raise
                    except Exception as error:
                        _give_up(error, chunks[index], tries[index], self.retries)
                        tries[index] += 1
                        running[pool.submit(work, chunks[index])] = index
                        continue
                    del tries[index]
                    yield index, result
        except BrokenProcessPool as error:
            for index in running.values():
                _give_up(error, chunks[index], tries[index], self.retries)
                tries[index] += 1

    def _ray(self, work: Work, chunks: list[list[str]], open_: list[int]) -> Iterator[tuple[int, Result]]:
        """Keep a few chunks submitted; the chunk of a worker or machine that dies is submitted again."""
        ray = _cluster(self)
        gpus = _gpus_available(ray, self.gpus) if needs_gpu(work, several=True) else 0
        shared, remote = ray.put(work), ray.remote(max_retries=self.retries, num_gpus=gpus)(_call)
        waiting = iter([(index, 0) for index in open_])
        running: dict[Any, tuple[int, int]] = {}
        while True:
            for index, attempt in islice(waiting, 2 * self.workers - len(running)):
                running[remote.remote(shared, chunks[index])] = (index, attempt)
            if not running:
                return
            done, _ = ray.wait(list(running), num_returns=1)
            index, attempt = running.pop(done[0])
            try:
                yield index, ray.get(done[0])
            except Exception as error:
                cause = getattr(error, "cause", None)  # Ray wraps the error of the worker
                _give_up(cause if isinstance(cause, Exception) else error, chunks[index], attempt, self.retries)
                waiting = chain([(index, attempt + 1)], waiting)


def _report(progress: Progress, items: int, failed: int) -> None:
    """Report progress; failures only where there are any, so that simple counters work too."""
    if failed:
        progress.advance(items, failed)
    else:
        progress.advance(items)


def _call(work: Work, chunk: list[str]) -> Result:
    return work(chunk)


def _cluster(executor: Executor) -> Any:
    """Join the cluster at the executor's address, or start one on this machine; Ray is imported only here."""
    ray = require("ray", "ray")
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # no telemetry from an audit
    if not ray.is_initialized():
        local: dict[str, Any] = {} if executor.address else {"num_cpus": executor.workers, "include_dashboard": False}
        ray.init(address=executor.address or None, log_to_driver=False, logging_level=logging.ERROR, **local)
    return ray


def _gpus_available(ray: Any, gpus: float) -> float:
    """Return the GPUs that a chunk requests; on a cluster without enough of them it would wait forever."""
    available = float(ray.cluster_resources().get("GPU", 0))
    if available < gpus:
        fix = "Set device = 'cpu', or start Ray on a machine with GPUs (ray start --num-gpus)."
        raise SpecError(f"Each chunk needs {gpus:g} GPUs, the Ray cluster has {available:g}", fix=fix)
    return gpus


def _give_up(error: Exception, chunk: list[str], attempt: int, retries: int) -> None:
    """Raise when a retry is useless: invalid input stays invalid, and other failures are retried a few times."""
    if isinstance(error, LikewiseError):
        raise error
    if attempt >= retries:
        fix = "Finished chunks are kept; the same command resumes."
        if isinstance(error, MemoryError | BrokenProcessPool):
            fix = f"Possibly out of memory: lower workers or chunk. {fix}"
        cause = f"{type(error).__name__}: {error}"[:500]
        raise ExecutorError(f"The chunk with {some(chunk, 3)} failed {attempt + 1} times: {cause}", fix=fix) from error


class _Kept:
    """Results of finished chunks, in a folder or in memory."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._memory: dict[int, Result] = {}

    def has(self, index: int) -> bool:
        return self._folder is not None and self._path(index).is_file()

    def put(self, index: int, result: Result) -> None:
        if self._folder is None:
            self._memory[index] = result
            return
        with replacing(self._path(index)) as temporary, temporary.open("wb") as handle:
            np.savez(handle, **result)  # type: ignore[arg-type]

    def get(self, index: int) -> Result:
        if self._folder is None:
            return self._memory.pop(index)
        with np.load(self._path(index), allow_pickle=False) as stored:
            return {name: stored[name] for name in stored.files}

    def _path(self, index: int) -> Path:
        return (self._folder or Path()) / f"{index:06d}.npz"
