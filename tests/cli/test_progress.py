from __future__ import annotations

import io
import re
import sys

import pytest
from rich.console import Console

from likewise.cli import progress
from likewise.cli.progress import Log, Quiet, Terminal, voice


def test_the_voice_fits_the_listener(monkeypatch):
    assert isinstance(voice(quiet=True), Quiet)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    assert isinstance(voice(quiet=False), Terminal)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: False, raising=False)
    assert isinstance(voice(quiet=False), Log)


def test_a_log_gets_plain_lines_with_what_is_left(capsys, monkeypatch):
    clock = iter([0.0, 10.0, 11.0, 40.0])
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(clock))
    with Log().task("project", 40) as task:
        task.advance(10)  # at 10 s: said
        task.advance(10)  # at 11 s: too soon
        task.advance(20)  # at 40 s: finished, so the stage itself speaks
    assert capsys.readouterr().err == "  project: 10/40, 1/s, about 30 s left\n"


@pytest.mark.parametrize("speaker", [Quiet(), Log(), Terminal()], ids=["quiet", "log", "terminal"])
def test_every_voice_keeps_stdout_clean(capsys, speaker):
    speaker.say("hello [not markup]")
    with speaker.task("work", 3) as task:
        task.advance(3)
    with speaker.busy("thinking"):
        pass
    shown = capsys.readouterr()
    assert shown.out == ""
    assert isinstance(speaker, Quiet) or "hello [not markup]" in shown.err


def test_what_an_earlier_run_did_says_nothing_about_the_rate(monkeypatch, capsys):
    clock = iter([0.0, 0.01, 10.0])
    monkeypatch.setattr("likewise.cli.progress.time.monotonic", lambda: next(clock))
    with Log().task("project", 10_000) as task:
        task.advance(9_000)
        task.advance(10)
    assert "9010/10000, 1/s, about 990 s left" in capsys.readouterr().err


def test_failures_are_counted_while_the_work_goes_on(monkeypatch, capsys):
    clock = iter([0.0, 10.0, 20.0])
    monkeypatch.setattr("likewise.cli.progress.time.monotonic", lambda: next(clock))
    with Log().task("project", 40) as task:
        task.advance(10, failed=2)
        task.advance(10, failed=1)
    assert [line.rpartition(", ")[2] for line in capsys.readouterr().err.splitlines()] == ["2 failed", "3 failed"]


def test_the_bar_says_how_many_failed_once_one_did():
    screen, speaker = io.StringIO(), Terminal()
    speaker._console = Console(file=screen, force_terminal=True, width=140)
    with speaker.task("project", 40) as task:
        task.advance(10)
        before = screen.tell()
        task.advance(10, failed=2)
        task.advance(1, failed=1)
    drawn = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", screen.getvalue())
    assert "failed" not in drawn[:before]
    assert "21/40" in drawn
    assert "3 failed" in drawn
