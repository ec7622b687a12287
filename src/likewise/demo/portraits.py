"""The demo: portraits of synthetic identities, audited by real networks as if they were photographs.

The generator renders the identities and their counterfactual twins, which differ in the attribute only. The audit sees
only the portraits and a table. The differences between identities and twins are the ground truth that the report shows
beside its estimates.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd

from likewise.audit.folder.store import PLAN
from likewise.demo.data_sections import data_sections
from likewise.errors import StoreError, TableError
from likewise.latents.directions import Directions, shipped
from likewise.latents.encoder import encoded_step
from likewise.rating.rate import Embedding
from likewise.runtime.cpu import configure_cpu
from likewise.runtime.executor import Executor
from likewise.runtime.pixels import ImageFolder
from likewise.runtime.progress import Reporter
from likewise.runtime.registry import Generator, Recognizer, create
from likewise.simulation.portraits import CONTRAST, COVARIATES, AttributeAxes, Portraits
from likewise.tables.io import write_frame, write_text

GENERATOR = "mobilestylegan"
RECOGNIZERS = ("dlib", "faceplugin")
WEIGHTS = (
    "mobilestylegan-ffhq", "lpips-alexnet", "mobilefacenet", "retinaface", "dlib-landmarks-5", "dlib-resnet",
    "faceplugin", "efficientnet-lite0", "selfie-multiclass", "faceres", "emotion", "sface", "yunet",
)  # fmt: skip
"""Weights that the demo's plan needs."""
AXES = {"gender": "predicted_gender", "age": "predicted_age", "eyeglasses": "predicted_eyeglasses",
         "smile": "predicted_smile"}  # fmt: skip
"""The shipped direction of each attribute axis of the portraits."""
KEEP = 0.8
"""The share of the largest balanced sample: chosen by the bias left in drawn worlds (docs/matching.md)."""
_CHUNK = 24
OWN_STEP, EFFECTS, RESPONSE_FACES = "own_step.npz", "effects.parquet", 24
_SETTINGS = "portraits.txt"  # the settings of the portraits in a folder, so that others are not mistaken for them

_PLAN = """\
# Portraits of {identities} synthetic identities, {images_each} images each, by {generator}.
# Age, glasses, smile and light are associated with gender (confounding {confounding:g}).
# They are audited as if they were photographs. effects.parquet has the ground truth of every trial, measured on
# counterfactual twins that differ in gender only; the report shows its mean over each estimate's own trials.
{data}
[project]                        # matched pairs: project each image into the latent space
generator = "{generator}"
perceptual = "lpips-alex"
method = "encoder"               # fast; "refine" is more accurate, some two to four seconds an image

[units]                          # ... recognizers rate trials, so trials are matched: all two images of one identity,
kind = "trials"                  # by the mean and the difference of their scores along the shipped directions
features = "scores"              # (without that of the contrast)
own_step = "{own_step}"        # what the encoder reads as the contrast alone, measured on other drawn faces, is removed

[match]                          # ... many trials, one an identity, balanced in every score and in every covariate
method = "cardinality"
max_smd = 0.1
keep = {keep}                       # of the largest balanced sample; the rest is given up for closer balance
balance = [{covariates}]

[[variant]]                      # alternative designs (specification curve)
name = "the largest balanced sample"
method = "cardinality"
keep = 1.0
balance = [{covariates}]

[[variant]]
name = "nearest trials"
caliper = {{ distance = "1sd" }}

[[variant]]
name = "without labels"
method = "cardinality"
{raters}
[[rater]]                        # a classifier under audit
kind = "classifier"
name = "efficientnet-lite"

[counterfactual]                 # counterfactual edits: only the attribute changes
editor = "direction"
attribute = "predicted_gender"
options = {{ size = 256, detail = "keep", method = "refine", perceptual = "lpips-alex" }}
mask = "none"                    # "skin" for photographs: pixels outside the mask do not change
strengths = [-1, -0.5, 0, 0.5, 1]
most = 20

[validity]                       # validity of the edits: the attribute changed and nothing else did; invalid edits are
target = "faceres-gender: female"     # excluded from the slopes, and counted
held = ["emotion: happy", "faceres-age: 40-49 + 50-59 + 60-69 + 70 or more"]
recognizer = "sface"             # the same person, by a recognizer that is not under audit

[collect]                        # human study: simulated raters use the study's own pages
crowd = "study"
options = {{ path = "people.csv" }}

[estimate]
truth = "truth.parquet"
effects = "{effects}"

[report]
title = "Synthetic identities"
show_images = true               # no real persons; for photographs the default is false

[executor]
{engine}
"""
_RATER = """
[[rater]]                        # a recognizer under audit
kind = "recognizer"
name = "{name}"
"""


def attribute_axes(directions: Directions, generator: Generator) -> AttributeAxes:
    """Return the attribute axes of a generator from its directions; gender increases toward the focal level.

    A step holds every other direction, not only those of the other axes: an attribute whose step moved pose or
    background along would separate the groups in them, and no sample could be balanced.
    """
    names = list(AXES.values())
    signs = [_toward(directions, column) for column in names]
    rows = [directions.names.index(column) for column in names]
    steps = [directions.step(column, hold=[other for other in directions.names if other != column]) for column in names]
    return AttributeAxes(
        mean=generator.mean_w().astype(np.float64),
        scores=directions.gradients[rows] * np.array(signs)[:, None],
        steps=np.stack(steps) * np.array(signs)[:, None],
        names=tuple(AXES),
    )


def _toward(directions: Directions, column: str) -> float:
    """Return 1 where the score increases with the attribute that the axis is named after, else -1."""
    positive = directions.skills[directions.names.index(column)].positive
    return -1.0 if positive in (str(CONTRAST.reference), "0", "no", "False") else 1.0


@dataclass(frozen=True)
class Demo:
    """A folder with portraits, a table and a plan: the input of an audit."""

    folder: Path
    portraits: Portraits
    reporter: Reporter
    executor: Executor

    def make(self) -> None:
        """Render the portraits and their twins, rate both with the recognizers, write the tables and the plan."""
        plan = self._plan()
        if (self.folder / PLAN).is_file() and (self.folder / PLAN).read_text(encoding="utf-8") == plan:
            self.reporter.say(f"demo: {self.folder}/ is up to date")
            return
        self._claim()
        generator = create("generator", GENERATOR)
        axes = attribute_axes(shipped(GENERATOR), generator)
        configure_cpu(self.executor)
        for place, twins in (("images", False), ("twins", True)):
            wanted = self.portraits.images
            work = self.portraits.work(
                self.folder / place, self.portraits.latents(generator, axes, twins=twins), GENERATOR
            )
            with self.reporter.task(f"render {place}", len(wanted)) as progress:
                for _ in self.executor.map(work, wanted, progress=progress):
                    pass
        step = encoded_step(generator, axes.steps[0], faces=RESPONSE_FACES, seed=self.portraits.seed)
        step.write(self.folder / OWN_STEP)
        self.portraits.table().write(self.folder / "faces.csv")
        write_frame(self.folder / "people.csv", self.portraits.chances())
        self.portraits.truth().write(self.folder / "truth.parquet")
        write_frame(self.folder / EFFECTS, pd.concat([self._twin_effects(name) for name in RECOGNIZERS]))
        write_text(self.folder / PLAN, plan)
        self.reporter.say(
            f"demo: wrote {self.portraits.identities} identities and their counterfactual twins to {self.folder}/"
        )

    def _claim(self) -> None:
        """Record the settings of the portraits in the folder; a folder with other images is an error."""
        settings, path = f"{self.portraits}\n", self.folder / _SETTINGS
        if (self.folder / "images").exists() and not (path.is_file() and path.read_text(encoding="utf-8") == settings):
            fix = "Choose another folder, or remove this one."
            raise StoreError(f"{self.folder} has images of other settings", fix=fix)
        write_text(path, settings)

    def _plan(self) -> str:
        several = self.executor.workers > 1
        engine = (
            f'kind = "processes"\nworkers = {self.executor.workers}\nchunk = {_CHUNK}'
            if several
            else f"chunk = {_CHUNK}"
        )
        names = [covariate.column for covariate in COVARIATES]
        return _PLAN.format(
            own_step=OWN_STEP, effects=EFFECTS, keep=KEEP, covariates=", ".join(f'"{name}"' for name in names),
            identities=self.portraits.identities, images_each=self.portraits.images_each, generator=GENERATOR,
            confounding=self.portraits.confounding,
            data=data_sections(self.portraits.seed, names, CONTRAST),
            raters="".join(_RATER.format(name=name) for name in RECOGNIZERS), engine=engine,
        )  # fmt: skip

    def _twin_effects(self, name: str) -> pd.DataFrame:
        """Rate every genuine trial and its twin: ``a``, ``b``, ``quantity`` and the effect, focal - reference."""
        recognizer, images = create("recognizer", name), self.portraits.images
        keys = [f"{place}/{image}" for place in ("images", "twins") for image in images]
        work = Embedding(name, {}, ImageFolder(self.folder, {key: f"{key}.png" for key in keys}))
        with self.reporter.task(f"twins: {name}", len(keys)) as progress:
            parts = [result["e"] for result in self.executor.map(work, keys, progress=progress)]
        own, twin = np.split(np.concatenate(parts), 2)
        found = twin_effects(self.portraits, own, twin, recognizer)
        if found["effect"].notna().sum() < 2:
            problem = f"{recognizer.name}: faces were detected in too few images and their twins"
            raise TableError(problem, fix="Use more identities.")
        return found.dropna(subset=["effect"])


def twin_effects(portraits: Portraits, own: np.ndarray, twin: np.ndarray, recognizer: Recognizer) -> pd.DataFrame:
    """Return the effect of the attribute on every genuine trial, from embeddings of the images and of their twins.

    The effect is the distance as the focal level less the distance as the reference level, of the same two images.
    """
    each, images = portraits.images_each, portraits.images
    two = [(at + i, at + j) for at in range(0, len(images), each) for i, j in combinations(range(each), 2)]
    a, b = np.array(two).T
    focal = portraits.table().attribute(CONTRAST.column).eq(CONTRAST.focal).to_numpy()[a]
    change = recognizer.distance(own[a], own[b]) - recognizer.distance(twin[a], twin[b])
    names = np.array(images)
    return pd.DataFrame(
        {"a": names[a], "b": names[b], "quantity": f"{recognizer.name}: distance",
         "effect": np.where(focal, change, -change)}
    )  # fmt: skip


def make_demo(folder: Path, *, identities: int, confounding: float, seed: int, reporter: Reporter) -> None:
    """Write the portraits demo to ``folder`` unless it is up to date."""
    workers = max(1, min(_cores(), 8))
    executor = Executor(kind="processes", workers=workers, chunk=_CHUNK) if workers > 1 else Executor(chunk=_CHUNK)
    portraits = Portraits(identities=identities, confounding=confounding, seed=seed)
    Demo(folder, portraits, reporter, executor).make()


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
