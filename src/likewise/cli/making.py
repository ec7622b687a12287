"""How each stage of an audit makes its artefact: thin, because the work itself is done by the rooms."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from likewise.cli.descents import with_losses
from likewise.cli.encoding import encoded
from likewise.cli.framing import framed, given_family, same_family
from likewise.cli.plan import Plan
from likewise.cli.progress import Voice
from likewise.cli.tuning import tune
from likewise.engine import Result, Work
from likewise.errors import ImageError, VectorError, some
from likewise.images import Album, find
from likewise.make.keys import known_keys
from likewise.make.project import FAILURES, PROJECTED, Projection, not_projected, solver
from likewise.make.read import read_images
from likewise.plugins import create
from likewise.services.purse import Purse
from likewise.store import Folder
from likewise.tables import Faces, Vectors
from likewise.tables.vectors import write_stream

FACES, DESCRIBED = "faces.parquet", "described.parquet"
LATENTS, EMBEDDINGS, PAIRS, BALANCE = "latents", "embeddings", "pairs.parquet", "balance.parquet"
VARIANTS, TURNED = "variants", "trials.parquet"
TRIALS, SWEEP, RATINGS, ANSWERS = "trials.parquet", "counterfactuals", "ratings.parquet", "answers.parquet"
ESTIMATES, REPORT = "estimates.parquet", "report.html"
WITHOUT_IMAGES = (
    "No images were given. What looks at pictures is skipped: none was opened or checked, nobody was projected, no "
    "counterfactual was made and no model was asked. All answers come from files and are taken as they are."
)


@dataclass
class Job:
    """One stage at work: where, by which plan, under which key; and what it has to tell."""

    folder: Folder
    plan: Plan
    voice: Voice
    key: str
    planned: list[str]
    """The artefacts that the plan makes, in order."""
    purse: Purse = field(default_factory=Purse)
    """What paid services may cost."""
    licences: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    summary: dict[str, Any] = field(default_factory=dict)
    raters: list[dict[str, str]] = field(default_factory=list)
    """Who was asked, by which threshold: for the report."""

    def path(self, artefact: str) -> Path:
        """Say where an artefact lies."""
        return self.folder.path(artefact)

    def faces(self) -> Faces:
        """The audited faces, with what was described of them."""
        return Faces.read(self.path(DESCRIBED if self.plan.describe else FACES))

    def album(self, faces: Faces) -> Album:
        """Show the pictures of these faces."""
        frame = faces.frame
        root = (self.folder.root / self.plan.faces.images).resolve()
        return Album(root, dict(zip(frame["image"], frame["file"], strict=True)))

    def chunks(
        self,
        name: str,
        work: Work,
        items: list[str],
        *,
        chunk: int = 0,
        failures: Callable[[Result], int] | None = None,
    ) -> Iterator[Result]:
        """Do the work chunk by chunk, shown and resumable; ``chunk`` is how many at a time, 0 as the plan says."""
        engine = replace(self.plan.engine, chunk=chunk or self.plan.engine.chunk)
        with self.voice.task(name, len(items)) as progress:
            folder = self.folder.work(f"{self.key}-{name}-{engine.chunk}")
            tune(engine)
            yield from engine.map(work, items, folder=folder, progress=progress, failures=failures)

    def again(self, name: str, work: Work, items: list[str], *, chunk: int = 0) -> Iterator[Result]:
        """Go through the finished chunks of ``chunks`` once more."""
        engine = replace(self.plan.engine, chunk=chunk or self.plan.engine.chunk)
        yield from engine.map(work, items, folder=self.folder.work(f"{self.key}-{name}-{engine.chunk}"))

    def used(self, occupant: Any) -> Any:
        """Note an occupant's licence for the sidecar, and that of whoever finds faces for it."""
        self.licences[occupant.name] = occupant.licence
        if isinstance(found_by := getattr(occupant, "finder", None), str) and found_by:
            self.used_finder(found_by)
        return occupant

    def used_finder(self, name: str) -> None:
        """Note a finder's licence; a recogniser may have the same name."""
        from likewise.models.finders import finder  # noqa: PLC0415  # networks load late

        self.licences[f"finder {name}"] = finder(name).licence

    def audited(self, slot: str, occupant: Any) -> Any:
        """Note a rater under audit: what it is, and where its threshold comes from."""
        told = {
            "name": occupant.name,
            "slot": slot,
            "threshold": f"{occupant.threshold:g}",
            "licence": occupant.licence,
            "language": str(getattr(occupant, "language", "")),
        }
        card = getattr(occupant, "card", None)
        told |= {"family": str(getattr(occupant, "family", "")), "set_on": str(getattr(card, "set_on", ""))}
        if told not in self.raters:
            self.raters.append(told)
        return self.used(occupant)


def read(job: Job) -> None:
    """Find, open and fingerprint the images of the table."""
    given = job.plan.faces
    table = given.source(job.folder.root).faces()
    table.warn_of_wording()
    side = job.plan.contrast.side(table)
    if not given.images:
        job.notes.append(WITHOUT_IMAGES)
        job.summary = _counted(table, side)
        table.write(job.path(FACES))
        return
    if given.missing_images == "drop":
        table = _those_there(job, table)
    with job.voice.task("read", len(table)) as progress:
        found, bad = read_images(table, job.folder.root / given.images, bad_images=given.bad_images, progress=progress)
    side = job.plan.contrast.side(found)
    if bad:
        lost = table.subset(bad).attribute(job.plan.contrast.column).value_counts().to_dict()
        job.notes.append(f"{len(bad)} images do not decode and are left out: {lost}")
    job.summary = _counted(found, side)
    found.write(job.path(FACES))


def _those_there(job: Job, table: Faces) -> Faces:
    """Leave out rows whose image is not in the folder, and count them by group."""
    root = job.folder.root / job.plan.faces.images
    there = [key for key in table.images if find(root, key) is not None]
    if len(there) < len(table):
        lost = table.frame.loc[~table.frame["image"].isin(there), job.plan.contrast.column].value_counts().to_dict()
        job.notes.append(f"{len(table) - len(there)} rows of the table have no image and are left out: {lost}")
    return table.subset(there)


def _counted(faces: Faces, side: pd.Series) -> dict[str, Any]:
    return {"images": len(faces), "focal": int((side == 1).sum()), "reference": int((side == -1).sum())}


def project(job: Job) -> None:
    """Project the images into the generator's latent space, or encode them, or take the plan's own vectors."""
    if not job.plan.vectors and job.plan.encode is None:
        _project_images(job)
        return
    vectors = encoded(job) if job.plan.encode else _own_vectors(job)
    with job.folder.swapped(LATENTS) as fresh:
        write_stream(fresh, vectors.images, [vectors.values], source=vectors.source)
    job.summary = {"images": len(vectors), "source": vectors.source}
    job.notes += given_family(vectors.source, job.plan)


def _own_vectors(job: Job) -> Vectors:
    """Read the plan's own vectors under the table's keys; those of other images are left out."""
    given = Vectors.read(job.folder.root / job.plan.vectors)
    keys = known_keys(pd.Series(given.images, dtype="str"), job.faces(), "vectors", strict=False)
    there = keys.notna().to_numpy()
    if not there.any():
        raise VectorError("vectors are of images of the table", got="none of them")
    return given if (keys == given.images).all() else Vectors(keys[there], given.values[there], source=given.source)


def _project_images(job: Job) -> None:
    (faces, album), spec = framed(job), job.plan.project
    generator = job.used(create("generator", spec.generator, spec.options))
    job.used(create("perceptual", spec.perceptual))
    work, made = Projection(spec, album), solver(spec)[2]
    descends = hasattr(generator, "draw") and spec.method != "encoder"
    few = made.batch if descends else 0  # a descent takes long: a killed run loses what a worker has at hand
    done = [
        (result["state"], result["distance"], result["baseline"])
        for result in job.chunks("project", work, faces.images, chunk=few, failures=not_projected)
    ]
    state, left, baseline = (np.concatenate(part) for part in zip(*done, strict=True))
    shown = state == PROJECTED
    job.notes += _not_projected(faces, state, job.plan.contrast.column)
    if not shown.any():
        raise ImageError("some image can be projected", got="; ".join(job.notes))
    kept = [image for image, there in zip(faces.images, shown, strict=True) if there]
    source = ", ".join(word for word in (generator.name, "W+", spec.words, made.words) if word)
    for family in made.families:
        job.notes += same_family("the projection", family, job.plan)
    with job.folder.swapped(LATENTS) as fresh:  # the finished chunks are read once more, one at a time
        results = job.again("project", work, faces.images, chunk=few)
        write_stream(fresh, kept, with_losses(results, fresh, len(kept), made.steps), source=source)
    missed = float(np.median(left[shown] / np.maximum(baseline[shown], 1e-12)))
    job.summary = {"images": len(kept), "source": source, "median share of the picture not drawn": round(missed, 4)}
    if missed > 0.5:
        job.notes.append(
            f"The generator {generator.name} does not draw these images: {missed:.0%} of what sets them apart from its "
            "mean face is missing in the reconstructions. Matching on such latents means little."
        )


def _not_projected(faces: Faces, state: npt.NDArray[np.int8], column: str) -> list[str]:
    """Say how many images of which group are not projected, and why."""
    notes = []
    for failure, why in FAILURES.items():
        lost = faces.frame.loc[state == failure, column].value_counts().to_dict()
        if lost:
            some_of = some(faces.frame.loc[state == failure, "image"])
            notes.append(f"{sum(lost.values())} images are not projected ({why}): {lost}: {some_of}")
    return notes


def covariates_of(job: Job) -> list[str]:
    """The plan's covariates; without any, every attribute that is not another word for the contrast's own column."""
    own = _said(job.plan.contrast.column)
    return list(job.plan.covariates) or [name for name in job.faces().attributes if _said(name) != own]


def _said(column: str) -> str:
    """Return what a column is about, whoever says it: perceived_gender and predicted_gender are about gender."""
    whose, _, what = column.partition("_")
    return what if whose in ("perceived", "predicted", "measured", "self") and what else column
