from __future__ import annotations

import pandas as pd
import pytest

from likewise.errors import SpecError
from likewise.make.certificate import DRIFT, OUTSIDE, PERSON, RATER, TARGET, CertificateSpec, shares, uncertified
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
    """Everybody is faithful, but for what is changed: {(parent, level, question): value}."""
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


def test_each_broken_rule_is_named():
    given = answers(
        at={
            ("leaky", 2.0, OUTSIDE): 1.0,
            ("stranger", 1.0, PERSON): 0.9,
            ("drifts", -1.0, DRIFT + "smiling"): -0.4,
        }
    )
    reasons = uncertified(given, sweep(), CertificateSpec(person=0.6))
    assert reasons.to_dict() == {
        "leaky": "pixels outside the mask changed",
        "stranger": "another person",
        "drifts": "drift",
        "stuck": "the attribute does not move with the dial",
        "backwards": "the attribute does not move with the dial",
    }
    assert shares(reasons, PARENTS)["certified"] == 1
    assert sum(shares(reasons, PARENTS).values()) == len(PARENTS)


def test_beyond_the_training_range_only_pixels_count():
    given = answers(at={("good", 2.0, PERSON): 5.0, ("good", 2.0, DRIFT + "smiling"): 1.0})
    assert "good" not in uncertified(given, sweep(), CertificateSpec(person=0.6))


def test_a_face_that_is_not_found_is_not_certified():
    given = answers(at={("good", 1.0, PERSON): float("nan")})
    assert uncertified(given, sweep(), CertificateSpec(person=0.6))["good"] == "another person"
    assert "good" not in uncertified(given, sweep(), CertificateSpec())


@pytest.mark.parametrize("options", [{"person": 0.0}, {"drift": 0.0}, {"rise": -1.0}])
def test_a_rule_without_meaning_is_refused(options):
    with pytest.raises(SpecError):
        CertificateSpec(**options)
