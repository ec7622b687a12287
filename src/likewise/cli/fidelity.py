"""The stage fidelity: reconstructions are judged, what is unlike is not matched, and the groups are compared."""

from __future__ import annotations

from collections.abc import Container
from typing import Any

import pandas as pd

from likewise.analyse.image_means import image_means
from likewise.analyse.left_out import left_out
from likewise.cli.framing import framed
from likewise.cli.making import LATENTS, Job
from likewise.errors import LikewiseError, TableError
from likewise.make.fidelity import GATE, PASSES, FidelitySpec, Judgement, at_the_gate, judged, passed
from likewise.plugins import create
from likewise.tables import Estimates, Faces, Ratings, Vectors

FIDELITY = "fidelity"
PROJECTED = "projected"
"""The sample that fidelity is about: every image with a latent."""
ALARM = 0.05


def judging(job: Job) -> None:
    """Draw every image again, have it judged, and say who passes the gate, by group."""
    spec, plan = job.plan.fidelity, job.plan
    assert spec is not None  # the stage is only planned with the section
    vectors, (faces, album) = Vectors.read(job.path(LATENTS)), framed(job)
    sidecar = job.folder.sidecar(LATENTS)
    work = Judgement(
        spec, plan.project.generator, plan.project.options, plan.project.perceptual,
        album, job.path(LATENTS), sidecar.digest if sidecar else "",
    )  # fmt: skip
    told = judged(vectors.images, list(job.chunks("fidelity", work, vectors.images)))
    kept = passed(told, **_gate(job, spec)) if spec.gate else vectors.images
    if not kept:
        raise TableError("some reconstruction passes the gate", got="none", fix="Raise limit in [fidelity].")
    ratings = at_the_gate(told, kept) if spec.gate else told
    estimates = _estimated(job, ratings, faces.subset(vectors.images))
    with job.folder.swapped(FIDELITY) as fresh:
        ratings.write(fresh / "ratings.parquet")
        estimates.write(fresh / "estimates.parquet")
    job.summary = {"images": len(vectors), "left out": len(vectors) - len(kept)}


def _gate(job: Job, spec: FidelitySpec) -> dict[str, Any]:
    asked: dict[str, Any] = {}
    if spec.recogniser:
        recogniser = job.used(create("recogniser", spec.recogniser, spec.recogniser_options))
        asked |= {"recogniser": recogniser.name, "limit": spec.limit or float(recogniser.threshold)}
    if spec.classifier:
        classifier = job.used(create("classifier", spec.classifier, spec.classifier_options))
        asked |= {"classifier": classifier.name, "labels": spec.labels}
    return asked


def _estimated(job: Job, ratings: Ratings, faces: Faces) -> Estimates:
    """Estimate every question by group; a question that cannot be estimated is noted, and the others stand."""
    contrast, level = job.plan.contrast, job.plan.analyse.level
    frame, parts = ratings.frame, []
    for (rater, question), part in frame[frame["rater"] != GATE].groupby(["rater", "question"], sort=True):
        try:
            parts.append(image_means(Ratings(part), faces, contrast, sample=PROJECTED, level=level))
        except LikewiseError as error:
            job.notes.append(f"No fidelity by group for {rater}, {question}: {error}")
    at_gate = frame[frame["rater"] == GATE]
    if len(at_gate):
        gone = at_gate["unit"][at_gate["value"] == 0].tolist()
        found = left_out(
            gone, faces, contrast, quantity=f"{GATE}: {PASSES}", sample=PROJECTED, level=level, seed=job.plan.seed
        )
        parts.append(found)
        job.notes += _told(found, gone, faces, contrast.column)
    return Estimates.together(parts)


def _told(found: Estimates, gone: list[str], faces: Faces, column: str) -> list[str]:
    """Say how many are left out of which group, and warn when the rates differ."""
    if not gone:
        return []
    groups = faces.attribute(column)
    lost = groups[pd.Index(faces.images).isin(gone)].value_counts().to_dict()
    notes = [f"{len(gone)} reconstructions are another person or another group; they are not matched: {lost}"]
    p = float(found.where(stat="p_value").frame["estimate"].iloc[0])
    if p < ALARM:
        shares = found.where(stat="left_out").frame
        rates = ", ".join(
            f"{name} {share:.1%}" for name, share in zip(shares["group"], shares["estimate"], strict=True)
        )
        notes.append(
            f"The gate leaves out the groups at different rates ({rates}; p = {p:.2g}, identities permuted): "
            "it selects the sample. What is matched is about faces that this generator can draw."
        )
    return notes


def faithful(job: Job) -> dict[str, Container[str]]:
    """Say which images may be matched, where there is a gate."""
    if job.plan.fidelity is None or not job.plan.fidelity.gate:
        return {}
    frame = Ratings.read(job.path(FIDELITY) / "ratings.parquet").frame
    kept = frame[(frame["rater"] == GATE) & (frame["value"] == 1)]
    return {"not drawn faithfully": set(kept["unit"])}
