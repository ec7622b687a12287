"""Durable answers a second and their latency with 200 simultaneous raters, on SQLite and on PostgreSQL.

    python -m benchmarks.study_load            both, about two minutes, beside this disk's own sync rate

Raters, server and database share this machine. Each rater answers over its own connection and waits for the
acknowledgement, which comes after the commit. First at a pace (offered answers a second), for the latency; then without
a pause, for the rate. Afterwards every acknowledged answer must be in the database once, and no unit above its quota.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import os
import platform
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import sqlalchemy as sa
from PIL import Image

from benchmarks.postgres import postgres, why_not
from likewise.study.schema import open_database, sqlite_url, task
from likewise.study.simulate import Browser, Walk, walk

RATERS, UNITS, EACH = 200, 3000, 20
_PLAN = f"""
format = 1
title = "Load"
kind = "own"
raters = {RATERS}
raters_per_unit = {EACH}
tasks_per_rater = {UNITS * EACH // RATERS}
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


def make_study(folder: Path) -> Path:
    """Write a study of many tiny pictures."""
    (folder / "images").mkdir(parents=True)
    names = [f"{k:05d}.png" for k in range(UNITS)]
    for k, name in enumerate(names):
        Image.fromarray(np.full((4, 4, 3), k % 251, dtype=np.uint8)).save(folder / "images" / name)
    pd.DataFrame({"image": names}).to_csv(folder / "units.csv", index=False)
    (folder / "study.toml").write_text(_PLAN)
    return folder


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


class Served:
    """``likewise study serve`` in processes of its own."""

    def __init__(self, folder: Path, url: str, processes: int) -> None:
        command = [sys.executable, "-m", "likewise", "study", "serve", str(folder), "--port", "0", "--joins", "1000000",
                   "--processes", str(processes)]  # fmt: skip
        command += ["--database", url] if url else []
        begun = time.perf_counter()
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)
        try:
            link = self._line("link:")
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

    def cpu_seconds(self) -> float:
        """Return the CPU time that all server processes have used."""
        ticks = 0
        for path in Path("/proc").glob("[0-9]*/stat"):
            try:
                fields = path.read_text().rpartition(")")[2].split()
            except OSError:  # it ended while we looked
                continue
            if int(fields[2]) == self.process.pid:  # its process group is ours
                ticks += int(fields[11]) + int(fields[12])
        return ticks / os.sysconf("SC_CLK_TCK")

    def kill(self, how: signal.Signals = signal.SIGTERM) -> None:
        """End the processes that we started."""
        os.killpg(self.process.pid, how)
        self.process.wait(timeout=30)
        if self.process.stdout:
            self.process.stdout.close()


async def load(served: Served, number: int, seconds: float, pace: float) -> tuple[list[Walk], float, float]:
    """Have raters answer for a time, at ``pace`` answers a second in all (0: as fast as they can).

    Return what they did, how long it took, and the CPU time that the server needed for it; joining is not counted.
    """
    port, link = served.port, served.link
    rng = np.random.default_rng(0)
    end = time.perf_counter() + 3600
    walks: list[Walk] = []

    def think() -> float:
        if time.perf_counter() > end:
            raise asyncio.CancelledError
        return float(rng.uniform(0, 2 * number / pace)) if pace else 0.0

    browsers = [Browser("127.0.0.1", port) for _ in range(number)]
    joined = [asyncio.create_task(walk(b, f"{link}?worker_id=w{k}", _first, most=0)) for k, b in enumerate(browsers)]
    await asyncio.gather(*joined)
    gc.collect()
    gc.disable()  # two hundred people do not pause together
    begun, used = time.perf_counter(), served.cpu_seconds()
    end = begun + seconds
    running = [asyncio.create_task(_until(browser, link, k, think, walks)) for k, browser in enumerate(browsers)]
    await asyncio.gather(*running)
    took, used = time.perf_counter() - begun, served.cpu_seconds() - used
    gc.enable()
    for browser in browsers:
        await browser.close()
    return walks, took, used


def _first(item: str, form: str) -> dict[str, str]:
    return {"answer-1": "1"}


async def _until(browser: Browser, link: str, k: int, think: Callable[[], float], walks: list[Walk]) -> None:
    done = Walk()
    walks.append(done)
    try:
        await walk(browser, "/task", _first, think=think, done=done)
    except asyncio.CancelledError:
        return


def checked(url: str, acknowledged: int) -> None:
    """Every acknowledged answer is there, once; no unit has more than its quota."""
    engine = open_database(url)
    with engine.connect() as connection:
        answered = connection.execute(sa.select(sa.func.count()).where(task.c.answered_at.is_not(None))).scalar_one()
        most = connection.execute(
            sa.select(sa.func.count()).where(task.c.answered_at.is_not(None)).group_by(task.c.item)
        ).scalars()
        if answered != acknowledged or max(most) > EACH:
            raise AssertionError(f"{acknowledged} acknowledged, {answered} in the database")
    engine.dispose()


def measure(name: str, folder: Path, url: str, *, processes: int, pace: float, seconds: float) -> None:
    """Measure one database and print a row."""
    served = Served(folder, url, processes)
    try:
        paced, took, spent = asyncio.run(load(served, RATERS, seconds, pace))
        free, free_took, _ = asyncio.run(load(served, RATERS, seconds / 2, 0))
    finally:
        served.kill()
    times = np.array([t for w in paced for t in w.seconds]) * 1000
    fast = np.array([t for w in free for t in w.seconds]) * 1000
    checked(url or sqlite_url(folder / "study.sqlite"), len(times) + len(fast))
    p50, p99 = np.quantile(times, [0.5, 0.99])
    print(
        f"{name:<24} {len(times) / took:7.0f} {p50:7.1f} {p99:7.1f}   {len(fast) / free_took:7.0f} "
        f"{np.quantile(fast, 0.99):7.0f}   {served.start_seconds:5.1f}   {1000 * spent / len(times):6.2f}",
        flush=True,
    )


def main() -> None:
    """Run both databases in one go."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--pace", type=float, default=560.0, help="offered answers a second")
    parser.add_argument("--processes", type=int, default=2, help="server processes on PostgreSQL")
    parser.add_argument("--only", choices=["sqlite", "postgresql"])
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="likewise-load-") as temporary:
        root = Path(temporary)
        print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, {platform.platform()}")
        print(f"this disk: {sync_rate(root):.0f} syncs a second")
        print(f"{RATERS} raters            at a pace of {given.pace:.0f}/s            without a pause")
        print(f"{'':<24} {'/s':>7} {'p50 ms':>7} {'p99 ms':>7}   {'/s':>7} {'p99 ms':>7}   start s   CPU ms each")
        if given.only != "postgresql":
            measure("SQLite, 1 process", make_study(root / "sqlite"), "", processes=1, pace=given.pace,
                    seconds=given.seconds)  # fmt: skip
        if given.only != "sqlite" and why_not():
            print(f"PostgreSQL: {why_not()}")
        elif given.only != "sqlite":
            with postgres(root / "server") as server:
                measure(f"PostgreSQL, {given.processes} processes", make_study(root / "postgresql"), server.url,
                        processes=given.processes, pace=given.pace, seconds=given.seconds)  # fmt: skip


if __name__ == "__main__":
    main()
