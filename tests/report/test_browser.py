"""The page in a browser that is operated: downloads, search, folds, keys and links, at a desk and on a phone."""

from __future__ import annotations

import csv
import shutil
from pathlib import Path

import pandas as pd
import pytest

import likewise as lw
from likewise.report.page import write_report
from likewise.report.pdf import BROWSERS, find_browser
from report.rows import balance_of, make_row, operating_rows

pytestmark = pytest.mark.skipif(not any(map(shutil.which, BROWSERS)), reason="no browser is installed")


@pytest.fixture(scope="module")
def address(tmp_path_factory) -> str:
    contrast = lw.Contrast("perceived_gender", focal="female", reference="male")
    pairs = lw.Matches(pd.DataFrame({"pair": ["p"], "a": ["1"], "b": ["2"]}), offered={"female": 1, "male": 1})
    rows = [*operating_rows(), *(make_row(quantity="people: same", sample=sample) for sample in ("all", "matched"))]
    path = write_report(
        tmp_path_factory.mktemp("page") / "r.html", title="T", contrast=contrast, pairs=pairs,
        balance=balance_of(**{f"covariate_{k}": (0.5, 0.01 * k) for k in range(12)}),
        estimates=lw.Estimates.of(rows), made={},
    )  # fmt: skip
    return path.as_uri()


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as found:
        opened = found.chromium.launch(executable_path=str(find_browser()), args=["--no-sandbox"])
        yield opened
        opened.close()


def page_of(browser, address, width=1280, **options):
    context = browser.new_context(viewport={"width": width, "height": 844}, accept_downloads=True, **options)
    page = context.new_page()
    page.errors = []
    page.on("console", lambda message: page.errors.append(message.text))
    page.on("pageerror", lambda error: page.errors.append(str(error)))
    page.goto(address)
    return page


@pytest.fixture
def desk(browser, address):
    page = page_of(browser, address)
    yield page
    assert page.errors == []
    page.context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_nothing_runs_out_of_the_page(browser, address, width, scheme):
    page = page_of(browser, address, width, color_scheme=scheme)
    assert page.evaluate("document.documentElement.scrollWidth") == width
    boxes = "[...document.querySelectorAll('.scroll')].filter(box => box.scrollWidth > box.clientWidth + 1).length"
    assert page.evaluate(boxes) == 0, "rows become cards on a phone"
    axes = "[...document.querySelectorAll('figure svg')].filter(svg => svg.getClientRects().length)"
    assert page.evaluate(f"{axes}.every(svg => svg.getBoundingClientRect().right <= {width})")
    page.context.close()


def test_a_phone_names_the_column_of_each_cell(browser, address):
    page = page_of(browser, address, 390)
    label = "cell => getComputedStyle(cell, '::before').content"
    cell = page.locator("#balance table.stacked tbody td").first
    assert cell.evaluate(label) == '"female, unmatched"'
    page.context.close()


def test_a_table_is_downloaded_with_the_rows_that_the_search_leaves(desk, tmp_path):
    box = desk.locator("#balance input[type=search]").first
    box.fill("covariate 1")
    with desk.expect_download() as found:
        desk.locator("#balance .tools button", has_text="CSV").first.click()
    path = Path(tmp_path / "table.csv")
    found.value.save_as(path)
    rows = list(csv.reader(path.read_text(encoding="utf-8-sig").splitlines()))
    assert [row[0] for row in rows[2:]] == ["covariate 1", "covariate 10", "covariate 11"]
    assert rows[0][1:4] == ["unmatched", "", ""] and all(len(row) == 7 for row in rows)


def test_a_figure_is_downloaded_as_svg_with_its_colors(desk, tmp_path):
    with desk.expect_download() as found:
        desk.locator("#balance .tools button", has_text="SVG").first.click()
    found.value.save_as(tmp_path / "figure.svg")
    text = (tmp_path / "figure.svg").read_text()
    assert text.startswith("<svg") and "--focal:" in text and "#0b6e75" in text


def test_keys_fold_go_on_and_search(desk):
    desk.keyboard.press("e")
    assert desk.evaluate("[...document.querySelectorAll('.part > details')].some(box => box.open)") is False
    desk.keyboard.press("e")
    desk.keyboard.press("j")  # the summary
    desk.keyboard.press("j")
    assert desk.evaluate("document.querySelector('#findings').getBoundingClientRect().top") < 60
    desk.keyboard.press("/")
    assert desk.evaluate("document.activeElement.type") == "search"


def test_a_link_to_a_section_unfolds_it(browser, address):
    page = page_of(browser, address)
    page.keyboard.press("e")
    page.evaluate("location.hash = '#balance'")
    page.wait_for_function("document.querySelector('#balance details').open")
    assert page.evaluate("document.querySelector('#error-rates details').open") is False
    page.context.close()
