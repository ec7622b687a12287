"""No counterfactual finding, in numbers or words, unless validators say that the edits are edits."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import likewise as lw
from broken_editors import Aging, Ghost, Nothing, Reverse, Tint
from likewise.runtime.registry import register
from shell import run

FINDINGS = ("slope", "rate_slope", "slope_excess", "rate", "rate_shift", "nonlinearity_p")


@pytest.fixture
def small(audit) -> Path:
    """An audit of edits by classifiers and recognizers over few images, without a study."""
    text = (audit / "audit.toml").read_text()
    text = re.sub(r"\[collect\].*?(?=\[estimate\])", "", text, flags=re.DOTALL)
    text = re.sub(r"strengths = .*", "strengths = [-1, 0, 1]\nmost = 20", text, count=1)
    (audit / "audit.toml").write_text(text)
    return audit


def change(audit: Path, old: str, new: str) -> None:
    text = (audit / "audit.toml").read_text()
    assert old in text
    (audit / "audit.toml").write_text(text.replace(old, new))


def finished(audit: Path, capsys) -> tuple[lw.Estimates, str, str]:
    """Run the audit; return its estimates, the notes of the estimates and the report."""
    code, _, err = run(capsys, "run", audit, "--quiet")
    assert code == 0, err
    notes = " ".join(json.loads((audit / "estimates.parquet.json").read_text())["notes"])
    return lw.Estimates.read(audit / "estimates.parquet"), notes, (audit / "report.html").read_text()


def check_no_finding(estimates: lw.Estimates, notes: str, page: str) -> None:
    frame = estimates.frame
    about = frame["sample"].astype(str).str.contains("counterfactual|edited|placebo|random direction")
    assert not (about & frame["stat"].isin(FINDINGS)).any(), frame[about][["quantity", "stat", "sample"]]
    assert not frame["stat"].isin(["design_difference", "agreement_p"]).any(), "nothing to compare with"
    assert "No counterfactual finding" in notes
    assert "No counterfactual finding" in page


@pytest.mark.parametrize("editor", [Nothing, Tint, Ghost, Reverse, Aging])
def test_an_editor_that_does_not_edit_leads_to_no_finding(small, capsys, editor):
    register("editor", editor.name, editor)
    change(small, 'editor = "world"', f'editor = "{editor.name}"')
    check_no_finding(*finished(small, capsys))
    summary = json.loads((small / "validity.parquet.json").read_text())["summary"]
    assert summary["valid"] == 0


def test_a_true_editor_leads_to_a_finding(small, capsys):
    estimates, notes, _ = finished(small, capsys)
    assert set(estimates.where(stat="rate").frame["n"]) == {40}, "20 images, and the other one of each trial"
    assert "No counterfactual finding" not in notes
    validity = " ".join(json.loads((small / "validity.parquet.json").read_text())["notes"])
    assert "apart, so a valid edit raises it by at least" in validity
    assert "artifacts: world-artifacts: artifact" in validity


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('target = "world-attributes: female"', 'target = ""'),
        ('recognizer = "world"', 'recognizer = ""'),
        ('recognizer = "world"', 'recognizer = "world"\nartifacts = ""'),
        ("most = 20", "most = 20\nplacebo = false"),
    ],
    ids=["target", "person", "artifacts", "placebo"],
)
def test_without_a_validator_there_is_no_finding(small, capsys, old, new):
    change(small, old, new)
    check_no_finding(*finished(small, capsys))


def test_edits_that_are_not_validated_lead_to_no_finding(small, capsys):
    text = (small / "audit.toml").read_text()
    text = re.sub(r"\[validity\].*?(?=\n\[)", "[validity]\nenabled = false\n", text, flags=re.DOTALL)
    (small / "audit.toml").write_text(text)
    check_no_finding(*finished(small, capsys))
