"""The stage align, and what is said when those who choose the pairs also judge them."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from likewise.errors import TableError
from likewise.images import Album
from likewise.make.align import LOST, STATES, Alignment, settled, tally
from likewise.make.counterfactual import file_of
from likewise.plugins import create
from likewise.tables import Faces

ALIGNED = "aligned"


def aligning(job: Any) -> None:
    """Bring every face into the generator's frame."""
    faces, plan = job.faces(), job.plan
    generator = job.used(create("generator", plan.project.generator, plan.project.options))
    spec = settled(plan.align, generator)
    job.used_finder(spec.finder)
    pictures = job.folder.work(f"{job.key}-aligned")
    pictures.mkdir(parents=True, exist_ok=True)
    work = Alignment(spec, job.album(faces), pictures)
    done = job.chunks("align", work, faces.images, failures=lambda result: int(np.isin(result["state"], LOST).sum()))
    states = np.concatenate([result["state"] for result in done])
    kept = [image for image, state in zip(faces.images, states, strict=True) if state not in LOST]
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
        for state in LOST:
            lost = {group: f"{by[STATES[state]]} of {sum(by.values())}" for group, by in counts.items()}
            if count := sum(by[STATES[state]] for by in counts.values()):
                job.notes.append(f"{count} images are not aligned ({STATES[state]}) and not projected: {lost}")


def framed(job: Any) -> tuple[Faces, Album]:
    """Return the faces in the generator's frame and their pictures: the aligned ones where there are any."""
    if job.plan.align is None:
        faces = job.faces()
        return faces, job.album(faces)
    faces = Faces.read(job.path(ALIGNED) / "faces.parquet")
    return faces, Album((job.path(ALIGNED) / "images").resolve(), {key: file_of(key) for key in faces.images})


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
