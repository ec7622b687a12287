"""The two stages that make the design: embed (what it goes by besides the latents) and match."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from likewise.cli.answered import given_trials
from likewise.cli.asking import recognises
from likewise.cli.fidelity import faithful
from likewise.cli.framing import same_family
from likewise.cli.making import EMBEDDINGS, LATENTS, PAIRS, TRIALS, VARIANTS, Job
from likewise.cli.measures import Declared, WithinPlan, declared
from likewise.design.match import match
from likewise.design.trials import trials
from likewise.engine import Progress
from likewise.errors import LikewiseError, PlanError, TableError
from likewise.make.embed import Difference, couples, difficulties
from likewise.make.rate import Embedding, embeddings_as_vectors
from likewise.plugins import create
from likewise.tables import MatchSpec, Pairs, Vectors
from likewise.tables.files import read_frame
from likewise.tables.vectors import write_stream

_DIFFICULTY = "difficulty.parquet"


def embedding(job: Job) -> None:
    """Have the design's own recognisers embed all images, and measure perceptual distances within identities."""
    with job.folder.swapped(EMBEDDINGS) as fresh:
        for entry in declared(job.plan.within, job.plan.difficulty):
            vectors = _embedded(job, entry)
            (fresh / entry.folder).mkdir()
            write_stream(fresh / entry.folder, vectors.images, [vectors.values], source=vectors.source)
        if job.plan.difficulty and job.plan.difficulty.perceptual:
            _differences(job).write(fresh / _DIFFICULTY)


def _embedded(job: Job, entry: Declared) -> Vectors:
    faces = job.faces()
    recogniser = job.used(create("recogniser", entry.name, entry.options))
    work = Embedding(entry.name, entry.options, job.album(faces))
    parts = np.concatenate([result["e"] for result in job.chunks(entry.folder, work, faces.images)])
    vectors = embeddings_as_vectors(faces.images, parts, recogniser)
    job.summary[recogniser.name] = f"{len(vectors)} of {len(faces)} faces found"
    if len(vectors) < len(faces):
        lost = faces.frame.loc[~faces.frame["image"].isin(vectors.images), job.plan.contrast.column]
        job.notes.append(f"{recogniser.name} finds no face in {len(lost)} images: {lost.value_counts().to_dict()}")
    return vectors


def _differences(job: Job) -> Pairs:
    given, faces = job.plan.difficulty, job.faces()
    assert given is not None
    perceptual = job.used(create("perceptual", given.perceptual, given.options))
    pairs = couples(faces)
    if not pairs:
        raise TableError("references need people with two images", got="nobody with two images")
    work = Difference(given.perceptual, given.options, job.album(faces), pairs)
    parts = [result["d"] for result in job.chunks("difficulty", work, list(pairs))]
    job.summary[perceptual.name] = f"{len(pairs)} couples"
    return difficulties(pairs, np.concatenate(parts).tolist())


def matching(job: Job) -> None:
    """Match look-alikes across the contrast, by everything that the plan declares."""
    plan = job.plan
    with job.voice.task("match", _focal(job)) as progress:
        pairs = _matched(job, plan.match, progress)
    for entry in declared(plan.within, plan.difficulty):
        job.notes += same_family(entry.name, create("recogniser", entry.name, entry.options).family, plan)
    job.summary = {"pairs": len(pairs), **({"note": pairs.note} if pairs.note else {})}
    pairs.write(job.path(PAIRS))


def varying(job: Job) -> None:
    """Match once more by each design that might have been chosen instead; answers have no part in it."""
    found: dict[str, int] = {}
    with (
        job.voice.task("variants", _focal(job) * len(job.plan.variant)) as progress,
        job.folder.swapped(VARIANTS) as fresh,
    ):
        for number, variant in enumerate(job.plan.variant):
            try:
                pairs = _matched(job, variant.match, progress)
            except LikewiseError as error:  # the audit's own design stands, whatever becomes of the others
                job.notes.append(f"The design {variant.name!r} cannot be had: {error}")
                continue
            pairs.write(fresh / f"{number:02d}.parquet")
            found[variant.name] = len(pairs)
    job.summary = {f"pairs by {name}": count for name, count in found.items()}


def variants_of(job: Job) -> dict[str, Pairs]:
    """Return the pairs of each variant that could be had, by its name."""
    return {
        variant.name: Pairs.read(job.path(VARIANTS) / f"{number:02d}.parquet")
        for number, variant in enumerate(job.plan.variant)
        if (job.path(VARIANTS) / f"{number:02d}.parquet").is_file()
    }


def making_trials(job: Job) -> None:
    """Choose which two images of a person the raters are asked about; where pairs have references, by those."""
    plan, each = job.plan, job.plan.trials.impostors
    strangers: dict[str, Any] = {"impostors": each, "groups": "any"} if recognises(plan) and each > 0 else {}
    rule: dict[str, Any] = (
        {"references": Pairs.read(job.path(PAIRS)), "difficulty": _difficulty(job)} if plan.match.references else {}
    )
    between: dict[str, Any] = {"contrast": plan.contrast} if strangers or rule else {}
    given = given_trials(job)
    if given is not None and rule:
        job.notes.append("The trials are those of the score files: references of the matching are not asked about.")
    made = given or trials(job.faces(), seed=plan.seed, **strangers, **rule, **between)
    if given is None and rule:
        job.notes.append(_by_reference(job, made))
    genuine = len(made.genuine())
    job.summary = {"genuine trials": genuine, "impostor trials": len(made) - genuine}
    made.write(job.path(TRIALS))


def _by_reference(job: Job, made: Pairs) -> str:
    """Say how the second image of a trial was chosen, and for whom there is none, by group."""
    faces, asked = job.faces(), set(made.genuine().frame["a"])
    side = job.plan.contrast.side(faces)
    without = faces.subset([image for image in side.index[side != 0] if image not in asked])
    lost = without.attribute(job.plan.contrast.column).value_counts().to_dict() if len(without) else "none"
    return (
        "Images of a pair are asked about with their references; every other image with one that is as difficult as a "
        f"reference of somebody of the other group, drawn by lot. Images without such a reference: {lost}."
    )


def _focal(job: Job) -> int:
    return int((job.plan.contrast.side(job.faces()) == 1).sum())


def _matched(job: Job, spec: MatchSpec, progress: Progress) -> Pairs:
    plan, by_file = job.plan, spec.distance == "given"
    within = [
        (_vectors(job, entry.recogniser, entry.options, entry.vectors), _limit(job, entry)) for entry in plan.within
    ]
    return match(
        job.faces(),
        None if by_file else latents_of(job),
        plan.contrast,
        spec,
        within=within,
        difficulty=_difficulty(job) if spec.references else None,
        allowed=faithful(job),
        engine=plan.engine,
        progress=progress,
        **given_numbers(job, spec),
    )


def latents_of(job: Job) -> Vectors | None:
    """Return where the images lie; nothing where the plan has them lie nowhere."""
    return Vectors.read(job.path(LATENTS)) if LATENTS in job.planned else None


def _vectors(job: Job, recogniser: str, options: dict[str, Any], path: str) -> Vectors:
    if recogniser:
        return Vectors.read(job.path(EMBEDDINGS) / Declared(recogniser, options).folder)
    return Vectors.read(job.folder.root / path)


def _limit(job: Job, entry: WithinPlan) -> float:
    """Return the limit as a euclidean distance of embeddings, which is what a matching can look up."""
    if not entry.recogniser:
        return entry.limit
    recogniser = create("recogniser", entry.recogniser, entry.options)
    if hasattr(recogniser, "as_euclidean"):
        return float(recogniser.as_euclidean(entry.limit or recogniser.threshold))
    if not entry.limit:
        fix = "Say limit in [[within]], as a euclidean distance of embeddings."
        raise PlanError(f"{recogniser.name} says what its threshold is between embeddings", got="nothing", fix=fix)
    job.notes.append(f"The limit of {recogniser.name} is the euclidean distance of its embeddings.")
    return entry.limit


def _difficulty(job: Job) -> Pairs | Vectors | None:
    given = job.plan.difficulty
    if given is None:
        return None
    if given.perceptual or given.pairs:
        return Pairs.read(job.path(EMBEDDINGS) / _DIFFICULTY if given.perceptual else job.folder.root / given.pairs)
    return _vectors(job, given.recogniser, given.options, given.vectors)


def given_numbers(job: Job, spec: MatchSpec) -> dict[str, Any]:
    """Read the files of given numbers that this design goes by."""
    given = job.plan.given
    if given is None or (spec.distance != "given" and (given.distances or spec.method != "propensity")):
        return {}
    if given.distances:
        return {"distances": _by_image(job.folder.root / given.distances)}
    if spec.score_on:  # a variant that fits its own
        return {}
    frame = _by_image(job.folder.root / given.scores)
    if list(frame.columns) != ["score"]:
        raise TableError("a file of scores has the columns image and score", got=", ".join(map(str, frame.columns)))
    return {"scores": frame["score"]}


def _by_image(path: Path) -> pd.DataFrame:
    frame, _ = read_frame(path, text=("image",))
    if "image" not in frame.columns:
        raise TableError(f"{path.name} has a column image", got=", ".join(map(str, frame.columns[:4])))
    frame["image"] = frame["image"].astype("str")
    return frame.set_index("image")
