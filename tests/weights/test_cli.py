"""``likewise weights``: lists by license, and fetches what an audit needs."""

from __future__ import annotations

import json
import sys
import types
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from safetensors.numpy import save_file

from likewise.cli.main import weights as command
from likewise.weights import CATALOG


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LIKEWISE_HOME", str(tmp_path / "home"))


def run(*arguments: str):
    return CliRunner().invoke(command, list(arguments), catch_exceptions=False)


def test_the_commercial_list_leaves_out_research_only_weights_and_shows_cautions():
    shown = run("list", "--commercial").output
    assert "mobilestylegan-ffhq" not in shown
    assert "sface" in shown
    assert "training data are not stated" in shown
    assert "does not cover the images a network was trained on" in shown
    rows = json.loads(run("list", "--commercial", "--json").output)
    assert {row["name"] for row in rows} == {name for name, weight in CATALOG.items() if weight.terms == "open"}
    assert len(json.loads(run("list", "--json").output)) == len(CATALOG)


def test_a_file_whose_license_is_not_stated_is_not_listed_as_commercial(tmp_path):
    save_file({"a": np.ones(3)}, tmp_path / "x")
    run("add", str(tmp_path / "x"), "--name", "mine")
    run("add", str(tmp_path / "x"), "--name", "ours", "--license", "MIT")
    names = {row["name"] for row in json.loads(run("list", "--commercial", "--json").output)}
    assert "ours" in names
    assert "mine" not in names


def test_fetch_for_an_audit_gets_what_it_lacks(monkeypatch, tmp_path):
    asked = []
    preflight = types.ModuleType("likewise.audit.preflight")
    preflight.missing_weights = lambda folder: asked.append(folder) or ["gender-v1", "retinaface"]
    monkeypatch.setitem(sys.modules, "likewise.audit.preflight", preflight)
    fetched = []
    monkeypatch.setattr("likewise.cli.weights.output.fetch", lambda names, **_: fetched.extend(names) or [])
    run("fetch", "sface", "--for", str(tmp_path))
    assert asked == [tmp_path]
    assert fetched == ["sface", "gender-v1", "retinaface"]
    preflight.missing_weights = lambda folder: []
    assert "are in the cache" in run("fetch", "--for", str(tmp_path)).output
    with pytest.raises(Exception, match="No names of weights"):
        run("fetch")
