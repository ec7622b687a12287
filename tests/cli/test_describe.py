"""likewise describe: a stage like the others, whose columns the later stages use."""

from __future__ import annotations

import pytest

import likewise as lw
from likewise.cli.progress import Quiet
from likewise.cli.run import run
from likewise.errors import PlanError
from likewise.store import Folder

SECTION = '\n[describe]\ncolumns = ["measured_brightness"]\n'


def planned(audit, section=SECTION, covariates=None):
    plan = audit / "audit.toml"
    lines = plan.read_text().splitlines()
    if covariates is not None:
        lines = [f"covariates = {covariates}" if line.startswith("covariates") else line for line in lines]
    plan.write_text("\n".join(lines) + section)


def test_described_columns_are_balanced(audit):
    planned(audit, covariates='["measured_brightness"]')
    outcomes = {outcome.stage: outcome for outcome in run(str(audit), voice=Quiet())}
    assert outcomes["describe"].status == "made"
    described = lw.Faces.read(audit / "described.parquet")
    assert described.attribute("measured_brightness").between(0, 100).all()
    assert "measured_brightness" not in lw.Faces.read(audit / "faces.parquet").attributes
    balance = lw.Estimates.read(audit / "balance.parquet").frame
    assert set(balance.loc[balance["stat"] == "smd", "quantity"]) == {"measured_brightness"}
    sidecar = Folder(audit).sidecar("described.parquet")
    assert sidecar.summary["made by"] == {"measured_brightness": "pixels"}
    assert {outcome.status for outcome in run(str(audit), voice=Quiet())} == {"fresh"}


def test_a_changed_wish_makes_what_rests_on_it_again(audit):
    planned(audit)
    run(str(audit), voice=Quiet())
    plan = audit / "audit.toml"
    plan.write_text(plan.read_text().replace(SECTION, SECTION + 'pose = "points"\n'))
    statuses = {outcome.stage: outcome.status for outcome in run(str(audit), voice=Quiet(), dry_run=True)}
    assert statuses["read"] == "fresh"
    assert statuses["describe"] == "would run"
    assert statuses["match"] == "may run"


def test_without_the_section_there_is_no_such_stage(audit):
    with pytest.raises(PlanError, match="'describe'"):
        run(str(audit), voice=Quiet(), only="describe")


def test_an_unknown_column_names_the_nearest(audit):
    planned(audit, '\n[describe]\ncolumns = ["predicted_agee"]\n')
    with pytest.raises(PlanError, match="Did you mean 'predicted_age'"):
        run(str(audit), voice=Quiet())


def test_another_word_for_the_protected_attribute_is_no_covariate():
    from likewise.cli.making import _said

    assert _said("predicted_gender") == _said("perceived_gender") == "gender"
    assert _said("predicted_age") != _said("perceived_gender")
    assert _said("smiling") == "smiling"
