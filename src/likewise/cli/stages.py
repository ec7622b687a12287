"""The stages of an audit: what each is called, what it needs, and what it depends on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any

from likewise.cli import making
from likewise.cli.making import (
    ANSWERS,
    BALANCE,
    ESTIMATES,
    FACES,
    LATENTS,
    PAIRS,
    RATINGS,
    REPORT,
    SWEEP,
    TRIALS,
    Job,
)  # fmt: skip
from likewise.cli.plan import Plan
from likewise.images import digest
from likewise.make.read import listing_digest
from likewise.store import Folder


@dataclass(frozen=True)
class Stage:
    """A verb: its artefact, the artefacts it needs, the options it depends on, and how it is done."""

    name: str
    artefact: str
    needs: tuple[str, ...]
    what: str
    options: Callable[[Plan], dict[str, Any]]
    make: Callable[[Job], None]
    outside: Callable[[Folder, Plan], dict[str, str]] = lambda folder, plan: {}
    seeded: bool = False
    """Whether the plan's seed has a part in it."""
    version: int = 1
    """Raised when the stage computes something else than before, so that old artefacts are made again."""


def _files(folder: Folder, *paths: str) -> dict[str, str]:
    """Fingerprint files outside the folder's own artefacts; a missing one is found missing by its stage."""
    return {path: digest(folder.root / path) if (folder.root / path).is_file() else "missing" for path in paths if path}


def _of(section: str) -> Callable[[Plan], dict[str, Any]]:
    return lambda plan: asdict(getattr(plan, section))


def _vary(plan: Plan) -> dict[str, Any]:
    return {"contrast": asdict(plan.contrast), "covariates": list(plan.covariates)}


READ = Stage(
    "read", FACES, (), "find, open and fingerprint the images",
    lambda plan: {"faces": asdict(plan.faces), "contrast": asdict(plan.contrast)}, making.read,
    lambda folder, plan: _files(folder, plan.faces.table) | {"images": listing_digest(folder.root / plan.faces.images)},
)  # fmt: skip
PROJECT = Stage(
    "project", LATENTS, (FACES,), "project them into the generator's latent space",
    lambda plan: {"vectors": plan.vectors} if plan.vectors else asdict(plan.project), making.project,
    lambda folder, plan: _files(folder, plan.vectors),
)  # fmt: skip
MATCH = Stage(
    "match", PAIRS, (FACES, LATENTS), "match look-alikes across the contrast",
    lambda plan: {"match": plan.match.to_dict(), "contrast": asdict(plan.contrast)}, making.matching,
)  # fmt: skip
BALANCE_STAGE = Stage(
    "balance", BALANCE, (FACES, PAIRS), "compare the covariates before and after", _vary, making.balancing
)
TRIALS_STAGE = Stage(
    "trials",
    TRIALS,
    (FACES,),
    "choose what the raters are asked about",
    lambda plan: {},
    making.making_trials,
    seeded=True,
)
COUNTERFACTUAL = Stage(
    "counterfactual",
    SWEEP,
    (FACES,),
    "turn the attribute and leave everything else",
    _of("counterfactual"),
    making.sweeping,
    seeded=True,
)
RATE = Stage(
    "rate",
    RATINGS,
    (FACES, TRIALS),
    "have the models answer",
    lambda plan: {"rater": [asdict(r) for r in plan.rater]},
    making.rating,
)
ASK = Stage(
    "ask", ANSWERS, (FACES, TRIALS), "collect people's answers", _of("ask"), making.asking,
    lambda folder, plan: _files(folder, str((plan.ask.options if plan.ask else {}).get("path", ""))),
    seeded=True,
)  # fmt: skip
ANALYSE = Stage(
    "analyse", ESTIMATES, (FACES, PAIRS, TRIALS), "estimate gaps and slopes",
    lambda plan: {**_vary(plan), **asdict(plan.analyse), "rater": [asdict(r) for r in plan.rater]}, making.analysing,
    lambda folder, plan: _files(folder, plan.analyse.truth),
)  # fmt: skip
REPORT_STAGE = Stage(
    "report", REPORT, (PAIRS, BALANCE, ESTIMATES), "draw the report",
    lambda plan: {**asdict(plan.report), "contrast": asdict(plan.contrast)}, making.reporting,
)  # fmt: skip
ALL = (READ, PROJECT, MATCH, BALANCE_STAGE, TRIALS_STAGE, COUNTERFACTUAL, RATE, ASK, ANALYSE, REPORT_STAGE)


def stages(plan: Plan) -> list[Stage]:
    """Return the stages that this plan names, in order, each needing only what the plan makes."""
    absent = {SWEEP: plan.counterfactual is None, RATINGS: not plan.rater, ANSWERS: plan.ask is None}
    planned = [stage for stage in ALL if not absent.get(stage.artefact, False)]
    extra = {
        RATE.name: [SWEEP] if any(rater.slot == "classifier" for rater in plan.rater) else [],
        ANALYSE.name: [name for name in (SWEEP, RATINGS, ANSWERS) if not absent[name]],
    }
    return [replace(stage, needs=(*stage.needs, *extra.get(stage.name, []))) for stage in planned]
