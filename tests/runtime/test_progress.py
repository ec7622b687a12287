from __future__ import annotations

import doctest
import io
import re
import sys

import pytest
from rich.console import Console

from likewise.runtime import progress
from likewise.runtime.progress import Log, LogFile, Pace, Quiet, Terminal, reporter


class FakeClock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


def plain(screen: io.StringIO) -> str:
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", screen.getvalue())


def on_screen(clock) -> tuple[io.StringIO, Terminal]:
    screen, terminal = io.StringIO(), Terminal(clock=clock)
    terminal._console = Console(file=screen, force_terminal=True, width=140)
    return screen, terminal


def test_reporter_depends_on_stderr(monkeypatch):
    assert isinstance(reporter(quiet=True), Quiet)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    assert isinstance(reporter(quiet=False), Terminal)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: False, raising=False)
    assert isinstance(reporter(quiet=False), Log)


def test_log_prints_rate_and_remaining_time(capsys, clock):
    with Log(clock=clock).task("project", 40) as task:
        for clock.now, items in ((10.0, 10), (11.0, 10), (40.0, 20)):
            task.advance(items)
    # at 11 s it is too soon for another line; at 40 s the task is finished and the stage reports
    assert capsys.readouterr().err == "  project: 10/40, 1/s, about 30 s left\n"


def test_remaining_time_with_chunks_of_a_minute(capsys, clock):
    with Log(clock=clock).task("project", 640) as task:
        for chunk in range(1, 4):
            clock.now = 60.0 * chunk
            task.advance(64)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "  project: 64/640, 1.07/s, about 9 min left"
    assert lines[2].endswith("about 7 min left")


def test_bar_shows_remaining_time_with_chunks_of_a_minute(clock):
    screen, terminal = on_screen(clock)
    with terminal.task("project", 640) as task:
        clock.now = 60.0
        task.advance(64)
        clock.now = 120.0
        task.advance(64)
    assert "about 8 min left" in plain(screen)


def test_pace_counts_down_between_steps(clock):
    pace = Pace(100, clock)
    assert pace.remaining is None
    clock.now = 40.0
    pace.advance(50)
    assert pace.remaining == pytest.approx(40)
    clock.now = 50.0
    assert pace.remaining == pytest.approx(30)
    clock.now = 500.0
    assert pace.remaining == 0


def test_pace_follows_recent_rate(clock):
    pace = Pace(100_000, clock)
    for second in range(1, 401):  # 10 a second, then 1 a second
        clock.now = float(second)
        pace.advance(10 if second <= 200 else 1)
    assert pace.rate == pytest.approx(1, abs=0.01)


def test_resumed_items_do_not_count_for_the_rate(capsys, clock):
    with Log(clock=clock).task("project", 10_000) as task:
        clock.now = 0.01
        task.advance(9_000)
        clock.now = 10.0
        task.advance(10)
    assert "9010/10000, 1/s, about 16 min left" in capsys.readouterr().err


def test_log_counts_failures(capsys, clock):
    with Log(clock=clock).task("project", 40) as task:
        for clock.now, failed in ((10.0, 2), (20.0, 1)):
            task.advance(10, failed=failed)
    assert [line.rpartition(", ")[2] for line in capsys.readouterr().err.splitlines()] == ["2 failed", "3 failed"]


def test_bar_counts_failures(clock):
    screen, terminal = on_screen(clock)
    with terminal.task("project", 40) as task:
        task.advance(10)
        before = len(plain(screen))
        task.advance(10, failed=2)
        task.advance(1, failed=1)
    drawn = plain(screen)
    assert "failed" not in drawn[:before]
    assert "21/40" in drawn
    assert "3 failed" in drawn


@pytest.mark.parametrize(("total", "says"), [(30_000_000, "10.0 of 30.0 MB"), (0, "10.0 MB")])
def test_log_of_a_download_is_in_megabytes(capsys, clock, total, says):
    with Log(clock=clock).task("a.whl", total, unit="bytes") as task:
        clock.now = 6.0
        task.advance(10_000_000)
    left = ", about 12 s left" if total else ""
    assert capsys.readouterr().err == f"  a.whl: {says}, 1.7 MB/s{left}\n"


@pytest.mark.parametrize(("total", "says"), [(8_000_000, "1.0/8.0 MB"), (0, "1.0/? MB")])
def test_bar_of_a_download_is_removed_at_the_end(clock, total, says):
    screen, terminal = on_screen(clock)
    with terminal.task("a.whl", total, unit="bytes") as task:
        task.advance(1_000_000)
        end = screen.tell()
    assert "a.whl" in plain(screen)
    assert says in plain(screen)
    assert "\x1b[2K" in screen.getvalue()[end:]


@pytest.mark.parametrize("shown", [Quiet(), Log(), Terminal()], ids=["quiet", "log", "terminal"])
def test_stdout_stays_clean(capsys, shown, tmp_path):
    for speaker in (shown, LogFile(shown, tmp_path / "likewise.log")):
        speaker.say("hello [not markup]")
        with speaker.task("work [1]", 3) as task:
            task.advance(3)
        with speaker.busy("thinking"):
            pass
    captured = capsys.readouterr()
    assert captured.out == ""
    assert isinstance(shown, Quiet) or "hello [not markup]" in captured.err


def test_log_file_keeps_messages_and_tasks(tmp_path, clock):
    path = tmp_path / "audit" / "likewise.log"
    report = LogFile(Quiet(), path, clock=clock)
    report.say("read: wrote images.parquet")
    with report.task("project", 40) as task:
        clock.now = 100.0
        task.advance(30, failed=1)
    lines = path.read_text().splitlines()
    assert all(re.match(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ ", line) for line in lines)
    assert [line.split(" ", 1)[1] for line in lines] == [
        "read: wrote images.parquet", "project: started (0/40)", "project: finished (30/40, 1 failed) in 2 min",
    ]  # fmt: skip


def test_log_file_says_when_a_task_stopped(tmp_path):
    report = reporter(quiet=True, log=tmp_path / "likewise.log")
    with pytest.raises(RuntimeError), report.task("project", 40):
        raise RuntimeError
    assert "project: stopped (0/40)" in (tmp_path / "likewise.log").read_text()


def test_log_file_that_cannot_be_written_stops_nothing(tmp_path):
    (tmp_path / "file").touch()
    report = reporter(quiet=True, log=tmp_path / "file" / "likewise.log")
    report.say("still here")
    with report.task("project", 1) as task:
        task.advance(1)


def test_examples_in_docstrings_run():
    assert doctest.testmod(progress).failed == 0
