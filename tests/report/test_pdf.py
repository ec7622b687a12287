"""The report as PDF: by a browser that is told to stay offline, with errors that say what to do."""

from __future__ import annotations

import re
import shutil
import stat
import sys
from pathlib import Path

import pytest

from likewise.errors import PdfError
from likewise.report import pdf
from likewise.report.pdf import find_browser, write_pdf

PAGE = '<!doctype html><title>T</title><h1 id="a">One</h1><p style="break-before: page">Two</p>'


def browser(folder: Path, body: str) -> Path:
    """Write a program that stands in for a browser."""
    path = folder / "browser"
    path.write_text(f"#!{sys.executable}\nimport sys\n{body}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


@pytest.fixture
def report(tmp_path) -> Path:
    (tmp_path / "report.html").write_text(PAGE)
    return tmp_path / "report.html"


def test_the_pdf_lies_beside_the_report(report, tmp_path, monkeypatch):
    body = "target = next(a for a in sys.argv if a.startswith('--print-to-pdf=')).partition('=')[2]"
    body += chr(10) + "open(target, 'wb').write(b'%PDF-1.7 x')" + chr(10)
    log = f"open({str(tmp_path / 'arguments')!r}, 'w').write(chr(10).join(sys.argv[1:]))"
    monkeypatch.setenv("LIKEWISE_BROWSER", str(browser(tmp_path, body + log)))
    assert write_pdf(report) == report.with_suffix(".pdf")
    assert report.with_suffix(".pdf").read_bytes().startswith(b"%PDF-")
    arguments = (tmp_path / "arguments").read_text().splitlines()
    assert arguments[-1] == report.resolve().as_uri()
    for flag in ("--headless", "--disable-background-networking", "--host-resolver-rules=MAP * ~NOTFOUND"):
        assert flag in arguments
    assert not [name for name in tmp_path.iterdir() if name.suffix == ".tmp"]


def test_a_missing_report_says_how_to_write_it(tmp_path):
    with pytest.raises(PdfError, match=r"^No report at .*Write it first with: likewise report DIR"):
        write_pdf(tmp_path / "report.html")


def test_without_a_program_the_error_names_what_to_install(report, monkeypatch):
    monkeypatch.setattr(pdf, "BROWSERS", ("no-such-browser",))
    monkeypatch.delenv("LIKEWISE_BROWSER", raising=False)
    monkeypatch.setattr(pdf.importlib.util, "find_spec", lambda _: None)
    assert find_browser() is None
    with pytest.raises(PdfError, match=r"No program to print a PDF.*Install Chromium"):
        write_pdf(report)
    assert not report.with_suffix(".pdf").exists()


@pytest.mark.parametrize("body", ['sys.exit("it broke")', 'print("nothing written", file=sys.stderr)'])
def test_a_browser_that_prints_nothing_is_an_error_and_leaves_no_file(report, tmp_path, monkeypatch, body):
    monkeypatch.setenv("LIKEWISE_BROWSER", str(browser(tmp_path, body)))
    with pytest.raises(PdfError, match=r"browser did not print the report: (it broke|nothing written)"):
        write_pdf(report)
    assert not report.with_suffix(".pdf").exists()


def test_a_browser_that_hangs_is_stopped(report, tmp_path, monkeypatch):
    monkeypatch.setattr(pdf, "TIMEOUT", 0.5)
    monkeypatch.setenv("LIKEWISE_BROWSER", str(browser(tmp_path, "import time; time.sleep(60)")))
    with pytest.raises(PdfError, match="timed out"):
        write_pdf(report)


@pytest.mark.skipif(not any(map(shutil.which, pdf.BROWSERS)), reason="no browser is installed")
def test_a_real_browser_prints_pages(report, monkeypatch):
    monkeypatch.delenv("LIKEWISE_BROWSER", raising=False)
    content = write_pdf(report).read_bytes()
    assert content.startswith(b"%PDF-")
    assert max(map(int, re.findall(rb"/Count (\d+)", content))) == 2
