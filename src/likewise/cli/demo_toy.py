"""The toy demo: a planted world of drawings, laid out as an auditor would have it, with a plan that uses every leg."""

from __future__ import annotations

from pathlib import Path

from likewise.cli.plan import FORMAT
from likewise.cli.progress import Voice
from likewise.store import PLAN
from likewise.tables.files import write_text
from likewise.world import World
from likewise.world.model import CONTRAST, COVARIATES

LEVELS = (-2.0, -1.0, 0.0, 1.0, 2.0)

_PLAN = """\
# A planted world: {identities} people, three pictures each, confounding {confounding:g}.
# Its true effects are known (truth.parquet), and the report sets them beside the estimates.
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
generator = "world"

[match]                          # ... and who looks alike across the contrast
caliper = {{ distance = 4.5 }}     # 4 of it is the attribute itself, which look-alikes differ in

[[rater]]                        # whose distance between two pictures of a person is audited
slot = "recogniser"
name = "world"

[[rater]]                        # whose labels are audited by the sweep below
slot = "classifier"
name = "world"

[counterfactual]                 # make: the same face with only the attribute turned
editor = "world"
levels = [{levels}]

[certificate]                    # who looks whether only the attribute moved
target = "world-attributes: female"
held = ["world-attributes: smiling", "world-attributes: eyeglasses", "world-attributes: older"]
recogniser = "world"

[ask]                            # ask: simulated people, of known ability
crowd = "world"

[analyse]
truth = "truth.parquet"

[report]
title = "A planted world"
"""


def make_toy(folder: Path, *, identities: int, confounding: float, seed: int, voice: Voice) -> None:
    """Lay out the world in ``folder`` unless it is there, and say which."""
    world = World(identities=identities, confounding=confounding, seed=seed)
    plan = _PLAN.format(
        identities=identities, confounding=confounding, seed=seed, format=FORMAT,
        column=CONTRAST.column, focal=CONTRAST.focal, reference=CONTRAST.reference,
        covariates=", ".join(f'"{covariate.column}"' for covariate in COVARIATES),
        levels=", ".join(str(level) for level in LEVELS),
    )  # fmt: skip
    if (folder / PLAN).is_file() and (folder / PLAN).read_text(encoding="utf-8") == plan:
        voice.say(f"the world in {folder}/ is there already")
        return
    with voice.task("draw", identities * world.images_each) as progress:
        world.write(folder, progress=progress)
    world.truth(LEVELS).write(folder / "truth.parquet")
    write_text(folder / PLAN, plan)
    voice.say(f"drew a world of {identities} people into {folder}/")
