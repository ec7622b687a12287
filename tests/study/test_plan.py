"""study.toml becomes a Study, or an error that names the rule and the line."""

from __future__ import annotations

import dataclasses
import re

import pytest

from likewise.cli.study.example import make_example
from likewise.errors import PlanError, StudyError
from likewise.runtime.toml_lines import line_of, lines_of
from likewise.study.config.load import read_study
from likewise.study.config.plan_hash import canonical, plan_hash
from likewise.study.config.questions import KINDS
from likewise.study.config.texts import to_html
from likewise.study.translations import best_language, words
from small_study import ATTENTION, COMPREHENSION, GOLD, PLAN, TRAINING, write_study


@pytest.mark.parametrize("kind", KINDS)
def test_every_example_is_a_study(kind, tmp_path):
    make_example(tmp_path, kind)
    study = read_study(tmp_path)
    assert study.kind == kind
    assert len(str(study).splitlines()) == 6
    with pytest.raises(Exception, match=r"already has a study"):
        make_example(tmp_path, kind)


def test_a_study_holds_what_its_plan_says(tmp_path):
    study = read_study(write_study(tmp_path, more=TRAINING + GOLD + ATTENTION))
    assert (len(study.units), study.responses, study.tasks_per_rater) == (8, 16, 4)
    assert study.title("de") == "Eine kleine Studie"
    assert study.kinds == {f"u{k}.png": "work" for k in range(8)} | {
        "training-1": "training", "training-2": "training", "gold-1": "gold", "gold-2": "gold",
        "attention-1": "attention",
    }  # fmt: skip
    assert study.items["attention-1"].answer == {"attention-1": 2.0}


BAD = [
    ("raters_per_unit = 2", "raters_per_unit = 9", "", "but only 8 raters are expected", "raters_per_unit = 9"),
    ("raters = 8", "raters = 3", "", "3 raters x 4 tasks give 12 responses; the quotas need 16", "raters = 3"),
    ("tasks_per_rater = 4", "tasks_per_rater = 9", "", "but there are only 8 units", "tasks_per_rater = 9"),
    ("seed = 3", "sead = 3", "", "Unknown key 'sead'", "sead = 3"),
    ("seed = 3", 'seed = "three"', "", "seed must be a whole number", 'seed = "three"'),
    ("hold_minutes = 10", "hold_minutes = true", "", "hold_minutes must be a number", "hold_minutes = true"),
    ('["en", "de"]', '["en", "xx"]', "", "Unknown language 'xx'", 'languages = ["en", "xx"]'),
    ('kind = "own"', 'kind = "real-or-fak"', "", "Did you mean 'real-or-fake'?", 'kind = "real-or-fak"'),
    ('kind = "own"', 'kind = "real-or-fake"', "", "has its own question", 'kind = "real-or-fake"'),
    ("value = 0", "value = 1", "", "have the same value", "[[question]]"),
    ("You may take part.", "", "", "The consent text is empty", "[consent]"),
    ("", "", GOLD.replace("answer = 0\n", ""), "has no correct answer to 'seen'", ("[[gold.item]]", 2)),
    ("", "", GOLD.replace("answer = 0", "answer = 7"), "is not an option of 'seen'", ("[[gold.item]]", 2)),
    ("", "", GOLD.replace("per_rater = 1", "per_rater = 3"), "but [gold] has 2 items", "per_rater = 3"),
    ("", "", GOLD.replace("per_rater = 1", "per_rater = 0"), "[gold] has items but per_rater is 0", "per_rater = 0"),
    ("", "", TRAINING.replace('explanation = "It is not."', ""), "has no explanation", ("[[training.item]]", 2)),
    ("", "", TRAINING.replace("qualify = 0.6", "qualify = 60"), "qualify is 60", "qualify = 60"),
    ("", "", TRAINING.replace("t1.png", "missing.png"), "not found in", ("[[training.item]]", 2)),
    ("", "", TRAINING.replace("t1.png", "../study.toml"), "outside the image folder", ("[[training.item]]", 2)),
    ("", "", TRAINING.replace("t1.png", "u0.png"), "occurs in [units] and in [training]", "[training]"),
    ("", "", TRAINING.replace('image = "t1.png"\n', ""), "names no image", ("[[training.item]]", 2)),
    ("", "", ATTENTION.replace("answer = 2", "answer = 3"), "is not an option of", "[[attention.item]]"),
    ("", "", COMPREHENSION.replace("answer = 1", "answer = 9"), "is not an option of", "[[comprehension.item]]"),
    ("", "", COMPREHENSION.replace("attempts = 2", "attempts = 0"), "attempts is 0", "attempts = 0"),
    ("", "", "[exclusion]\ngold_below = 0.5\n", "the study has no gold items", "gold_below = 0.5"),
    ("", "", "[exclusion]\ngold_belo = 0.5\n", "Unknown key 'gold_belo'", "gold_belo = 0.5"),
    ("", "", '[completion]\nredirect = "http://x"\n', "must start with https://", 'redirect = "http://x"'),
    ("", "", '[[arm]]\nname = "one"\n', "a single arm", "[[arm]]"),
    ("", "", '[[arm]]\nname = "a"\n[[arm]]\nname = "b"\nattention = false\n', "switches attention", "[[arm]]"),
    ("", "", '[gap]\nfocal = "left"\nreference = "up"\n', "Group 'up' has 0 unit(s)", "[gap]"),
    ('"units.csv"', '"nowhere.csv"', "", "File not found", 'table = "nowhere.csv"'),
    ('"units.csv"', '"units.csv"\ngroup = "tone"', "", "Column 'tone' not found in units.csv", "[units]"),
]


@pytest.mark.parametrize(("old", "new", "more", "rule", "culprit"), BAD, ids=[entry[3] for entry in BAD])
def test_a_bad_plan_is_refused_by_its_line(old, new, more, rule, culprit, tmp_path):
    assert old in PLAN
    text = (PLAN.replace(old, new, 1) if old else PLAN) + more
    write_study(tmp_path, plan=text)
    with pytest.raises(StudyError) as caught:
        read_study(tmp_path)
    assert rule in str(caught.value)
    words_of_line, nth = culprit if isinstance(culprit, tuple) else (culprit, 1)
    lines = [number for number, line in enumerate(text.splitlines(), 1) if line == words_of_line]
    assert f"(study.toml, line {lines[nth - 1]})" in str(caught.value)


def test_a_missing_image_of_a_table_is_named_by_the_tables_line(tmp_path):
    write_study(tmp_path)
    (tmp_path / "images" / "u5.png").unlink()
    with pytest.raises(StudyError, match=r"Image 'u5.png' not found in .* \(units.csv, line 7\)"):
        read_study(tmp_path)


def test_what_is_no_image_is_refused(tmp_path):
    write_study(tmp_path)
    (tmp_path / "images" / "u5.png").write_text("<svg/>")
    with pytest.raises(StudyError, match=r"units.csv, line 7"):
        read_study(tmp_path)


def test_no_toml_and_no_file_are_refused(tmp_path):
    with pytest.raises(StudyError, match=r"study.toml is missing. Create one with: likewise study init"):
        read_study(tmp_path)
    (tmp_path / "study.toml").write_text("x = = 1")
    with pytest.raises(PlanError, match=r"line 1"):
        read_study(tmp_path)


def test_a_study_can_be_made_and_changed_in_python(tmp_path):
    study = read_study(write_study(tmp_path))
    assert dataclasses.replace(study, seed=4).seed == 4
    with pytest.raises(StudyError, match=r"the quotas need"):
        dataclasses.replace(study, raters=3)


def test_lines_are_found_behind_values_of_several_lines():
    text = 'a = """\nb = 1\n"""\nc = [\n  1,\n]\n[x]\nd = 2\n[[y]]\ne = 1\n[[y]]\ne = 2\n[x.z]\nf = 1\n'
    found = lines_of(text)
    assert (found["a",], found["c",], found["x", "d"], found["y", 1, "e"], found["x", "z", "f"]) == (1, 4, 8, 12, 14)
    assert ("b",) not in found
    assert line_of(found, ("y", 1, "nothing")) == 11


def test_text_is_markdown_without_raw_html_images_or_scripts():
    shown = str(to_html("# Head\n\nOne **bold** <script>\ntwo\n\n- a\n- b & c"))
    assert shown == (
        "<h2>Head</h2>\n<p>One <strong>bold</strong> &lt;script&gt;\ntwo</p>\n"
        "<ul>\n<li>a</li>\n<li>b &amp; c</li>\n</ul>"
    )
    for evil in ("![x](https://elsewhere.example/x.png)", "<img src=x onerror=alert(1)>", "[x](javascript:alert(1))"):
        assert not re.search(r"<img|<script|href=.javascript", str(to_html(evil)))
    assert '<a href="https://example.org">' in str(to_html("[consent](https://example.org)"))


def test_all_problems_of_a_plan_are_reported_at_once(tmp_path):
    text = PLAN.replace("seed = 3", "seed = -3").replace("You may take part.", "").replace('["en", "de"]', '["xx"]')
    write_study(tmp_path, plan=text)
    with pytest.raises(StudyError) as caught:
        read_study(tmp_path)
    reported = str(caught.value)
    assert "3 problems in the study plan" in reported
    assert [line in reported for line in ("(study.toml, line 4)", "(study.toml, line 5)", "(study.toml, line")] == [
        True
    ] * 3
    (tmp_path / "study.toml").write_text(PLAN.replace("seed = 3", "seed = 'x'\nsaed = 1"))
    with pytest.raises(StudyError, match=r"2 problems in study.toml"):
        read_study(tmp_path)


def test_an_older_plan_keeps_its_meaning_and_its_hash(tmp_path):
    """Format 1 had one attempt at the practice by default, and no comprehension check in its hash."""
    old = read_study(write_study(tmp_path / "old", more=TRAINING))
    new = read_study(write_study(tmp_path / "new", plan=PLAN.replace("format = 1", "format = 2"), more=TRAINING))
    assert (old.training.tries, new.training.tries) == (1, 2)
    assert "comprehension" not in canonical(old)
    assert plan_hash(old, {}) == "6af55d2718170a60f7d672796eea84fd55c042a94464a034ec8cb6d9ca3f4767"


def test_both_languages_say_everything():
    assert words("en").keys() == words("de").keys()
    for key, text in words("en").items():
        assert text.count("{") == words("de")[key].count("{"), key


def test_the_browsers_language_is_taken():
    assert best_language("fr, de-AT;q=0.8, en;q=0.9", ["de", "en"]) == "en"
    assert best_language("de-AT", ["en", "de"]) == "de"
    assert best_language("fr;q=x", ["de", "en"]) == "de"
