from __future__ import annotations

import pandas as pd
import pytest

from likewise.errors import SpecError
from likewise.make.certificate import (
    DRIFT,
    OUTSIDE,
    PERSON,
    RATER,
    TARGET,
    CertificateSpec,
    certified,
    judged,
    shares,
    verdicts,
)
from likewise.tables import Faces, Ratings

LEVELS = (-2.0, -1.0, 0.0, 1.0, 2.0)
PARENTS = ("good", "leaky", "stranger", "drifts", "stuck", "backwards")


def sweep():
    rows = [
        {"image": f"{parent}@{level:+g}", "identity": parent, "parent": parent, "level": level}
        for parent in PARENTS
        for level in LEVELS
    ]
    return Faces(pd.DataFrame(rows))


def answers(**changed):
    """Everybody is faithful at every level, but for what is changed: {(parent, level, question): value}."""
    rows = []
    for parent in PARENTS:
        for level in LEVELS:
            values = {
                OUTSIDE: 0.0,
                PERSON: 0.2 * abs(level),
                TARGET: 0.5 + 0.2 * level,
                DRIFT + "smiling": 0.05 * level,
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
    return judged(given, sweep(), CertificateSpec(**limits)).reasons


def test_each_broken_rule_is_named():
    given = answers(
        at={
            ("leaky", 2.0, OUTSIDE): 1.0,
            ("stranger", 1.0, PERSON): 0.9,
            ("drifts", -1.0, DRIFT + "smiling"): -0.4,
        }
    )
    found = reasons(given, person=0.6)
    assert found.to_dict() == {
        "leaky": "pixels outside the mask changed",
        "stranger": "another person",
        "drifts": "drift",
        "stuck": "the attribute does not move with the dial",
        "backwards": "the attribute turns back, the attribute does not move with the dial",
    }
    assert shares(found, PARENTS)["certified"] == 1
    assert sum(shares(found, PARENTS).values()) == len(PARENTS)


@pytest.mark.parametrize("level", LEVELS)
def test_every_level_is_judged(level):
    """One edit that breaks a rule at any level, beyond the training range as well, takes its face out."""
    for question, value, reason in ((PERSON, 0.7, "another person"), (DRIFT + "smiling", 0.3, "drift")):
        found = reasons(answers(at={("good", level, question): value}), person=0.6)
        assert found.get("good") == reason
        assert "leaky" not in found.index


def test_the_attribute_rises_at_every_step_but_for_a_trembling():
    back = answers(at={("good", 1.0, TARGET): 0.35})  # 0.5 at the middle
    assert reasons(back)["good"] == "the attribute turns back"
    assert "good" not in reasons(back, back=0.2).index
    below = answers(at={("good", -2.0, TARGET): 0.45})  # 0.3 at -1
    assert reasons(below)["good"] == "the attribute turns back"
    assert "good" not in reasons(answers(at={("good", 1.0, TARGET): 0.45})).index, "a saturated score trembles"
    assert "good" in reasons(answers(), rise=0.9).index


def test_a_level_that_is_too_far_for_most_is_left_out_for_everybody():
    few = {(parent, 2.0, PERSON): 5.0 for parent in PARENTS[:2]}  # and one whose attribute goes backwards
    verdict = judged(answers(at=few), sweep(), CertificateSpec(person=0.6))
    assert verdict.too_far == ()
    assert set(PARENTS[:2]) <= set(verdict.reasons.index)
    most = few | {("stranger", 2.0, DRIFT + "smiling"): 1.0}
    verdict = judged(answers(at=most), sweep(), CertificateSpec(person=0.6))
    assert verdict.too_far == (2.0,)
    assert not set(PARENTS[:4]) & set(verdict.reasons.index), "they are judged by the other levels"
    kept = certified(verdicts(verdict, sweep()), sweep()).frame
    assert sorted(set(kept["level"])) == [-2, -1, 0, 1]
    assert kept.groupby("parent").size().to_dict() == dict.fromkeys(PARENTS[:4], 4), "the same faces at every level"


def test_inside_the_training_range_faces_go_and_no_level():
    all_far = {(parent, 1.0, PERSON): 5.0 for parent in PARENTS}
    verdict = judged(answers(at=all_far), sweep(), CertificateSpec(person=0.6))
    assert verdict.too_far == ()
    assert set(verdict.reasons.index) == set(PARENTS)


def test_a_face_that_is_not_found_is_not_certified():
    given = answers(at={("good", 1.0, PERSON): float("nan")})
    assert reasons(given, person=0.6)["good"] == "another person"
    assert "good" not in reasons(given).index
    assert reasons(answers(at={("good", 0.0, TARGET): float("nan")}))["good"] == "the attribute turns back"


def test_no_judge_and_a_judges_limit_contradict_each_other():
    assert not CertificateSpec(judge=False).judge
    for options in ({"target": ""}, {"drift": 0.3}, {"options": {"emotion": {}}}):
        with pytest.raises(SpecError, match="nothing else has an effect"):
            CertificateSpec(judge=False, **options)


@pytest.mark.parametrize("options", [{"person": 0.0}, {"drift": 0.0}, {"rise": -1.0}, {"back": -0.1}])
def test_a_rule_without_meaning_is_refused(options):
    with pytest.raises(SpecError):
        CertificateSpec(**options)
