"""The demo: its plan is a plan, its dials turn the right way, and it says how to do without networks."""

from __future__ import annotations

import json
import tomllib

import numpy as np
import pandas as pd
import pytest

from likewise.cli.demo import DIALS, WEIGHTS, Demo, _mean, dials_of
from likewise.cli.plan import plan_from
from likewise.cli.progress import Quiet
from likewise.engine import Engine
from likewise.errors import StoreError, TableError
from likewise.make.directions import shipped
from likewise.weights import CATALOGUE
from likewise.world.portraits import Portraits
from shell import run


def test_the_plan_of_the_demo_is_a_plan(tmp_path):
    for workers in (1, 2):
        engine = Engine(kind="processes", workers=workers) if workers > 1 else Engine()
        text = Demo(tmp_path, Portraits(), Quiet(), engine)._plan()
        plan = plan_from(tomllib.loads(text), text)
        assert [rater.name for rater in plan.rater] == ["dlib", "faceplugin", "efficientnet-lite"]
        assert plan.report.show_images
        assert "propensity" in [variant.name for variant in plan.variant]


def test_every_network_of_the_demo_is_known():
    assert set(WEIGHTS) <= set(CATALOGUE)


def test_the_dials_turn_one_score_each_and_gender_towards_the_focal_side():
    directions = shipped("mobilestylegan")

    class Mean:
        def mean_w(self):
            return np.zeros(directions.gradients.shape[1], np.float32)

    dials = dials_of(directions, Mean())  # type: ignore[arg-type]
    np.testing.assert_allclose(dials.steps @ dials.scores.T, np.eye(4), atol=1e-6)
    row = directions.names.index(DIALS["gender"])
    sign = 1 if directions.skills[row].positive == "female" else -1
    np.testing.assert_allclose(dials.scores[0], sign * directions.gradients[row])


def test_the_effect_on_twins_is_a_mean_with_an_interval():
    change = np.random.default_rng(0).normal(0.1, 1, 50)
    row = _mean("dlib: distance", change).frame.iloc[0]
    assert row["estimate"] == pytest.approx(change.mean())
    assert row["low"] < row["estimate"] < row["high"]
    with pytest.raises(TableError, match="finds people"):
        _mean("dlib: distance", change[:1])


def test_pictures_of_other_people_are_not_taken_for_these(tmp_path):
    Demo(tmp_path, Portraits(seed=1), Quiet(), Engine())._claim()
    (tmp_path / "images").mkdir()
    Demo(tmp_path, Portraits(seed=1), Quiet(), Engine())._claim()  # the same: goes on
    with pytest.raises(StoreError, match="other pictures"):
        Demo(tmp_path, Portraits(seed=2), Quiet(), Engine())._claim()


def test_terms_without_downloads_are_refused(tmp_path, capsys):
    code, _, err = run(capsys, "demo", "--toy", tmp_path / "d", "--allow", "research-only")
    assert (code, "--allow has an effect only" in err) == (2, True)


def test_without_networks_the_way_to_the_toy_is_said(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("LIKEWISE_HOME", str(tmp_path / "empty"))
    code, _, err = run(capsys, "demo", tmp_path / "d")
    assert code != 0
    assert "likewise demo --toy" in err
    assert "research-only" in err


def test_the_export_holds_what_the_report_shows(tmp_path, capsys):
    assert run(capsys, "demo", "--toy", tmp_path / "d", "--identities", 40, "--quiet")[0] == 0
    out = tmp_path / "d" / "export"
    told = json.loads((out / "report.json").read_text())
    assert told["contrast"]["focal"] == "female"
    assert len(told["estimates"]) == len(pd.read_csv(out / "estimates.csv"))
    assert any("look-alikes" in sentence for sentence in told["conclusions"])
    assert told["design"]["pairs"] == len(pd.read_csv(out / "pairs.csv"))
    page = (tmp_path / "d" / "report.html").read_text()
    assert "Three ways to ask" in page
    assert "What was tested, and on whom" in page
    assert "Pairs from the closest" not in page  # people are shown only when the plan says so


def test_people_are_shown_when_the_plan_says_so(tmp_path, capsys):
    run(capsys, "demo", "--toy", tmp_path / "d", "--identities", 40, "--quiet")
    plan = tmp_path / "d" / "audit.toml"
    plan.write_text(plan.read_text() + "show_images = true\n")
    assert run(capsys, "report", tmp_path / "d", "--quiet")[0] == 0
    assert "Pairs from the closest" in (tmp_path / "d" / "report.html").read_text()
