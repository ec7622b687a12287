"""Answers that a rater gave elsewhere: [[answered]] in the plan, and what the stages make of its files."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from likewise.errors import PlanError, nearest
from likewise.make.labels import LABEL_COLUMNS, read_labels
from likewise.make.scores import SCORE_COLUMNS, rate_embeddings, rate_scores, read_scores, trials_of
from likewise.tables import Pairs, Ratings

_MEASURES = {"scores": ("distance", "similarity"), "embeddings": ("cosine", "euclidean"), "labels": ()}
_COLUMNS: dict[str, dict[str, str]] = {"scores": SCORE_COLUMNS, "embeddings": {}, "labels": LABEL_COLUMNS}
_SURE = 0.5


@dataclass(frozen=True, kw_only=True)
class AnsweredPlan:
    """What a rater answered elsewhere: scores of pairs, embeddings or labels, in a file."""

    rater: str
    """What it is called in the report."""
    scores: str = ""
    embeddings: str = ""
    labels: str = ""
    measure: str = ""
    """Of scores: distance (the default) or similarity. Of embeddings: cosine (the default) or euclidean."""
    threshold: float | None = None
    """Of scores, as they are in the file: where the recogniser draws the line. Of labels: from which confidence one
    counts as given."""
    scale: float = 1.0
    """What a similarity or a confidence is at most: 100 for per cent."""
    columns: dict[str, str] = field(default_factory=dict)
    """What the file's columns are called: a, b, score; or image, label, confidence."""

    def __post_init__(self) -> None:
        given = [name for name in _MEASURES if getattr(self, name)]
        if len(given) != 1:
            raise PlanError("[[answered]] says one of scores, embeddings, labels", got=", ".join(given) or "none")
        if not self.rater or not self.scale > 0:
            raise PlanError("[[answered]] names its rater, and scale is above 0", got=f"{self.rater!r}, {self.scale}")
        known = _MEASURES[self.kind]
        if self.measure and self.measure not in known:
            choices = " or ".join(known) or "nothing"
            fix = nearest(self.measure, known)
            raise PlanError(f"the measure of {self.kind} is {choices}", got=repr(self.measure), fix=fix)
        if self.scale != 1 and not (self.kind == "labels" or self.measure == "similarity"):
            raise PlanError("scale has an effect on similarities and labels only", got=self.kind, fix="Leave it out.")
        strange = [name for name in self.columns if name not in _COLUMNS[self.kind]]
        if strange:
            names = ", ".join(_COLUMNS[self.kind]) or "none"
            raise PlanError(f"the columns of {self.kind} are {names}", got=repr(strange[0]))

    @property
    def kind(self) -> str:
        """scores, embeddings or labels."""
        return next(name for name in _MEASURES if getattr(self, name))

    @property
    def path(self) -> str:
        """The file."""
        return str(getattr(self, self.kind))

    @property
    def recognises(self) -> bool:
        """Whether it says how far apart two images are."""
        return self.kind != "labels"

    @property
    def how(self) -> str:
        """The measure, or the usual one."""
        return self.measure or next(iter(_MEASURES[self.kind]), "")

    @property
    def line(self) -> float | None:
        """Where the line is drawn, on the scale of the ratings."""
        if self.kind == "labels":
            return (self.threshold if self.threshold is not None else _SURE * self.scale) / self.scale
        if self.threshold is not None and self.how == "similarity":
            return 1 - self.threshold / self.scale
        return self.threshold


def _scored(job: Any, entry: AnsweredPlan) -> pd.DataFrame:
    path = job.folder.root / entry.scores
    return read_scores(path, job.faces(), columns=entry.columns, measure=entry.how, scale=entry.scale)


def given_trials(job: Any) -> Pairs | None:
    """Return the trials that score files are about; None where likewise chooses them itself."""
    scored = [_scored(job, entry) for entry in job.plan.answered if entry.scores]
    return trials_of(scored, job.faces()) if scored else None


def answered(job: Any, trials: Path) -> list[Ratings]:
    """Read what every rater of [[answered]] said, and note what its file lacks."""
    return [_answers(job, entry, trials) for entry in job.plan.answered]


def _answers(job: Any, entry: AnsweredPlan, trials: Path) -> Ratings:
    job.licences[entry.rater] = f"answers in {Path(entry.path).name}; whose they are, you know"
    faces, path = job.faces(), job.folder.root / entry.path
    if entry.scores:
        return rate_scores(_scored(job, entry), entry.rater)
    if entry.embeddings:
        return rate_embeddings(path, Pairs.read(trials), faces, entry.rater, measure=entry.how)
    found = read_labels(path, faces, entry.rater, columns=entry.columns, scale=entry.scale)
    lacking = faces.frame[~faces.frame["image"].isin(found.frame["unit"])]
    if len(lacking):
        by = lacking[job.plan.contrast.column].value_counts().to_dict()
        job.notes.append(f"{entry.rater}: {len(lacking)} images of the table have no answer in {path.name}: {by}")
    return found


def lines_of(plan: Any, *, recognises: bool) -> dict[str, float]:
    """Return the thresholds of raters who answered elsewhere, by rater."""
    found = {entry.rater: entry.line for entry in plan.answered if entry.recognises == recognises}
    return {rater: line for rater, line in found.items() if line is not None}
