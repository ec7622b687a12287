"""Pair questions of a vision-language model: which of two images it chooses, in matched pairs and in edits.

The first image is the focal one (of a matched pair, or the edit to +1), the second the reference. The rater
counterbalances the order in which they are shown, so a value above 0.5 is about the images and not about their places.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from likewise.audit.context import StageContext
from likewise.audit.folder.artifacts import IMAGE_MATCHES, MATCHES
from likewise.audit.plan.model import Plan
from likewise.counterfactuals.placebo import ORIGINAL, RECONSTRUCT
from likewise.data.keys import key_of
from likewise.errors import PlanError
from likewise.runtime.executor import Executor, Result
from likewise.runtime.pixels import ImageFolder
from likewise.services.base import Service
from likewise.services.vlm.chat import VisionLanguageModel
from likewise.services.vlm.questions import AGAINST, EDITS, MATCHED, Question
from likewise.tables import Ratings

COLUMNS = ["unit", "sample", "first", "second", "identity", "other"]
"""The key of a pair, its sample, its two images, and their identities."""


@dataclass(frozen=True)
class ShownPairs:
    """The pairs that one question is about, and their pictures."""

    question: str
    frame: pd.DataFrame
    images: ImageFolder
    edited: ImageFolder

    def two(self, row: int) -> tuple[Any, Any]:
        """Return the two pictures of a pair."""
        return self._picture(str(self.frame["first"].iloc[row])), self._picture(str(self.frame["second"].iloc[row]))

    def _picture(self, key: str) -> Any:
        return (self.images if key in self.images.files else self.edited)([key])[0]


def has_pairs(service: Service) -> bool:
    """Return whether a service is asked about pairs."""
    return isinstance(service, VisionLanguageModel) and bool(service.pair_questions)


def pair_artifacts(plan: Plan) -> tuple[str, ...]:
    """Return what pair questions read: the matched pairs."""
    asked = [entry for rater in plan.rater for entry in rater.options.get("questions", ())]
    if not any(isinstance(entry, dict) and entry.get("kind") == "pair" for entry in asked):
        return ()
    return (IMAGE_MATCHES if plan.matches_trials else MATCHES,)


def most_pairs(service: Service, images: int, edited: int) -> int:
    """Return how many requests pairs take at most: an image is matched once, and edited pairs are one per image."""
    if not isinstance(service, VisionLanguageModel) or not service.pair_questions:
        return 0
    calls = service.calls_a_pair // len(service.pair_questions)
    count = {MATCHED: images // 2, EDITS: edited, AGAINST: 3 * edited}
    return sum(calls * count[kind] for question in service.pair_questions for kind in _kinds(question, edited > 0))


def pairs_asked(context: StageContext, service: Service) -> list[ShownPairs]:
    """Return the pairs of each pair question."""
    if not isinstance(service, VisionLanguageModel):
        return []
    asked = [(question.name, pairs_of(context, question)) for question in service.pair_questions]
    return [ShownPairs(name, frame, *_pictures(context, frame)) for name, frame in asked]


def pairs_of(context: StageContext, question: Question) -> pd.DataFrame:
    """Return the pairs that a question is about, one row each."""
    sweep = context.plan.counterfactual is not None
    if not sweep and set(question.pairs) & {EDITS, AGAINST}:
        fix = "Add that section, or use pairs = ['matched']."
        raise PlanError(f"Question {question.name!r} is about edits, and the plan has no [counterfactual]", fix=fix)
    makers: dict[str, Callable[[StageContext], pd.DataFrame]] = {MATCHED: _matched, EDITS: _edits, AGAINST: _against}
    return pd.concat([makers[kind](context) for kind in _kinds(question, sweep)], ignore_index=True)


def _kinds(question: Question, sweep: bool) -> tuple[str, ...]:
    return question.pairs or ((MATCHED, EDITS) if sweep else (MATCHED,))


def _matched(context: StageContext) -> pd.DataFrame:
    """Return the matched pairs of images, the focal one first."""
    images, frame = context.images(), context.image_matches().frame
    whose, side = images.frame.set_index("image")["identity"], context.plan.contrast.side(images)
    swap = frame["a"].map(side).to_numpy() < 0
    first, second = np.where(swap, frame["b"], frame["a"]), np.where(swap, frame["a"], frame["b"])
    return _frame(MATCHED, first, second, whose.loc[first], whose.loc[second])


def _edits(context: StageContext) -> pd.DataFrame:
    """Return for each edited image its edits to +1 and to -1, or to the strengths nearest to them."""
    parents, low, high = _ends(context)
    first = [key_of(parent, high) for parent in parents["parent"]]
    second = [key_of(parent, low) for parent in parents["parent"]]
    return _frame("counterfactual", first, second, parents["identity"], parents["identity"])


def _against(context: StageContext) -> pd.DataFrame:
    """Return for each edited image both edits beside the original, and the reconstruction as a placebo."""
    parents, low, high = _ends(context)
    arms = context.placebo()
    if arms is None:
        raise PlanError("Pairs of edits and originals need the placebo arms", fix="Remove placebo = false.")
    drawn = RECONSTRUCT in set(arms.frame["source"])
    original = [key_of(parent, 0.0, ORIGINAL) for parent in parents["parent"]]
    found = []
    for sample, strength, arm in (
        (f"edit {high:+g} against the original", high, ""),
        (f"edit {low:+g} against the original", low, ""),
        *(((f"placebo: {RECONSTRUCT} against the original", 0.0, RECONSTRUCT),) if drawn else ()),
    ):
        edits = [key_of(parent, strength, arm) for parent in parents["parent"]]
        found.append(_frame(sample, edits, original, parents["identity"], parents["identity"]))
    return pd.concat(found, ignore_index=True)


def _ends(context: StageContext) -> tuple[pd.DataFrame, float, float]:
    made = context.counterfactuals()[0].frame
    strengths = [float(level) for level in made["level"].unique() if abs(level) <= 1] or made["level"].tolist()
    return made.drop_duplicates("parent"), min(strengths), max(strengths)


def _frame(sample: str, first: Any, second: Any, one: Any, other: Any) -> pd.DataFrame:
    units = [f"{left}|{right}" for left, right in zip(first, second, strict=True)]
    columns = [units, [sample] * len(units), first, second, one, other]
    return pd.DataFrame({name: np.asarray(values) for name, values in zip(COLUMNS, columns, strict=True)})


def _pictures(context: StageContext, frame: pd.DataFrame) -> tuple[ImageFolder, ImageFolder]:
    """Return the pictures of the images, and those of edits and placebo arms."""
    images = context.images()
    keys = {*frame["first"], *frame["second"]} - set(images.keys)
    return context.album(images), context.edited_album(sorted(keys))


def pair_requests(service: Service, pairs: ShownPairs) -> list[str]:
    """Return the hash of every request about these pairs."""
    assert isinstance(service, VisionLanguageModel)
    rows = range(len(pairs.frame))
    return [each for row in rows for each in service.pair_requests(*pairs.two(row), question=pairs.question)]


def preferences_of(context: StageContext, service: Service, pairs: ShownPairs) -> Ratings:
    """Ask about every pair, from this process; a stopped run resumes from its recorded responses."""
    assert isinstance(service, VisionLanguageModel)
    parts: list[pd.DataFrame] = []
    units = pairs.frame["unit"].tolist()

    def ask(chunk: list[str]) -> Result:
        rows = [int(row) for row in chunk]
        first, second = zip(*(pairs.two(row) for row in rows), strict=True)
        found = service.prefer(first, second, question=pairs.question)
        parts.extend(
            pd.DataFrame(
                {"unit": [units[row] for row in rows], "rater": service.name, "question": name, "value": values}
            )
            for name, values in found.items()
        )
        return {}

    here = Executor(chunk=context.plan.executor.chunk, retries=0)
    with context.reporter.task(f"{service.name}, {pairs.question}", len(units)) as progress:
        for _ in here.map(ask, [str(row) for row in range(len(units))], progress=progress):
            pass
    return Ratings(pd.concat(parts, ignore_index=True)) if parts else Ratings.together([])
