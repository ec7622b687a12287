"""likewise describe: a stage like the others, whose columns the later stages use."""

from __future__ import annotations

import pytest

import likewise as lw
from likewise.audit.folder.store import Folder
from likewise.audit.runner import run
from likewise.errors import PlanError
from likewise.runtime.progress import Quiet

SECTION = '\n[describe]\ncolumns = ["measured_brightness"]\n'


def planned(audit, section=SECTION, covariates=None):
    plan = audit / "audit.toml"
    lines = plan.read_text().splitlines()
    if covariates is not None:
        lines = [f"covariates = {covariates}" if line.startswith("covariates") else line for line in lines]
    plan.write_text("\n".join(lines) + section)


def test_described_columns_are_balanced(audit):
    planned(audit, covariates='["measured_brightness"]')
    outcomes = {outcome.stage: outcome for outcome in run(str(audit), reporter=Quiet())}
    assert outcomes["describe"].status == "wrote"
    described = lw.Images.read(audit / "described.parquet")
    assert described.attribute("measured_brightness").between(0, 100).all()
    assert "measured_brightness" not in lw.Images.read(audit / "images.parquet").attributes
    balance = lw.Estimates.read(audit / "balance.parquet").frame
    assert set(balance.loc[balance["stat"] == "smd", "quantity"]) == {"measured_brightness"}
    sidecar = Folder(audit).sidecar("described.parquet")
    assert sidecar.summary["made by"] == {"measured_brightness": "pixels"}
    assert {outcome.status for outcome in run(str(audit), reporter=Quiet())} == {"up to date"}


def test_a_changed_section_reruns_what_depends_on_it(audit):
    planned(audit)
    run(str(audit), reporter=Quiet())
    plan = audit / "audit.toml"
    plan.write_text(plan.read_text().replace(SECTION, SECTION + 'pose = "points"\n'))
    statuses = {outcome.stage: outcome.status for outcome in run(str(audit), reporter=Quiet(), dry_run=True)}
    assert statuses["read"] == "up to date"
    assert statuses["describe"] == "would run"
    assert statuses["match"] == "may run"


def test_without_the_section_there_is_no_such_stage(audit):
    with pytest.raises(PlanError, match="'describe'"):
        run(str(audit), reporter=Quiet(), only="describe")


def test_an_unknown_column_names_the_nearest(audit):
    planned(audit, '\n[describe]\ncolumns = ["predicted_agee"]\n')
    with pytest.raises(PlanError, match="Did you mean 'predicted_age'"):
        run(str(audit), reporter=Quiet())


def test_another_column_of_the_protected_attribute_is_recognized():
    from likewise.audit.context import attribute_of

    assert attribute_of("predicted_gender") == attribute_of("perceived_gender") == "gender"
    assert attribute_of("predicted_age") != attribute_of("perceived_gender")
    assert attribute_of("smiling") == "smiling"
