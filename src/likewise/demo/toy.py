"""The toy demo: a simulated world without networks, with a plan that uses all three designs."""

from __future__ import annotations

from pathlib import Path

from likewise.audit.folder.store import PLAN
from likewise.demo.data_sections import data_sections
from likewise.runtime.progress import Reporter
from likewise.simulation import World
from likewise.simulation.world import CONTRAST, COVARIATES
from likewise.tables.io import write_text

ENOUGH = 150  # identities, from which balanced trials are plenty; fewer are for trying things out
_TRIALS = """\
[units]                          # ... a recognizer and people rate trials, so trials are matched, by the mean and
kind = "trials"                  # the difference of their scores along the shipped directions (without the contrast's)
features = "scores"

[match]                          # ... many trials, one an identity, that are balanced in every score; then paired
method = "cardinality"
max_smd = 0.1
"""
_IMAGES = """\
[match]                          # ... and match images across the contrast: these are too few for balanced trials
caliper = { distance = 4.5 }     # the attribute itself contributes 4
"""
STRENGTHS = (-2.0, -1.0, 0.0, 1.0, 2.0)

_PLAN = """\
# A simulated world: {identities} synthetic identities, three images each, confounding {confounding:g}.
# Its ground truth is known (truth.parquet); the report shows it beside the estimates.
{data}
[project]                        # matched pairs: project each image into the latent space
generator = "world"

{design}
[[rater]]                        # a recognizer under audit
kind = "recognizer"
name = "world"

[[rater]]                        # a classifier under audit
kind = "classifier"
name = "world"

[counterfactual]                 # counterfactual edits: only the attribute changes
editor = "world"
strengths = [{levels}]

[validity]                       # validity of the edits: only the attribute changed
target = "world-attributes: female"
held = ["world-attributes: smiling", "world-attributes: eyeglasses", "world-attributes: older"]
recognizer = "world"

[collect]                        # human study: simulated raters
crowd = "world"

[estimate]
truth = "truth.parquet"

[report]
title = "Simulated world"
"""


def make_toy(folder: Path, *, identities: int, confounding: float, seed: int, reporter: Reporter) -> None:
    """Write the toy demo to ``folder`` unless it is up to date, and report which."""
    world = World(identities=identities, confounding=confounding, seed=seed)
    plan = _PLAN.format(
        identities=identities, confounding=confounding, design=_TRIALS if identities >= ENOUGH else _IMAGES,
        data=data_sections(seed, (covariate.column for covariate in COVARIATES), CONTRAST),
        levels=", ".join(str(strength) for strength in STRENGTHS),
    )  # fmt: skip
    if (folder / PLAN).is_file() and (folder / PLAN).read_text(encoding="utf-8") == plan:
        reporter.say(f"demo: {folder}/ is up to date")
        return
    with reporter.task("draw", identities * world.images_each) as progress:
        world.write(folder, progress=progress)
    world.truth(STRENGTHS).write(folder / "truth.parquet")
    write_text(folder / PLAN, plan)
    reporter.say(f"demo: wrote a simulated world of {identities} identities to {folder}/")
