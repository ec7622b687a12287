"""Pages of audits with little data: labels only, scores only, no pictures."""

from __future__ import annotations

import re

import pandas as pd
import pytest

import likewise as lw
from likewise.report.page import write_report
from likewise.report.sections.findings.designs import label_panels
from likewise.report.sections.front_matter import FrontMatter
from likewise.report.sections.sample.gallery import Exhibit, Shot, Wall
from report.rows import balance_of, make_row, operating_rows


def label_rows(count: int = 5) -> list[dict[str, object]]:
    return [
        make_row(quantity=f"tagger: Share labeled L{k}", sample=sample, estimate=0.1 * k, low=-0.1, high=0.9)
        for k in range(count)
        for sample in ("all", "matched", "counterfactual")
    ]


def page_of(tmp_path, contrast, rows, **options) -> str:
    pairs = lw.Matches(pd.DataFrame({"pair": ["p"], "a": ["1"], "b": ["2"]}), offered={"female": 1, "male": 1})
    write_report(
        tmp_path / "r.html", title="T", contrast=contrast, pairs=pairs, balance=balance_of(age=(0.5, 0.0)),
        estimates=lw.Estimates.of(rows), made={}, **options,
    )  # fmt: skip
    return (tmp_path / "r.html").read_text()


def sections(page: str) -> list[str]:
    return re.findall(r'<section id="([\w-]+)"', page)


def test_labels_alone_have_a_figure_in_percentage_points(tmp_path, contrast):
    page = page_of(tmp_path, contrast, label_rows())
    assert "difference in percentage points" in page
    assert {"labels", "annex"} <= set(sections(page))
    assert not {"error-rates", "gaps", "edits", "gallery", "truth"} & set(sections(page))


def test_label_panels_are_those_of_the_largest_gaps():
    panels = label_panels(lw.Estimates.of(label_rows(6)), most=2)
    assert [panel.quantity for panel in panels] == ["tagger: Share labeled L5", "tagger: Share labeled L4"]
    assert panels[0].designs[0].estimate == pytest.approx(50)
    assert [design.kind for design in panels[0].designs] == ["all", "matched", "counterfactual"]


def test_scores_alone_have_error_rates_and_no_picture(tmp_path, contrast):
    page = page_of(tmp_path, contrast, operating_rows())
    assert "error-rates" in sections(page)
    assert "<img" not in page and "data:image" not in page


def test_the_front_matter_stands_below_the_title_and_is_escaped(tmp_path, contrast):
    front = FrontMatter(date="2026-01-31", auditor="<b>A</b>", organization="O & Co", plan_hash="f" * 64)
    page = page_of(tmp_path, contrast, [make_row()], front=front)
    header = page[page.index("<header>") : page.index("</header>")]
    assert "2026-01-31" in header and "&lt;b&gt;A&lt;/b&gt;" in header and "O &amp; Co" in header
    assert "f" * 16 in header and "f" * 17 not in header
    assert page.count("f" * 64) == 1, "the whole hash is in the data sheet"


def test_a_gallery_without_pictures_says_how_to_show_them(tmp_path, contrast):
    wall = Wall(
        "pairs", "Matched units", "Words.", (Exhibit("closest", (Shot("", "female: <k>"),), (("age", "3", "4"),)),)
    )
    page = page_of(tmp_path, contrast, [make_row()], walls=[wall], undecodable=["<bad>.jpg"])
    assert "Pictures of people are not shown" in page and "female: &lt;k&gt;" in page and "3 | 4" in page
    assert "&lt;bad&gt;.jpg" in page and "<img" not in page


def test_shown_pictures_come_with_a_caution_and_in_the_summary(tmp_path, contrast):
    shot = Shot("data:image/jpeg;base64,AA==", "female: k")
    wall = Wall("pairs", "Matched units", "Words.", (Exhibit("closest", (shot, shot), (("distance", "1.0"),)),))
    page = page_of(tmp_path, contrast, [make_row()], walls=[wall], blurred=True)
    assert "Pictures are pixelated" in page and "only to those who may see these people" in page
    assert page.count('src="data:image/jpeg;base64,AA=="') == 4, "two in the strip, two in the gallery"


def test_without_a_system_there_is_no_annex(tmp_path, contrast):
    assert "annex" not in sections(page_of(tmp_path, contrast, []))


def test_the_same_input_gives_the_same_bytes(tmp_path, contrast):
    rows = [*operating_rows(), *label_rows(), make_row()]
    assert page_of(tmp_path, contrast, rows) == page_of(tmp_path, contrast, rows)
