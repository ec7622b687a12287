"""Draw the images of a text-to-image audit: prompts x seeds, resumable, with refusals counted.

Every image is written when it arrives, so an interrupted run loses at most what is under way. Nothing is requested
before its cost is approved.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from likewise.generation.prompts import Job, PromptFile
from likewise.generation.sources import ImageSource
from likewise.runtime.executor import Progress, Silent
from likewise.runtime.pixels import save
from likewise.services.budget import Budget, CostEstimate
from likewise.services.retry import Refused, Stopped, Transient, call_with_retry
from likewise.tables import Images
from likewise.tables.io import write_frame

IMAGES, TABLE, REFUSALS, RESPONSES = "images", "images.csv", "refusals.csv", "responses.csv"


@dataclass(frozen=True)
class Drawn:
    """The images that were drawn, and the requests that were refused."""

    images: Images
    refused: pd.DataFrame
    """Columns ``prompt``, ``term``, ``seed``, ``reason``."""


def draw_images(
    prompts: PromptFile,
    source: ImageSource,
    folder: Path,
    *,
    budget: Budget | None = None,
    progress: Progress | None = None,
    concurrency: int = 4,
    retries: int = 4,
    wait: float = 0.5,
) -> Drawn:
    """Draw what is missing, and write ``images/``, ``images.csv`` and ``refusals.csv`` into the folder."""
    known = _refused_before(folder)
    missing = [job for job in prompts.jobs if not _is_there(folder, job) and job.file not in known]
    paid = budget or Budget()
    paid.approve([CostEstimate(source.name, "the image source", len(missing), source.price)])
    _Drawing(source, folder, paid, progress or Silent(), known, retries, wait).run(missing, concurrency)
    return _collected(prompts, folder, known)


@dataclass
class _Drawing:
    source: ImageSource
    folder: Path
    budget: Budget
    progress: Progress
    refused: dict[str, str]
    retries: int
    wait: float

    def run(self, jobs: Sequence[Job], concurrency: int) -> None:
        if not jobs:
            return
        stop = threading.Event()
        with self.source.connected(), ThreadPoolExecutor(concurrency) as pool:
            tasks = [pool.submit(self._one, job, stop) for job in jobs]
            try:
                wait(tasks, return_when=FIRST_EXCEPTION)
            finally:  # also on Ctrl-C: nothing new is begun
                if not all(task.done() for task in tasks):
                    stop.set()
                pool.shutdown(wait=True, cancel_futures=True)
                _write_refusals(self.folder, self.refused)
                _write_responses(self.folder, jobs, self.source)
        for task in tasks:
            if not task.cancelled():
                with suppress(Stopped):
                    task.result()

    def _one(self, job: Job, stop: threading.Event) -> None:
        if stop.is_set():
            raise Stopped
        try:
            call_with_retry(
                lambda: self._try(job), name=self.source.name, retries=self.retries, wait=self.wait, stop=stop
            )
            self.progress.advance(1, failed=int(job.file in self.refused))
        except BaseException:
            stop.set()
            raise

    def _try(self, job: Job) -> None:
        self.budget.pay(self.source.price)
        try:
            picture = self.source.draw(job.prompt.text, job.seed)
        except Refused as refusal:
            self.refused[job.file] = str(refusal)[:200]
            return
        except Transient as later:
            if not later.charged:
                self.budget.refund(self.source.price)
            raise
        path = self.folder / IMAGES / job.file
        path.parent.mkdir(parents=True, exist_ok=True)
        save(path, picture)


def _is_there(folder: Path, job: Job) -> bool:
    return (folder / IMAGES / job.file).is_file()


def _refused_before(folder: Path) -> dict[str, str]:
    path = folder / REFUSALS
    if not path.is_file():
        return {}
    frame = pd.read_csv(path, dtype=str, keep_default_na=False)
    return dict(zip(frame["file"], frame["reason"], strict=True))


def _write_refusals(folder: Path, refused: dict[str, str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    frame = pd.DataFrame({"file": list(refused), "reason": list(refused.values())}, dtype="str")
    write_frame(folder / REFUSALS, frame.sort_values("file", ignore_index=True), {})


def _write_responses(folder: Path, jobs: Sequence[Job], source: ImageSource) -> None:
    """Keep what the source said about images: the model that drew them, and prompts that it rewrote."""
    said = {job.file: source.facts.get((job.prompt.text, job.seed)) for job in jobs}
    rows = [{"file": file, **facts} for file, facts in said.items() if facts]
    if rows:
        known = read_responses(folder)
        frame = pd.concat([known, pd.DataFrame(rows)]).drop_duplicates("file", keep="last")
        write_frame(folder / RESPONSES, frame.sort_values("file", ignore_index=True), {})


def read_responses(folder: Path) -> pd.DataFrame:
    """Return what the source said about images: ``file``, ``model``, ``revised_prompt``."""
    path, columns = folder / RESPONSES, ["file", "model", "revised_prompt"]
    if not path.is_file():
        return pd.DataFrame(columns=columns, dtype="str")
    return pd.read_csv(path, dtype=str).reindex(columns=columns)


def _collected(prompts: PromptFile, folder: Path, refused: dict[str, str]) -> Drawn:
    """Return a table of the images on disk; the identity of an image is its prompt: images of one prompt are alike."""
    rows, lost = [], []
    for job in prompts.jobs:
        about = {"prompt": job.prompt.text, "term": job.prompt.about, "seed": job.seed}
        if _is_there(folder, job):
            pair = {"pair": job.prompt.pair or None, "variant": job.prompt.variant or None}
            rows.append({"image": job.file, "identity": f"{job.number:03d}", **about, **pair})
        elif job.file in refused:
            lost.append({**about, "reason": refused[job.file]})
    frame = pd.DataFrame(rows, columns=["image", "identity", "prompt", "term", "seed", "pair", "variant"])
    images = Images(frame.dropna(axis=1, how="all") if len(frame) else frame)
    images.write(folder / TABLE)
    return Drawn(images, pd.DataFrame(lost, columns=["prompt", "term", "seed", "reason"]))
