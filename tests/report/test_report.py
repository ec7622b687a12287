"""The report: self-contained, honest to its tables, the same bytes for the same input."""

from __future__ import annotations

import re
from functools import partial
from html.parser import HTMLParser
from pathlib import Path

import pandas as pd
import pytest
from matplotlib.figure import Figure

import likewise as lw
from likewise.cli.main import main
from likewise.errors import LikewiseError
from likewise.report import gap_plot, love_plot, rate_plot
from likewise.report.figures import to_svg
from likewise.report.labels import many_labels
from likewise.report.page import write_report
from likewise.report.rates import percent
from likewise.report.sweep import STILL
from likewise.report.words import balance_verdict, chance, gap_findings, interval, number


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("report") / "audit"
    main(["demo", "--toy", str(folder), "--identities", "40", "--quiet"])
    return folder


@pytest.fixture(scope="module")
def page(folder) -> str:
    return (folder / "report.html").read_text()


def row(**change: object) -> dict[str, object]:
    base = {
        "quantity": "r: distance", "stat": "gap", "sample": "all", "group": "female - male", "estimate": 0.2,
        "low": 0.1, "high": 0.3, "level": 0.95, "n": 10, "clusters": 5, "method": "t",
    }  # fmt: skip
    return {**base, **change}


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


def test_the_page_needs_nothing_from_outside(page):
    tags = Tags(page)
    assert all(address.startswith(("#", "data:image/jpeg;base64,")) for address in tags.addresses)
    assert "script" not in tags.count
    assert not re.search(r"url\((?!#)", page)
    assert "@import" not in page
    assert len(page) < 500_000


def test_the_page_says_what_the_tables_say(page, folder):
    text = re.sub(r"<[^>]+>", " ", page)
    estimates = lw.Estimates.read(folder / "estimates.parquet").frame
    shown = estimates[estimates["stat"].isin(["gap", "adjusted_gap", "slope"]) & estimates["low"].notna()]
    assert len(shown) >= 10
    for _, entry in shown.iterrows():
        if STILL in entry["method"] or entry["quantity"] in many_labels(estimates):
            continue
        rate = " at " in entry["quantity"]
        assert (percent(entry).partition(" %")[2] if rate else interval(entry)) in text
    smd = lw.Estimates.read(folder / "balance.parquet").where(stat="smd").frame
    for value in smd["estimate"]:
        assert number(value) in text
    assert f"{len(lw.Pairs.read(folder / 'pairs.parquet'))} pairs of look-alikes" in text


def test_the_page_never_absolves(page):
    words = set(re.findall(r"[a-z]+", re.sub(r"<[^>]+>", " ", page.lower())))
    assert not words & {"fair", "fairness", "unbiased", "debiased", "bias"}


def test_error_rates_hidden_differences_and_tests_of_slopes_are_there(page, folder):
    text = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page))
    estimates = lw.Estimates.read(folder / "estimates.parquet")
    for _, entry in estimates.where(stat="fnmr").frame.iterrows():
        assert percent(entry) in text
    assert "Genuine pairs missed by world-recogniser" in text and "impostors of the group let in" in text
    gamma = estimates.where(stat="gamma", quantity="world-recogniser: distance").frame["estimate"].iloc[0]
    assert ("Rosenbaum" in text and f"× {gamma:.2f}" in text) or "not significant even without any" in text
    for stat in ("p_value", "q_bh", "linearity_p"):
        moved = estimates.where(sample="counterfactual").frame
        moved = moved[moved["stat"].isin(["slope", "rate_slope"])]
        moved = set(moved.loc[~moved["method"].str.contains(STILL), "quantity"])
        rows = estimates.where(stat=stat, sample="counterfactual").frame
        for value in rows.loc[rows["quantity"].isin(moved), "estimate"]:
            assert chance(value).replace("<", "&lt;") in text


def test_headings_and_figures_can_be_heard(page):
    tags = Tags(page)
    assert tags.count["h1"] == 1
    assert tags.count["svg"] == page.count('role="img" aria-label="')
    assert "<title>" in page
    assert 'lang="en"' in page


def test_a_word_from_a_table_cannot_become_code(tmp_path):
    evil = '<script>alert("x")</script>'
    contrast = lw.Contrast("perceived_gender", focal=evil, reference="male")
    balance = lw.Estimates.of(
        [row(quantity=evil, stat="smd", sample=s, group=contrast.label) for s in ("all", "matched")]
    )
    pairs = lw.Pairs(
        pd.DataFrame({"pair": ["p"], "a": ["1"], "b": ["2"]}),
        offered={evil: 1, "male": 1},
        note=evil,
        ledger=pd.DataFrame({evil: [True]}),
    )
    path = write_report(
        tmp_path / "r.html", title=evil, contrast=contrast, pairs=pairs, balance=balance,
        estimates=lw.Estimates.of([row(quantity=f"{evil}: {evil}", group=contrast.label)]), made={},
    )  # fmt: skip
    page = path.read_text()
    assert "<script" not in page
    assert "&lt;script&gt;" in page


@pytest.mark.parametrize("width", [7.2, 3.9])
def test_figures_are_functions_that_return_a_figure(folder, width):
    estimates, balance = (lw.Estimates.read(folder / f"{name}.parquet") for name in ("estimates", "balance"))
    plots = [
        partial(love_plot, balance, width=width),
        partial(gap_plot, estimates, "world-recogniser: distance", width=width),
        partial(rate_plot, estimates, width=width),
    ]
    for plot in plots:
        assert isinstance(plot(), Figure)
        svg = to_svg(plot(), "a <figure>")
        assert svg == to_svg(plot(), "a <figure>")
        assert 'aria-label="a &lt;figure&gt;"' in svg
        assert "var(--ink)" in svg


def test_sentences_follow_from_the_numbers(contrast):
    def said(**change: object) -> str:
        return gap_findings(lw.Estimates.of([row(**change)]), contrast)[0]

    assert "higher for female than for male by 0.200 (0.100 to 0.300)" in said()
    assert "higher for male than for female by 0.200 (0.100 to 0.300)" in said(estimate=-0.2, low=-0.3, high=-0.1)
    assert "no difference that this sample can tell from zero, 0.200 (−0.100 to 0.500)" in said(low=-0.1, high=0.5)
    assert "without an interval" in said(low=None, high=None)


def test_the_share_that_goes_away_is_said_only_with_an_interval(contrast):
    gone = row(stat="share_gone", sample="matched", estimate=0.4, low=-0.1, high=0.8)
    said = gap_findings(lw.Estimates.of([row(), gone]), contrast)[0]
    assert said.endswith("40 % (−10 % to 80 %) of the crude gap goes away between look-alikes.")
    for ends in ({"low": None, "high": None}, {"low": -0.4, "high": 0.9}):
        assert "goes away" not in gap_findings(lw.Estimates.of([row(), {**gone, **ends}]), contrast)[0]


def test_the_verdict_names_what_remains_apart():
    def smd(sample: str, **sizes: float) -> list[dict[str, object]]:
        return [
            row(quantity=name, stat="smd", sample=sample, estimate=size, low=None, high=None)
            for name, size in sizes.items()
        ]

    before = smd("all", age=-0.9, light=0.3, yaw=0.01)
    assert balance_verdict(lw.Estimates.of(before)) == "2 of 3 covariates differ by more than 0.1 sd."
    alike = lw.Estimates.of(before + smd("matched", age=-0.05, light=0.0, yaw=0.02))
    assert balance_verdict(alike).endswith("between look-alikes, none does.")
    apart = lw.Estimates.of(before + smd("matched", age=-0.2, light=0.0, yaw=0.02))
    assert balance_verdict(apart).endswith("between look-alikes, 1 still does: age (−0.200).")
    several = lw.Estimates.of(before + smd("distance", age=-0.2) + smd("weighted", age=0.0))
    assert "; in the sample 'distance', 1 still does: age (−0.200); under" in balance_verdict(several)
    assert balance_verdict(several).endswith("under overlap weights, none does.")
    labels = [text.get_text() for text in love_plot(several).legends[0].get_texts()]
    assert labels == ["as the images come", "distance", "overlap weights"]


def test_a_report_that_cannot_be_written_is_an_error(folder, tmp_path, contrast):
    (tmp_path / "file").touch()
    with pytest.raises((LikewiseError, NotADirectoryError, FileExistsError)):
        write_report(
            tmp_path / "file" / "r.html", title="x", contrast=contrast, pairs=lw.Pairs.read(folder / "pairs.parquet"),
            balance=lw.Estimates.read(folder / "balance.parquet"), estimates=lw.Estimates.of([]), made={},
        )  # fmt: skip
