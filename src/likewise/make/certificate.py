"""certificate: did an edit change what it should, and nothing else?

Every counterfactual is looked at beside its original: how many pixels outside the mask differ (none may), how far a
recogniser is from taking both for one person, how the attribute's own score moves, and how the scores of held
co-attributes drift. The judges are classifiers that had no part in training the editor. What they say are Ratings, the
unit is the counterfactual; ``judged`` names the originals whose sweep breaks a rule, and which.

Every level is judged. An original that breaks a rule at one of them is left out whole: leaving out single levels would
change who is averaged at each. But beyond the training range a level may be too far for most faces. Such a level, and
those beyond it, are left out for everybody, and faces are judged by the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
import pandas as pd

from likewise.errors import SpecError
from likewise.tables import Faces, Ratings

RATER = "certificate"
OUTSIDE, PERSON, TARGET, DRIFT = "pixels changed outside", "distance to the original", "attribute", "drift of "
LEAKED, ANOTHER, DRIFTED = "pixels outside the mask changed", "another person", "drift"
STUCK, BACK = "the attribute does not move with the dial", "the attribute turns back"
CERTIFIED, BEYOND = "certified", "extrapolation"
ENOUGH = 0.5
"""The share of the faces that has to keep to the rules at a level beyond the training range."""


@dataclass(frozen=True, kw_only=True)
class CertificateSpec:
    """What a sweep has to keep to, and who looks.

    A judge is written ``classifier: label``, or ``classifier: label + label`` for the sum of their scores. None has one
    chosen by what is turned and held; an empty text or list asks nobody.
    """

    judge: bool = True
    """Whether edits are judged at all; without it nobody knows what the slopes rest on, and the report says so."""
    target: str | None = None
    """Who says whether the attribute moves: the label's score has to rise with the dial."""
    held: tuple[str, ...] | None = None
    """Who says whether the other attributes stay."""
    recogniser: str | None = None
    """Who says whether it is still the same person."""
    options: dict[str, Any] = field(default_factory=dict)
    """The judges' own options, by their names."""
    person: float | None = None
    """The largest distance to the original; None is the recogniser's own threshold."""
    drift: float = 0.2
    """How far a held co-attribute's score may move from where it stands at the middle level. What drawing a face anew
    does to it at all levels alike is in no slope; the arm "reconstruct" shows it."""
    rise: float = 0.0
    """By how much the attribute's own score rises at least from the lowest level to the highest."""
    back: float = 0.1
    """How far it may fall behind what it has reached on the way out from the middle: a saturated score trembles."""

    def __post_init__(self) -> None:
        if not self.judge and self._says_more():
            raise SpecError("with judge = false nothing else has an effect", got="other keys", fix="Leave them out.")
        for judge in filter(None, (self.target, *(self.held or ()))):
            if not all(judge_of(judge)):
                raise SpecError("a judge is written 'classifier: label'", got=repr(judge))
        if self.person is not None and self.person <= 0:
            raise SpecError("person is a distance above 0", got=str(self.person))
        if not 0 < self.drift <= 1 or min(self.rise, self.back) < 0:
            got = f"{self.drift}, {self.rise} and {self.back}"
            raise SpecError("drift lies above 0 and up to 1, rise and back at 0 or above", got=got)

    def _says_more(self) -> bool:
        plain = [each for each in fields(self) if each.name not in ("judge", "options")]
        return bool(self.options) or any(getattr(self, each.name) != each.default for each in plain)

    @property
    def judges(self) -> tuple[str, ...]:
        """The classifiers' part, each ``classifier: label``."""
        return tuple(filter(None, (self.target, *(self.held or ()))))


def judge_of(text: str) -> tuple[str, str]:
    """Read ``classifier: label``."""
    name, _, label = text.partition(":")
    return name.strip(), label.strip()


@dataclass(frozen=True)
class Verdict:
    """Which originals break a rule, and which levels are too far for most."""

    reasons: pd.Series[str]
    """Indexed by original: what it breaks."""
    too_far: tuple[float, ...] = ()
    """Levels beyond the training range that are left out for everybody."""


def judged(ratings: Ratings, counterfactuals: Faces, spec: CertificateSpec) -> Verdict:
    """Hold every level of every original to the rules."""
    about = counterfactuals.frame.set_index("image")[["parent", "level"]]
    frame = ratings.frame
    frame = frame[frame["rater"] == RATER].join(about, on="unit")
    broken = pd.concat([*_limits(frame, spec), _turned_back(_target(frame), spec.back)], ignore_index=True)
    too_far = _too_far(broken, about)
    leaked = frame[(frame["question"] == OUTSIDE) & (frame["value"] > 0)].assign(reason=LEAKED)
    stuck = _stuck(_target(frame).drop(columns=list(too_far), errors="ignore"), spec.rise)
    together = pd.concat([leaked, broken[~broken["level"].isin(too_far)], stuck])[["parent", "reason"]]
    reasons: pd.Series[str] = together.drop_duplicates().groupby("parent")["reason"].agg(", ".join)
    return Verdict(reasons, too_far)


def _limits(frame: pd.DataFrame, spec: CertificateSpec) -> list[pd.DataFrame]:
    """Return what goes beyond a limit: parent, level and reason. An answer that is missing keeps to none."""
    drifts = frame["question"].str.startswith(DRIFT) & ~(frame["value"].abs() <= spec.drift)
    broken = [frame[drifts].assign(reason=DRIFTED)]
    if spec.person is not None:
        broken.append(frame[(frame["question"] == PERSON) & ~(frame["value"] <= spec.person)].assign(reason=ANOTHER))
    return [part[["parent", "level", "reason"]] for part in broken]


def _target(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the attribute's score: a row an original, a column a level."""
    rows = frame[frame["question"] == TARGET]
    return rows.pivot(index="parent", columns="level", values="value").sort_index(axis=1)


def _turned_back(wide: pd.DataFrame, back: float) -> pd.DataFrame:
    """Return where the score falls behind what it has reached on the way out from the middle, to either side."""
    levels, scores = wide.columns.to_numpy(float), wide.to_numpy(float)  # [n, K], rising levels
    up, down = np.flatnonzero(levels >= 0), np.flatnonzero(levels <= 0)[::-1]
    behind = np.zeros_like(scores)
    behind[:, up] = np.fmax.accumulate(scores[:, up], axis=1) - scores[:, up]
    behind[:, down] = np.fmax(behind[:, down], scores[:, down] - np.fmin.accumulate(scores[:, down], axis=1))
    behind[np.isnan(scores)] = np.inf  # nobody was found there
    rows, columns = np.nonzero(behind > back)
    return pd.DataFrame({"parent": wide.index.to_numpy()[rows], "level": levels[columns], "reason": BACK})


def _too_far(broken: pd.DataFrame, about: pd.DataFrame) -> tuple[float, ...]:
    """Return the levels beyond the training range, from the first on at which too few faces keep to the rules."""
    faces = about["parent"].nunique()
    kept = 1 - broken.drop_duplicates(["parent", "level"]).groupby("level").size() / max(faces, 1)
    found: list[float] = []
    for side in (-1, 1):
        levels = sorted((float(level) for level in about["level"].unique() if side * level > 1), key=abs)
        first = next((level for level in levels if kept.get(level, 1.0) < ENOUGH), None)
        found += [level for level in levels if first is not None and abs(level) >= abs(first)]
    return tuple(sorted(found))


def _stuck(wide: pd.DataFrame, rise: float) -> pd.DataFrame:
    """Name the originals whose attribute is no higher at the highest level than at the lowest."""
    parents = [] if wide.empty else wide.index[~(wide.iloc[:, -1] - wide.iloc[:, 0] > rise)].to_list()
    return pd.DataFrame({"parent": parents, "reason": STUCK}, dtype="str")


def verdicts(verdict: Verdict, counterfactuals: Faces) -> Ratings:
    """Return for each counterfactual whether it is certified, and whether its level is an extrapolation."""
    frame = counterfactuals.frame
    said = {
        CERTIFIED: ~frame["parent"].isin(verdict.reasons.index) & ~frame["level"].isin(verdict.too_far),
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


def shares(reasons: pd.Series[str], parents: Sequence[str]) -> dict[str, int]:
    """Count the originals that are certified, and those that are not by each reason."""
    counted = {"certified": len(set(parents) - set(reasons.index))}
    return counted | {str(reason): int(count) for reason, count in reasons.value_counts().items()}
