"""The page of benchmarks names what is there, and the runner finds all of it."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from benchmarks import everything

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "benchmarks.md").read_text()


def test_every_command_of_the_page_is_a_benchmark():
    named = set(re.findall(r"benchmarks[/.](\w+)", PAGE)) - {"md"}
    assert set(everything.KNOWN) <= named
    assert named <= set(everything.names())


def test_a_benchmark_that_lacks_something_says_what(monkeypatch, tmp_path):
    monkeypatch.setenv("LIKEWISE_DATA", str(tmp_path / "none"))
    monkeypatch.setenv("LIKEWISE_HOME", str(tmp_path))
    assert "LIKEWISE_DATA" in everything.missing(everything.KNOWN["attributes"])
    assert "LIKEWISE_DATA" in everything.missing(everything.KNOWN["recognisers"], full=True)
    assert "likewise weights fetch" in everything.missing(everything.KNOWN["recognisers"])
    assert "likewise weights fetch mobilestylegan-ffhq" in everything.missing(everything.KNOWN["networks"])
    assert "by hand" in everything.missing(everything.KNOWN["fader"])
    assert everything.missing(everything.KNOWN["resampling"]) == ""


def test_one_is_run_and_a_failure_is_told(monkeypatch, capfd):
    small = everything.Benchmark(("--ratings", "2000", "--resamples", "20"))
    monkeypatch.setitem(everything.KNOWN, "resampling", small)
    monkeypatch.setattr(sys, "argv", ["bench", "resampling"])
    assert everything.main() == 0
    assert "benchmarks.resampling --ratings 2000" in capfd.readouterr().out
    monkeypatch.setitem(everything.KNOWN, "resampling", everything.Benchmark(("--rating",)))
    assert everything.main() == 1
    assert "failed: resampling" in capfd.readouterr().out
