"""Who judges edits where the plan names nobody."""

from __future__ import annotations

import pytest

from likewise.cli import judging
from likewise.cli.judging import RECOGNISERS, Edited, kind_of, settled_judges
from likewise.cli.plan import plan_from
from likewise.make.certificate import CertificateSpec

AGE = "40-49 + 50-59 + 60-69 + 70 or more"


def plan(*raters: tuple[str, str]):
    return plan_from(
        {
            "faces": {"images": "i", "table": "t.csv"},
            "contrast": {"column": "perceived_gender", "focal": "female", "reference": "male"},
            "rater": [{"slot": slot, "name": name} for slot, name in raters],
            "counterfactual": {"editor": "fader"},
        }
    )


@pytest.fixture
def all_at_hand(monkeypatch):
    monkeypatch.setattr(judging, "entry", lambda name: name)
    monkeypatch.setattr(judging.importlib.util, "find_spec", lambda name: name)


FACES = Edited("perceived_gender", "female", ("smiling", "young", "eyeglasses"), toy=False)


def test_what_is_turned_and_what_is_held_are_read_by_networks(all_at_hand):
    spec, notes = settled_judges(CertificateSpec(), plan(), FACES)
    assert spec.target == "faceres-gender: female"
    assert spec.held == ("emotion: happy", f"faceres-age: {AGE}")
    assert spec.recogniser == "mobilefacenet"
    assert "eyeglasses" in " ".join(notes), "what nobody reads is said"


def test_who_is_audited_does_not_judge(all_at_hand):
    audited = plan(("classifier", "faceres-gender"), ("recogniser", "mobilefacenet"))
    spec, _ = settled_judges(CertificateSpec(), audited, FACES)
    assert (spec.target, spec.recogniser) == ("gender: female", "dlib")


def test_what_the_plan_names_stays(all_at_hand):
    given = CertificateSpec(target="gear: female", held=(), recogniser="", drift=0.3)
    assert settled_judges(given, plan(), FACES)[0] == given


@pytest.mark.parametrize(
    ("attribute", "towards", "target"),
    [
        ("predicted_gender", "male", "faceres-gender: male"),
        ("predicted_gender", "female", "faceres-gender: female"),
        ("predicted_age", "", f"faceres-age: {AGE}"),
        ("young", "1", "faceres-age: 0-2 + 3-9 + 10-19 + 20-29 + 30-39"),
        ("predicted_smile", "", "emotion: happy"),
        ("measured_ita", "", ""),
    ],
)
def test_the_target_is_what_the_dial_turns_to(all_at_hand, attribute, towards, target):
    spec, notes = settled_judges(CertificateSpec(), plan(), Edited(attribute, towards, (), toy=False))
    assert spec.target == target
    assert any("whether measured_ita moves" in note for note in notes) == (not target)


def test_without_networks_nobody_judges_and_that_is_said(monkeypatch):
    monkeypatch.setattr(judging, "entry", lambda name: None)
    spec, notes = settled_judges(CertificateSpec(), plan(), FACES)
    assert (spec.target, spec.held, spec.recogniser) == ("", (), "")
    told = " ".join(notes)
    for words in ("whether perceived_gender moves", "smiling, young, eyeglasses", "No recogniser at hand"):
        assert words in told


def test_a_drawn_world_has_judges_of_its_own():
    edited = Edited("perceived_gender", "female", ("smiling", "eyeglasses"), toy=True)
    spec, _ = settled_judges(CertificateSpec(), plan(("recogniser", "world")), edited)
    assert spec.judges == ("world-attributes: female", "world-attributes: smiling", "world-attributes: eyeglasses")
    assert spec.recogniser == "world"


def test_of_an_editor_that_does_not_say_what_it_holds_everything_should_stay(all_at_hand):
    spec, _ = settled_judges(CertificateSpec(), plan(), Edited("predicted_smile", "", None, toy=False))
    assert spec.judges == ("emotion: happy", "faceres-gender: female", f"faceres-age: {AGE}")


def test_a_column_is_about_what_its_words_say():
    assert [kind_of(c) for c in ("perceived_gender", "Young", "language", "is_smiling")] == [
        "gender",
        "age",
        "",
        "smile",
    ]
    assert all(reader.weights for reader in RECOGNISERS)
