"""study.toml becomes a Study, or an error that names the rule and the line."""

from __future__ import annotations

import dataclasses

import pytest

from likewise.cli.study_example import make_example
from likewise.errors import PlanError, StudyError
from likewise.study.lines import line_of, lines_of
from likewise.study.questions import KINDS
from likewise.study.reading import read_study
from likewise.study.texts import paragraphs
from likewise.study.words import best_language, words
from small_study import ATTENTION, GOLD, PLAN, TRAINING, write_study


@pytest.mark.parametrize("kind", KINDS)
def test_every_example_is_a_study(kind, tmp_path):
    make_example(tmp_path, kind)
    study = read_study(tmp_path)
    assert study.kind == kind
    assert len(str(study).splitlines()) == 6
    with pytest.raises(Exception, match=r"has no study yet"):
        make_example(tmp_path, kind)


def test_a_study_holds_what_its_plan_says(tmp_path):
    study = read_study(write_study(tmp_path, more=TRAINING + GOLD + ATTENTION))
    assert (len(study.units), study.answers, study.tasks_per_rater) == (8, 16, 4)
    assert study.title("de") == "Eine kleine Studie"
    assert study.kinds == {f"u{k}.png": "work" for k in range(8)} | {
        "training-1": "training", "training-2": "training", "gold-1": "gold", "gold-2": "gold",
        "attention-1": "attention",
    }  # fmt: skip
    assert study.items["attention-1"].answer == {"attention-1": 2.0}


BAD = [
    ("raters_per_unit = 2", "raters_per_unit = 9", "", "a unit is rated by different raters", "raters_per_unit = 9"),
    ("raters = 8", "raters = 3", "", "the raters can fill every unit's quota", "raters = 3"),
    ("tasks_per_rater = 4", "tasks_per_rater = 9", "", "nobody sees a unit twice", "tasks_per_rater = 9"),
    ("seed = 3", "sead = 3", "", "has no key 'sead'", "sead = 3"),
    ("seed = 3", 'seed = "three"', "", "seed is a whole number", 'seed = "three"'),
    ("hold_minutes = 10", "hold_minutes = true", "", "hold_minutes is a number", "hold_minutes = true"),
    ('["en", "de"]', '["en", "xx"]', "", "languages are among", 'languages = ["en", "xx"]'),
    ('kind = "own"', 'kind = "real-or-fak"', "", "kind is a kind of study", 'kind = "real-or-fak"'),
    ('kind = "own"', 'kind = "real-or-fake"', "", "and only that", 'kind = "real-or-fake"'),
    ("value = 0", "value = 1", "", "different values", "[[question]]"),
    ("You may take part.", "", "", "people consent to something", "[consent]"),
    ("", "", GOLD.replace("answer = 0\n", ""), "has its right answer to 'seen'", ("[[gold.item]]", 2)),
    ("", "", GOLD.replace("answer = 0", "answer = 7"), "is one that can be given", ("[[gold.item]]", 2)),
    ("", "", GOLD.replace("per_rater = 1", "per_rater = 3"), "different items of [gold]", "per_rater = 3"),
    ("", "", GOLD.replace("per_rater = 1", "per_rater = 0"), "items of [gold] are used", "per_rater = 0"),
    ("", "", TRAINING.replace('explanation = "It is not."', ""), "is explained", ("[[training.item]]", 2)),
    ("", "", TRAINING.replace("qualify = 0.6", "qualify = 60"), "qualify is a share", "qualify = 60"),
    ("", "", TRAINING.replace("t1.png", "missing.png"), "every image is there", ("[[training.item]]", 2)),
    ("", "", TRAINING.replace("t1.png", "../study.toml"), "an image inside the folder", ("[[training.item]]", 2)),
    ("", "", TRAINING.replace("t1.png", "u0.png"), "shown in one part of the study", "[training]"),
    ("", "", ATTENTION.replace("answer = 2", "answer = 3"), "is one that can be given", "[[attention.item]]"),
    ("", "", "[exclusion]\ngold_below = 0.5\n", "gold_below needs gold", "gold_below = 0.5"),
    ("", "", "[exclusion]\ngold_belo = 0.5\n", "has no key 'gold_belo'", "gold_belo = 0.5"),
    ("", "", '[completion]\nredirect = "http://x"\n', "an https address", 'redirect = "http://x"'),
    ("", "", '[[arm]]\nname = "one"\n', "no arm or several", "[[arm]]"),
    ("", "", '[[arm]]\nname = "a"\n[[arm]]\nname = "b"\nattention = false\n', "switches attention", "[[arm]]"),
    ("", "", '[gap]\nfocal = "left"\nreference = "up"\n', "at least 2 units", "[gap]"),
    ('"units.csv"', '"nowhere.csv"', "", "is not there", 'table = "nowhere.csv"'),
    ('"units.csv"', '"units.csv"\ngroup = "tone"', "", "has the column 'tone'", "[units]"),
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
    with pytest.raises(StudyError, match=r"every image is there \(units.csv, line 7\)"):
        read_study(tmp_path)


def test_what_is_no_image_is_refused(tmp_path):
    write_study(tmp_path)
    (tmp_path / "images" / "u5.png").write_text("<svg/>")
    with pytest.raises(StudyError, match=r"units.csv, line 7"):
        read_study(tmp_path)


def test_no_toml_and_no_file_are_refused(tmp_path):
    with pytest.raises(StudyError, match=r"is there"):
        read_study(tmp_path)
    (tmp_path / "study.toml").write_text("x = = 1")
    with pytest.raises(PlanError, match=r"line 1"):
        read_study(tmp_path)


def test_a_study_can_be_made_and_changed_in_python(tmp_path):
    study = read_study(write_study(tmp_path))
    assert dataclasses.replace(study, seed=4).seed == 4
    with pytest.raises(StudyError, match=r"quota"):
        dataclasses.replace(study, raters=3)


def test_lines_are_found_behind_values_of_several_lines():
    text = 'a = """\nb = 1\n"""\nc = [\n  1,\n]\n[x]\nd = 2\n[[y]]\ne = 1\n[[y]]\ne = 2\n[x.z]\nf = 1\n'
    found = lines_of(text)
    assert (found["a",], found["c",], found["x", "d"], found["y", 1, "e"], found["x", "z", "f"]) == (1, 4, 8, 12, 14)
    assert ("b",) not in found
    assert line_of(found, ("y", 1, "nothing")) == 11


def test_text_is_escaped_and_marked_up():
    shown = str(paragraphs("## Head\n\nOne **bold** <script>\ntwo\n\n- a\n- b & c"))
    assert shown == (
        "<h2>Head</h2>\n<p>One <strong>bold</strong> &lt;script&gt; two</p>\n<ul><li>a</li><li>b &amp; c</li></ul>"
    )


def test_both_languages_say_everything():
    assert words("en").keys() == words("de").keys()
    for key, text in words("en").items():
        assert text.count("{") == words("de")[key].count("{"), key


def test_the_browsers_language_is_taken():
    assert best_language("fr, de-AT;q=0.8, en;q=0.9", ["de", "en"]) == "en"
    assert best_language("de-AT", ["en", "de"]) == "de"
    assert best_language("fr;q=x", ["de", "en"]) == "de"
