"""What lambda does: one face in three spaces, and fidelity and semantics over a range of lambdas."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from likewise.analyse.image_means import overall_means
from likewise.cli.directions import fittable
from likewise.cli.framing import framed
from likewise.cli.making import Job
from likewise.cli.plan import read_plan
from likewise.cli.progress import Quiet, Voice
from likewise.cli.show_image import directions_for
from likewise.cli.tuning import tune
from likewise.errors import ImageError, SpecError, nearest
from likewise.images import save
from likewise.make.counterfactual import chosen
from likewise.make.directions import skills
from likewise.make.fidelity import DISTANCE, FidelitySpec, Judgement, judged
from likewise.make.project import PROJECTED, Projection, ProjectSpec, solver
from likewise.make.sweep_spec import SweepSpec
from likewise.make.traverse import traversal
from likewise.plugins import create, to_signals
from likewise.report.lambdas import lambda_figure, save_png
from likewise.store import PLAN, Folder
from likewise.tables import Estimates, Faces, Ratings, Vectors
from likewise.tables.vectors import write_stream

SPACES = {"restricted": math.inf, "regularised": None, "unregularised": 0.0}
"""The paper's three: all rows equal, drawn together by the method's own lambda, and free."""
HEAVY = 1e6


def _job(root: Path) -> Job:
    folder = Folder(str(root))
    plan = read_plan(folder.path(PLAN))
    if plan.vectors:
        raise SpecError("the audit projects its images", got="vectors in the plan")
    return Job(folder, plan, Quiet(), "", [])


def three_spaces(
    root: Path, image: str, *, out: Path, directions: str, along: str, hold: Sequence[str], amounts: Sequence[float],
    size: int,
) -> list[str]:  # fmt: skip
    """Project one image into the three spaces and draw a direction in each: a row a space, a column an amount."""
    job = _job(root)
    faces, album = framed(job)
    if image not in album.files:
        raise ImageError("the audit has this image", got=repr(image), fix=nearest(image, faces.images))
    rows, generator = [], create("generator", job.plan.project.generator, job.plan.project.options)
    for lambda_ in SPACES.values():
        _, _, solve = solver(_at(job.plan.project, lambda_))
        rows.append(solve(to_signals(album([image], size=solve.size)))[0])
    known = directions_for(job, directions, generator, faces)
    if known is None:
        raise SpecError("there are directions for this generator", got="none", fix="likewise directions fit DIR")
    name = along or known.names[0]
    step = known.step(name, hold=hold)
    w = np.concatenate(rows)
    save(out, traversal(generator, w, step, amounts, size=size, names=list(SPACES)))
    apart = ", ".join(f"{space} {_rows_apart(each):.3g}" for space, each in zip(SPACES, w, strict=True))
    return [f"wrote {out}: {name} in three spaces (R: {apart})"]


def _at(spec: ProjectSpec, lambda_: float | None) -> ProjectSpec:
    """Return the spec at another lambda; a generator without gradients cannot tie its rows, only weigh them heavily."""
    tied = hasattr(create("generator", spec.generator, spec.options), "draw")
    return replace(spec, lambda_=HEAVY if lambda_ == math.inf and not tied else lambda_)


def _rows_apart(w: np.ndarray[Any, np.dtype[np.float32]]) -> float:
    return float(np.square(w - w.mean(axis=0)).mean())


def sweep_lambdas(
    root: Path, *, lambdas: Sequence[float], images: int, recogniser: str, attributes: Sequence[str], voice: Voice
) -> list[str]:
    """Project some images under each lambda; estimate fidelity and how well labels are read; draw both."""
    job = _job(root)
    faces, _ = framed(job)
    some_faces = faces.subset(chosen(faces, SweepSpec(most=images), seed=job.plan.seed))
    labels = list(attributes) or fittable(some_faces)
    parts = [_one(job, some_faces, lambda_, recogniser, labels, voice) for lambda_ in lambdas]
    found = Estimates.together([part for part in parts if len(part)])
    out = root / "lambdas"
    found.write(out / "estimates.parquet")
    save_png(lambda_figure(found), out / "lambdas.png")
    return [
        f"wrote {out / 'estimates.parquet'} and {out / 'lambdas.png'}: {len(some_faces)} images, {len(parts)} lambdas"
    ]


def _one(job: Job, faces: Faces, lambda_: float, recogniser: str, labels: list[str], voice: Voice) -> Estimates:
    """Project under one lambda, resumably, and estimate what came of it."""
    spec = _at(job.plan.project, lambda_)
    place = job.folder.root / "lambdas" / _key(spec, faces)
    name = f"lambda {lambda_:g}"
    vectors = _projected(job, faces, spec, place, name, voice)
    kept = faces.subset(vectors.images)
    told = _told(job, kept, vectors, place, recogniser, name, voice)
    level = job.plan.analyse.level
    return Estimates.together(
        [overall_means(told, kept, sample=name, level=level), skills(kept, vectors, labels, name)]
    )


def _key(spec: ProjectSpec, faces: Faces) -> str:
    plain = json.dumps([asdict(spec), faces.images], sort_keys=True, default=str)
    return sha256(plain.encode()).hexdigest()[:16]


def _projected(job: Job, faces: Faces, spec: ProjectSpec, place: Path, name: str, voice: Voice) -> Vectors:
    album, engine = framed(job)[1], replace(job.plan.engine, chunk=1)
    tune(engine)
    with voice.task(name, len(faces)) as progress:
        parts = list(engine.map(Projection(spec, album), faces.images, folder=place / "work", progress=progress))
    there = np.concatenate([part["state"] == PROJECTED for part in parts])
    kept = [image for image, good in zip(faces.images, there, strict=True) if good]
    if not kept:
        raise ImageError("some image can be projected", got="none")
    (place / "latents").mkdir(parents=True, exist_ok=True)
    write_stream(place / "latents", kept, [np.concatenate([part["w"] for part in parts])[there]], source=name)
    return Vectors.read(place / "latents")


def _told(job: Job, faces: Faces, vectors: Vectors, place: Path, recogniser: str, name: str, voice: Voice) -> Ratings:
    """Have the reconstructions judged, and say how far apart the rows are."""
    plan = job.plan.project
    judge = FidelitySpec(recogniser=recogniser) if recogniser else job.plan.fidelity
    apart = [_rows_apart(w) for w in vectors.values]
    rows = Ratings(pd.DataFrame({"unit": vectors.images, "rater": "projection", "question": "R", "value": apart}))
    if judge is None:
        raise SpecError("somebody judges the reconstructions", got="no [fidelity]", fix="Say --recogniser NAME.")
    work = Judgement(
        judge, plan.generator, plan.options, plan.perceptual, framed(job)[1], place / "latents", str(place)
    )
    told = judged(vectors.images, [work(vectors.images)]).frame
    return Ratings(pd.concat([rows.frame, told[told["question"] == DISTANCE]], ignore_index=True))
