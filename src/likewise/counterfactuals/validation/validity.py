"""Edit validity: did an edit move the attribute, and nothing else? Without that there is no counterfactual finding.

Validators measure every edit beside its original and beside the placebo arms (``validate``). Here their measurements
are held to rules, original by original:

- no pixel outside the mask changed;
- **the target moved**: its score rises from the lowest strength to the highest by at least ``share`` of the distance
  between the groups' medians of that score, by more than the reconstruction control and the random direction move it,
  does not fall back on the way by more than its measurement noise, and does not move in the outermost step alone. A
  probability is compared as log-odds (``target_scale``);
- **the held attributes stayed**: their scores drift from strength 0 by no more than ``drift`` times their own
  measurement noise, or than reconstruction or a random direction moves them;
  An editor that moves a held score by more than that on average, over all originals, has no valid edits;
- **the person stayed**: the recognizer's distance to the original is below its threshold, directly or by way of the
  reconstruction. An editor that shows another person in most images has no valid edits;
- **the picture is one**: the artifact validator finds no patch, ghost, seam, blur or wrong tone, between the original
  and the edit, or between the reconstruction and the edit where the reconstruction is a picture itself. An editor with
  artifacts in many reconstructions has no valid edits.

A rule whose validator is missing is broken for all edits. An original that breaks a rule at one strength is excluded
whole: excluding single strengths would change which images are averaged at each. Strengths beyond the training range
may be too much for most images; such a strength, and those beyond it, are excluded for all of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from likewise.errors import SpecError
from likewise.tables import Images, Ratings

RATER = "validity"
OUTSIDE, PERSON, TARGET, DRIFT = "pixels changed outside", "distance to the original", "attribute", "drift of "
ARTIFACT = "artifact"
OWN, CONTROL, NOISE = "original: ", "control: ", "noise: "
"""Prefixes of what is measured once an image: the original's score, how far the controls move it, and its noise."""
LEAKED, ANOTHER, DRIFTED = "pixels outside the mask changed", "another person", "a held attribute drifts"
STUCK, BACK = "the attribute does not move", "the attribute moves back"
SUDDEN = "the attribute moves in the outermost step alone"
BROKEN, UNFIT = "artifacts in the picture", "the validator of the attribute does not separate the groups"
LEADS = "the editor moves a held attribute in most images"
STRANGERS = "the editor shows another person in most images"
POOR_RECONSTRUCTIONS = "the editor's reconstructions have artifacts in many images"
LACKING, NO_CONTROL = "no validator of ", "no placebo arm to compare with"
VALID, BEYOND = "valid", "extrapolation"
ENOUGH = 0.5
"""Share of the images that must keep the rules at a strength beyond the training range."""
MOST_POOR = 0.4
"""Share of an editor's reconstructions in which artifacts may be found."""
LEAST_NOISE, LEAST_DRIFT, MOST_DRIFT = 0.02, 0.2, 0.4
"""Of scores from 0 to 1: measurement noise is taken to be at least this; the limits of what a drift may be."""
SATURATED = 0.01
"""Probabilities below this, or as near to 1, are taken to be this: how sure a network is beyond it says nothing."""
ALONE, STEPS = 0.9, 4
"""Of the target's rise: in one outermost step no more may happen, where there are so many steps or more."""
FALL = 0.1
"""Of the distance between the groups: a target that falls back by less has not fallen back."""


@dataclass(frozen=True, kw_only=True)
class ValiditySpec:
    """The validators of edits, and their tolerances.

    A validator is written ``classifier: label``, or ``classifier: label + label`` for the sum of their scores. None has
    one chosen by what is edited and held. An empty text has none, and then there is no finding; an empty list of held
    attributes says that none has to stay.
    """

    enabled: bool = True
    """Whether edits are validated at all; without it there is no counterfactual finding."""
    target: str | None = None
    """The validator of the edited attribute: its score has to rise with the strength."""
    held: tuple[str, ...] | None = None
    """The validators of the attributes that have to stay."""
    recognizer: str | None = None
    """The validator of the person: a recognizer that is not under audit."""
    artifacts: str | None = None
    """The validator of the picture: "network", or a classifier's label whose score is the probability of artifacts."""
    options: dict[str, Any] = field(default_factory=dict)
    """The validators' own options, by their names."""
    person: float | None = None
    """The largest distance to the original; None is the recognizer's own threshold."""
    share: float = 0.3
    """By how much the target's score rises at least, as a share of the distance between the groups' medians."""
    drift: float = 4.0
    """How far a held score may drift from where it is at strength 0, in units of its measurement noise."""
    back: float = 3.0
    """How far the target may fall back on the way out from strength 0, in units of its measurement noise."""
    artifact: float = 0.5
    """The largest probability of artifacts."""

    def __post_init__(self) -> None:
        if self.held is not None:
            object.__setattr__(self, "held", tuple(self.held))
        if not self.enabled and self._says_more():
            raise SpecError(
                "With enabled = false no other key of [validity] has an effect", fix="Remove the other keys."
            )
        for validator in self.classifiers:
            if not all(classifier_and_label(validator)):
                raise SpecError(f"{validator!r} is not a validator", fix="Write 'classifier: label'.")
        if self.artifacts and self.artifacts != NETWORK and not all(classifier_and_label(self.artifacts)):
            raise SpecError(f"artifacts is {self.artifacts!r}", fix=f"Write '{NETWORK}' or 'classifier: label'.")
        for name, low, high in (("share", 0, 2), ("drift", 0, 100), ("back", 0, 100), ("artifact", 0, 1)):
            if not low < getattr(self, name) <= high:
                raise SpecError(f"{name} is {getattr(self, name)}", fix=f"Give a number above {low} and up to {high}.")
        if self.person is not None and self.person <= 0:
            raise SpecError(f"person is {self.person}", fix="Give a distance above 0.")

    def _says_more(self) -> bool:
        plain = [each for each in fields(self) if each.name not in ("enabled", "options")]
        return bool(self.options) or any(getattr(self, each.name) != each.default for each in plain)

    @property
    def classifiers(self) -> tuple[str, ...]:
        """The validators that are classifiers of attributes, each ``classifier: label``."""
        return tuple(filter(None, (self.target, *(self.held or ()))))

    @property
    def missing(self) -> tuple[str, ...]:
        """What has no validator: without one of each there is no finding."""
        there = {"the attribute": self.target, "the held attributes": self.held is not None,
                 "the person": self.recognizer, "artifacts": self.artifacts}  # fmt: skip
        return tuple(what for what, validator in there.items() if not validator)


SKIN_TONE = "skin-tone"
"""The validator of skin tone: where it is the target, a change of the skin's color is no artifact."""
NETWORK = "network"
"""The artifact validator that comes with likewise."""


def classifier_and_label(text: str) -> tuple[str, str]:
    """Read ``classifier: label``.

    >>> classifier_and_label("faceres-gender: female")
    ('faceres-gender', 'female')
    """
    name, _, label = text.partition(":")
    return name.strip(), label.strip()


@dataclass(frozen=True)
class Verdict:
    """Which originals break a rule, and which strengths are too much for most."""

    reasons: pd.Series[str]
    """Indexed by original: what it breaks."""
    too_far: tuple[float, ...] = ()
    """Strengths beyond the training range that are excluded for all images."""
    notes: tuple[str, ...] = ()
    """What the rules came to in numbers: the distance between the groups, the least rise, the noise."""


def assess(ratings: Ratings, edits: Images, spec: ValiditySpec, *, groups: Mapping[str, int] | None = None) -> Verdict:
    """Hold every strength of every original to the rules.

    Parameters
    ----------
    ratings : Ratings
        What the validators measured.
    edits : Images
        The counterfactuals.
    spec : ValiditySpec
        The validators and tolerances; ``person`` is the recognizer's threshold.
    groups : mapping of original to 1 or -1, optional
        The focal (1) and the reference (-1) group. Without it the distance between the groups is taken to be the
        whole range of a score.
    """
    about = edits.frame.set_index("image")[["parent", "level"]]
    frame = ratings.frame
    frame = frame[frame["rater"] == RATER].join(about, on="unit")
    scaled = target_scale(frame["value"].to_numpy(float), spec)
    frame = frame.assign(value=np.where(frame["question"].isin([TARGET, OWN + TARGET]), scaled, frame["value"]))
    noise = _noise(frame)
    distance, unfit = _distance(frame, groups, noise[TARGET], spec)
    back = max(spec.back * noise[TARGET], FALL * distance)
    broken = pd.concat([*_limits(frame, spec, noise), _fallen_back(_wide(frame, TARGET), back)])
    too_far = _too_far(broken, about)
    leaked = frame[(frame["question"] == OUTSIDE) & (frame["value"] > 0)].assign(reason=LEAKED)
    stuck = pd.concat([_stuck(frame, too_far, spec.share * distance), _sudden(frame, too_far)])
    for_all = [LACKING + what for what in spec.missing] + ([UNFIT] if unfit and spec.target else [])
    for_all += [LEADS] if _leads(frame, too_far) else []
    for_all += [STRANGERS] if _strangers(broken, too_far, about["parent"].nunique()) else []
    for_all += [POOR_RECONSTRUCTIONS] if _poor_reconstructions(frame, spec.artifact) else []
    for_all += [NO_CONTROL] if _once(frame, CONTROL + TARGET).empty and spec.target else []
    whole = pd.DataFrame([(p, why) for p in about["parent"].unique() for why in for_all], columns=["parent", "reason"])
    together = pd.concat([whole, leaked, broken[~broken["level"].isin(too_far)], stuck])[["parent", "reason"]]
    reasons: pd.Series[str] = together.drop_duplicates().groupby("parent")["reason"].agg(", ".join)
    return Verdict(reasons, too_far, _numbers(spec, distance, noise))


def target_scale(scores: npt.NDArray[np.float64], spec: ValiditySpec) -> npt.NDArray[np.float64]:
    """Return scores of the target on the scale on which they are compared: a probability's log-odds.

    A network that is sure about most faces says 0.999 of one and 0.9 of another that lies much nearer to the border:
    in probabilities neither moves. The measured skin tone is no probability and stays as it is.

    >>> target_scale(np.array([0.0, 0.5, 0.88]), ValiditySpec(target="faceres-gender: female")).round(1).tolist()
    [-4.6, 0.0, 2.0]
    """
    if classifier_and_label(spec.target or "")[0] == SKIN_TONE:
        return scores
    clipped = np.clip(scores, SATURATED, 1 - SATURATED)
    return np.asarray(np.log(clipped / (1 - clipped)))


def _whole_range(spec: ValiditySpec) -> float:
    return float(np.ptp(target_scale(np.array([0.0, 1.0]), spec)))


def _noise(frame: pd.DataFrame) -> dict[str, float]:
    """Return the measurement noise of each score: a robust standard deviation over all originals."""
    rows = frame[frame["question"].str.startswith(NOISE)]
    found = rows.groupby("question")["value"].median() * 1.4826
    known = {str(name).removeprefix(NOISE): max(LEAST_NOISE, float(value)) for name, value in found.dropna().items()}
    return {TARGET: LEAST_NOISE, **known}


def _limits(frame: pd.DataFrame, spec: ValiditySpec, noise: Mapping[str, float]) -> list[pd.DataFrame]:
    """Return what exceeds a limit: parent, level and reason. A missing measurement exceeds it."""
    found = [_drifted(frame, question, spec.drift, noise.get(question.removeprefix(DRIFT), LEAST_NOISE))
             for question in frame["question"].unique() if question.startswith(DRIFT)]  # fmt: skip
    if spec.person is not None:
        found.append(frame[(frame["question"] == PERSON) & ~(frame["value"] <= spec.person)].assign(reason=ANOTHER))
    found.append(frame[(frame["question"] == ARTIFACT) & ~(frame["value"] <= spec.artifact)].assign(reason=BROKEN))
    return [part[["parent", "level", "reason"]] for part in found]


def _drifted(frame: pd.DataFrame, question: str, drift: float, noise: float) -> pd.DataFrame:
    """Return the edits whose held score drifts more than noise, or than the controls, explain.

    The noise of all originals is small where most of them are far from the border between two labels; an original near
    the border has its own.
    """
    rows, name = frame[frame["question"] == question], question.removeprefix(DRIFT)
    own, control = (
        _once(frame, kind + name).reindex(rows["parent"]).fillna(0).to_numpy(float) for kind in (NOISE, CONTROL)
    )
    limit = np.clip(np.fmax(control, drift * np.fmax(own, noise)), LEAST_DRIFT, MOST_DRIFT)
    drifted: pd.DataFrame = rows[~(rows["value"].abs().to_numpy() <= limit)].assign(reason=DRIFTED)
    return drifted


def _leads(frame: pd.DataFrame, too_far: Sequence[float]) -> bool:
    """Return whether a held score rises or falls on average over all originals by more than a drift may.

    Images whose held score is saturated would pass one by one, although the editor moves what should stay.
    """
    for question in frame["question"].unique():
        if question.startswith(DRIFT):
            wide = _wide(frame, question).drop(columns=list(too_far), errors="ignore")
            if wide.shape[1] and abs(float((wide.iloc[:, -1] - wide.iloc[:, 0]).mean())) > LEAST_DRIFT:
                return True
    return False


def _strangers(broken: pd.DataFrame, too_far: Sequence[float], images: int) -> bool:
    """Return whether most originals become another person: the others would pass because they look alike by chance."""
    rows = broken[(broken["reason"] == ANOTHER) & ~broken["level"].isin(too_far)]
    return bool(rows["parent"].nunique() > ENOUGH * images)


def _poor_reconstructions(frame: pd.DataFrame, limit: float) -> bool:
    """Return whether many reconstructions have artifacts: the validator misses some, and their edits would pass."""
    drawn = _once(frame, CONTROL + ARTIFACT).dropna()
    return bool(len(drawn)) and float((drawn > limit).mean()) > MOST_POOR


def _once(frame: pd.DataFrame, question: str) -> pd.Series:
    """Return what is measured once an original, by original."""
    rows = frame[frame["question"] == question]
    return rows.drop_duplicates("parent").set_index("parent")["value"]


def _wide(frame: pd.DataFrame, question: str) -> pd.DataFrame:
    """Return a score with a row an original, a column a strength."""
    rows = frame[frame["question"] == question]
    return rows.pivot(index="parent", columns="level", values="value").sort_index(axis=1)


def _distance(
    frame: pd.DataFrame, groups: Mapping[str, int] | None, noise: float, spec: ValiditySpec
) -> tuple[float, bool]:
    """Return the distance between the groups' medians of the target's score, and whether it is within noise.

    Both groups have to be there: a validator that is known from one of them only is not known to separate them.
    """
    own = _once(frame, OWN + TARGET)
    if groups is None or own.empty:
        return _whole_range(spec), False
    side = own.index.map(dict(groups))
    focal, reference = (float(own[side == sign].median()) for sign in (1, -1))
    distance = focal - reference
    return (distance, False) if distance > 3 * noise else (_whole_range(spec), True)


def _fallen_back(wide: pd.DataFrame, back: float) -> pd.DataFrame:
    """Return where the score falls behind what it has reached on the way out from the middle, to either side."""
    levels, scores = wide.columns.to_numpy(float), wide.to_numpy(float)  # [n, K], rising levels
    up, down = np.flatnonzero(levels >= 0), np.flatnonzero(levels <= 0)[::-1]
    behind = np.zeros_like(scores)
    behind[:, up] = np.fmax.accumulate(scores[:, up], axis=1) - scores[:, up]
    behind[:, down] = np.fmax(behind[:, down], scores[:, down] - np.fmin.accumulate(scores[:, down], axis=1))
    behind[np.isnan(scores)] = np.inf  # no face was detected there
    rows, columns = np.nonzero(behind > back)
    return pd.DataFrame({"parent": wide.index.to_numpy()[rows], "level": levels[columns], "reason": BACK})


def _too_far(broken: pd.DataFrame, about: pd.DataFrame) -> tuple[float, ...]:
    """Return the strengths beyond the training range, from the first on at which too few images keep the rules."""
    images = about["parent"].nunique()
    kept = 1 - broken.drop_duplicates(["parent", "level"]).groupby("level").size() / max(images, 1)
    found: list[float] = []
    for side in (-1, 1):
        levels = sorted((float(level) for level in about["level"].unique() if side * level > 1), key=abs)
        first = next((level for level in levels if kept.get(level, 1.0) < ENOUGH), None)
        found += [level for level in levels if first is not None and abs(level) >= abs(first)]
    return tuple(sorted(found))


def _stuck(frame: pd.DataFrame, too_far: Sequence[float], least: float) -> pd.DataFrame:
    """Return the originals whose target rises by less than ``least``, or by no more than a control moves it."""
    wide = _wide(frame, TARGET).drop(columns=list(too_far), errors="ignore")
    if wide.empty:
        return pd.DataFrame({"parent": [], "reason": []}, dtype="str")
    rise = wide.iloc[:, -1] - wide.iloc[:, 0]
    control = _once(frame, CONTROL + TARGET).reindex(rise.index).fillna(0)
    stuck = ~((rise >= least) & (rise > control))
    return pd.DataFrame({"parent": rise.index[stuck].to_list(), "reason": STUCK}, dtype="str")


def _sudden(frame: pd.DataFrame, too_far: Sequence[float]) -> pd.DataFrame:
    """Return the originals whose target moves between the two outermost strengths of a side and hardly elsewhere.

    A slope per unit of strength would spread over all strengths what happened at one.
    """
    wide = _wide(frame, TARGET).drop(columns=list(too_far), errors="ignore")
    steps = np.diff(wide.to_numpy(float), axis=1)  # [n, K - 1]
    if steps.shape[1] < STEPS:
        return pd.DataFrame({"parent": [], "reason": []}, dtype="str")
    rise = steps.sum(axis=1)
    sudden = (rise > 0) & (np.fmax(steps[:, 0], steps[:, -1]) > ALONE * rise)
    return pd.DataFrame({"parent": wide.index[sudden].to_list(), "reason": SUDDEN}, dtype="str")


def _scale(spec: ValiditySpec) -> str:
    return "measured" if classifier_and_label(spec.target or "")[0] == SKIN_TONE else "log-odds"


def _numbers(spec: ValiditySpec, distance: float, noise: Mapping[str, float]) -> tuple[str, ...]:
    if not spec.target:
        return ()
    units = ", ".join(f"{name} {value:.3f}" for name, value in noise.items())
    return (
        f"Validity: the groups' medians of the attribute's score ({_scale(spec)}) are {distance:.2f} apart, so a valid "
        f"edit raises it by at least {spec.share * distance:.2f}. Measurement noise: {units}.",
    )


def verdicts(verdict: Verdict, edits: Images) -> Ratings:
    """Return for each edit whether it is valid, and whether its strength is an extrapolation."""
    frame = edits.frame
    said = {
        VALID: ~frame["parent"].isin(verdict.reasons.index) & ~frame["level"].isin(verdict.too_far),
        BEYOND: frame["level"].abs() > 1,
    }
    rows = [
        pd.DataFrame({"unit": frame["image"], "rater": RATER, "question": question, "value": value.astype(float)})
        for question, value in said.items()
    ]
    return Ratings(pd.concat(rows, ignore_index=True))


def valid_edits(ratings: Ratings, edits: Images) -> Images:
    """Return the edits whose original keeps every rule: those that findings are estimated from."""
    frame = ratings.frame
    kept = set(frame[(frame["question"] == VALID) & (frame["value"] == 1)]["unit"])
    return edits.subset([image for image in edits.keys if image in kept])


def shares(reasons: pd.Series[str], parents: Sequence[str]) -> dict[str, int]:
    """Count the originals with valid edits, and the others by reason."""
    counted = {VALID: len(set(parents) - set(reasons.index))}
    return counted | {str(reason): int(count) for reason, count in reasons.value_counts().items()}
