"""The stages that look for faces before anything is matched: align, and embed for the design."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from likewise.errors import PlanError, TableError
from likewise.images import Album
from likewise.make.align import FAILED, Alignment, settled, tally
from likewise.make.counterfactual import file_of
from likewise.make.rate import Embedding, embeddings_as_vectors
from likewise.plugins import create
from likewise.tables import Faces, Vectors

ALIGNED, EMBEDDINGS = "aligned", "embeddings.npz"


@dataclass(frozen=True, kw_only=True)
class EmbedPlan:
    """A recogniser in the design: the two of a pair are nearer to one another than ``within``."""

    recogniser: str
    options: dict[str, Any] = field(default_factory=dict)
    within: float = 0.0
    """In the recogniser's own distance; 0 is its threshold."""

    def __post_init__(self) -> None:
        if self.within < 0:
            raise PlanError("within is a distance of at least 0", got=str(self.within))


def aligning(job: Any) -> None:
    """Bring every face into the generator's frame."""
    faces, plan = job.faces(), job.plan
    generator = job.used(create("generator", plan.project.generator))
    spec = settled(plan.align, generator)
    pictures = job.folder.work(f"{job.key}-aligned")
    pictures.mkdir(parents=True, exist_ok=True)
    work = Alignment(spec, job.album(faces), pictures)
    states = np.concatenate([result["state"] for result in job.chunks("align", work, faces.images)])
    kept = [image for image, state in zip(faces.images, states, strict=True) if state != FAILED]
    if not kept:
        raise TableError("a face is found in some image", got="none in any", fix="Look at the images, or at [align].")
    with job.folder.swapped(ALIGNED) as fresh:
        faces.subset(kept).write(fresh / "faces.parquet")
        (fresh / "images").mkdir()
        for image in kept:
            (pictures / file_of(image)).replace(fresh / "images" / file_of(image))
    groups = dict(zip(faces.images, faces.attribute(plan.contrast.column), strict=True))
    counts = tally(faces.images, states.tolist(), groups)
    job.summary = {"images": len(kept), "frame": spec.frame, "size": spec.size}
    if len(kept) < len(faces):
        lost = {group: f"{by['no face found']} of {sum(by.values())}" for group, by in counts.items()}
        job.notes.append(
            f"{len(faces) - len(kept)} images show no face that could be aligned; they are not projected: {lost}"
        )


def framed(job: Any) -> tuple[Faces, Album]:
    """Return the faces in the generator's frame and their pictures: the aligned ones where there are any."""
    if job.plan.align is None:
        faces = job.faces()
        return faces, job.album(faces)
    faces = Faces.read(job.path(ALIGNED) / "faces.parquet")
    return faces, Album((job.path(ALIGNED) / "images").resolve(), {key: file_of(key) for key in faces.images})


def embedding(job: Any) -> None:
    """Embed all images with the recogniser that the design asks for."""
    faces, given = job.faces(), job.plan.embed
    recogniser = job.used(create("recogniser", given.recogniser, given.options))
    work = Embedding(given.recogniser, given.options, job.album(faces))
    parts = [result["e"] for result in job.chunks("embed", work, faces.images)]
    vectors = embeddings_as_vectors(faces.images, np.concatenate(parts), recogniser)
    vectors.write(job.path(EMBEDDINGS))
    job.summary = {"images": len(vectors), "no face": len(faces) - len(vectors), "family": recogniser.family}
    if len(vectors) < len(faces):
        lost = faces.frame.loc[~faces.frame["image"].isin(vectors.images), job.plan.contrast.column]
        job.notes.append(f"{recogniser.name} finds no face in {len(lost)} images: {lost.value_counts().to_dict()}")
    job.notes += same_family(given.recogniser, recogniser.family, job.plan)


def same_family(chooser: str, family: str, plan: Any) -> list[str]:
    """Say when a rater under audit is of the family that chose the pairs: it then judges its own choice."""
    audited = [create("recogniser", rater.name, rater.options) for rater in plan.rater if rater.slot == "recogniser"]
    return [
        f"{rater.name} is under audit, and {chooser}, of the same family ({family}), had a part in choosing the pairs. "
        "Its gap among look-alikes is not independent of the matching; read the other raters."
        for rater in audited
        if rater.family == family
    ]


def given_family(source: str, plan: Any) -> list[str]:
    """Say the same of vectors that the plan gives, when they are embeddings of a known family."""
    told = re.fullmatch(r"recogniser (.+), family (.+)", source)
    return same_family(told[1], told[2], plan) if told else []


def within(job: Any) -> list[tuple[Vectors, float]]:
    """Return the second distance of the design and its limit, if the plan asks for one."""
    given = job.plan.embed
    if given is None:
        return []
    recogniser = create("recogniser", given.recogniser, given.options)
    euclidean = getattr(recogniser, "as_euclidean", None)
    if not given.within and euclidean is None:
        fix = "Say within in [embed], as a Euclidean distance of embeddings."
        raise PlanError(f"{recogniser.name} says what its threshold is between embeddings", got="nothing", fix=fix)
    limit = given.within or recogniser.threshold
    return [(Vectors.read(job.path(EMBEDDINGS)), float(euclidean(limit) if euclidean else limit))]
