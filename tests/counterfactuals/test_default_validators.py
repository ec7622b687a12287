"""Default validators of edits."""

from __future__ import annotations

import pytest

from likewise.counterfactuals.validation import default_validators as validators
from likewise.counterfactuals.validation.default_validators import RECOGNIZERS, Edited, choose_validators, kind_of
from likewise.counterfactuals.validation.validity import ValiditySpec

AGE = "40-49 + 50-59 + 60-69 + 70 or more"


def plan(*raters: tuple[str, str]) -> set[str]:
    return {name for _, name in raters}


@pytest.fixture
def all_at_hand(monkeypatch):
    monkeypatch.setattr(validators, "entry", lambda name: name)
    monkeypatch.setattr(validators.importlib.util, "find_spec", lambda name: name)


FACES = Edited("perceived_gender", "female", ("smiling", "young", "eyeglasses"), toy=False)


def test_networks_read_the_edited_and_the_held_attributes(all_at_hand):
    spec, notes = choose_validators(ValiditySpec(), plan(), FACES)
    assert spec.target == "faceres-gender: female"
    assert spec.held == ("emotion: happy", f"faceres-age: {AGE}")
    assert spec.recognizer == "mobilefacenet"
    assert "eyeglasses" in " ".join(notes), "a held attribute without a validator is noted"


def test_a_rater_under_audit_is_not_a_validator(all_at_hand):
    audited = plan(("classifier", "faceres-gender"), ("recognizer", "mobilefacenet"))
    spec, _ = choose_validators(ValiditySpec(), audited, FACES)
    assert (spec.target, spec.recognizer) == ("gender: female", "dlib")


def test_validators_of_the_plan_are_kept(all_at_hand):
    given = ValiditySpec(target="gear: female", held=(), recognizer="", artifacts="", drift=0.3)
    assert choose_validators(given, plan(), FACES)[0] == given


@pytest.mark.parametrize(
    ("attribute", "toward", "target"),
    [
        ("predicted_gender", "male", "faceres-gender: male"),
        ("predicted_gender", "female", "faceres-gender: female"),
        ("predicted_age", "", f"faceres-age: {AGE}"),
        ("young", "1", "faceres-age: 0-2 + 3-9 + 10-19 + 20-29 + 30-39"),
        ("predicted_smile", "", "emotion: happy"),
        ("measured_ita", "", "skin-tone: lighter"),
        ("skin_tone", "darker", "skin-tone: darker"),
        ("skin_tone", "lighter", "skin-tone: lighter"),
        ("measured_background", "", ""),
    ],
)
def test_the_target_is_the_group_of_positive_strengths(all_at_hand, attribute, toward, target):
    spec, notes = choose_validators(ValiditySpec(), plan(), Edited(attribute, toward, (), toy=False))
    assert spec.target == target
    assert any("No validator of measured_background is available" in note for note in notes) == (not target)


def test_without_networks_missing_validators_are_noted(monkeypatch):
    monkeypatch.setattr(validators, "entry", lambda name: None)
    spec, notes = choose_validators(ValiditySpec(), plan(), FACES)
    assert (spec.target, spec.held, spec.recognizer) == ("", None, "")
    reported = " ".join(notes)
    for words in ("No validator of perceived_gender", "smiling, young, eyeglasses", "No recognizer is available"):
        assert words in reported


def test_the_simulated_world_has_its_own_validators():
    edited = Edited("perceived_gender", "female", ("smiling", "eyeglasses"), toy=True)
    spec, _ = choose_validators(ValiditySpec(), plan(("recognizer", "world")), edited)
    assert spec.classifiers == ("world-attributes: female", "world-attributes: smiling", "world-attributes: eyeglasses")
    assert spec.recognizer == "world"


def test_an_editor_without_stated_held_attributes_holds_all_others(all_at_hand):
    spec, _ = choose_validators(ValiditySpec(), plan(), Edited("predicted_smile", "", None, toy=False))
    assert spec.classifiers == (
        "emotion: happy",
        "faceres-gender: female",
        f"faceres-age: {AGE}",
        "skin-tone: darker",
    )


def test_the_kind_of_a_column_is_read_from_its_words():
    assert [kind_of(c) for c in ("perceived_gender", "Young", "language", "is_smiling")] == [
        "gender",
        "age",
        "",
        "smile",
    ]
    assert all(reader.weights for reader in RECOGNIZERS)
