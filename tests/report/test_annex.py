"""Front matter, data sheet and annex: evidence is mapped, no conclusion is drawn."""

from __future__ import annotations

import re

import yaml

import likewise as lw
from likewise.report.layout import PARTS
from likewise.report.names import Naming
from likewise.report.sections.annex import (
    PLACES,
    ai_act_rows,
    differential_rows,
    impact_rows,
    iso_rows,
    model_cards,
    present,
)
from likewise.report.sections.front_matter import FrontMatter, datasheet, label_source
from report.rows import balance_of, make_point, make_row, operating_rows

JUDGING = re.compile(
    r"\b(pass(es|ed)?|fail(s|ed)?|compl(y|ies|iant|iance)|conform(s|ity)?|meets?|satisf\w+|fair|lawful)\b"
)


def test_the_header_shows_what_is_stated_and_the_data_sheet_what_is_not(contrast):
    front = FrontMatter(date="2026-01-31", system="Gate", system_version="2.1", plan_hash="ab" * 32)
    assert front.header() == [("Date", "2026-01-31"), ("System", "Gate 2.1"), ("Plan", "ab" * 8)]
    rows = dict(datasheet(front, [{"images": 1200, "people": 400}], balance_of(perceived_age=(0.1, 0.0)), contrast))
    assert not {"Auditor", "Consent", "System hash"} & set(rows), "one sentence names them instead"
    stated_nowhere = [
        "auditor",
        "organization",
        "system hash",
        "source of the images",
        "license of the images",
        "consent",
    ]
    assert front.unstated() == stated_nowhere
    assert rows["Plan hash (SHA-256)"] == "ab" * 32
    assert rows["Images and identities"] == "1,200 images of 400 identities"
    assert rows["Labels perceived by annotators"] == "perceived gender, perceived age"


def test_sources_of_labels():
    assert label_source("predicted_age") == "predicted by a model"
    assert label_source("measured_ita") == "measured on the image"
    assert label_source("gender") == "without a stated source"


def test_the_crosswalk_points_to_sections_or_says_not_measured():
    rows = {row["item"]: row["places"] for row in iso_rows({"errors", "population"})}
    assert rows["Failure to enroll"] == rows["Response and processing time"] == []
    assert rows["Operational threshold settings"] == [{"key": "error-rates", "title": "Error rates"}]
    everything = {row["item"]: row["places"] for row in ai_act_rows(PLACES)}
    assert [place["key"] for place in everything["Annex IV, 3"]] == ["error-rates", "labels", "gaps"]
    assert all(not places for places in (row["places"] for row in ai_act_rows(set())))


def test_every_place_is_a_section_of_the_page():
    known = {part.key: part.title for part in PARTS}
    for key, title in PLACES.values():
        assert key in known
        assert known[key] == title or title.startswith("Annex")


def test_a_phenotype_is_present_where_a_covariate_measures_it():
    assert "phenotype" in present({}, balance_of(measured_ita=(0.1, 0.0)))
    assert present({"errors": [1], "gaps": []}, balance_of(age=(0.1, 0.0))) == {"errors"}


def test_differentials_by_operating_point_and_rate():
    rows = differential_rows(lw.Estimates.of(operating_rows()))
    assert [row["sample"] for row in rows] == ["all", "matched"]
    assert rows[0]["rate"] == "FNMR" and rows[0]["max_min"] == "3.00 (1.50 to 5.90)"
    assert rows[0]["max_geometric_mean"] == "–" and rows[0]["remark"] == ""
    few = make_point(
        quantity="a: distance at FMR 0.01",
        stat="max_min",
        group="FMR within, all groups",
        estimate=15.7,
        method="x; too few",
    )
    (row,) = differential_rows(lw.Estimates.of([few]))
    assert (row["rate"], row["max_min"], row["remark"]) == ("FMR within", "15.70", "too few")


def test_without_a_selection_there_are_no_impact_ratios():
    assert impact_rows(lw.Estimates.of([make_row()])) == []


def test_the_model_card_is_yaml_with_every_rate():
    hostile = make_row(quantity='"x": distance', group='a: "b" - c')
    rows = [*operating_rows(), hostile]
    text = model_cards(
        lw.Estimates.of(rows),
        Naming(balanced=False),
        dataset='A "title": x',
        systems=[{"name": "arcface", "kind": "recognizer"}],
    )
    cards = {card["name"]: card["results"][0] for card in yaml.safe_load(text)["model-index"]}
    assert set(cards) == {"arcface", '"x"'}
    assert cards["arcface"]["dataset"] == {"name": 'A "title": x', "type": "likewise-audit"}
    rates = [metric for metric in cards["arcface"]["metrics"] if metric["type"] == "fnmr"]
    assert [metric["value"] for metric in rates] == [0.3, 0.1, 0.25, 0.1]
    assert rates[0]["confidence_interval"] == [0.2, 0.4]
    assert "matched (not balanced)" in rates[2]["name"]
    assert model_cards(lw.Estimates.of([]), Naming(), dataset="x") == ""


def test_the_annex_draws_no_conclusion():
    words = [row["item"] for row in iso_rows(PLACES)] + [row["topic"] for row in ai_act_rows(PLACES)]
    assert not [word for word in words if JUDGING.search(word.replace("Failure", ""))]
