"""The demo: portraits of people who exist nowhere, audited by real networks as if they were photographs.

The embedded generator draws people and, beside them, their twins on the other side of the attribute. The audit sees
only the people's pictures and a table. What the twins say is kept apart: it is the truth that the report sets beside
its answers.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from likewise.analyse.resample import jackknife
from likewise.analyse.rows import row
from likewise.cli.plan import FORMAT
from likewise.cli.progress import Voice
from likewise.cli.tuning import tune
from likewise.engine import Engine
from likewise.errors import StoreError, TableError
from likewise.images import Album
from likewise.make.directions import Directions, shipped
from likewise.make.rate import Embedding
from likewise.plugins import Generator, create
from likewise.store import PLAN
from likewise.tables import Estimates
from likewise.tables.files import write_frame, write_text
from likewise.world.portraits import CONTRAST, COVARIATES, Dials, Portraits

GENERATOR = "mobilestylegan"
RECOGNISERS = ("dlib", "faceplugin")
WEIGHTS = (
    "mobilestylegan-ffhq", "lpips-alexnet", "mobilefacenet", "retinaface", "dlib-landmarks-5", "dlib-resnet",
    "faceplugin", "efficientnet-lite0", "selfie-multiclass", "faceres", "emotion",
)  # fmt: skip
"""What the demo's plan needs."""
DIALS = {"gender": "predicted_gender", "age": "predicted_age", "eyeglasses": "predicted_eyeglasses",
         "smile": "predicted_smile"}  # fmt: skip
"""The shipped directions that the portraits' dials are."""
_CHUNK, LEVEL = 24, 0.95
_DRAWN = "portraits.txt"  # which portraits the pictures are of: those of other people are not taken for them

_PLAN = """\
# Portraits of {identities} people who exist nowhere, {images_each} pictures each, drawn by {generator}.
# Age, glasses, smile and light go together with the drawn gender (confounding {confounding:g}).
# They are audited as if they were photographs. truth.parquet holds what is said of their twins, who differ in the
# drawn gender only; the report sets it beside the answers.
format = {format}
seed = {seed}
covariates = [{covariates}]

[faces]
images = "images"
table = "faces.csv"

[contrast]
column = "{column}"
focal = "{focal}"
reference = "{reference}"

[project]                        # find: where each face lies in the generator's latent space
generator = "{generator}"
perceptual = "lpips-alex"
method = "encoder"               # quick; "refine" is closer, at half a minute a picture

[match]                          # ... and who looks alike across the contrast
distance = "mean_row"
remove_contrast = true           # the attribute itself is no part of looking alike
exact = ["drawn_eyeglasses", "drawn_smile"]
caliper = {{ drawn_age = 0.4, drawn_light = 0.4 }}

[[variant]]                      # designs that might have been chosen instead
name = "propensity"
method = "propensity"
score_on = [{covariates}]

[[variant]]
name = "latents alone"
distance = "mean_row"
remove_contrast = true

[[variant]]
name = "latents alone, all rows"
remove_contrast = true

[[variant]]
name = "of nearly the same age"
distance = "mean_row"
remove_contrast = true
caliper = {{ drawn_age = 0.5 }}

[[variant]]
name = "latents alone, optimal"
method = "optimal"
distance = "mean_row"
remove_contrast = true
{raters}
[[rater]]                        # whose labels are audited by the sweep below
slot = "classifier"
name = "efficientnet-lite"

[counterfactual]                 # make: the same face with only the attribute turned, drawn by the generator
editor = "direction"
attribute = "predicted_gender"
options = {{ latents = "latents", size = 256, detail = "drawn" }}
mask = "none"                    # "skin" for photographs: everything else stays as it is, to the bit
levels = [-2, -1, 0, 1, 2]
most = 20

[certificate]                    # networks look whether the attribute moved, and nothing else did; who breaks a rule is
target = "faceres-gender: female"     # kept out of the slopes, and counted
held = ["emotion: happy", "faceres-age: 40-49 + 50-59 + 60-69 + 70 or more"]
recogniser = ""                  # not asked here: the quick encoder already draws somebody else, only much like them

[ask]                            # ask: simulated people answer through the study's own pages
crowd = "study"
options = {{ path = "people.csv" }}

[analyse]
truth = "truth.parquet"

[report]
title = "People who exist nowhere"
show_images = true               # nobody real is on them; for photographs the default is false

[engine]
{engine}
"""
_RATER = """
[[rater]]                        # whose distance between two pictures of a person is audited
slot = "recogniser"
name = "{name}"
"""


def dials_of(directions: Directions, generator: Generator) -> Dials:
    """Return how the portraits' dials turn in the generator's latents; gender rises towards the focal side."""
    names = list(DIALS.values())
    signs = [_towards(directions, column) for column in names]
    rows = [directions.names.index(column) for column in names]
    steps = [directions.step(column, hold=[other for other in names if other != column]) for column in names]
    return Dials(
        mean=generator.mean_w().astype(np.float64),
        scores=directions.gradients[rows] * np.array(signs)[:, None],
        steps=np.stack(steps) * np.array(signs)[:, None],
        names=tuple(DIALS),
    )


def _towards(directions: Directions, column: str) -> float:
    """Say whether a score rises with what the dial is called."""
    positive = directions.skills[directions.names.index(column)].positive
    return -1.0 if positive in (str(CONTRAST.reference), "0", "no", "False") else 1.0


@dataclass(frozen=True)
class Demo:
    """A folder with portraits, as an auditor would have them."""

    folder: Path
    portraits: Portraits
    voice: Voice
    engine: Engine

    def make(self) -> None:
        """Draw the portraits and their twins, ask the recognisers about both, write tables and plan."""
        plan = self._plan()
        if (self.folder / PLAN).is_file() and (self.folder / PLAN).read_text(encoding="utf-8") == plan:
            self.voice.say(f"the portraits in {self.folder}/ are there already")
            return
        self._claim()
        generator = create("generator", GENERATOR)
        dials = dials_of(shipped(GENERATOR), generator)
        tune(self.engine)
        two = [image for k in (0, 1) for image in self.portraits.images[k :: self.portraits.images_each]]
        for place, twins in (("images", False), ("twins", True)):
            wanted = two if twins else self.portraits.images
            work = self.portraits.work(
                self.folder / place, self.portraits.latents(generator, dials, twins=twins), GENERATOR
            )
            with self.voice.task(f"draw {place}", len(wanted)) as progress:
                for _ in self.engine.map(work, wanted, progress=progress):
                    pass
        self.portraits.faces().write(self.folder / "faces.csv")
        write_frame(self.folder / "people.csv", self.portraits.chances())
        known = [self.portraits.truth(), *(self._twin_effect(name) for name in RECOGNISERS)]
        Estimates.together(known).write(self.folder / "truth.parquet")
        write_text(self.folder / PLAN, plan)
        self.voice.say(f"drew {self.portraits.identities} people and their twins into {self.folder}/")

    def _claim(self) -> None:
        """Say in the folder whose pictures are drawn there; a folder with others is left alone."""
        told, path = f"{self.portraits}\n", self.folder / _DRAWN
        if (self.folder / "images").exists() and not (path.is_file() and path.read_text(encoding="utf-8") == told):
            fix = "Choose another folder, or remove this one."
            raise StoreError(f"{self.folder} is empty or holds these portraits", got="other pictures", fix=fix)
        write_text(path, told)

    def _plan(self) -> str:
        covariates = ", ".join(f'"{covariate.column}"' for covariate in COVARIATES)
        several = self.engine.workers > 1
        engine = (
            f'kind = "processes"\nworkers = {self.engine.workers}\nchunk = {_CHUNK}' if several else f"chunk = {_CHUNK}"
        )
        return _PLAN.format(
            identities=self.portraits.identities, images_each=self.portraits.images_each, generator=GENERATOR,
            confounding=self.portraits.confounding, seed=self.portraits.seed, format=FORMAT, covariates=covariates,
            column=CONTRAST.column, focal=CONTRAST.focal, reference=CONTRAST.reference,
            raters="".join(_RATER.format(name=name) for name in RECOGNISERS), engine=engine,
        )  # fmt: skip

    def _twin_effect(self, name: str) -> Estimates:
        """Ask a recogniser about two pictures of everybody and of their twins: focal less reference, by person."""
        recogniser = create("recogniser", name)
        each = self.portraits.images_each
        firsts, seconds = (self.portraits.images[start::each] for start in (0, 1))
        keys = [f"{place}/{image}" for place in ("images", "twins") for image in [*firsts, *seconds]]
        work = Embedding(name, {}, Album(self.folder, {key: f"{key}.png" for key in keys}))
        with self.voice.task(f"twins: {name}", len(keys)) as progress:
            parts = [result["e"] for result in self.engine.map(work, keys, progress=progress)]
        own, own_other, twin, twin_other = np.split(np.concatenate(parts), 4)
        side = self.portraits.faces().attribute(CONTRAST.column).loc[firsts].eq(CONTRAST.focal).to_numpy() * 2.0 - 1
        change = side * (recogniser.distance(own, own_other) - recogniser.distance(twin, twin_other))
        return _mean(f"{recogniser.name}: distance", change[np.isfinite(change)])


def _mean(quantity: str, change: np.ndarray) -> Estimates:
    if len(change) < 2:
        raise TableError("a recogniser finds people and their twins", got=f"{len(change)} of them")
    columns = np.column_stack([np.ones(len(change)), change])
    found = jackknife(columns, lambda total: total[..., 1] / total[..., 0], [np.arange(len(change))], level=LEVEL)
    told = "the same people drawn on both sides"
    return Estimates.of(
        [row(quantity, "gap", "truth: alike", CONTRAST.label, found, level=LEVEL, n=len(change), method=told)]
    )


def make_demo(folder: Path, *, identities: int, confounding: float, seed: int, voice: Voice) -> None:
    """Lay out portraits in ``folder`` unless they are there."""
    workers = max(1, min(_cores(), 8))
    engine = Engine(kind="processes", workers=workers, chunk=_CHUNK) if workers > 1 else Engine(chunk=_CHUNK)
    portraits = Portraits(identities=identities, confounding=confounding, seed=seed)
    Demo(folder, portraits, voice, engine).make()


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
