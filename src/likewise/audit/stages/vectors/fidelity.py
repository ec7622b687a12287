"""fidelity: compare reconstructions with their images, and exclude unfaithful ones from the matching."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import pandas as pd

from likewise.analysis.exclusion import exclusion_rates
from likewise.analysis.images.means import image_means
from likewise.audit.context import StageContext
from likewise.audit.folder.artifacts import ALIGNED, DESCRIBED, ESTIMATES, FIDELITY, IMAGES, LATENTS, RATINGS
from likewise.audit.folder.store import Folder
from likewise.audit.plan.model import Plan
from likewise.audit.stage import ComponentUse, Stage
from likewise.errors import LikewiseError, TableError
from likewise.latents.fidelity import GATE, PASSES, FidelitySpec, MeasureFidelity, at_the_gate, fidelity_ratings, passed
from likewise.runtime.registry import create
from likewise.tables import Estimates, Images, Ratings

PROJECTED = "projected"
"""The sample of the fidelity estimates: every image with a latent."""
ALARM = 0.05


class Fidelity(Stage):
    """Measure the fidelity of the reconstructions by group."""

    name, artifact, section, seeded = "fidelity", FIDELITY, "fidelity", True
    help = "Measure the fidelity of the reconstructions by group, and exclude unfaithful ones."

    def enabled(self, plan: Plan) -> bool:
        """Whether the plan has the section."""
        return plan.fidelity is not None

    def needs(self, plan: Plan) -> tuple[str, ...]:
        """Return the images and their latents."""
        return (IMAGES if plan.describe is None else DESCRIBED, LATENTS, ALIGNED)

    def options(self, plan: Plan) -> dict[str, Any]:
        """Return the section, the generator, the contrast and the confidence level."""
        return {
            "fidelity": asdict(plan.fidelity) if plan.fidelity else {},
            "generator": [plan.project.generator, plan.project.options, plan.project.perceptual],
            "contrast": asdict(plan.contrast),
            "level": plan.estimate.level,
        }

    def components(self, folder: Folder, plan: Plan) -> list[ComponentUse]:
        """Return the models that compare."""
        spec = plan.fidelity
        if spec is None:
            return []
        found = [("recognizer", spec.recognizer, spec.recognizer_options)]
        found += [("classifier", spec.classifier, spec.classifier_options)]
        return [ComponentUse(*entry) for entry in found if entry[1]]

    def run(self, context: StageContext) -> None:
        """Reconstruct every image, compare, and write ratings and estimates by group."""
        spec, plan = context.plan.fidelity, context.plan
        assert spec is not None  # enabled only with the section
        vectors, (images, album) = context.latents(), context.framed()
        sidecar = context.folder.sidecar(LATENTS)
        work = MeasureFidelity(
            spec, plan.project.generator, plan.project.options, plan.project.perceptual,
            album, context.path(LATENTS), sidecar.digest if sidecar else "",
        )  # fmt: skip
        measured = fidelity_ratings(vectors.keys, list(context.map_chunks("fidelity", work, vectors.keys)))
        kept = passed(measured, **_gate(context, spec)) if spec.gate else vectors.keys
        if not kept:
            raise TableError("No reconstruction passes the fidelity gate", fix="Raise limit in [fidelity].")
        ratings = at_the_gate(measured, kept) if spec.gate else measured
        estimates = _estimated(context, ratings, images.subset(vectors.keys))
        with context.replaced(FIDELITY) as fresh:
            ratings.write(fresh / RATINGS)
            estimates.write(fresh / ESTIMATES)
        context.summary = {"images": len(vectors), "excluded": len(vectors) - len(kept)}


def _gate(context: StageContext, spec: FidelitySpec) -> dict[str, Any]:
    asked: dict[str, Any] = {}
    if spec.recognizer:
        recognizer = context.note_license(create("recognizer", spec.recognizer, spec.recognizer_options))
        asked |= {"recognizer": recognizer.name, "limit": spec.limit or float(recognizer.threshold)}
    if spec.classifier:
        classifier = context.note_license(create("classifier", spec.classifier, spec.classifier_options))
        asked |= {"classifier": classifier.name, "labels": spec.labels}
    return asked


def _estimated(context: StageContext, ratings: Ratings, images: Images) -> Estimates:
    """Estimate every question by group; one that cannot be estimated is noted."""
    contrast, level = context.plan.contrast, context.plan.estimate.level
    frame, parts = ratings.frame, []
    for (rater, question), part in frame[frame["rater"] != GATE].groupby(["rater", "question"], sort=True):
        try:
            parts.append(image_means(Ratings(part), images, contrast, sample=PROJECTED, level=level))
        except LikewiseError as error:
            context.notes.append(f"No fidelity by group for {rater}, {question}: {error}")
    at_gate = frame[frame["rater"] == GATE]
    if len(at_gate):
        gone = at_gate["unit"][at_gate["value"] == 0].tolist()
        found = exclusion_rates(
            gone, images, contrast, quantity=f"{GATE}: {PASSES}", sample=PROJECTED, level=level, seed=context.plan.seed
        )
        parts.append(found)
        context.notes += _exclusions(found, gone, images, contrast.column)
    return Estimates.together(parts)


def _exclusions(found: Estimates, gone: list[str], images: Images, column: str) -> list[str]:
    """Count the exclusions by group, and warn when the rates differ."""
    if not gone:
        return []
    groups = images.attribute(column)
    lost = groups[pd.Index(images.keys).isin(gone)].value_counts().to_dict()
    notes = [f"{len(gone)} reconstructions show another person or another group; they are not matched: {lost}"]
    p = float(found.where(stat="p_value").frame["estimate"].iloc[0])
    if p < ALARM:
        shares = found.where(stat="left_out").frame
        rates = ", ".join(
            f"{name} {share:.1%}" for name, share in zip(shares["group"], shares["estimate"], strict=True)
        )
        notes.append(
            f"The fidelity gate excludes the groups at different rates ({rates}; p = {p:.2g}, identities permuted). "
            "The matched estimate is about images that this generator can reconstruct."
        )
    return notes
