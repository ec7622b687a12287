"""How each stage of an audit makes its artefact: thin, because the work itself is done by the rooms."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from likewise.cli.asking import bills, rated_album, rater_options, services_of, sheet_of, sweep_album
from likewise.cli.framing import framed, given_family
from likewise.cli.plan import Plan, Rater
from likewise.cli.progress import Voice
from likewise.cli.tuning import tune
from likewise.design.balance import balance
from likewise.design.trials import trials
from likewise.engine import Engine, Result, Work
from likewise.errors import ImageError, TableError
from likewise.images import Album
from likewise.make.project import Projection
from likewise.make.rate import Embedding, Scoring, columns, rate_images, rate_trials, said_nothing, side_by_side
from likewise.make.read import read_images
from likewise.plugins import Pictures, create
from likewise.report.page import write_report
from likewise.services.purse import Purse
from likewise.services.reading import Reading, in_rows
from likewise.services.service import Service
from likewise.store import Folder
from likewise.tables import Estimates, Faces, Pairs, Ratings, Vectors
from likewise.tables.vectors import write_stream

FACES, DESCRIBED = "faces.parquet", "described.parquet"
LATENTS, EMBEDDINGS, PAIRS, BALANCE = "latents", "embeddings", "pairs.parquet", "balance.parquet"
VARIANTS, TURNED = "variants", "trials.parquet"
TRIALS, SWEEP, RATINGS, ANSWERS = "trials.parquet", "counterfactuals", "ratings.parquet", "answers.parquet"
ESTIMATES, REPORT = "estimates.parquet", "report.html"


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

    def chunks(self, name: str, work: Work, items: list[str]) -> Iterator[Result]:
        """Do the work chunk by chunk, shown and resumable."""
        with self.voice.task(name, len(items)) as progress:
            folder = self.folder.work(f"{self.key}-{name}-{self.plan.engine.chunk}")
            tune(self.plan.engine)
            yield from self.plan.engine.map(work, items, folder=folder, progress=progress)

    def again(self, name: str, work: Work, items: list[str]) -> Iterator[Result]:
        """Go through the finished chunks of ``chunks`` once more."""
        folder = self.folder.work(f"{self.key}-{name}-{self.plan.engine.chunk}")
        yield from self.plan.engine.map(work, items, folder=folder)

    def used(self, occupant: Any) -> Any:
        """Note an occupant's licence for the sidecar."""
        self.licences[occupant.name] = occupant.licence
        return occupant


def read(job: Job) -> None:
    """Find, open and fingerprint the images of the table."""
    given = job.plan.faces
    table = Faces.read(job.folder.root / given.table, image=given.image, identity=given.identity, rename=given.rename)
    table.warn_of_wording()
    job.plan.contrast.side(table)
    with job.voice.task("read", len(table)) as progress:
        found, bad = read_images(table, job.folder.root / given.images, bad_images=given.bad_images, progress=progress)
    side = job.plan.contrast.side(found)
    if bad:
        lost = table.subset(bad).attribute(job.plan.contrast.column).value_counts().to_dict()
        job.notes.append(f"{len(bad)} images do not decode and are left out: {lost}")
    job.summary = {
        "images": len(found),
        "focal": int((side == 1).sum()),
        "reference": int((side == -1).sum()),
    }
    found.write(job.path(FACES))


def project(job: Job) -> None:
    """Project the images into the generator's latent space, or take the plan's own vectors."""
    if not job.plan.vectors:
        _project_images(job)
        return
    vectors = Vectors.read(job.folder.root / job.plan.vectors)
    with job.folder.swapped(LATENTS) as fresh:
        write_stream(fresh, vectors.images, [vectors.values], source=vectors.source)
    job.summary = {"images": len(vectors), "source": vectors.source}
    job.notes += given_family(vectors.source, job.plan)


def _project_images(job: Job) -> None:
    (faces, album), spec = framed(job), job.plan.project
    generator = job.used(create("generator", spec.generator, spec.options))
    job.used(create("perceptual", spec.perceptual))
    work = Projection(spec, album)
    done = [
        (result["shown"], result["distance"], result["baseline"])
        for result in job.chunks("project", work, faces.images)
    ]
    shown, left, baseline = (np.concatenate(part) for part in zip(*done, strict=True))
    if not shown.any():
        raise ImageError("some image can be projected", got="none that decodes")
    kept = [image for image, there in zip(faces.images, shown, strict=True) if there]
    source = f"{generator.name}, W+, {spec.words}"
    with job.folder.swapped(LATENTS) as fresh:  # the finished chunks are read once more, one at a time
        blocks = (result["w"][result["shown"]] for result in job.again("project", work, faces.images))
        write_stream(fresh, kept, blocks, source=source)
    missed = float(np.median(left[shown] / np.maximum(baseline[shown], 1e-12)))
    job.summary = {"images": len(kept), "source": source, "median share of the picture not drawn": round(missed, 4)}
    if len(kept) < len(faces):
        lost = faces.frame.loc[~shown, job.plan.contrast.column].value_counts().to_dict()
        job.notes.append(f"{len(faces) - len(kept)} images could not be opened and are not projected: {lost}")
    if missed > 0.5:
        job.notes.append(
            f"The generator {generator.name} does not draw these images: {missed:.0%} of what sets them apart from its "
            "mean face is missing in the reconstructions. Matching on such latents means little."
        )


def balancing(job: Job) -> None:
    """Compare the covariates before and after."""
    found = balance(job.faces(), job.plan.contrast, Pairs.read(job.path(PAIRS)), covariates=covariates_of(job))
    job.summary = {"rows": len(found)}
    found.write(job.path(BALANCE))


def making_trials(job: Job) -> None:
    """Choose which two images of a person the raters are asked about."""
    plan, each = job.plan, job.plan.trials.impostors
    asked = any(rater.slot == "recogniser" for rater in plan.rater) and each > 0
    strangers: dict[str, Any] = {"impostors": each, "contrast": plan.contrast, "groups": "any"} if asked else {}
    made = trials(job.faces(), seed=plan.seed, **strangers)
    genuine = len(made.genuine())
    job.summary = {"genuine trials": genuine, "impostor trials": len(made) - genuine}
    made.write(job.path(TRIALS))


def rating(job: Job) -> None:
    """Have every rater of the plan look at what it is asked about."""
    services = services_of(job.folder, job.plan, job.purse)
    job.purse.settle(bills(job.folder, job.plan, services))
    parts = [
        _rate_trials(job, rater) if rater.slot == "recogniser" else _rate_sweep(job, rater, services.get(number))
        for number, rater in enumerate(job.plan.rater)
    ]
    ratings = Ratings.together(parts)
    job.summary = {"ratings": len(ratings), "no answer": int(ratings.frame["value"].isna().sum())}
    ratings.write(job.path(RATINGS))


def _rate_trials(job: Job, rater: Rater) -> Ratings:
    asked = _asked(job)
    recogniser = job.used(create("recogniser", rater.name, rater.options))
    work = Embedding(rater.name, rater.options, job.album(job.faces()))
    parts = [result["e"] for result in job.chunks(recogniser.name, work, asked.images)]
    answers = rate_trials(asked, np.concatenate(parts), asked.images, recogniser)
    turned = _turned(job)
    if turned is None:
        return answers
    asked, album = turned
    work = Embedding(rater.name, rater.options, album)
    parts = [result["e"] for result in job.chunks(f"{recogniser.name}, edited", work, asked.images)]
    return Ratings.together([answers, rate_trials(asked, np.concatenate(parts), asked.images, recogniser)])


def _turned(job: Job) -> tuple[Pairs, Album] | None:
    """Return the trials of edited pictures, where the plan has a sweep and somebody has two pictures in it."""
    path = job.path(SWEEP) / TURNED
    if job.plan.counterfactual is None or not path.is_file():
        return None
    asked = Pairs.read(path)
    return (asked, sweep_album(job.folder)[1]) if len(asked) else None


def _asked(job: Job) -> Pairs:
    asked = Pairs.read(job.path(TRIALS))
    if len(asked.genuine()) == 0:
        fix = "Check the identity column, or leave recognisers and people out of the plan."
        raise TableError("raters are asked about two images of a person", got="nobody with two images", fix=fix)
    return asked


def _rate_sweep(job: Job, rater: Rater, service: Service | None) -> Ratings:
    images, album = rated_album(job.folder)
    if service is not None:
        return _rate_by_service(job, service, images, album)
    classifier = job.used(create("classifier", rater.name, rater_options(job.folder, rater)))
    work = Scoring(rater.name, rater_options(job.folder, rater), album)
    labels, scores = side_by_side(list(job.chunks(classifier.name, work, images)), classifier.name)
    job.notes += said_nothing(classifier.name, labels, scores, classifier.threshold)
    return rate_images(images, labels, scores, classifier)


def _rate_by_service(job: Job, service: Service, images: list[str], album: Album) -> Ratings:
    """Ask a service from here, whatever the engine: its cassette is what a stopped run goes on from."""
    here = Engine(chunk=job.plan.engine.chunk, retries=0)
    heard: list[Reading | None] = []

    def ask(keys: list[str]) -> Result:
        for _, pictures in album.stacks(keys):
            heard.extend(service.look(pictures))
        return {}

    with job.voice.task(service.name, len(images)) as progress:
        for _ in here.map(ask, images, progress=progress):
            pass
    job.notes += service.remarks()
    labels, scores = side_by_side([columns(in_rows(heard), len(images))], service.name)
    job.notes += said_nothing(service.name, labels, scores, service.threshold)
    return rate_images(images, labels, scores, job.used(service))


def asking(job: Job) -> None:
    """Collect what people answered about the trials."""
    given = job.plan.ask
    assert given is not None  # the stage is only planned with the section
    options = {key: _resolved(job.folder, key, value) for key, value in given.options.items()}
    crowd = job.used(create("crowd", given.crowd, options))
    asked, album = _asked(job).genuine(), job.album(job.faces())
    with job.voice.task("ask", 2 * len(asked)) as progress:

        def look(images: list[str]) -> Pictures:
            progress.advance(len(images))
            return album(images)

        answers = crowd.answers(asked, look, job.plan.seed)
    job.summary = {"answers": len(answers), "people": int(answers.frame["rater"].nunique())}
    answers.write(job.path(ANSWERS))


def reporting(job: Job) -> None:
    """Draw the report."""
    judged = job.path("fidelity") / "estimates.parquet"
    sidecars = {name: job.folder.sidecar(name) for name in job.planned if name != REPORT}
    write_report(
        job.path(REPORT),
        title=job.plan.report.title,
        contrast=job.plan.contrast,
        pairs=Pairs.read(job.path(PAIRS)),
        balance=Estimates.read(job.path(BALANCE)),
        estimates=Estimates.read(job.path(ESTIMATES)),
        fidelity=Estimates.read(judged) if job.plan.fidelity else None,
        made={name: asdict(sidecar) for name, sidecar in sidecars.items() if sidecar},
        sheet=sheet_of(job.folder),
    )
    job.summary = {"bytes": job.path(REPORT).stat().st_size}


def covariates_of(job: Job) -> list[str]:
    """The plan's covariates; without any, every attribute that is not another word for the contrast's own column."""
    own = _said(job.plan.contrast.column)
    return list(job.plan.covariates) or [name for name in job.faces().attributes if _said(name) != own]


def _said(column: str) -> str:
    """Return what a column is about, whoever says it: perceived_gender and predicted_gender are about gender."""
    whose, _, what = column.partition("_")
    return what if whose in ("perceived", "predicted", "measured", "self") and what else column


def _resolved(folder: Folder, key: str, value: Any) -> Any:
    return str(folder.root / value) if key == "path" else value
