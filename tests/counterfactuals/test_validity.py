from __future__ import annotations

import pandas as pd
import pytest

from likewise.counterfactuals.validation.validity import (
    ARTIFACT,
    CONTROL,
    DRIFT,
    NOISE,
    OUTSIDE,
    OWN,
    PERSON,
    RATER,
    TARGET,
    ValiditySpec,
    assess,
    shares,
    valid_edits,
    verdicts,
)
from likewise.errors import SpecError
from likewise.tables import Images, Ratings

LEVELS = (-2.0, -1.0, 0.0, 1.0, 2.0)
PARENTS = ("good", "leaky", "stranger", "drifts", "stuck", "backwards")
GROUP = ("good", "stranger", "stuck")
NAMED = {"target": "t: a", "held": ("t: smiling",), "recognizer": "r", "artifacts": "network", "person": 0.6}


def sweep():
    rows = [
        {"image": f"{parent}@{level:+g}", "identity": parent, "parent": parent, "level": level}
        for parent in PARENTS
        for level in LEVELS
    ]
    return Images(pd.DataFrame(rows))


def answers(**changed):
    """Every edit is clean at every strength, but for what is changed: {(parent, level, question): value}."""
    rows = []
    for parent in PARENTS:
        for level in LEVELS:
            values = {
                OUTSIDE: 0.0,
                PERSON: 0.2 * abs(level),
                TARGET: 0.5 + 0.2 * level,
                DRIFT + "smiling": 0.03 * level,
                ARTIFACT: 0.1,
                OWN + TARGET: 0.8 if parent in GROUP else 0.2,
                CONTROL + TARGET: 0.05,
                CONTROL + ARTIFACT: 0.1,
                NOISE + TARGET: 0.01,
            }
            values |= {q: v for (p, lv, q), v in changed.get("at", {}).items() if (p, lv) == (parent, level)}
            if parent == "stuck":
                values[TARGET] = 0.5
            if parent == "backwards":
                values[TARGET] = 0.5 - 0.2 * level
            rows += [
                {"unit": f"{parent}@{level:+g}", "rater": RATER, "question": question, "value": value}
                for question, value in values.items()
            ]
    return Ratings(pd.DataFrame(rows))


def reasons(given, **limits):
    return assess(given, sweep(), ValiditySpec(**{**NAMED, **limits})).reasons


def test_each_broken_rule_is_named():
    given = answers(
        at={
            ("leaky", 2.0, OUTSIDE): 1.0,
            ("stranger", 1.0, PERSON): 0.9,
            ("drifts", -1.0, DRIFT + "smiling"): -0.4,
        }
    )
    found = reasons(given)
    assert found.to_dict() == {
        "leaky": "pixels outside the mask changed",
        "stranger": "another person",
        "drifts": "a held attribute drifts",
        "stuck": "the attribute does not move",
        "backwards": "the attribute moves back, the attribute does not move",
    }
    assert shares(found, PARENTS)["valid"] == 1
    assert sum(shares(found, PARENTS).values()) == len(PARENTS)


@pytest.mark.parametrize("level", LEVELS)
def test_every_strength_is_validated(level):
    """One edit that breaks a rule at any strength, beyond the training range as well, excludes its image."""
    broken = (
        (PERSON, 0.7, "another person"),
        (DRIFT + "smiling", 0.3, "a held attribute drifts"),
        (ARTIFACT, 0.9, "artifacts in the picture"),
        (ARTIFACT, float("nan"), "artifacts in the picture"),
    )
    for question, value, reason in broken:
        found = reasons(answers(at={("good", level, question): value}))
        assert found.get("good") == reason
        assert "leaky" not in found.index


def test_the_attribute_rises_at_every_step_within_noise():
    back = {("good", 1.0, TARGET): 0.25}  # 0.5 at the middle: 1.1 of log-odds, more than a tenth of their range
    assert reasons(answers(at=back))["good"] == "the attribute moves back"
    loud = {(parent, level, NOISE + TARGET): 0.3 for parent in PARENTS for level in LEVELS}
    assert "good" not in reasons(answers(at=back | loud)).index, "within three times the noise"
    below = answers(at={("good", -2.0, TARGET): 0.55})  # 0.3 at -1
    assert reasons(below, share=0.1)["good"] == "the attribute moves back"
    assert "good" not in reasons(answers(at={("good", 1.0, TARGET): 0.45})).index, "a score is not exact"
    sure = {("good", 1.0, TARGET): 0.9999, ("good", 2.0, TARGET): 0.992}
    assert "good" not in reasons(answers(at=sure)).index, "how sure a network is beyond 0.99 says nothing"


def test_an_editor_with_artifacts_in_many_reconstructions_has_no_valid_edits():
    """The validator misses some ghosts: where it finds them in many reconstructions, the others have them as well."""
    many = {(parent, level, CONTROL + ARTIFACT): 0.9 for parent in PARENTS[1:4] for level in LEVELS}
    assert "the editor's reconstructions have artifacts in many images" in reasons(answers(at=many))["good"]
    few = {(parent, level, CONTROL + ARTIFACT): 0.9 for parent in PARENTS[1:3] for level in LEVELS}
    assert "good" not in reasons(answers(at=few)).index


def test_an_editor_of_strangers_has_no_look_alikes():
    """A recognizer lets in a few other people: where most edits are of others, those few are, too."""
    far = {(parent, level, PERSON): 0.9 for parent in PARENTS[1:5] for level in LEVELS}
    assert "the editor shows another person in most images" in reasons(answers(at=far))["good"]
    few = {(parent, level, PERSON): 0.9 for parent in PARENTS[1:3] for level in LEVELS}
    assert "good" not in reasons(answers(at=few)).index


def test_the_attribute_does_not_move_in_the_outermost_step_alone():
    def found(*scores):
        moved = {("good", level, TARGET): score for level, score in zip(LEVELS, scores, strict=True)}
        return reasons(answers(at=moved), share=0.1).get("good", "")

    assert found(0.1, 0.1, 0.1, 0.11, 0.9) == "the attribute moves in the outermost step alone"
    assert found(0.1, 0.9, 0.9, 0.9, 0.9) == "the attribute moves in the outermost step alone"
    assert found(0.1, 0.1, 0.9, 0.9, 0.9) == "", "a network that is sure has a border somewhere in the middle"
    assert found(0.1, 0.1, 0.1, 0.3, 0.9) == ""


def test_the_attribute_moves_by_a_share_of_the_distance_between_the_groups():
    groups = {parent: 1 if parent in GROUP else -1 for parent in PARENTS}  # medians 0.8 and 0.2

    def found(share, score):
        given = answers(at={("good", level, TARGET): 0.5 + score * level for level in LEVELS})
        spec = ValiditySpec(**NAMED, share=share)
        return assess(given, sweep(), spec, groups=groups)

    assert "good" not in found(0.3, 0.055).reasons.index, "0.39 to 0.61: 0.89 of log-odds, 32 % of 2.77"
    assert found(0.3, 0.045).reasons["good"] == "the attribute does not move", "0.41 to 0.59: 26 %"
    assert "2.77 apart" in found(0.3, 0.055).notes[0]


def test_a_saturated_probability_does_not_hide_a_movement():
    """From 0.99 to 0.80 a face has gone a third of the way between 0.99 and 0.02; tone is measured, not estimated."""
    own = {(p, level, OWN + TARGET): 0.99 if p in GROUP else 0.02 for p in PARENTS for level in LEVELS}
    groups = {parent: 1 if parent in GROUP else -1 for parent in PARENTS}
    scores = dict(zip(LEVELS, (0.80, 0.85, 0.9, 0.98, 0.99), strict=True))
    given = answers(at=own | {("good", level, TARGET): score for level, score in scores.items()})
    assert "good" not in assess(given, sweep(), ValiditySpec(**NAMED), groups=groups).reasons.index
    tone = ValiditySpec(**{**NAMED, "target": "skin-tone: darker"})
    assert assess(given, sweep(), tone, groups=groups).reasons["good"] == "the attribute does not move"


def test_a_validator_that_does_not_separate_the_groups_validates_nothing():
    groups = {parent: 1 if parent not in GROUP else -1 for parent in PARENTS}  # the wrong way round
    verdict = assess(answers(), sweep(), ValiditySpec(**NAMED), groups=groups)
    assert set(verdict.reasons.index) == set(PARENTS)
    assert "does not separate the groups" in verdict.reasons["good"]
    one_group = dict.fromkeys(PARENTS, 1)
    assert "does not separate" in assess(answers(), sweep(), ValiditySpec(**NAMED), groups=one_group).reasons["good"]


def test_an_edit_that_moves_no_more_than_a_control_is_not_an_edit():
    moved = {("good", level, CONTROL + TARGET): 5.0 for level in LEVELS}
    assert reasons(answers(at=moved))["good"] == "the attribute does not move"
    without = answers().frame
    without = Ratings(without[~without["question"].str.startswith(CONTROL)])
    assert "no placebo arm" in reasons(without)["good"]


def test_reconstruction_alone_explains_a_drift():
    drift = {("good", 1.0, DRIFT + "smiling"): 0.3}
    assert reasons(answers(at=drift))["good"] == "a held attribute drifts"
    alone = {("good", level, CONTROL + "smiling"): 0.35 for level in LEVELS}
    assert "good" not in reasons(answers(at=drift | alone)).index
    far = {("good", 1.0, DRIFT + "smiling"): 0.6}
    much = {("good", level, CONTROL + "smiling"): 0.9 for level in LEVELS}
    assert reasons(answers(at=far | much))["good"] == "a held attribute drifts", "up to a limit"


@pytest.mark.parametrize(
    ("lacking", "what"),
    [
        ("target", "the attribute"),
        ("held", "the held attributes"),
        ("recognizer", "the person"),
        ("artifacts", "artifacts"),
    ],
)
def test_without_a_validator_no_edit_is_valid(lacking, what):
    found = reasons(answers(), **{lacking: None})
    assert set(found.index) == set(PARENTS)
    assert f"no validator of {what}" in found["good"]
    if lacking != "held":
        assert f"no validator of {what}" in reasons(answers(), **{lacking: ""})["good"]
    else:
        assert "good" not in reasons(answers(), held=()).index, "nothing has to stay"


def test_a_strength_that_is_too_much_for_most_is_excluded_for_all():
    few = {(parent, 2.0, PERSON): 5.0 for parent in PARENTS[:2]}  # and one whose attribute goes backwards
    verdict = assess(answers(at=few), sweep(), ValiditySpec(**NAMED))
    assert verdict.too_far == ()
    assert set(PARENTS[:2]) <= set(verdict.reasons.index)
    most = few | {("stranger", 2.0, DRIFT + "smiling"): 1.0}
    verdict = assess(answers(at=most), sweep(), ValiditySpec(**NAMED))
    assert verdict.too_far == (2.0,)
    assert not set(PARENTS[:4]) & set(verdict.reasons.index), "they are assessed by the other levels"
    kept = valid_edits(verdicts(verdict, sweep()), sweep()).frame
    assert sorted(set(kept["level"])) == [-2, -1, 0, 1]
    assert kept.groupby("parent").size().to_dict() == dict.fromkeys(PARENTS[:4], 4), "the same faces at every level"


def test_inside_the_training_range_images_are_excluded_and_no_strength():
    all_far = {(parent, 1.0, PERSON): 5.0 for parent in PARENTS}
    verdict = assess(answers(at=all_far), sweep(), ValiditySpec(**NAMED))
    assert verdict.too_far == ()
    assert set(verdict.reasons.index) == set(PARENTS)


def test_an_edit_without_a_detected_face_is_not_valid():
    given = answers(at={("good", 1.0, PERSON): float("nan")})
    assert reasons(given)["good"] == "another person"
    assert reasons(answers(at={("good", 0.0, TARGET): float("nan")}))["good"] == "the attribute moves back"


def test_no_validation_and_a_tolerance_contradict_each_other():
    assert not ValiditySpec(enabled=False).enabled
    for options in ({"target": ""}, {"drift": 0.3}, {"options": {"emotion": {}}}):
        with pytest.raises(SpecError, match="no other key of"):
            ValiditySpec(enabled=False, **options)


@pytest.mark.parametrize(
    "options",
    [{"person": 0.0}, {"drift": 0.0}, {"share": 0.0}, {"back": -0.1}, {"artifact": 2}, {"target": "no label"}],
)
def test_a_rule_without_meaning_is_refused(options):
    with pytest.raises(SpecError):
        ValiditySpec(**options)
