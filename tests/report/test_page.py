"""The report: self-contained, honest to its tables, the same bytes for the same input."""

from __future__ import annotations

import base64
import hashlib
import re
from html.parser import HTMLParser
from pathlib import Path

import pandas as pd
import pytest

import likewise as lw
from likewise.cli.main import main
from likewise.errors import LikewiseError
from likewise.report.layout import PARTS
from likewise.report.names import Naming
from likewise.report.numbers import interval, number, p_value, percent
from likewise.report.page import cleaned, write_report
from likewise.report.sections.findings.labels import many_labels
from likewise.report.sections.findings.slopes import unchanged
from report.rows import balance_of, make_point, make_row, operating_rows

ABSOLVING = {"fair", "fairness", "unbiased", "debiased", "bias-free", "certified", "compliant", "pass", "passed"}
QUAINT = ("look-alike", "as the images come", "let in", "drawn again", "planted", "certif", "goes with", "by lot")


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("report") / "audit"
    main(["demo", "--toy", str(folder), "--identities", "40", "--quiet"])
    return folder


@pytest.fixture(scope="module")
def page(folder) -> str:
    return (folder / "report.html").read_text()


class Tags(HTMLParser):
    """Collects tags and every address that the page mentions."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.addresses: list[str] = []
        self.count: dict[str, int] = {}
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.count[tag] = self.count.get(tag, 0) + 1
        self.addresses += [value or "" for name, value in attrs if name in ("src", "href", "xlink:href", "action")]


def text_of(page: str) -> str:
    body = re.sub(r"<(style|script)>.*?</\1>", " ", page, flags=re.DOTALL)
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", body))


def small_page(tmp_path, contrast, rows=(), *, balance=None, **options) -> str:
    """Write a report of constructed tables."""
    pairs = lw.Matches(pd.DataFrame({"pair": ["p"], "a": ["1"], "b": ["2"]}), offered={"female": 1, "male": 1})
    path = write_report(
        tmp_path / "r.html", title="Small", contrast=contrast, pairs=pairs,
        balance=balance_of(age=(-0.9, 0.0)) if balance is None else balance, estimates=lw.Estimates.of(rows),
        **{"made": {}, **options},
    )  # fmt: skip
    return path.read_text()


def test_the_page_needs_nothing_from_outside(page):
    tags = Tags(page)
    assert all(address.startswith(("#", "data:image/jpeg;base64,")) for address in tags.addresses)
    assert not re.search(r"url\((?!#)", page)
    assert "@import" not in page
    assert not re.search(r"\b(fetch|XMLHttpRequest|WebSocket|eval|innerHTML|sendBeacon)\b", page)
    assert len(page) < 700_000


def test_only_the_page_s_own_script_may_run(page):
    (script,) = re.findall(r"<script>(.*?)</script>", page, flags=re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in page
    assert "default-src 'none'" in page
    assert not re.search(r"\son\w+=", page), "no inline handlers"


def test_the_page_states_what_the_tables_state(page, folder):
    text = text_of(page)
    estimates = cleaned(lw.Estimates.read(folder / "estimates.parquet")).frame
    shown = estimates[estimates["stat"].isin(["gap", "adjusted_gap", "slope"]) & estimates["low"].notna()]
    assert len(shown) >= 10
    for _, entry in shown[~unchanged(shown)].iterrows():
        if entry["quantity"] in many_labels(estimates):
            continue
        rate = " at " in entry["quantity"]
        assert (percent(entry).partition(" %")[2] if rate else interval(entry)) in text
    balance = lw.Estimates.read(folder / "balance.parquet")
    for value in balance.where(stat="smd").frame["estimate"]:
        assert number(value) in text
    matches = next(path for path in (folder / "matches.parquet", folder / "pairs.parquet") if path.is_file())
    assert f"{len(lw.Matches.read(matches))} {Naming.of(balance).pairs}" in text


def own_words(page: str) -> str:
    """Return the page's text without what other packages wrote: the title, notes, summaries, names of statistics."""
    own = re.sub(r'<ul class="notes">.*?</ul>|<h1>.*?</h1>|<title>.*?</title>', " ", page, flags=re.DOTALL)
    others = "provenance|people|raters|images|representation"
    return text_of(re.sub(rf'<section id="({others})".*?</section>', " ", own, flags=re.DOTALL)).lower()


def test_the_page_never_absolves(page):
    assert not set(re.findall(r"[a-z-]+", own_words(page))) & ABSOLVING


def test_the_page_speaks_the_field_s_language(page):
    for phrase in QUAINT:
        assert phrase not in own_words(page).replace("not a certificate", ""), phrase


def test_matched_pairs_of_an_unbalanced_design_are_never_called_so_alone(tmp_path, contrast):
    rows = [make_row(sample=sample) for sample in ("all", "matched")] + operating_rows()
    text = text_of(small_page(tmp_path, contrast, rows, balance=balance_of(age=(-0.9, 0.3))))
    assert "matched pairs" in text
    for found in re.finditer(r"matched pairs", text):
        assert "not balanced" in text[found.start() : found.end() + 20]


def test_floating_point_noise_is_never_printed(tmp_path, contrast):
    rows = [make_row(estimate=3e-18, low=-4e-18, high=5e-18)]
    rows += [make_row(sample="matched", estimate=-2e-12, low=-1e-11, high=1e-15)]
    page = small_page(tmp_path, contrast, rows)
    assert "0.000 (95 % CI 0.000 to 0.000)" in text_of(page)
    assert "−0.000" not in page and not re.search(r"\de-\d", text_of(page))


def test_error_rates_sensitivity_and_tests_of_slopes_are_there(page, folder):
    text = text_of(page)
    estimates = lw.Estimates.read(folder / "estimates.parquet")
    for _, entry in estimates.where(stat="fnmr").frame.iterrows():
        assert percent(entry) in text
    assert "FNMR of world-recognizer" in text and "false match rate within the group (FMR)" in text
    gamma = estimates.where(stat="gamma", quantity="world-recognizer: distance").frame["estimate"].iloc[0]
    assert (
        "Rosenbaum" in text and f"× {gamma:.2f}" in text
    ) or "not statistically significant even without any" in text
    changed = estimates.where(sample="counterfactual").frame
    changed = changed[changed["stat"].isin(["slope", "rate_slope"])]
    labels = set(changed.loc[~unchanged(changed), "quantity"])
    for stat in ("p_value", "q_by", "linearity_p"):
        rows = estimates.where(stat=stat, sample="counterfactual").frame
        for value in rows.loc[rows["quantity"].isin(labels), "estimate"]:
            assert p_value(value).replace("<", "&lt;") in text


def test_headings_and_figures_have_text_alternatives(page):
    tags = Tags(page)
    assert tags.count["h1"] == 1
    assert tags.count["svg"] == page.count('role="img" aria-label="')
    assert "<title>" in page and 'lang="en"' in page
    assert page.count("<table") == page.count("<caption>")


def test_every_entry_of_the_contents_leads_to_a_section(page):
    linked = re.findall(r'<li><a href="#([\w-]+)"', page)
    sections = re.findall(r'<section id="([\w-]+)"', page)
    assert linked == sections and len(sections) == len(set(sections)) > 8
    assert len({part.key for part in PARTS}) == len(PARTS)


def test_an_audit_without_systems_describes_its_sample(tmp_path, contrast):
    page = small_page(tmp_path, contrast)
    assert "names no system to audit" in text_of(page)
    assert re.findall(r'<section id="([\w-]+)"', page) == [
        "summary",
        "findings",
        "data",
        "matching",
        "balance",
        "limits",
    ]


def test_an_audit_without_covariates_has_no_balance(tmp_path, contrast):
    page = small_page(tmp_path, contrast, [make_row()], balance=lw.Estimates.of([]))
    assert 'id="balance"' not in page and 'id="gaps"' in page


def test_gaps_without_intervals_are_shown_as_such(tmp_path, contrast):
    assert "a difference of 0.200 without an interval" in text_of(small_page(tmp_path, contrast, [make_point()]))


def test_a_word_from_a_table_cannot_become_code(tmp_path):
    evil = '<script>alert("x")</script>'
    contrast = lw.Contrast("perceived_gender", focal=evil, reference="male")
    balance = lw.Estimates.of(
        [make_point(quantity=evil, stat="smd", sample=s, group=contrast.label) for s in ("all", "matched")]
    )
    pairs = lw.Matches(
        pd.DataFrame({"pair": ["p"], "a": ["1"], "b": ["2"]}),
        offered={evil: 1, "male": 1},
        note=evil,
        ledger=pd.DataFrame({evil: [True]}),
    )
    words = {"stage": evil, "summary": {evil: evil}, "seed": None, "digest": evil, "notes": [evil]}
    made = {evil: {**words, "licenses": {evil: evil}, "versions": {evil: evil}}}
    rows = [make_row(quantity=f"{evil}: {evil}", group=contrast.label, method=evil)]
    path = write_report(
        tmp_path / "r.html", title=evil, contrast=contrast, pairs=pairs, balance=balance,
        estimates=lw.Estimates.of(rows), made=made, tested=[{"name": evil, "kind": evil}],
        population=[{"group": evil, "images": 1, "people": 1, "several": 0}],
    )  # fmt: skip
    page = path.read_text()
    assert page.count("<script") == 1, "the page's own"
    assert page.count("&lt;script&gt;") > 10


def test_a_report_that_cannot_be_written_is_an_error(folder, tmp_path, contrast):
    (tmp_path / "file").touch()
    with pytest.raises((LikewiseError, NotADirectoryError, FileExistsError)):
        write_report(
            tmp_path / "file" / "r.html", title="x", contrast=contrast,
            pairs=lw.Matches(pd.DataFrame({"pair": ["p"], "a": ["1"], "b": ["2"]})),
            balance=lw.Estimates.read(folder / "balance.parquet"), estimates=lw.Estimates.of([]), made={},
        )  # fmt: skip


def test_captions_name_the_confidence_level_of_the_plan(tmp_path, contrast):
    rows = [{**row, "level": 0.9} for row in operating_rows()]
    rows.append({**make_row(quantity="t: Share labeled Tie"), "level": 0.995})
    captions = re.findall(r"<caption>(.*?)</caption>", small_page(tmp_path, contrast, rows).replace("&nbsp;", " "))
    named = {level for caption in captions for level in re.findall(r"([\d.]+) % CI", caption)}
    assert named == {"90"}


def test_a_system_without_an_estimate_is_named_on_the_first_screen(tmp_path, contrast):
    tested = [{"name": "arcface", "kind": "recognizer"}, {"name": "detector", "kind": "classifier"}]
    shown = text_of(small_page(tmp_path, contrast, operating_rows(), tested=tested))
    assert "Not compared between the groups: detector." in shown
    assert "Not compared" not in text_of(small_page(tmp_path, contrast, operating_rows(), tested=tested[:1]))
    nothing = text_of(small_page(tmp_path, contrast, [], tested=tested[1:]))
    assert "No difference between the groups could be estimated for detector." in nothing
    assert "No system was audited" not in nothing
