"""The demo: its plan is valid, its attribute axes have the right sign, and missing networks are explained."""

from __future__ import annotations

import json
import re

import numpy as np
import pandas as pd
import pytest

from likewise.audit.plan.file import plan_of
from likewise.demo.portraits import AXES, KEEP, WEIGHTS, Demo, attribute_axes, twin_effects
from likewise.errors import StoreError
from likewise.latents.directions import shipped
from likewise.runtime.executor import Executor
from likewise.runtime.progress import Quiet
from likewise.simulation.portraits import Portraits
from likewise.weights import CATALOG
from shell import run


def test_plan_is_valid(tmp_path):
    for workers in (1, 2):
        executor = Executor(kind="processes", workers=workers) if workers > 1 else Executor()
        text = Demo(tmp_path, Portraits(), Quiet(), executor)._plan()
        plan = plan_of(text)
        assert [rater.name for rater in plan.rater] == ["dlib", "faceplugin", "efficientnet-lite"]
        assert plan.report.show_images
        assert plan.matches_trials
        assert [variant.name for variant in plan.variant] == [
            "the largest balanced sample",
            "nearest trials",
            "without labels",
        ]
        assert (plan.match.method, plan.match.tolerance, plan.units.own_step) == ("cardinality", 0.1, "own_step.npz")
        assert (plan.match.keep, plan.variant[0].match.keep) == (KEEP, 1.0)


def test_every_network_is_in_the_catalog():
    assert set(WEIGHTS) <= set(CATALOG)


def test_axes_change_one_score_each_and_gender_increases_toward_the_focal_level():
    directions = shipped("mobilestylegan")

    class Mean:
        def mean_w(self):
            return np.zeros(directions.gradients.shape[1], np.float32)

    axes = attribute_axes(directions, Mean())  # type: ignore[arg-type]
    np.testing.assert_allclose(axes.steps @ axes.scores.T, np.eye(4), atol=1e-6)
    row = directions.names.index(AXES["gender"])
    sign = 1 if directions.skills[row].positive == "female" else -1
    np.testing.assert_allclose(axes.scores[0], sign * directions.gradients[row])


class Lines:
    """A recognizer whose embedding is a number and whose distance is a difference."""

    name = "lines"

    def distance(self, a, b):
        return np.abs(a - b)[:, 0]


def test_effects_on_twins_are_focal_less_reference_on_the_same_trial():
    portraits = Portraits(identities=8, seed=1)
    own = np.arange(24.0)[:, None]
    found = twin_effects(portraits, own, 3 * own, Lines())  # type: ignore[arg-type]
    assert len(found) == 8 * 3
    assert set(found["quantity"]) == {"lines: distance"}
    sign = found["a"].map(portraits.table().attribute("drawn_gender").eq("female")).map({True: -1, False: 1})
    apart = found["b"].str[-1].astype(int) - found["a"].str[-1].astype(int)
    np.testing.assert_allclose(found["effect"], 2 * sign * apart)  # twins are farther apart by twice the distance
    assert (found["a"].str[:5] == found["b"].str[:5]).all()


def test_images_of_other_settings_are_refused(tmp_path):
    Demo(tmp_path, Portraits(seed=1), Quiet(), Executor())._claim()
    (tmp_path / "images").mkdir()
    Demo(tmp_path, Portraits(seed=1), Quiet(), Executor())._claim()  # the same settings: allowed
    with pytest.raises(StoreError, match="has images of other settings"):
        Demo(tmp_path, Portraits(seed=2), Quiet(), Executor())._claim()


def test_allow_without_downloads_is_refused(tmp_path, capsys):
    code, _, err = run(capsys, "demo", "--toy", tmp_path / "d", "--allow", "research-only")
    assert (code, "--allow has no effect with --toy" in err) == (2, True)


def test_missing_networks_name_the_toy_demo(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("LIKEWISE_HOME", str(tmp_path / "empty"))
    code, _, err = run(capsys, "demo", tmp_path / "d")
    assert code != 0
    assert "likewise demo --toy" in err
    assert "research-only" in err


def test_export_has_what_the_report_shows(tmp_path, capsys):
    assert run(capsys, "demo", "--toy", tmp_path / "d", "--identities", 40, "--quiet")[0] == 0
    out = tmp_path / "d" / "export"
    exported = json.loads((out / "report.json").read_text())
    assert exported["contrast"]["focal"] == "female"
    assert len(exported["estimates"]) == len(pd.read_csv(out / "estimates.csv"))
    assert any("matched" in sentence.lower() for sentence in exported["conclusions"])
    assert exported["design"]["pairs"] == len(pd.read_csv(out / "matches.csv"))
    page = (tmp_path / "d" / "report.html").read_text()
    assert "Estimates by design" in page
    assert "Matched units from the closest" in page
    assert "<img" in page  # synthetic identities of the toy simulation are shown by default


def test_images_of_people_are_shown_only_with_show_images(audit, capsys):
    """Without a sweep by the toy's editor, the images count as photographs of people."""
    plan, page = audit / "audit.toml", audit / "report.html"
    text, sections = re.subn(r"\[counterfactual\].*?(?=\[collect\])", "", plan.read_text(), flags=re.DOTALL)
    assert sections == 1
    plan.write_text(text)
    assert run(capsys, "run", audit, "--quiet")[0] == 0
    assert "Matched units from the closest" in page.read_text()
    assert "Pictures of people are not shown" in page.read_text()
    assert "<img" not in page.read_text()
    plan.write_text(text + "show_images = true\n")
    assert run(capsys, "report", audit, "--quiet")[0] == 0
    assert "Pictures of people are not shown" not in page.read_text()
    assert "<img" in page.read_text()
