"""Designs that might have been chosen instead: they are made before any answer, and the analysis goes through them."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.shell import run

from likewise.cli.plan import plan_from, read_plan
from likewise.errors import PlanError
from likewise.tables import Estimates, Pairs

ADDED = """
[[variant]]
name = "propensity"
method = "propensity"
score_on = ["perceived_age", "eyeglasses", "smiling", "light", "yaw"]

[[variant]]
name = "mean of the rows"
distance = "mean_row"
"""


@pytest.fixture(scope="module")
def audit(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from likewise.cli.demo_toy import make_toy
    from likewise.cli.progress import voice
    from likewise.cli.run import run as run_audit

    folder = tmp_path_factory.mktemp("variants") / "demo"
    make_toy(folder, identities=60, confounding=1.0, seed=0, voice=voice(quiet=True))
    plan = folder / "audit.toml"
    plan.write_text(plan.read_text().replace("[[rater]]", ADDED + "\n[[rater]]", 1))
    run_audit(str(folder), voice=voice(quiet=True))
    return folder


def test_every_design_has_pairs_and_a_gap(audit: Path) -> None:
    assert [len(Pairs.read(audit / "variants" / f"{k:02d}.parquet")) > 5 for k in range(2)] == [True, True]
    found = Estimates.read(audit / "estimates.parquet").frame
    own = found[(found["quantity"] == "world-recogniser: distance") & (found["stat"] == "adjusted_gap")]
    samples = set(own["sample"])
    assert {"design: plan", "design: propensity", "design: mean of the rows"} <= samples
    assert "design: propensity, without light" in samples
    row = own.set_index("sample")["estimate"]
    assert row["design: plan"] == row["matched"]


def test_gaps_stand_on_one_scale(audit: Path) -> None:
    found = Estimates.read(audit / "estimates.parquet").frame
    scaled = found[found["stat"].str.endswith("_in_sd")]
    assert {"world-recogniser: distance", "people: same"} <= set(scaled["quantity"])
    plain = found[(found["stat"] == "gap") & (found["sample"] == "all")].set_index("quantity")["estimate"]
    sd = scaled[(scaled["stat"] == "gap_in_sd") & (scaled["sample"] == "all")].set_index("quantity")["estimate"]
    assert ((plain[sd.index] > 0) == (sd > 0)).all()


def test_a_changed_variant_makes_only_what_hangs_on_it(audit: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = audit / "audit.toml"
    before = plan.read_text()
    plan.write_text(before.replace('distance = "mean_row"', 'distance = "mahalanobis_mean_row"'))
    _, out, err = run(capsys, "run", str(audit), "--dry-run")
    plan.write_text(before)
    lines = {line.split()[0]: line for line in (out + err).splitlines() if line.strip()}
    assert "would run" in lines["variants"]
    assert "fresh" in lines["match"]


@pytest.mark.parametrize(
    ("entry", "told"),
    [
        ({"method": "propensity"}, "has a name"),
        ({"name": "a", "methode": "greedy"}, "methode"),
        ({"name": "a", "references": True}, "needs a section"),
        ({"name": "a", "distance": "given"}, "needs distances"),
    ],
)
def test_a_wrong_variant_is_refused(audit: Path, entry: dict[str, object], told: str) -> None:
    import tomllib

    plain = tomllib.loads((audit / "audit.toml").read_text())
    with pytest.raises(PlanError, match=told):
        plan_from({**plain, "variant": [entry]})
    with pytest.raises(PlanError, match="name of its own"):
        plan_from({**plain, "variant": [{"name": "a"}, {"name": "a"}]})
    assert len(read_plan(audit / "audit.toml").variant) == 2
