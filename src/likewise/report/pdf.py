"""The report as PDF: printed by the system's Chromium, or by WeasyPrint where that is installed."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from likewise.errors import PdfError
from likewise.tables.io import replacing

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "msedge")
TIMEOUT = 120  # seconds
_FLAGS = (
    "--headless", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-extensions", "--no-first-run", "--no-default-browser-check", "--disable-dev-shm-usage",
    "--host-resolver-rules=MAP * ~NOTFOUND", "--no-pdf-header-footer", "--generate-pdf-document-outline",
    "--virtual-time-budget=10000",
)  # fmt: skip
"""Offline: no host name resolves, nothing is updated or synchronized. Page numbers come from the page's own style."""


def write_pdf(report: Path, target: Path | None = None) -> Path:
    """Print a report.

    Parameters
    ----------
    report
        The HTML file that :func:`likewise.report.page.write_report` wrote.
    target
        The PDF file; by default beside the report, with the same name.

    Returns
    -------
    pathlib.Path
        The PDF file.

    Raises
    ------
    PdfError
        If there is no report, no program that prints it, or if printing fails.
    """
    if not report.is_file():
        raise PdfError(f"No report at {report}", fix="Write it first with: likewise report DIR")
    target = target or report.with_suffix(".pdf")
    browser = find_browser()
    if browser is None and importlib.util.find_spec("weasyprint") is None:
        fix = "Install Chromium (for example: apt install chromium) or WeasyPrint (pip install weasyprint)."
        raise PdfError("No program to print a PDF was found (Chromium, Chrome, Edge or WeasyPrint)", fix=fix)
    with replacing(target) as temporary:
        if browser is not None:
            _by_browser(browser, report.resolve(), temporary.resolve())
        else:
            _by_weasyprint(report, temporary)
    return target


def find_browser() -> str | None:
    """Return the path of a browser that prints: the one that ``LIKEWISE_BROWSER`` names, or the first known one."""
    named = os.environ.get("LIKEWISE_BROWSER", "")
    if named:
        return shutil.which(named)
    return next((path for path in map(shutil.which, BROWSERS) if path), None)


def _by_browser(browser: str, report: Path, target: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="likewise-pdf-") as profile:
        command = [browser, *_FLAGS, f"--user-data-dir={profile}", f"--print-to-pdf={target}", report.as_uri()]
        if hasattr(os, "geteuid") and os.geteuid() == 0:
            command.insert(1, "--no-sandbox")  # Chromium refuses to run as root with its sandbox
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, check=False)  # noqa: S603
        except (OSError, subprocess.TimeoutExpired) as error:
            raise PdfError(
                f"{Path(browser).name} did not print the report: {error}",
                fix="Print report.html from a browser instead, or install WeasyPrint.",
            ) from error
    if done.returncode != 0 or not target.is_file() or target.read_bytes()[:5] != b"%PDF-":
        lines = done.stderr.strip().splitlines()
        raise PdfError(
            f"{Path(browser).name} did not print the report: {(lines or ['no output'])[-1][:200]}",
            fix="Print report.html from a browser instead, or install WeasyPrint.",
        )


def _by_weasyprint(report: Path, target: Path) -> None:
    from weasyprint import HTML  # type: ignore[import-not-found]  # noqa: PLC0415  # optional

    HTML(filename=str(report), url_fetcher=_refuse).write_pdf(str(target))


def _refuse(url: str, *_: object, **__: object) -> dict[str, object]:
    """Serve pictures inside the page, and nothing else."""
    if not url.startswith("data:"):
        raise PdfError(
            "The report refers to another file, which is not loaded", fix="Write the report again: likewise report DIR."
        )
    from weasyprint import default_url_fetcher  # noqa: PLC0415  # optional

    fetched: dict[str, object] = default_url_fetcher(url)
    return fetched
