"""Published tables recomputed: on synthetic data for the code, on the published data for the numbers."""

from __future__ import annotations

import json
import os
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from likewise.cli.main import cli
from likewise.errors import InputError, TableError
from likewise.reproduce import NAMES, Reproduction, reproduce
from likewise.reproduce.published_pairs import _unrepeated
from likewise.reproduce.same_person import TABLE_1
from picked import only

REAL = Path(os.environ.get("LIKEWISE_DATA", Path(__file__).parents[3] / "shared" / "data"))
needs_data = pytest.mark.skipif(not REAL.is_dir(), reason=f"the published data is not at {REAL}; set LIKEWISE_DATA")


@cache
def published(name: str) -> Reproduction:
    return reproduce(name, REAL)


@pytest.fixture
def synthetic(tmp_path):
    """Folders with the layout of the published data, filled with noise."""
    rng = np.random.default_rng(0)
    for folder in ("singh2021", "occupations", "celebahq"):
        (tmp_path / folder).mkdir()
    kinds = np.repeat(np.tile(["duplicate", "fake", "real"], 20), 3)
    answers = pd.DataFrame({"unit": np.repeat(np.arange(60), 3), "kind": kinds})
    answers["rater"] = [f"r{r}" for r in np.tile([0, 1, 2, 3, 4, 5, 6, 7, 8, 9], 18)]
    answers["same"] = rng.choice(["same", "not same", ""], len(answers), p=[0.6, 0.35, 0.05])
    answers["knows"] = rng.choice(["well", "moderately", "not at all"], len(answers))
    answers.to_csv(tmp_path / "singh2021" / "same_person.csv", index=False)
    terms = pd.DataFrame({"search_term": np.repeat(["nurse", "pilot"], 40), "rank": np.tile(np.arange(40), 2)})
    terms["image_gender"] = np.where(rng.random(80) < np.repeat([0.8, 0.1], 40), "woman", "man")
    terms["bls_p_women"] = np.repeat([0.9, 0.05], 40)
    terms.to_csv(tmp_path / "occupations" / "image_search_2013.csv", index=False)
    return tmp_path


def test_blank_answers_are_same_as_published_and_excluded_when_corrected(synthetic):
    found = reproduce("same-person", synthetic)
    published = only(found.estimates, sample="as published", group="fake, knows: all")
    corrected = only(found.estimates, sample="corrected", group="fake, knows: all")
    assert published["n"] == 60 > corrected["n"]
    assert published["estimate"] > corrected["estimate"]
    assert found.notes[0].startswith("0 of 8")  # synthetic answers are not the published ones


def test_command_prints_one_record_a_cell(synthetic):
    shown = CliRunner().invoke(cli, ["reproduce", "occupations", "--data", str(synthetic), "--json"])
    assert shown.exit_code == 0
    records = json.loads(shown.output)["records"]
    assert {record["group"] for record in records} == {"nurse", "pilot"}
    assert all({"estimate", "low", "high", "n"} <= set(record) for record in records)
    plain = CliRunner().invoke(cli, ["reproduce", "occupations", "--data", str(synthetic)])
    assert "Of 2 occupations" in plain.output
    assert "Benjamini-Hochberg" in plain.output


def test_unknown_names_and_missing_files_are_named(synthetic, tmp_path):
    with pytest.raises(InputError, match=r"Unknown reproduction 'same-persons'\. Did you mean 'same-person'"):
        reproduce("same-persons", synthetic)
    with pytest.raises(InputError, match="Folder not found"):
        reproduce("pairs", tmp_path / "nowhere")
    with pytest.raises(TableError, match=r"File not found: .*projection_perceptual\.csv"):
        reproduce("projection-sweep", synthetic)


@pytest.mark.realdata
@needs_data
def test_table_1_is_reproduced_to_the_last_digit():
    found = published("same-person")
    assert found.notes[0].startswith("8 of 8")
    for (kind, knows), (per_cent, *_) in TABLE_1.items():
        row = only(found.estimates, sample="as published", group=f"{kind}, knows: {knows}")
        assert 100 * row["estimate"] == pytest.approx(per_cent, abs=0.051)
    gap = only(found.estimates, sample="corrected", stat="gap", group="fake, knows: all - real, knows: all")
    assert gap["low"] < 0 < gap["high"]


@pytest.mark.realdata
@needs_data
def test_301_of_the_published_pairs_satisfy_the_constraint():
    found = published("pairs")
    quantity = "distance_recogniser_0.6: recognizer distance below 0.6, as recorded"
    assert only(found.estimates, quantity=quantity, sample="all")["estimate"] * 1200 == pytest.approx(301)
    assert only(found.estimates, quantity=quantity, sample="first 500")["estimate"] * 500 == pytest.approx(301)


@pytest.mark.realdata
@needs_data
def test_figure_3_has_the_published_means():
    found = published("projection-sweep").estimates
    expected = {
        "perceptual distance": (0.7328, 0.7314, 0.7310, 0.7414, 0.7604),
        "recognizer distance": (0.3366, 0.3187, 0.3146, 0.4949, 0.6506),
    }
    for quantity, means in expected.items():
        rows = found.where(quantity=quantity, stat="mean").frame
        assert rows["estimate"].to_numpy() == pytest.approx(means, abs=5e-5)


@pytest.mark.realdata
@needs_data
@pytest.mark.parametrize(("name", "rows"), [("covariates", 39 * 3 * 4), ("occupations", 45 * 5)])
def test_others_have_a_row_a_cell(name, rows):
    assert len(published(name).estimates) == rows
    assert name in NAMES


def test_identities_in_two_pairs_disqualify_both():
    identities = np.array([["a", "b"], ["c", "d"], ["a", "e"], ["f", "f"]], dtype=object)
    assert _unrepeated(identities).tolist() == [False, True, False, False]


def test_occupation_tests_are_corrected_for_their_number(synthetic):
    found = reproduce("occupations", synthetic).estimates
    for term in ("nurse", "pilot"):
        p, q = (only(found, stat=stat, group=term)["estimate"] for stat in ("p_value", "q_bh"))
        assert p <= q <= 2 * p


@pytest.mark.realdata
@needs_data
def test_published_agreement_needs_the_duplicates_and_the_blanks():
    found = published("same-person")
    shares = found.estimates.where(stat="pairwise_agreement").frame.set_index("sample")["estimate"]
    assert shares["as published: with duplicate checks, blank = same"] == pytest.approx(0.737, abs=5e-4)
    assert shares["as published: without duplicate checks, blank = same"] == pytest.approx(0.608, abs=5e-4)
    assert "0.737 is reproduced" in found.notes[2]


@pytest.mark.realdata
@needs_data
def test_472_of_the_500_pairs_have_consistent_labels():
    assert "472 of the 500 in '500 pairs'" in published("covariates").notes[1]


@pytest.mark.realdata
@needs_data
def test_identities_of_propensity_pairs_are_counted_strictly():
    found = published("pairs")
    strict = only(found.estimates, quantity="propensity: no identity in another pair", sample="all")
    assert strict["estimate"] == pytest.approx(0.377, abs=5e-4)
    assert "0.377" in found.notes[1]
    assert "0.608" in found.notes[1]


@pytest.mark.realdata
@needs_data
def test_occupations_are_counted_after_correction():
    notes = published("occupations").notes
    assert "10 differ from the official share" in notes[0]
    assert "By Bonferroni: 7." in notes[0]
    assert "13 show fewer women and 5 more" in notes[1]
