"""Designs that might have been chosen instead: they are made before any answer, and the analysis goes through them."""

from __future__ import annotations

from pathlib import Path

import pytest
import tomlkit
from tests.shell import run

from likewise.audit.stages import plan_of, read_plan
from likewise.errors import PlanError
from likewise.tables import Estimates, Matches

ADDED = """
[[variant]]
name = "propensity"
distance = "propensity"
score_on = ["perceived_age", "eyeglasses", "smiling", "light", "yaw"]

[[variant]]
name = "mean of the rows"
rows = "mean"
"""


@pytest.fixture(scope="module")
def audit(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from likewise.audit.runner import run as run_audit
    from likewise.demo.toy import make_toy
    from likewise.runtime.progress import reporter

    folder = tmp_path_factory.mktemp("variants") / "demo"
    make_toy(folder, identities=60, confounding=1.0, seed=0, reporter=reporter(quiet=True))
    plan = folder / "audit.toml"
    plan.write_text(plan.read_text().replace("[[rater]]", ADDED + "\n[[rater]]", 1))
    run_audit(str(folder), reporter=reporter(quiet=True))
    return folder


def test_every_design_has_pairs_and_a_gap(audit: Path) -> None:
    assert [len(Matches.read(audit / "variants" / f"{k:02d}.parquet")) > 5 for k in range(2)] == [True, True]
    found = Estimates.read(audit / "estimates.parquet").frame
    own = found[(found["quantity"] == "world-recognizer: distance") & (found["stat"] == "adjusted_gap")]
    samples = set(own["sample"])
    assert {"design: plan", "design: propensity", "design: mean of the rows"} <= samples
    assert "design: propensity, without light" in samples
    row = own.set_index("sample")["estimate"]
    assert row["design: plan"] == row["matched"]


def test_gaps_stand_on_one_scale(audit: Path) -> None:
    found = Estimates.read(audit / "estimates.parquet").frame
    scaled = found[found["stat"].str.endswith("_in_sd")]
    assert {"world-recognizer: distance", "people: same"} <= set(scaled["quantity"])
    plain = found[(found["stat"] == "gap") & (found["sample"] == "all")].set_index("quantity")["estimate"]
    sd = scaled[(scaled["stat"] == "gap_in_sd") & (scaled["sample"] == "all")].set_index("quantity")["estimate"]
    assert ((plain[sd.index] > 0) == (sd > 0)).all()


def test_a_changed_variant_makes_only_what_hangs_on_it(audit: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = audit / "audit.toml"
    before = plan.read_text()
    plan.write_text(before.replace('rows = "mean"', 'distance = "mahalanobis"\nrows = "mean"'))
    _, out, err = run(capsys, "run", str(audit), "--dry-run")
    plan.write_text(before)
    lines = {line.split()[0]: line for line in (out + err).splitlines() if line.strip()}
    assert "would run" in lines["variants"]
    assert "up to date" in lines["match"]


@pytest.mark.parametrize(
    ("entry", "reported"),
    [
        ({"distance": "propensity"}, "has no name"),
        ({"name": "a", "methode": "nearest"}, "methode"),
        ({"name": "a", "references": True}, "needs a section"),
        ({"name": "a", "distance": "precomputed"}, "needs distances"),
    ],
)
def test_a_wrong_variant_is_refused(audit: Path, entry: dict[str, object], reported: str) -> None:
    import tomllib

    plain = tomllib.loads((audit / "audit.toml").read_text())
    with pytest.raises(PlanError, match=reported):
        plan_of(tomlkit.dumps({**plain, "variant": [entry]}))
    with pytest.raises(PlanError, match="have the name 'a'"):
        plan_of(tomlkit.dumps({**plain, "variant": [{"name": "a"}, {"name": "a"}]}))
    assert len(read_plan(audit / "audit.toml").variant) == 2
