"""The page of benchmarks lists existing ones, and the runner finds all of them."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from benchmarks import everything

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "benchmarks.md").read_text()


def test_commands_on_the_page_are_benchmarks():
    named = set(re.findall(r"benchmarks[/.](\w+)", PAGE)) - {"md"}
    assert set(everything.KNOWN) <= named
    assert named <= set(everything.names())


def test_missing_requirements_are_named(monkeypatch, tmp_path):
    monkeypatch.setenv("LIKEWISE_DATA", str(tmp_path / "none"))
    monkeypatch.setenv("LIKEWISE_HOME", str(tmp_path))
    assert "LIKEWISE_DATA" in everything.missing(everything.KNOWN["attributes"])
    assert "LIKEWISE_DATA" in everything.missing(everything.KNOWN["recognizers"], full=True)
    assert "likewise weights fetch" in everything.missing(everything.KNOWN["recognizers"])
    assert "likewise weights fetch mobilestylegan-ffhq" in everything.missing(everything.KNOWN["networks"])
    assert "by hand" in everything.missing(everything.KNOWN["fader"])
    assert everything.missing(everything.KNOWN["resampling"]) == ""


def test_runs_one_and_reports_failures(monkeypatch, capfd):
    small = everything.Benchmark(("--ratings", "2000", "--resamples", "20"))
    monkeypatch.setitem(everything.KNOWN, "resampling", small)
    monkeypatch.setattr(sys, "argv", ["bench", "resampling"])
    assert everything.main() == 0
    assert "benchmarks.resampling --ratings 2000" in capfd.readouterr().out
    monkeypatch.setitem(everything.KNOWN, "resampling", everything.Benchmark(("--rating",)))
    assert everything.main() == 1
    assert "failed: resampling" in capfd.readouterr().out
