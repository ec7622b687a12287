"""Durable responses a second and their latency with 200 simultaneous raters, on SQLite and on PostgreSQL.

    python -m benchmarks.study_load            both, about three minutes, beside this disk's own sync rate
    python -m benchmarks.study_load --start    how long a study of 100,000 images takes to start

Raters, server, database and designer share this machine. The database holds 100,000 responses before it starts. Each
rater responds over its own connection and waits for the acknowledgement, which comes after the commit. First at a pace
(offered responses a second), for the latency; then at the same pace while the designer's page is loaded again and
again and an export runs beside it; then without a pause, for the rate. Afterwards every acknowledged response must be
in the database once, and no unit above its quota. The last columns are CPU milliseconds for each response: of the
server, of the database, and of the raters themselves, who take their share of this machine.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import os
import platform
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd
import sqlalchemy as sa
from PIL import Image

from benchmarks.postgres import postgres, why_not
from likewise.study.config.load import read_study
from likewise.study.rehearsal.simulate import Browser, RaterSession, run_rater
from likewise.study.server.context import Site
from likewise.study.store.schema import open_database, rater, sqlite_url, task

RATERS, UNITS, EACH = 200, 9000, 20
FILLED, BLOCK = 100_000, 200  # responses that are there before; units of each of their raters
_PLAN = f"""
format = 1
title = "Load"
kind = "own"
raters = {UNITS}
raters_per_unit = {EACH}
tasks_per_rater = 800
seed = 1
[[question]]
name = "seen"
text = "Seen?"
options = [{{ value = 1, label = "Yes" }}, {{ value = 0, label = "No" }}]
[units]
table = "units.csv"
images = "images"
[consent]
text = "A test of load."
[instructions]
text = "Answer."
"""


def make_study(folder: Path, units: int = UNITS) -> Path:
    """Write a study of many tiny images."""
    (folder / "images").mkdir(parents=True)
    names = [f"{k:06d}.png" for k in range(units)]
    for k, name in enumerate(names):
        Image.fromarray(np.full((4, 4, 3), k % 251, dtype=np.uint8)).save(folder / "images" / name)
    pd.DataFrame({"image": names}).to_csv(folder / "units.csv", index=False)
    (folder / "study.toml").write_text(_PLAN.replace(f"raters = {UNITS}\n", f"raters = {units}\n"))
    return folder


def fill(url: str, folder: Path) -> None:
    """Put ``FILLED`` responses of earlier raters into the database of the study."""
    site = Site.open(read_study(folder), folder, url)
    site.close()
    engine = open_database(url)
    blocks = FILLED // EACH // BLOCK
    with engine.begin() as connection:
        raters = [
            {"worker": f"old{k}", "name": f"old{k}", "arm": "", "language": "en", "state": "done", "joined_at": 0.0,
             "reason": "", "attempts": 0}
            for k in range(blocks * EACH)
        ]  # fmt: skip
        connection.execute(sa.insert(rater), raters)
        keys = connection.execute(sa.select(rater.c.id).order_by(rater.c.id)).scalars().all()
        places = connection.execute(sa.select(task.c.id).order_by(task.c.id).limit(FILLED)).scalars().all()
        rng = np.random.default_rng(0)
        seconds, value = rng.gamma(4, 2, FILLED), rng.random(FILLED) < 0.6
        rows = [
            {"place": place, "by": keys[n // EACH // BLOCK * EACH + n % EACH], "at": n // EACH % BLOCK,
             "end": 1e9 + float(seconds[n]), "given": json.dumps({"seen": float(value[n])})}
            for n, place in enumerate(places)
        ]  # fmt: skip
        change = sa.update(task).where(task.c.id == sa.bindparam("place")).values(
            rater=sa.bindparam("by"), position=sa.bindparam("at"), shown_at=1e9, answered_at=sa.bindparam("end"),
            value=sa.bindparam("given"),
        )  # fmt: skip
        connection.execute(change, rows)
    engine.dispose()


def sync_rate(folder: Path, seconds: float = 2.0) -> float:
    """Return how often a second this disk makes 4 KiB durable."""
    count, block = 0, os.urandom(4096)
    with (folder / "sync").open("wb", buffering=0) as file:
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            file.write(block)
            os.fdatasync(file.fileno())
            count += 1
    return count / seconds


def _group_seconds(leader: int) -> float:
    """Return the CPU time of a process, of its group and of its children."""
    ticks = 0
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:  # it ended while we looked
            continue
        if leader and leader in (int(path.parent.name), int(fields[1]), int(fields[2])):
            ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


class Served:
    """``likewise study serve`` in processes of its own."""

    def __init__(self, folder: Path, url: str, processes: int, database: int = 0) -> None:
        self.database = database
        command = [sys.executable, "-m", "likewise", "study", "serve", str(folder), "--port", "0", "--joins", "1000000",
                   "--processes", str(processes)]  # fmt: skip
        environment = {**os.environ, **({"LIKEWISE_STUDY_DATABASE": url} if url else {})}  # its password stays private
        begun = time.perf_counter()
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, text=True, start_new_session=True, env=environment
        )
        try:
            link = self._line("link:")
            self.designer = "/" + self._line("designer:").split("/", 3)[-1]
            self.port, self.link = int(link.split(":")[-1].split("/")[0]), "/" + link.split("/", 3)[-1]
            asyncio.run(self._up())
        except BaseException:
            self.kill()  # never leave one behind
            raise
        self.start_seconds = time.perf_counter() - begun
        if processes > 1:  # raters who come before the other processes are up would all sit on the first
            time.sleep(4)

    def _line(self, word: str) -> str:
        for line in self.process.stdout or ():
            if line.startswith(word):
                return re.sub(r"^\w+:\s*", "", line.strip())
        raise RuntimeError("the server did not start")

    async def _up(self) -> None:
        for _ in range(400):
            try:
                async with Browser("127.0.0.1", self.port) as browser:
                    status, _, _ = await browser.get("/health")
            except OSError:
                status = 0
            if status == 200:
                return
            await asyncio.sleep(0.05)
        raise RuntimeError("the server does not answer")

    def cpu_seconds(self) -> npt.NDArray[np.float64]:
        """Return the CPU time that server, database and raters have used."""
        return np.array([_group_seconds(self.process.pid), _group_seconds(self.database), time.process_time()])

    def kill(self, how: signal.Signals = signal.SIGTERM) -> None:
        """End the processes that we started."""
        os.killpg(self.process.pid, how)
        self.process.wait(timeout=30)
        if self.process.stdout:
            self.process.stdout.close()


@dataclass
class Load:
    """What a run of raters did, how long it took, and what the designer's page and the export took meanwhile."""

    walks: list[RaterSession]
    took: float
    cpu: npt.NDArray[np.float64] = field(default_factory=lambda: np.zeros(3))
    pages: list[float] = field(default_factory=list)
    exports: list[float] = field(default_factory=list)

    def milliseconds(self) -> npt.NDArray[np.float64]:
        """Return the latency of every response."""
        return np.array([t for walk in self.walks for t in walk.seconds]) * 1000


async def load(served: Served, prefix: str, seconds: float, pace: float, *, watched: bool = False) -> Load:
    """Have raters respond for a time, at ``pace`` responses a second in all (0: as fast as they can).

    With ``watched`` the designer's page is loaded every two seconds, and an export runs again and again.
    """
    port, link, number = served.port, served.link, RATERS
    rng = np.random.default_rng(0)
    end = time.perf_counter() + 3600
    walks: list[RaterSession] = []

    def think() -> float:
        if time.perf_counter() > end:
            raise asyncio.CancelledError
        return float(rng.uniform(0, 2 * number / pace)) if pace else 0.0

    browsers = [Browser("127.0.0.1", port) for _ in range(number)]
    await asyncio.gather(
        *(run_rater(b, f"{link}?worker_id={prefix}{k}", _first, most=0) for k, b in enumerate(browsers))
    )
    gc.collect()
    gc.disable()  # two hundred people do not pause together
    begun, used = time.perf_counter(), served.cpu_seconds()
    end = begun + seconds
    found = Load(walks, 0.0)
    running = [asyncio.create_task(_until(browser, link, k, think, walks)) for k, browser in enumerate(browsers)]
    beside = []
    if watched:
        beside.append(asyncio.create_task(_again(served, "/design", found.pages, end, 2.0)))
        beside.append(asyncio.create_task(_again(served, "/design/ratings.csv", found.exports, end, 0.0)))
    await asyncio.gather(*running)
    found.took, found.cpu = time.perf_counter() - begun, served.cpu_seconds() - used
    await asyncio.gather(*beside)
    gc.enable()
    for browser in browsers:
        await browser.close()
    return found


async def _again(served: Served, path: str, times: list[float], end: float, pause: float) -> None:
    """Load a page of the designer again and again."""
    async with Browser("127.0.0.1", served.port) as browser:
        await browser.get(served.designer)
        await browser.get(path)  # the first one starts the processes that compute
        while time.perf_counter() < end:
            begun = time.perf_counter()
            status, _, _ = await browser.get(path)
            if status != 200:
                raise RuntimeError(f"{path}: {status}")
            times.append(time.perf_counter() - begun)
            await asyncio.sleep(pause)


def _first(item: str, form: str) -> dict[str, str]:
    return {"answer-1": "1"}


async def _until(browser: Browser, link: str, k: int, think: Callable[[], float], walks: list[RaterSession]) -> None:
    done = RaterSession()
    walks.append(done)
    try:
        await run_rater(browser, "/task", _first, think=think, done=done)
    except asyncio.CancelledError:
        return


def checked(url: str, acknowledged: int) -> None:
    """Check that every acknowledged response is there, once, and that no unit has more than its quota."""
    engine = open_database(url)
    with engine.connect() as connection:
        answered = connection.execute(sa.select(sa.func.count()).where(task.c.answered_at.is_not(None))).scalar_one()
        most = connection.execute(
            sa.select(sa.func.count()).where(task.c.answered_at.is_not(None)).group_by(task.c.item)
        ).scalars()
        if answered != acknowledged + FILLED or max(most) > EACH:
            raise AssertionError(f"{acknowledged} acknowledged, {answered - FILLED} in the database")
    engine.dispose()


def measure(
    name: str, folder: Path, url: str, *, processes: int, pace: float, seconds: float, database: int = 0
) -> None:
    """Measure one database and print a row."""
    fill(url or sqlite_url(folder / "study.sqlite"), folder)
    served = Served(folder, url, processes, database)
    try:
        quiet = asyncio.run(load(served, "q", seconds, pace))
        watched = asyncio.run(load(served, "w", seconds, pace, watched=True))
        free = asyncio.run(load(served, "f", seconds / 2, 0))
    finally:
        served.kill()
    times = [run.milliseconds() for run in (quiet, watched, free)]
    checked(url or sqlite_url(folder / "study.sqlite"), sum(map(len, times)))
    pages, exports = (f"{max(found, default=0):5.2f}" for found in (watched.pages, watched.exports))
    print(
        f"{name:<24} {len(times[0]) / quiet.took:6.0f} {np.median(times[0]):6.1f} {np.quantile(times[0], 0.99):7.1f}   "
        f"{len(times[1]) / watched.took:6.0f} {np.median(times[1]):6.1f} {np.quantile(times[1], 0.99):7.1f} {pages} "
        f"{exports}   {len(times[2]) / free.took:6.0f} {np.quantile(times[2], 0.99):6.0f}   {served.start_seconds:5.1f}"
        "   " + " ".join(f"{ms:6.2f}" for ms in 1000 * quiet.cpu / len(times[0])),
        flush=True,
    )


def measure_start(folder: Path, units: int) -> None:
    """Print how long a study of many images takes to start, the first time and again."""
    make_study(folder, units)
    for name in ("first start", "second start"):
        served = Served(folder, "", 1)
        used = served.cpu_seconds()[0]
        served.kill()
        print(f"{name} with {units:,} images: {served.start_seconds:.1f} s ({used:.1f} s of CPU time)", flush=True)


def main() -> None:
    """Run both databases in one go."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--pace", type=float, default=560.0, help="offered responses a second")
    parser.add_argument("--processes", type=int, default=2, help="server processes on PostgreSQL")
    parser.add_argument("--only", choices=["sqlite", "postgresql"])
    parser.add_argument("--start", action="store_true", help="measure the start with 100,000 images instead")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="likewise-load-") as temporary:
        root = Path(temporary)
        print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, {platform.platform()}")
        if given.start:
            measure_start(root / "start", 100_000)
            return
        print(f"this disk: {sync_rate(root):.0f} syncs a second; {FILLED:,} responses are there before")
        print(
            f"{RATERS} raters, {given.pace:.0f}/s offered       alone            with page and export          no pause"
        )
        names = [
            "/s",
            "p50",
            "p99 ms",
            "",
            "/s",
            "p50",
            "p99 ms",
            "page",
            "exp.",
            "",
            "/s",
            "p99",
            "",
            "start",
            "server",
            "base",
            "raters",
        ]
        print(f"{'':<24}" + "".join(f"{name:>7}" if name else "  " for name in names))
        if given.only != "postgresql":
            measure("SQLite, 1 process", make_study(root / "sqlite"), "", processes=1, pace=given.pace,
                    seconds=given.seconds)  # fmt: skip
        if given.only != "sqlite" and why_not():
            print(f"PostgreSQL: {why_not()}")
        elif given.only != "sqlite":
            with postgres(root / "server") as server:
                measure(f"PostgreSQL, {given.processes} processes", make_study(root / "postgresql"), server.url,
                        processes=given.processes, pace=given.pace, seconds=given.seconds,
                        database=server.process)  # fmt: skip


if __name__ == "__main__":
    main()
