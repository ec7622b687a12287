"""The effect of lambda: one image in three spaces, and fidelity and semantics over a range of lambdas."""

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

from likewise.analysis.images.means import overall_means
from likewise.audit.context import StageContext
from likewise.audit.folder.store import PLAN, Folder
from likewise.audit.stages import read_plan
from likewise.audit.tools.directions import fittable
from likewise.audit.tools.show_image import directions_for
from likewise.counterfactuals.sweep import chosen
from likewise.counterfactuals.sweep_spec import SweepSpec
from likewise.errors import ImageError, SpecError, nearest
from likewise.latents.directions import skills
from likewise.latents.fidelity import DISTANCE, FidelitySpec, MeasureFidelity, fidelity_ratings
from likewise.latents.projection import PROJECTED, Projection, ProjectSpec, solver
from likewise.latents.traverse import traversal
from likewise.report.figures.lambdas import lambda_figure, save_png
from likewise.runtime.cpu import tune
from likewise.runtime.pixels import save
from likewise.runtime.progress import Reporter
from likewise.runtime.registry import create, to_signals
from likewise.tables import Estimates, Images, Ratings, Vectors
from likewise.tables.vectors import write_stream

SPACES = {"restricted": math.inf, "regularized": None, "unregularized": 0.0}
"""The paper's three: all rows equal, drawn together by the method's own lambda, and free."""
HEAVY = 1e6


def _context(root: Path) -> StageContext:
    folder = Folder(str(root))
    plan = read_plan(folder.path(PLAN))
    if plan.vectors:
        raise SpecError(
            "The plan has vectors: its images are not projected", fix="Remove vectors from the plan to sweep lambda."
        )
    return StageContext(folder, plan)


def three_spaces(
    root: Path, image: str, *, out: Path, directions: str, along: str, hold: Sequence[str], amounts: Sequence[float],
    size: int,
) -> list[str]:  # fmt: skip
    """Project one image into the three spaces and draw a direction in each: a row a space, a column an amount."""
    context = _context(root)
    faces, album = context.framed()
    if image not in album.files:
        raise ImageError(f"No image {image!r} in the audit", fix=nearest(image, faces.keys))
    rows, generator = [], create("generator", context.plan.project.generator, context.plan.project.options)
    for lambda_ in SPACES.values():
        _, _, solve = solver(_at(context.plan.project, lambda_))
        rows.append(solve(to_signals(album([image], size=solve.size)))[0])
    known = directions_for(context, directions, generator, faces)
    if known is None:
        raise SpecError("No directions for this generator", fix="Fit them with: likewise directions fit DIR")
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
    root: Path, *, lambdas: Sequence[float], images: int, recognizer: str, attributes: Sequence[str], reporter: Reporter
) -> list[str]:
    """Project some images under each lambda; estimate fidelity and how well labels are read; draw both."""
    context = _context(root)
    faces, _ = context.framed()
    some_faces = faces.subset(chosen(faces, SweepSpec(most=images), seed=context.plan.seed))
    labels = list(attributes) or fittable(some_faces)
    parts = [_one(context, some_faces, lambda_, recognizer, labels, reporter) for lambda_ in lambdas]
    found = Estimates.together([part for part in parts if len(part)])
    out = root / "lambdas"
    found.write(out / "estimates.parquet")
    save_png(lambda_figure(found), out / "lambdas.png")
    return [
        f"wrote {out / 'estimates.parquet'} and {out / 'lambdas.png'}: {len(some_faces)} images, {len(parts)} lambdas"
    ]


def _one(
    context: StageContext, faces: Images, lambda_: float, recognizer: str, labels: list[str], reporter: Reporter
) -> Estimates:
    """Project under one lambda, resumably, and estimate what came of it."""
    spec = _at(context.plan.project, lambda_)
    place = context.folder.root / "lambdas" / _key(spec, faces)
    name = f"lambda {lambda_:g}"
    vectors = _projected(context, faces, spec, place, name, reporter)
    kept = faces.subset(vectors.keys)
    measured = _measured(context, kept, vectors, place, recognizer, name, reporter)
    level = context.plan.estimate.level
    return Estimates.together(
        [overall_means(measured, kept, sample=name, level=level), skills(kept, vectors, labels, name)]
    )


def _key(spec: ProjectSpec, faces: Images) -> str:
    plain = json.dumps([asdict(spec), faces.keys], sort_keys=True, default=str)
    return sha256(plain.encode()).hexdigest()[:16]


def _projected(
    context: StageContext, faces: Images, spec: ProjectSpec, place: Path, name: str, reporter: Reporter
) -> Vectors:
    album, engine = context.framed()[1], replace(context.plan.executor, chunk=1)
    tune(engine)
    with reporter.task(name, len(faces)) as progress:
        parts = list(engine.map(Projection(spec, album), faces.keys, folder=place / "work", progress=progress))
    there = np.concatenate([part["state"] == PROJECTED for part in parts])
    kept = [image for image, good in zip(faces.keys, there, strict=True) if good]
    if not kept:
        raise ImageError("No image could be projected", fix="Check the images.")
    (place / "latents").mkdir(parents=True, exist_ok=True)
    write_stream(place / "latents", kept, [np.concatenate([part["w"] for part in parts])[there]], source=name)
    return Vectors.read(place / "latents")


def _measured(
    context: StageContext, faces: Images, vectors: Vectors, place: Path, recognizer: str, name: str, reporter: Reporter
) -> Ratings:
    """Measure the fidelity of the reconstructions and the spread of their rows."""
    plan = context.plan.project
    spec = FidelitySpec(recognizer=recognizer) if recognizer else context.plan.fidelity
    apart = [_rows_apart(w) for w in vectors.values]
    rows = Ratings(pd.DataFrame({"unit": vectors.keys, "rater": "projection", "question": "R", "value": apart}))
    if spec is None:
        raise SpecError("No recognizer to compare reconstructions with", fix="Add --recognizer NAME, or [fidelity].")
    work = MeasureFidelity(
        spec, plan.generator, plan.options, plan.perceptual, context.framed()[1], place / "latents", str(place)
    )
    found = fidelity_ratings(vectors.keys, [work(vectors.keys)]).frame
    return Ratings(pd.concat([rows.frame, found[found["question"] == DISTANCE]], ignore_index=True))
