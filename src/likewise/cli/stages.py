"""The stages of an audit: what each is called, what it needs, and what it depends on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from likewise.cli import analysing, designing, framing, making, rating, sweeping
from likewise.cli.asking import recognises
from likewise.cli.balancing import balancing
from likewise.cli.describing import describing
from likewise.cli.exporting import EXPORT, exporting
from likewise.cli.fidelity import FIDELITY, judging
from likewise.cli.framing import ALIGNED
from likewise.cli.judging import readers_at_hand
from likewise.cli.making import (
    ANSWERS,
    BALANCE,
    DESCRIBED,
    EMBEDDINGS,
    ESTIMATES,
    FACES,
    LATENTS,
    PAIRS,
    RATINGS,
    REPORT,
    SWEEP,
    TRIALS,
    VARIANTS,
    Job,
)  # fmt: skip
from likewise.cli.measures import declared
from likewise.cli.plan import Plan
from likewise.cli.reporting import reporting
from likewise.cli.sweeping import CERTIFICATES
from likewise.images import digest
from likewise.make.read import listing_digest
from likewise.store import Folder
from likewise.weights import content_of


@dataclass(frozen=True, kw_only=True)
class Stage:
    """A verb: its artefact, the artefacts it needs, the options it depends on, and how it is done."""

    name: str
    artefact: str
    make: Callable[[Job], None]
    needs: tuple[str, ...] = ()
    options: Callable[[Plan], dict[str, Any]] = lambda plan: {}
    outside: Callable[[Folder, Plan], dict[str, str]] = lambda folder, plan: {}
    """Fingerprints of what lies outside the folder's own artefacts."""
    counted: bool = True
    """Whether it shows its own progress; one that cannot be counted is only shown to be at work."""
    seeded: bool = False
    """Whether the plan's seed has a part in it."""
    version: int = 1
    """Raised when the stage computes something else than before, so that old artefacts are made again."""


def _files(folder: Folder, *paths: str) -> dict[str, str]:
    """Fingerprint files outside the folder's own artefacts; a missing one is found missing by its stage."""
    return {path: digest(folder.root / path) if (folder.root / path).is_file() else "missing" for path in paths if path}


def _tables(folder: Folder, plan: Plan) -> dict[str, str]:
    """Fingerprint the table, or the files of a layout that has several."""
    given = folder.root / plan.faces.table
    if not plan.faces.table or not given.is_dir():
        return _files(folder, plan.faces.table)
    return {"table": listing_digest(given)}


def _space(plan: Plan) -> dict[str, Any]:
    if plan.encode is not None:
        return {"encode": asdict(plan.encode), **_raters(plan)}
    return {"vectors": plan.vectors, **_raters(plan)} if plan.vectors else asdict(plan.project)


def _raters(plan: Plan) -> dict[str, Any]:
    plain: dict[str, Any] = {"rater": [asdict(rater) for rater in plan.rater]}
    if plan.answered:  # nothing for a plan without, whose ratings then stay fresh
        plain["answered"] = [asdict(entry) for entry in plan.answered]
    return plain


def _weights(*given: dict[str, Any]) -> dict[str, str]:
    """Fingerprint the weights that options name: a name can stand for another file tomorrow."""
    named = [options["weights"] for options in given if isinstance(options.get("weights"), str)]
    return {f"weights {name}": content_of(name) for name in named}


def editing(plan: Plan) -> dict[str, Any]:
    """Return the options of the plan's editor."""
    return plan.counterfactual.options if plan.counterfactual else {}


def _score_files(plan: Plan) -> list[str]:
    return [entry.scores for entry in plan.answered if entry.scores]


def _page(plan: Plan) -> dict[str, Any]:
    return {**asdict(plan.report), "contrast": asdict(plan.contrast)}


def _vary(plan: Plan) -> dict[str, Any]:
    return {"contrast": asdict(plan.contrast), "covariates": list(plan.covariates)}


def _measures(plan: Plan) -> dict[str, Any]:
    """Say what is declared; nothing for a plan without, whose pairs then stay fresh."""
    every = {"within": plan.within, "difficulty": plan.difficulty, "given": plan.given}
    return {
        name: [asdict(entry) for entry in value] if isinstance(value, tuple) else asdict(value)
        for name, value in every.items()
        if value
    }


def _difficulty_files(plan: Plan) -> list[str]:
    return [plan.difficulty.vectors, plan.difficulty.pairs] if plan.difficulty else []


def _measure_files(plan: Plan) -> list[str]:
    given, files = plan.given, [entry.vectors for entry in plan.within]
    return [*files, *_difficulty_files(plan), *([given.distances, given.scores] if given else [])]


READ = Stage(
    name="read",
    artefact=FACES,
    options=lambda plan: {"faces": asdict(plan.faces), "contrast": asdict(plan.contrast)},
    make=making.read,
    outside=lambda folder, plan: (
        _tables(folder, plan)
        | ({"images": listing_digest(folder.root / plan.faces.images)} if plan.faces.images else {})
    ),
)
ALIGN = Stage(
    name="align",
    artefact=ALIGNED,
    needs=(FACES,),
    options=lambda plan: (asdict(plan.align) if plan.align else {}) | {"generator": plan.project.generator},
    make=framing.aligning,
)
DESCRIBE = Stage(
    name="describe",
    artefact=DESCRIBED,
    needs=(FACES,),
    options=lambda plan: asdict(plan.describe) if plan.describe else {},
    make=describing,
    version=2,
)
PROJECT = Stage(
    name="project",
    artefact=LATENTS,
    needs=(FACES,),
    options=_space,
    make=making.project,
    version=4,
    outside=lambda folder, plan: _files(folder, plan.vectors) | _weights(plan.encode.options if plan.encode else {}),
)
FIDELITY_STAGE = Stage(
    name="fidelity",
    artefact=FIDELITY,
    needs=(FACES, LATENTS),
    options=lambda plan: {
        "fidelity": asdict(plan.fidelity) if plan.fidelity else {},
        "generator": [plan.project.generator, plan.project.options, plan.project.perceptual],
        "contrast": asdict(plan.contrast),
        "level": plan.analyse.level,
    },
    make=judging,
    seeded=True,
)
EMBED = Stage(
    name="embed",
    artefact=EMBEDDINGS,
    needs=(FACES,),
    options=lambda plan: {
        "recognisers": [asdict(entry) for entry in declared(plan.within, plan.difficulty)],
        "perceptual": asdict(plan.difficulty) if plan.difficulty and plan.difficulty.perceptual else {},
    },
    make=designing.embedding,
)
MATCH = Stage(
    name="match",
    artefact=PAIRS,
    needs=(FACES, LATENTS),
    options=lambda plan: {"match": plan.match.to_dict(), "contrast": asdict(plan.contrast), **_measures(plan)},
    make=designing.matching,
    outside=lambda folder, plan: _files(folder, *_measure_files(plan)),
)
VARY = Stage(
    name="variants",
    artefact=VARIANTS,
    needs=(FACES, LATENTS),
    options=lambda plan: {
        "variants": [[variant.name, variant.match.to_dict()] for variant in plan.variant],
        "contrast": asdict(plan.contrast),
        **_measures(plan),
    },
    make=designing.varying,
    outside=lambda folder, plan: _files(folder, *_measure_files(plan)),
)
BALANCE_STAGE = Stage(
    name="balance",
    artefact=BALANCE,
    needs=(FACES, LATENTS, PAIRS),
    options=lambda plan: {
        **_vary(plan),
        **({"match": plan.match.to_dict()} if plan.match.method == "propensity" else {}),
    },
    make=balancing,
    outside=lambda folder, plan: _files(folder, plan.given.scores) if plan.given else {},
    counted=False,
    version=2,
)
TRIALS_STAGE = Stage(
    name="trials",
    artefact=TRIALS,
    needs=(FACES,),
    options=lambda plan: {
        **asdict(plan.trials),
        "contrast": asdict(plan.contrast),
        "recognisers": recognises(plan),
        **({"difficulty": asdict(plan.difficulty)} if plan.difficulty else {}),
        **({"answered": [asdict(entry) for entry in plan.answered if entry.scores]} if _score_files(plan) else {}),
    },
    outside=lambda folder, plan: _files(folder, *_score_files(plan), *_difficulty_files(plan)),
    make=designing.making_trials,
    version=3,
    counted=False,
    seeded=True,
)
COUNTERFACTUAL = Stage(
    name="counterfactual",
    artefact=SWEEP,
    needs=(FACES,),
    options=lambda plan: (
        (asdict(plan.counterfactual) if plan.counterfactual else {})
        | {"contrast": asdict(plan.contrast), "align": asdict(plan.align) if plan.align else {}}
    ),
    make=sweeping.sweeping,
    outside=lambda folder, plan: _weights(editing(plan)) | _files(folder, str(editing(plan).get("directions", ""))),
    seeded=True,
    version=3,
)
CERTIFY = Stage(
    name="certify",
    artefact=CERTIFICATES,
    needs=(FACES, SWEEP),
    options=lambda plan: {
        "certificate": asdict(plan.judged) if plan.judged else {},
        "audited": sorted({rater.name for rater in plan.rater}),
    },
    make=sweeping.certifying,
    outside=lambda folder, plan: (
        _weights(*(plan.judged.options.values() if plan.judged else ()))
        | {"judges at hand": ", ".join(readers_at_hand())}
    ),
    version=2,
)
RATE = Stage(
    name="rate",
    artefact=RATINGS,
    needs=(FACES, TRIALS),
    options=_raters,
    make=rating.rating,
    version=3,
    outside=lambda folder, plan: (
        _weights(*(rater.options for rater in plan.rater))
        | _files(folder, *(str(rater.options.get("path", "")) for rater in plan.rater))
        | _files(folder, *(entry.path for entry in plan.answered))
    ),
)
ASK = Stage(
    name="ask",
    artefact=ANSWERS,
    needs=(FACES, TRIALS),
    options=lambda plan: asdict(plan.ask) if plan.ask else {},
    make=rating.asking,
    outside=lambda folder, plan: _files(folder, str(plan.ask.options.get("path", "")) if plan.ask else ""),
    seeded=True,
)
ANALYSE = Stage(
    name="analyse",
    artefact=ESTIMATES,
    needs=(FACES, PAIRS, TRIALS),
    options=lambda plan: {**_vary(plan), **asdict(plan.analyse), **_raters(plan)},
    make=analysing.analysing,
    version=8,
    outside=lambda folder, plan: _files(folder, *plan.analyse.files),
    counted=False,
    seeded=True,
)
REPORT_STAGE = Stage(
    name="report",
    artefact=REPORT,
    needs=(FACES, PAIRS, BALANCE, TRIALS, ESTIMATES),
    options=_page,
    make=reporting,
    counted=False,
)
EXPORT_STAGE = Stage(
    name="export",
    artefact=EXPORT,
    needs=(PAIRS, BALANCE, ESTIMATES),
    options=_page,
    make=exporting,
    counted=False,
)
ALL = (
    READ,
    DESCRIBE,
    ALIGN,
    PROJECT,
    FIDELITY_STAGE,
    EMBED,
    MATCH,
    VARY,
    BALANCE_STAGE,
    TRIALS_STAGE,
    COUNTERFACTUAL,
    CERTIFY,
    RATE,
    ASK,
    ANALYSE,
    EXPORT_STAGE,
    REPORT_STAGE,
)
