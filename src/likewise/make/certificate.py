"""certificate: did an edit change what it should, and nothing else?

Every counterfactual is looked at beside its original: how many pixels outside the mask differ (none may), how far a
recogniser is from taking both for one person, how the attribute's own score moves, and how the scores of held
co-attributes drift. The judges are classifiers that had no part in training the editor. What they say are Ratings, the
unit is the counterfactual; ``uncertified`` names the originals whose sweep breaks a rule, and which.

An original whose sweep breaks a rule is left out whole: leaving out single levels would change who is averaged at each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from likewise.errors import SpecError
from likewise.tables import Faces, Ratings

RATER = "certificate"
OUTSIDE, PERSON, TARGET, DRIFT = "pixels changed outside", "distance to the original", "attribute", "drift of "
STUCK = "the attribute does not move with the dial"
CERTIFIED, BEYOND = "certified", "extrapolation"


@dataclass(frozen=True, kw_only=True)
class CertificateSpec:
    """What a sweep has to keep to, and who looks. A judge is written ``classifier: label``."""

    target: str = ""
    """Who says whether the attribute moves: the label's score has to rise with the dial."""
    held: tuple[str, ...] = ()
    """Who says whether the other attributes stay."""
    recogniser: str = ""
    """Who says whether it is still the same person; empty asks nobody."""
    options: dict[str, Any] = field(default_factory=dict)
    """The judges' own options, by their names."""
    person: float | None = None
    """The largest distance to the original inside the training range; None is the recogniser's own threshold."""
    drift: float = 0.15
    """How far a held co-attribute's score may move inside the training range."""
    rise: float = 0.0
    """By how much the attribute's own score rises at least from one end of the training range to the other."""

    def __post_init__(self) -> None:
        for judge in filter(None, (self.target, *self.held)):
            if not all(judge_of(judge)):
                raise SpecError("a judge is written 'classifier: label'", got=repr(judge))
        if self.person is not None and self.person <= 0:
            raise SpecError("person is a distance above 0", got=str(self.person))
        if not 0 < self.drift <= 1 or self.rise < 0:
            raise SpecError("drift lies above 0 and up to 1, rise at 0 or above", got=f"{self.drift} and {self.rise}")


def judge_of(text: str) -> tuple[str, str]:
    """Read ``classifier: label``."""
    name, _, label = text.partition(":")
    return name.strip(), label.strip()


def uncertified(ratings: Ratings, counterfactuals: Faces, spec: CertificateSpec) -> pd.Series[str]:
    """Return for each original whose sweep breaks a rule what it breaks, indexed by original.

    Distances and drifts are held to their limits inside the training range (-1 to 1); beyond it the edit is an
    extrapolation, which the report marks. Pixels outside the mask may change nowhere.
    """
    about = counterfactuals.frame.set_index("image")[["parent", "level"]]
    frame = ratings.frame
    frame = frame[frame["rater"] == RATER].join(about, on="unit")
    inside = frame[frame["level"].abs() <= 1]
    broken = [
        _named(frame[(frame["question"] == OUTSIDE) & (frame["value"] > 0)], "pixels outside the mask changed"),
        _named(inside[inside["question"].str.startswith(DRIFT) & ~(inside["value"].abs() <= spec.drift)], "drift"),
        _flat(inside[inside["question"] == TARGET], spec.rise),
    ]
    if spec.person is not None:
        far = inside[(inside["question"] == PERSON) & ~(inside["value"] <= spec.person)]
        broken.append(_named(far, "another person"))
    together = pd.concat(broken)
    reasons: pd.Series[str] = together.groupby(level=0).agg(", ".join)
    return reasons


def verdicts(reasons: pd.Series[str], counterfactuals: Faces) -> Ratings:
    """Return for each counterfactual whether it is certified, and whether its level is an extrapolation."""
    frame = counterfactuals.frame
    said = {
        CERTIFIED: ~frame["parent"].isin(reasons.index),
        BEYOND: frame["level"].abs() > 1,
    }
    rows = [
        pd.DataFrame({"unit": frame["image"], "rater": RATER, "question": question, "value": value.astype(float)})
        for question, value in said.items()
    ]
    return Ratings(pd.concat(rows, ignore_index=True))


def certified(ratings: Ratings, counterfactuals: Faces) -> Faces:
    """Return the counterfactuals that may go into slopes."""
    frame = ratings.frame
    kept = frame[(frame["question"] == CERTIFIED) & (frame["value"] == 1)]["unit"]
    return counterfactuals.subset([image for image in counterfactuals.images if image in set(kept)])


def _named(rows: pd.DataFrame, reason: str) -> pd.Series[str]:
    parents = rows["parent"].drop_duplicates()
    return pd.Series(reason, index=pd.Index(parents, name="parent"), dtype="str")


def _flat(rows: pd.DataFrame, rise: float) -> pd.Series[str]:
    """Name the originals whose attribute does not go up with the dial: at the ends, and on the way in rank."""
    wide = rows.pivot(index="parent", columns="level", values="value").sort_index(axis=1)
    if wide.empty:
        return pd.Series(dtype="str", index=pd.Index([], name="parent"))
    up = (wide.iloc[:, -1] - wide.iloc[:, 0] > rise) & (_rank_correlation(wide) > 0.5)
    return pd.Series(STUCK, index=wide.index[~up], dtype="str")


def _rank_correlation(wide: pd.DataFrame) -> pd.Series[float]:
    ranks = wide.rank(axis=1)
    dial = pd.Series(np.arange(1, wide.shape[1] + 1), index=wide.columns)
    return ranks.corrwith(dial, axis=1).fillna(0)


def shares(reasons: pd.Series[str], parents: Sequence[str]) -> dict[str, int]:
    """Count the originals that are certified, and those that are not by each reason."""
    counted = {"certified": len(set(parents) - set(reasons.index))}
    return counted | {str(reason): int(count) for reason, count in reasons.value_counts().items()}
