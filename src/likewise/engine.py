"""Map work over chunks of images: here, in processes or on a Ray cluster, with progress, retries and resume.

A chunk's result is a dict of arrays. With a ``folder`` every finished chunk is kept there as ``.npz``, so that a
killed run goes on where it was; the caller names the folder after everything the work depends on. The result is
the same for every engine and every number of workers, because chunks are put together in their own order.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from likewise.cards import asks_for_card, take_card, visible_cards
from likewise.errors import EngineError, LikewiseError, SpecError, nearest, some
from likewise.tables.files import replacing

Result = dict[str, npt.NDArray[Any]]
Work = Callable[[list[str]], Result]
KINDS = ("here", "processes", "ray")


class Progress(Protocol):
    """Somebody who wants to know how far the work is."""

    def advance(self, items: int, failed: int = 0) -> None:
        """So many more items are done, and so many of them came to nothing."""


class Silent:
    """Nobody wants to know."""

    def advance(self, items: int, failed: int = 0) -> None:
        """Say nothing."""


@dataclass(frozen=True, kw_only=True)
class Engine:
    """Where the work is done and how hard it is tried."""

    kind: str = "here"
    """In this process, in several on this machine, or on a Ray cluster."""
    workers: int = 1
    """How many processes, or how many chunks at once on a cluster; "here" there is one."""
    address: str = ""
    """Where the Ray cluster is, e.g. "auto"; empty starts one here. Its machines see the images under one path."""
    chunk: int = 64
    """Images a chunk: what a killed run can lose at most, a worker."""
    retries: int = 2
    """How often a chunk is tried again when it fails by accident (not by wrong input)."""
    cards: float = 1.0
    """On a Ray cluster, how many graphics cards a chunk takes whose network computes on one (``device = "cuda"``); 0.5
    puts two chunks on a card."""

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise SpecError(
                f"the engine is one of {some(KINDS)}", got=repr(self.kind), fix=nearest(str(self.kind), KINDS)
            )
        if min(self.workers, self.chunk) < 1 or self.retries < 0:
            raise SpecError("workers and chunk are at least 1, retries at least 0", got=str(self))
        if self.kind == "here" and self.workers > 1:
            raise SpecError("several workers need kind = 'processes' or 'ray'", got=f"{self.workers} workers")
        if self.address and self.kind != "ray":
            raise SpecError("an address has an effect only with kind = 'ray'", got=repr(self.address))
        if self.cards != 1 and self.kind != "ray":
            raise SpecError("cards has an effect only with kind = 'ray'", got=str(self.cards))
        if not self.cards > 0 or (self.cards > 1 and self.cards != int(self.cards)):
            raise SpecError("cards is a share of a card up to 1, or a whole number", got=str(self.cards))

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

        ``failures`` counts what came to nothing in a chunk, for ``progress``.
        """
        chunks = [list(items[start : start + self.chunk]) for start in range(0, len(items), self.chunk)]
        kept = _Kept(folder)
        progress = progress or Silent()
        open_ = [index for index in range(len(chunks)) if not kept.has(index)]
        done = sorted(set(range(len(chunks))) - set(open_))
        lost = sum(failures(kept.get(index)) for index in done) if failures else 0
        _tell(progress, sum(len(chunks[index]) for index in done), lost)
        run = {"here": self._here, "processes": self._processes, "ray": self._ray}[self.kind]
        for index, result in run(work, chunks, open_):
            kept.put(index, result)
            _tell(progress, len(chunks[index]), failures(result) if failures else 0)
        for index in range(len(chunks)):
            yield kept.get(index)

    def _here(self, work: Work, chunks: list[list[str]], open_: list[int]) -> Iterator[tuple[int, Result]]:
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
        cards = visible_cards() if asks_for_card(work, several=self.workers > 1) else []
        while tries:
            shown: dict[str, Any] = (
                {"initializer": take_card, "initargs": (spawn.Value("i", 0), cards)} if cards else {}
            )
            with ProcessPoolExecutor(self.workers, mp_context=spawn, **shown) as pool:
                yield from self._one_pool(pool, work, chunks, tries)

    def _one_pool(
        self, pool: Executor, work: Work, chunks: list[list[str]], tries: dict[int, int]
    ) -> Iterator[tuple[int, Result]]:
        """Work until everything is done or a worker died; ``tries`` loses what is done and counts failures."""
        waiting = iter(list(tries))
        running: dict[Future[Result], int] = {}
        try:
            while True:
                for index in waiting:  # only a few chunks ahead, so that results never pile up
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
        """Keep a few chunks on their way; a worker or a machine that dies gives its chunk back."""
        ray = _cluster(self)
        cards = _cards_there(ray, self.cards) if asks_for_card(work, several=True) else 0
        shared, remote = ray.put(work), ray.remote(max_retries=self.retries, num_gpus=cards)(_call)
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
                cause = getattr(error, "cause", None)  # Ray wraps what went wrong over there
                _give_up(cause if isinstance(cause, Exception) else error, chunks[index], attempt, self.retries)
                waiting = chain([(index, attempt + 1)], waiting)


def _tell(progress: Progress, items: int, failed: int) -> None:
    """Say how far it is; whoever only counts what is done is not told of failures where there are none."""
    if failed:
        progress.advance(items, failed)
    else:
        progress.advance(items)


def _call(work: Work, chunk: list[str]) -> Result:
    return work(chunk)


def _cluster(engine: Engine) -> Any:
    """Join the cluster at the engine's address, or start one here; loaded only when it is asked for."""
    try:
        import ray  # noqa: PLC0415
    except ImportError as error:
        raise SpecError("kind = 'ray' needs Ray", got="no such package", fix="pip install 'likewise[ray]'") from error
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # an audit tells nobody that it runs
    if not ray.is_initialized():
        local: dict[str, Any] = {} if engine.address else {"num_cpus": engine.workers, "include_dashboard": False}
        ray.init(address=engine.address or None, log_to_driver=False, logging_level=logging.ERROR, **local)
    return ray


def _cards_there(ray: Any, cards: float) -> float:
    """Return the cards that a chunk asks the cluster for; one that has none would let it wait for ever."""
    there = float(ray.cluster_resources().get("GPU", 0))
    if there < cards:
        fix = "Say device = 'cpu', or start Ray on a machine with a card (ray start --num-gpus)."
        raise SpecError(f"the cluster has {cards:g} graphics cards for a chunk", got=f"{there:g}", fix=fix)
    return cards


def _give_up(error: Exception, chunk: list[str], attempt: int, retries: int) -> None:
    """Raise when trying again is no use: wrong input stays wrong, and an accident may recur only so often."""
    if isinstance(error, LikewiseError):
        raise error
    if attempt >= retries:
        got = f"{type(error).__name__}: {error}"
        fix = "What is finished is kept; the same command goes on from there."
        raise EngineError(f"the chunk with {some(chunk, 3)} can be worked on", got=got, fix=fix) from error


class _Kept:
    """Finished chunks, in a folder or in memory."""

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
