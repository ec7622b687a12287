"""Published tables made again: on made-up data for the machinery, on the real data for the numbers."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from likewise.cli.main import cli
from likewise.cli.reproduce import NAMES, TABLE_1, reproduce
from likewise.errors import InputError, TableError
from picked import only

REAL = Path(os.environ.get("LIKEWISE_DATA", Path(__file__).parents[3] / "shared" / "data"))
needs_data = pytest.mark.skipif(not REAL.is_dir(), reason=f"the published data is not at {REAL}; set LIKEWISE_DATA")


@pytest.fixture
def made_up(tmp_path):
    """Folders as the authors publish them, filled with noise."""
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


def test_counting_empty_answers_as_same_is_told_from_leaving_them_out(made_up):
    found = reproduce("same-person", made_up)
    published = only(found.estimates, sample="as published", group="fake, knows: all")
    corrected = only(found.estimates, sample="corrected", group="fake, knows: all")
    assert published["n"] == 60 > corrected["n"]
    assert published["estimate"] > corrected["estimate"]
    assert found.notes[0].startswith("0 of 8")  # made-up answers are not the published ones


def test_the_verb_prints_one_record_a_cell(made_up):
    shown = CliRunner().invoke(cli, ["reproduce", "occupations", "--data", str(made_up), "--json"])
    assert shown.exit_code == 0
    records = json.loads(shown.output)["records"]
    assert {record["group"] for record in records} == {"nurse", "pilot"}
    assert all({"estimate", "low", "high", "n"} <= set(record) for record in records)
    plain = CliRunner().invoke(cli, ["reproduce", "occupations", "--data", str(made_up)])
    assert "Of 2 occupations" in plain.output


def test_what_is_not_there_is_named(made_up, tmp_path):
    with pytest.raises(InputError, match="Did you mean 'same-person'"):
        reproduce("same-persons", made_up)
    with pytest.raises(InputError, match="folder"):
        reproduce("pairs", tmp_path / "nowhere")
    with pytest.raises(TableError, match=r"projection_perceptual\.csv is not there"):
        reproduce("projection-sweep", made_up)


@pytest.mark.realdata
@needs_data
def test_table_1_comes_out_to_the_last_digit():
    found = reproduce("same-person", REAL)
    assert found.notes[0].startswith("8 of 8")
    for (kind, knows), (per_cent, *_) in TABLE_1.items():
        row = only(found.estimates, sample="as published", group=f"{kind}, knows: {knows}")
        assert 100 * row["estimate"] == pytest.approx(per_cent, abs=0.051)
    gap = only(found.estimates, sample="corrected", stat="gap", group="fake, knows: all - real, knows: all")
    assert gap["low"] < 0 < gap["high"]


@pytest.mark.realdata
@needs_data
def test_301_of_the_published_pairs_keep_their_rule():
    found = reproduce("pairs", REAL)
    quantity = "distance_recogniser_0.6: recogniser distance below 0.6, as recorded"
    assert only(found.estimates, quantity=quantity, sample="all")["estimate"] * 1200 == pytest.approx(301)
    assert only(found.estimates, quantity=quantity, sample="first 500")["estimate"] * 500 == pytest.approx(301)


@pytest.mark.realdata
@needs_data
def test_figure_3_has_the_authors_means():
    found = reproduce("projection-sweep", REAL).estimates
    expected = {
        "perceptual distance": (0.7328, 0.7314, 0.7310, 0.7414, 0.7604),
        "recogniser distance": (0.3366, 0.3187, 0.3146, 0.4949, 0.6506),
    }
    for quantity, means in expected.items():
        rows = found.where(quantity=quantity, stat="mean").frame
        assert rows["estimate"].to_numpy() == pytest.approx(means, abs=5e-5)


@pytest.mark.realdata
@needs_data
@pytest.mark.parametrize(("name", "rows"), [("covariates", 39 * 3 * 4), ("occupations", 45 * 3)])
def test_the_others_have_a_row_a_cell(name, rows):
    assert len(reproduce(name, REAL).estimates) == rows
    assert name in NAMES
