"""The report in an audit: the gallery by permission, front matter from the plan, and the option --pdf."""

from __future__ import annotations

import hashlib
import re
import stat
import sys

import pytest
from click.testing import CliRunner

from likewise.audit.plan.sections import ReportPlan
from likewise.audit.runner import run
from likewise.audit.stages.results.report import _today
from likewise.cli.main import cli
from likewise.report.sections.front_matter import FrontMatter
from likewise.runtime.progress import Quiet

FRONT = """
auditor = "A. Auditor"
organization = "Example Institute"
system_version = "1.4.2"
date = "2026-01-31"
"""


@pytest.fixture
def finished(audit):
    """An audit folder with everything but edits, people and classifiers, and front matter."""
    plan = (audit / "audit.toml").read_text()
    for section in ("counterfactual", "validity", "collect"):
        plan = re.sub(rf"\[{section}\].*?(?=\n\[|\Z)", "", plan, flags=re.DOTALL)
    (audit / "audit.toml").write_text(plan.replace("[report]\n", f"[report]\n{FRONT}"))
    run(str(audit), reporter=Quiet())
    return audit


def test_the_plan_s_front_matter_is_on_the_page(finished):
    page = (finished / "report.html").read_text()
    header = page[page.index("<header>") : page.index("</header>")]
    for word in ("2026-01-31", "A. Auditor", "Example Institute", "1.4.2"):
        assert word in header
    digest = hashlib.sha256((finished / "audit.toml").read_bytes()).hexdigest()
    assert digest in page


def test_people_are_not_shown_unless_the_plan_says_so(finished):
    page = (finished / "report.html").read_text()
    assert 'id="gallery"' in page and "Pictures of people are not shown" in page
    assert "data:image" not in page
    plan = (finished / "audit.toml").read_text()
    (finished / "audit.toml").write_text(
        plan.replace("[report]\n", "[report]\nshow_images = true\nblur_images = true\n")
    )
    run(str(finished), reporter=Quiet(), only="report")
    shown = (finished / "report.html").read_text()
    assert "data:image/jpeg" in shown and "Pictures are pixelated" in shown
    assert "Hardest trials of" in shown


def test_the_option_pdf_prints_beside_the_report(finished, tmp_path, monkeypatch):
    program = tmp_path / "browser"
    body = "target = next(a for a in sys.argv if a.startswith('--print-to-pdf=')).partition('=')[2]"
    program.write_text(f"#!{sys.executable}\nimport sys\n{body}\nopen(target, 'wb').write(b'%PDF-1.7')\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("LIKEWISE_BROWSER", str(program))
    done = CliRunner().invoke(cli, ["report", str(finished), "--pdf"])
    assert done.exit_code == 0, done.output
    assert f"pdf: {finished / 'report.pdf'}" in done.output
    assert (finished / "report.pdf").read_bytes() == b"%PDF-1.7"


def test_every_entry_of_the_front_matter_has_a_key_in_the_plan():
    known = set(ReportPlan.__dataclass_fields__)
    assert set(FrontMatter.__dataclass_fields__) - {"plan_hash"} <= known


def test_the_date_can_be_fixed_for_reproducible_reports(monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
    assert _today() == "1970-01-01"
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "soon")
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", _today())
