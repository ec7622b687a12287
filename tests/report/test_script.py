"""The page's script in a real browser: downloads, search, links, and nothing that breaks."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pandas as pd
import pytest

import likewise as lw
from likewise.report.page import write_report
from likewise.report.pdf import BROWSERS, find_browser
from report.rows import balance_of, make_row, operating_rows

pytestmark = pytest.mark.skipif(not any(map(shutil.which, BROWSERS)), reason="no browser is installed")


def opened(path: Path, folder: Path) -> tuple[str, str]:
    """Return the page's document after its script ran, and what the browser logged."""
    browser = find_browser()
    assert browser is not None
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]
    flags += ["--enable-logging=stderr", f"--user-data-dir={folder}", "--window-size=1280,900", "--dump-dom"]
    done = subprocess.run([browser, *flags, path.as_uri()], capture_output=True, text=True, timeout=120, check=True)
    return done.stdout, "\n".join(line for line in done.stderr.splitlines() if "CONSOLE" in line)


@pytest.fixture(scope="module")
def written(tmp_path_factory) -> Path:
    contrast = lw.Contrast("perceived_gender", focal="female", reference="male")
    pairs = lw.Matches(pd.DataFrame({"pair": ["p"], "a": ["1"], "b": ["2"]}), offered={"female": 1, "male": 1})
    rows = [*operating_rows(), *(make_row(quantity="people: same", sample=sample) for sample in ("all", "matched"))]
    rows += [make_row(quantity="agreement: same", stat="rater_accuracy", group=f"rater {k}") for k in range(14)]
    return write_report(
        tmp_path_factory.mktemp("page") / "r.html", title="T", contrast=contrast, pairs=pairs,
        balance=balance_of(**{f"covariate_{k}": (0.5, 0.01 * k) for k in range(12)}),
        estimates=lw.Estimates.of(rows), made={},
    )  # fmt: skip


@pytest.fixture(scope="module")
def document(written, tmp_path_factory) -> tuple[str, str]:
    return opened(written, tmp_path_factory.mktemp("profile"))


def test_the_script_runs_without_a_complaint(document):
    assert document[1] == ""


def test_every_table_and_figure_can_be_downloaded(document):
    page, _ = document
    assert len(re.findall(r'title="Download this table as [\w-]+\.csv"', page)) == page.count("<table")
    figures = len(re.findall(r'<div class="wide">', page))
    assert len(re.findall(r'title="Download this figure as [\w-]+\.svg"', page)) == figures > 1
    names = re.findall(r"Download this (?:table|figure) as ([\w-]+\.\w+)", page)
    assert len(names) == len(set(names)), "every file has a name of its own"


def test_long_tables_can_be_searched_and_short_ones_need_not(document):
    page, _ = document
    labels = re.findall(r'type="search"[^>]*aria-label="Search: ([^"]*)"|aria-label="Search: ([^"]*)"', page)
    named = " ".join("".join(pair) for pair in labels)
    assert "Means, and standardized mean differences" in named
    assert "Main result" not in named and "Constraints" not in named


def test_sections_have_links_and_the_contents_mark_the_current_one(document):
    page, _ = document
    sections = re.findall(r'<section id="([\w-]+)"', page)
    anchors = re.findall(r'class="anchor" href="#([\w-]+)"', page)
    assert anchors == sections
    assert "Fold or unfold all" in page


def test_the_page_reads_without_the_script(written):
    page = written.read_text()
    assert len(re.findall(r"<section [^>]*>\s*<details open>", page)) == page.count("<section"), "all are unfolded"
    assert "Executive summary" in page and "25.0 %" in page
