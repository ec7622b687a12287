"""A real browser goes through all three studies as a worker would: keyboard on a desk, fingers on a phone, no script.

Debian's Chromium, driven by Playwright. SCREENSHOTS=folder keeps what it saw.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import threading
import time
from pathlib import Path

import pytest
import uvicorn

from likewise.cli.study.example import make_example
from likewise.cli.study.server import open_site
from likewise.study.server.app import make_app
from likewise.study.server.guard import TokenBucket
from likewise.study.server.serve import bind
from likewise.study.store.export import progress, read_collected
from likewise.study.store.schema import sqlite_url

CHROMIUM = next(
    (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), ""
)
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking",
         "--disable-component-update", "--disable-sync"]  # fmt: skip
DESK = {"viewport": {"width": 1200, "height": 800}}
NARROW_DESK = {"viewport": {"width": 390, "height": 844}}
PHONE = {
    "viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True, "color_scheme": "dark",
    "locale": "de-DE",
}  # fmt: skip
SEEN = os.environ.get("SCREENSHOTS", "")


@pytest.fixture(scope="module")
def chromium():
    if not CHROMIUM:
        pytest.skip("Chromium is not installed (on Debian: apt-get install chromium)")
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as found:
        browser = found.chromium.launch(executable_path=CHROMIUM, headless=True, args=FLAGS)
        yield browser
        browser.close()


@contextlib.contextmanager
def serving(site):
    bound = bind("127.0.0.1", 0)
    server = uvicorn.Server(uvicorn.Config(make_app(site, pace=TokenBucket(1e9, 1e9)), log_level="warning"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]}, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{bound.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()
        bound.close()


@pytest.fixture(params=["real-or-fake", "skin-tone", "same-person"])
def study(request, tmp_path):
    """An example study, with fewer tasks for each rater."""
    make_example(tmp_path, request.param)
    plan = (tmp_path / "study.toml").read_text()
    plan = re.sub(r"tasks_per_rater = \d+", "tasks_per_rater = 4", plan)
    plan = re.sub(r"^raters = \d+", "raters = 99", plan, flags=re.MULTILINE)
    plan = re.sub(r"qualify = [\d.]+", "qualify = 0.3", plan)  # whoever always says the same gets half of them right
    plan = re.sub(r"(gold_below|attention_missed|median_seconds_below) = [\d.]+\n", "", plan)
    (tmp_path / "study.toml").write_text(plan)
    site = open_site(tmp_path, sqlite_url(tmp_path / "study.sqlite"))
    with serving(site) as address:
        yield request.param, site, address


def watched(chromium, address, problems, **options):
    context = chromium.new_context(**options)
    page = context.new_page()
    page.set_default_timeout(30_000)
    page.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("request", lambda sent: None if sent.url.startswith(address) else problems.append(sent.url))
    return page


def keep(page, name):
    if SEEN:
        Path(SEEN).mkdir(parents=True, exist_ok=True)
        page.wait_for_function("[...document.images].every(image => image.complete && image.naturalWidth)")
        page.screenshot(path=Path(SEEN) / f"{name}.png", full_page=True)


NARROW = "document.documentElement.scrollWidth <= window.innerWidth"
UNNAMED = """[...document.querySelectorAll('button, a, input:not([type=hidden]), textarea, select')].filter(
  e => e.offsetParent && !e.innerText.trim() && !e.getAttribute('aria-label') && !(e.labels || []).length).length"""
SMALL = """[...document.querySelectorAll('button, a, label.option')].filter(e => {
  const box = e.getBoundingClientRect(); return e.offsetParent && (box.height < 24 || box.width < 24); }).length"""
SPILLED = """[...document.querySelectorAll('.option')].filter(e => {
  const words = e.querySelector('span'), range = document.createRange(); range.selectNodeContents(words);
  const text = range.getBoundingClientRect(), box = e.getBoundingClientRect();
  const broken = !/[\\s-]/.test(words.innerText.trim()) && range.getClientRects().length > 1;
  return e.offsetParent && (text.left < box.left + 4 || text.right > box.right - 4 || broken); })
  .map(e => e.innerText)"""
KEYED = """[...document.querySelectorAll('form[data-task] fieldset')].filter(
  e => [...e.querySelectorAll('kbd')].some(k => k.offsetParent)).length"""
NO_ALT = "document.querySelectorAll('main img:not([alt])').length"


def check_page(page):
    """Hold what WCAG 2.2 AA asks of a page and a program can see: language, title, names, sizes, no scroll sideways."""
    assert page.evaluate(NARROW)
    assert page.evaluate(UNNAMED) == 0
    assert page.evaluate(SMALL) == 0
    assert page.evaluate(NO_ALT) == 0
    assert page.evaluate(SPILLED) == []
    assert page.evaluate(KEYED) <= 1
    assert page.title()
    assert page.evaluate("document.documentElement.lang") in ("en", "de")
    assert page.locator("main").count() == 1


def to_the_end(page, answer, name):
    kinds = set()
    for step in range(60):
        if page.locator("output").count():
            return kinds
        check_page(page)
        if page.locator("form[data-task]").count():
            position = page.locator("form[data-task] input[name=position]").get_attribute("value")
            if step in (0, 1):
                keep(page, f"{name}-task-{step}")
            answer(page)
            page.wait_for_function(
                "before => !document.querySelector('form[data-task] input[name=position]') || "
                "document.querySelector('form[data-task] input[name=position]').value !== before",
                arg=position,
            )
        else:
            heading = page.locator("h1").inner_text()
            if heading not in kinds:
                keep(page, f"{name}-said-{len(kinds)}")
            kinds.add(heading)
            with page.expect_navigation():
                page.locator("main a.primary").click()
    raise AssertionError("no end")


def by_keyboard(page):
    page.keyboard.press("1")
    if page.locator("[data-next]").count():  # two groups: the second key goes to the second one
        page.keyboard.press("2")


def by_finger(page):
    page.locator(".option").first.tap()
    if page.locator("form[data-task] [data-next]").count():
        page.locator("fieldset").nth(1).locator(".option").nth(1).tap()
        page.locator("[data-next]").tap()


@pytest.mark.parametrize(
    ("size", "options", "answer"),
    [("desk", DESK, by_keyboard), ("phone", PHONE, by_finger), ("narrow", NARROW_DESK, by_keyboard)],
)
def test_a_worker_goes_through(study, chromium, size, options, answer):
    kind, site, address = study
    if size == "narrow" and kind != "real-or-fake":
        pytest.skip("one study is enough for this")
    problems: list[str] = []
    page = watched(chromium, address, problems, **options)
    name = f"{kind}-{size}"
    page.goto(address + site.join_path())
    check_page(page)
    keep(page, f"{name}-consent")
    page.locator("button[value=agree]").click()
    page.wait_for_url("**/instructions")
    check_page(page)
    keep(page, f"{name}-instructions")
    page.locator("main form button.primary").click()
    page.wait_for_selector("form[data-task]")
    if size == "desk":
        page.keyboard.press("z")
        assert page.locator("dialog img").is_visible()
        page.keyboard.press("Escape")
    to_the_end(page, answer, name)
    keep(page, f"{name}-end")
    assert page.locator("h1").inner_text() in ("Thank you!", "Vielen Dank!")
    assert re.fullmatch(r"[A-Z2-7]{8}", page.locator("output").inner_text())
    assert problems == []
    page.context.close()
    assert progress(read_collected(site.engine, site.study))["answered"] == 4
    if size == "desk":
        overview(chromium, site, address, name)


def test_number_keys_stand_beside_the_question_that_they_answer(study, chromium):
    kind, site, address = study
    if kind != "real-or-fake":
        pytest.skip("one study is enough for this")
    page = watched(chromium, address, [], **DESK)
    page.goto(address + site.join_path())
    page.locator("button[value=agree]").click()
    page.locator("main form button.primary").click()
    page.wait_for_selector("form[data-task]")
    first, second = page.locator("fieldset").nth(0), page.locator("fieldset").nth(1)
    assert (first.locator("kbd").first.is_visible(), second.locator("kbd").first.is_visible()) == (True, False)
    page.keyboard.press("2")
    assert first.locator("input").nth(1).is_checked()
    assert (first.locator("kbd").first.is_visible(), second.locator("kbd").first.is_visible()) == (False, True)
    page.locator("[data-keys]").click()
    assert not second.locator("kbd").first.is_visible()
    page.context.close()


def overview(chromium, site, address, name):
    problems: list[str] = []
    page = watched(chromium, address, problems, **DESK)
    page.goto(f"{address}/design?token={site.design_token}")
    assert "token" not in page.url
    keep(page, f"{name}-designer")
    page.goto(f"{address}/design/preview?at=2")
    keep(page, f"{name}-preview")
    assert problems == []
    page.context.close()


def test_everything_works_without_script(study, chromium):
    kind, site, address = study
    if kind != "real-or-fake":
        pytest.skip("one study is enough for this")
    page = watched(chromium, address, [], java_script_enabled=False, **DESK)
    page.goto(address + site.join_path())

    def follow(what):
        with page.expect_navigation():
            page.locator(what).click()

    follow("button[value=agree]")
    follow("main form button.primary")
    for _ in range(60):
        if page.locator("output").count():
            break
        if page.locator("form[data-task]").count():
            page.locator("fieldset").first.locator("input").first.check()
            page.locator("fieldset").nth(1).locator("input").first.check()
            follow("[data-next]")
        else:
            follow("main a.primary")
    assert page.locator("output").count() == 1
    page.context.close()


def luminance(color):
    parts = [int(color[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


TEXT = [("ink", "paper"), ("ink", "panel"), ("quiet", "paper"), ("quiet", "panel"), ("accent", "paper"),
        ("accent-ink", "accent"), ("ink", "accent-soft"), ("bad", "panel"), ("good", "paper"),
        ("ink", "warn-soft")]  # fmt: skip
EDGES = [("edge", "panel"), ("edge", "paper"), ("accent", "panel")]


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_colors_are_distinguishable(scheme):
    """WCAG 2.2 AA: 4.5 to 1 for text, 3 to 1 for the edges of what can be pressed."""
    css = (Path(__file__).parents[2] / "src/likewise/study/static/study.css").read_text()
    color = dict(re.findall(r"--([\w-]+): (#\w{6})", css.split(":root {")[scheme + 1].split("}")[0]))
    for one, other in TEXT:
        assert contrast(color[one], color[other]) >= 4.5, (one, other)
    for one, other in EDGES:
        assert contrast(color[one], color[other]) >= 3, (one, other)
