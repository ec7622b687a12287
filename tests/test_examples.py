from __future__ import annotations

import importlib.util
import runpy
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("*.py"))


NEEDS = {"clocks.py": ("efficientnet-lite0",)}


@pytest.mark.parametrize("path", [path for path in EXAMPLES if path.name not in NEEDS], ids=lambda path: path.name)
def test_examples_run(path, capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", [str(path)])
    runpy.run_path(str(path), run_name="__main__")
    assert capsys.readouterr().out


def example(name):
    path = next(path for path in EXAMPLES if path.name == f"{name}.py")
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("encoder", ["grid", "lpips-alex", "efficientnet-lite"])
def test_matching_rooms_reduces_the_bias(encoder, tmp_path, capsys, weights):
    needed = {"lpips-alex": "lpips-alexnet", "efficientnet-lite": "efficientnet-lite0"}
    if encoder in needed:
        weights(needed[encoder])
    found = example("rooms").main(tmp_path, encoder).frame
    bed = found[found["quantity"] == "tagger: Share labeled Bed"].set_index(["stat", "sample"])
    truth = float(capsys.readouterr().out.split("matched rooms: ")[1].split()[0])
    unmatched, alike = bed.loc[("gap", "all"), "estimate"], bed.loc[("adjusted_gap", "matched")]
    assert abs(alike["estimate"] - truth) < abs(unmatched - truth)
    assert alike["low"] <= truth <= alike["high"]
    assert bed.loc[("gap", "all"), "high"] < truth  # the unmatched interval does not cover it


def test_an_imagenet_network_is_audited_on_clocks(tmp_path, capsys, weights):
    for name in NEEDS["clocks.py"]:
        weights(name)
    found = example("clocks").main(tmp_path).frame
    clock = found[found["quantity"] == "efficientnet-lite0: Share labeled wall clock"].set_index(["stat", "sample"])
    truth = float(capsys.readouterr().out.split("matched rooms: ")[1].split()[0])
    unmatched, matched = clock.loc[("gap", "all")], clock.loc[("gap", "matched")]
    assert truth < -0.1  # the network misses digital clocks
    assert unmatched["high"] < truth  # dark and distant photographs add to it
    assert matched["low"] <= truth <= matched["high"]
    assert (tmp_path / "audit" / "report.html").is_file()
