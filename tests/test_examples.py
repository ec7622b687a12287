from __future__ import annotations

import importlib.util
import runpy
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("*.py"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_examples_run(path, capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", [str(path)])
    runpy.run_path(str(path), run_name="__main__")
    assert capsys.readouterr().out


def rooms():
    path = next(path for path in EXAMPLES if path.name == "rooms.py")
    spec = importlib.util.spec_from_file_location("rooms", path)
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
    found = rooms().main(tmp_path, encoder).frame
    bed = found[found["quantity"] == "tagger: Share labeled Bed"].set_index(["stat", "sample"])
    truth = float(capsys.readouterr().out.split("matched rooms: ")[1].split()[0])
    unmatched, alike = bed.loc[("gap", "all"), "estimate"], bed.loc[("adjusted_gap", "matched")]
    assert abs(alike["estimate"] - truth) < abs(unmatched - truth)
    assert alike["low"] <= truth <= alike["high"]
    assert bed.loc[("gap", "all"), "high"] < truth  # the unmatched interval does not cover it
