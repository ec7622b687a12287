"""validate-edits: measure whether each edit changed the attribute and nothing else."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import pandas as pd

from likewise.audit.context import StageContext
from likewise.audit.folder.artifacts import ALIGNED, COUNTERFACTUALS, DESCRIBED, IMAGES, OUTSIDE, VALIDITY
from likewise.audit.folder.store import Folder
from likewise.audit.plan.model import Plan
from likewise.audit.stage import ComponentUse, Stage, named_weights
from likewise.counterfactuals.validation.artifacts import LICENSE
from likewise.counterfactuals.validation.default_validators import Edited, choose_validators, readers_at_hand
from likewise.counterfactuals.validation.measure_edits import MeasureEdits, ratings_of
from likewise.counterfactuals.validation.validate import groups_of
from likewise.counterfactuals.validation.validators import Validators
from likewise.counterfactuals.validation.validity import (
    NETWORK,
    Verdict,
    assess,
    classifier_and_label,
    shares,
    verdicts,
)
from likewise.tables import Images, Ratings
from likewise.tables.contrast import written


class ValidateEdits(Stage):
    """Validate the edits."""

    name, artifact, section, version = "validate-edits", VALIDITY, "validity", 7
    help = "Validate the edits: the attribute changed, and nothing else did."

    def enabled(self, plan: Plan) -> bool:
        """Whether there are edits, and the plan does not disable their validation."""
        return plan.validated is not None

    def needs(self, plan: Plan) -> tuple[str, ...]:
        """Return the images and their edits."""
        return (IMAGES if plan.describe is None else DESCRIBED, COUNTERFACTUALS, ALIGNED)

    def options(self, plan: Plan) -> dict[str, Any]:
        """Return the section, and the names of the raters: a validator may not be under audit."""
        spec = asdict(plan.validated) if plan.validated else {}
        return {"validity": spec, "audited": sorted({rater.name for rater in plan.rater})}

    def components(self, folder: Folder, plan: Plan) -> list[ComponentUse]:
        """Return the validators that the plan names."""
        spec = plan.validated
        if spec is None:
            return []
        own = (spec.artifacts,) if spec.artifacts and spec.artifacts != NETWORK else ()
        names = dict.fromkeys(classifier_and_label(validator)[0] for validator in (*spec.classifiers, *own))
        found = [ComponentUse("classifier", name, spec.options.get(name, {})) for name in names]
        name = spec.recognizer or ""
        return found + ([ComponentUse("recognizer", name, spec.options.get(name, {}))] if name else [])

    def weights(self, plan: Plan) -> tuple[str, ...]:
        """Return the validators' weights."""
        return named_weights(*(plan.validated.options.values() if plan.validated else ()))

    def outside(self, folder: Folder, plan: Plan) -> dict[str, str]:
        """Fingerprint the weights, and which default validators are available."""
        return super().outside(folder, plan) | {"available validators": ", ".join(readers_at_hand())}

    def run(self, context: StageContext) -> None:
        """Write what the validators measured; edits that break a rule are excluded from the slopes."""
        planned, sidecar = context.plan.validated, context.folder.sidecar(COUNTERFACTUALS)
        assert planned is not None and sidecar is not None  # enabled only with a sweep that is validated
        audited = {rater.name for rater in context.plan.rater}
        spec, chosen = choose_validators(planned, audited, Edited.of(sidecar.summary))
        context.notes += chosen
        validators = Validators(spec)
        for validator in (*validators.classifiers.values(), *filter(None, [validators.recognizer])):
            context.note_license(validator)
        context.licenses |= {"artifact validator": LICENSE} if spec.artifacts == NETWORK else {}
        made, arms = context.counterfactuals()[0], context.placebo()
        album = context.edited_album([*made.keys, *(arms.keys if arms else [])])
        levels, images = tuple(sorted(made.frame["level"].unique())), sorted(made.frame["parent"].unique())
        in_frame = sidecar.summary.get("mask") == "none"
        originals = context.framed()[1] if in_frame else context.album(context.images())
        parts = [context.tables.read(Ratings, context.path(COUNTERFACTUALS) / OUTSIDE)]
        if spec.classifiers or spec.recognizer or spec.artifacts:
            named = tuple(dict.fromkeys(arms.frame["source"])) if arms else ()
            work = MeasureEdits(spec, levels, originals, album, named)
            done = list(context.map_chunks("validate-edits", work, images))
            answers = {question: np.concatenate([part[question] for part in done]) for question in done[0]}
            parts.append(ratings_of(images, levels, answers))
        ratings = Ratings.together(parts)
        groups = groups_of(made, context.plan.contrast)
        verdict = assess(ratings, made, replace(spec, person=validators.person), groups=groups)
        Ratings.together([ratings, verdicts(verdict, made)]).write(context.path(VALIDITY))
        context.summary = {"originals": len(images), **shares(verdict.reasons, images)}
        context.notes += [*verdict.notes, *_too_strong(verdict), *_excluded(context, verdict.reasons, made)]


def _too_strong(verdict: Verdict) -> list[str]:
    if not verdict.too_far:
        return []
    strengths = ", ".join(f"{level:+g}" for level in verdict.too_far)
    return [
        f"Edit strengths excluded from the slopes for all images: {strengths}. They are beyond the training range, and "
        "most edits there break a rule."
    ]


def _by_group(reason: Hashable, part: pd.Series, groups: pd.Series) -> str:
    counts = groups.loc[part.index].value_counts()
    return f"{reason} ({', '.join(f'{group} {count}' for group, count in counts.items())})"


def _excluded(context: StageContext, reasons: pd.Series, made: Images) -> list[str]:
    if reasons.empty:
        return []
    parents = made.frame.drop_duplicates("parent").set_index("parent")
    lost = parents.loc[reasons.index, context.plan.contrast.column].map(written).value_counts().to_dict()
    why = "; ".join(_by_group(reason, part, parents[context.plan.contrast.column].map(written))
                    for reason, part in reasons.groupby(reasons))  # fmt: skip
    return [
        f"The edits of {len(reasons)} of {len(parents)} images are not valid and are excluded from the slopes: {why}. "
        f"By group: {lost}."
    ]
