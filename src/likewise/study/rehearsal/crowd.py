"""A rehearsal: the study is served on this machine and simulated raters go through it as people would.

As component ``study`` of the kind ``crowd`` it simulates human raters in an audit of synthetic images: trials become a
study of the kind *same person*, are assigned, shown, rated over HTTP, stored in a database and exported, all by the
code that serves real raters. Only the responses are simulated, with probabilities from a table.
"""

from __future__ import annotations

import asyncio
import hashlib
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import uvicorn

from likewise.errors import StudyError, TableError, some
from likewise.runtime.pixels import save
from likewise.runtime.registry import Look
from likewise.study.config.questions import KINDS
from likewise.study.config.sections import Consent, Instructions, Item
from likewise.study.config.texts import Text
from likewise.study.plan import Study
from likewise.study.rehearsal.simulate import OPTION, Browser, Choose, RaterSession, run_rater
from likewise.study.server.app import make_app
from likewise.study.server.context import Site
from likewise.study.server.guard import TokenBucket
from likewise.study.server.serve import bind
from likewise.study.server.signing import KEY_FILE
from likewise.study.store.export import ratings, read_collected
from likewise.study.store.schema import sqlite_url
from likewise.tables import Ratings, Trials
from likewise.tables.io import read_frame, write_text

_FREE = 1e9
_SPEED = 100
"""The clock of a rehearsal runs faster, so that simulated raters take seconds, not milliseconds, for a response."""
_SPARE = 2  # units more than an equal share: the last rater may have seen what is left
_LOOKED_AT = 64  # images held at once


def quick_clock() -> Callable[[], float]:
    """Return a clock that starts now and runs a hundred times as fast."""
    start = time.time()
    return lambda: start + (time.time() - start) * _SPEED


def send(site: Site, choosers: Sequence[Choose], *, at_once: int) -> list[RaterSession]:
    """Serve the study on a free port and run one simulated rater for each chooser, ``at_once`` in parallel."""
    bound = bind("127.0.0.1", 0)
    app = make_app(site, pace=TokenBucket(_FREE, _FREE), joins=TokenBucket(_FREE, _FREE))
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning", access_log=False))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]}, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    try:
        return asyncio.run(_all(site, choosers, at_once, bound.getsockname()[1]))
    finally:
        server.should_exit = True
        thread.join()
        bound.close()


async def _all(site: Site, choosers: Sequence[Choose], at_once: int, port: int) -> list[RaterSession]:
    gate = asyncio.Semaphore(at_once)

    async def one(k: int, choose: Choose) -> RaterSession:
        async with gate, Browser("127.0.0.1", port) as browser:
            return await run_rater(browser, f"{site.join_path()}?worker_id=simulated-{k}", choose)

    return await asyncio.gather(*(one(k, choose) for k, choose in enumerate(choosers)))


class RehearsedCrowd:
    """Simulated raters who rate trials through the pages of the study.

    ``path`` is a table with the columns ``image`` and ``chance``. The probability of "same person" is the mean of the
    two chances, shifted by up to ``offset`` for each rater.
    """

    name = "rehearsed study"
    license = "Apache-2.0 (part of likewise; simulated raters)"

    def __init__(self, path: str, raters: int = 24, each: int = 3, offset: float = 0.06) -> None:
        frame, _ = read_frame(Path(path), text=("image",))
        if not {"image", "chance"} <= set(frame.columns):
            missing = some(sorted({"image", "chance"} - set(frame.columns)))
            columns = some(frame.columns, 8)
            raise TableError(
                f"Column {missing} not found in {Path(path).name} (columns: {columns})",
                fix="Name the columns image and chance.",
            )
        if raters < each or each < 1:
            raise StudyError(f"Too few raters: {raters} raters, but {each} per trial", fix="Increase raters.")
        self._chance = frame.set_index("image")["chance"].astype("float64")
        self._raters, self._each, self._offset = raters, each, offset

    def answers(self, trials: Trials, look: Look, seed: int) -> Ratings:
        """Serve the trials as a study and return its export; one rater after the other, so that the seed decides."""
        frame = trials.frame.sort_values("trial", ignore_index=True)
        chance = (self._known(frame["a"]) + self._known(frame["b"])) / 2
        with tempfile.TemporaryDirectory(prefix="likewise-study-") as place:
            folder = Path(place)
            names = _pictures(folder, frame, look)
            study = self._study(folder, frame, names, seed)
            write_text(folder / KEY_FILE, hashlib.sha256(f"rehearsal {seed}".encode()).hexdigest())
            site = Site.open(study, folder, sqlite_url(folder / "study.sqlite"), clock=quick_clock())
            try:
                return self._asked(site, study, dict(zip(frame["trial"], chance, strict=True)), seed)
            finally:
                site.close()

    def _known(self, images: pd.Series) -> pd.Series:
        unknown = images[~images.isin(self._chance.index)]
        if len(unknown):
            raise TableError(f"Image {unknown.iloc[0]!r} is not in the table of chances", fix="Add a row for it.")
        return images.map(self._chance)

    def _study(self, folder: Path, frame: pd.DataFrame, names: dict[str, str], seed: int) -> Study:
        kind = KINDS["same-person"]
        units = tuple(
            Item(key=pair, images=(names[a], names[b]))
            for pair, a, b in zip(frame["trial"], frame["a"], frame["b"], strict=True)
        )
        return Study(
            title=kind.title,
            kind="same-person",
            questions=(kind.question,),
            units=units,
            images=folder / "images",
            raters=self._raters,
            raters_per_unit=self._each,
            tasks_per_rater=min(len(units), -(-len(units) * self._each // self._raters) + _SPARE),
            consent=Consent(text=Text({"en": "Simulated raters."}), contact=""),
            instructions=Instructions(text=kind.instructions),
            seed=seed,
        )

    def _asked(self, site: Site, study: Study, chance: dict[str, float], seed: int) -> Ratings:
        offsets = np.random.default_rng([seed, 1]).uniform(-self._offset, self._offset, self._raters)
        choosers = [_chooser(site.item_of, chance, float(offset), [seed, 2, k]) for k, offset in enumerate(offsets)]
        send(site, choosers, at_once=1)
        found = ratings(read_collected(site.engine, study)).frame
        return Ratings(found.drop(columns="seconds").sort_values(["unit", "rater"], ignore_index=True))


def _pictures(folder: Path, frame: pd.DataFrame, look: Look) -> dict[str, str]:
    """Write the images under opaque names."""
    images = sorted({*frame["a"], *frame["b"]})
    names = {image: f"{k:05d}.png" for k, image in enumerate(images)}
    for start in range(0, len(images), _LOOKED_AT):
        part = images[start : start + _LOOKED_AT]
        for image, picture in zip(part, look(part), strict=True):
            save(folder / "images" / names[image], picture)
    return names


def _chooser(items: dict[str, str], chance: dict[str, float], offset: float, seed: list[int]) -> Choose:
    rng = np.random.default_rng(seed)

    def choose(opaque: str, form: str) -> dict[str, str]:
        same = rng.random() < chance[items[opaque]] + offset
        return {OPTION.findall(form)[0][0]: "1" if same else "0"}

    return choose
