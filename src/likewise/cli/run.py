"""Going through the stages: what is fresh is skipped, what is stale is made, and everything is said."""

from __future__ import annotations

import time
import tomllib
import warnings
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from likewise.cli.asking import bills, services_of
from likewise.cli.making import RATINGS, Job
from likewise.cli.plan import Plan, plan_from, read_plan
from likewise.cli.planned import stages
from likewise.cli.progress import Voice
from likewise.cli.stages import Stage
from likewise.errors import LikewiseWarning, PlanError, StageError
from likewise.services.purse import Purse
from likewise.store import PLAN, Folder, Sidecar, digest_of, key_of, versions


@dataclass
class Outcome:
    """What became of a stage."""

    stage: str
    artefact: str
    status: str
    """made, fresh, or (in a dry run) would run / may run"""
    why: str = ""
    seconds: float = 0.0
    summary: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def run(
    root: str,
    *,
    voice: Voice,
    only: str | None = None,
    dry_run: bool = False,
    purse: Purse | None = None,
    text: str = "",
    place: Mapping[str, Any] | None = None,
) -> list[Outcome]:
    """Go through the stages of the plan in ``root``, or do one of them; paid services are paid from the purse.

    A dry run can be of a plan that is not written yet: its ``text``. ``place`` says where, instead of the plan's
    [engine]; no result depends on it.
    """
    unwritten = dry_run and bool(text)
    folder = Folder(root, new=unwritten)
    plan = plan_from(tomllib.loads(text), text) if unwritten else read_plan(folder.path(PLAN))
    plan = _placed(plan, place or {})
    planned = stages(plan)
    if only is not None and only not in [stage.name for stage in planned]:
        raise PlanError(
            f"the plan names the stage {only!r}",
            got="no section for it",
            fix=f"Add it to {folder.path(PLAN)}.",
        )
    if dry_run:
        return preview(folder, plan, planned, only)
    with folder.locked():
        chosen = _checked(folder, plan, planned, only) if only else planned
        outcomes = [_done(folder, plan, stage, planned, voice, purse or Purse()) for stage in chosen]
        if only is None:
            folder.clear_work()
    return outcomes


def _placed(plan: Plan, place: Mapping[str, Any]) -> Plan:
    given = {name: value for name, value in place.items() if value is not None}
    if given.get("kind", plan.engine.kind) != plan.engine.kind:  # workers and address are those of another place
        given = {"workers": 1, "address": "", **given}
    return replace(plan, engine=replace(plan.engine, **given)) if given else plan


def _checked(folder: Folder, plan: Plan, planned: list[Stage], only: str) -> list[Stage]:
    """Choose one stage, whose inputs are there and still stand for the plan."""
    stage = next(stage for stage in planned if stage.name == only)
    for earlier in _upstream(stage, planned):
        why = folder.stale(earlier.artefact, _key(folder, plan, earlier))
        if why:
            fix = f"Run: likewise {earlier.name} {folder.root}   (or: likewise run {folder.root})"
            raise StageError(f"{stage.name} needs an up-to-date {earlier.artefact}", got=why, fix=fix)
    return [stage]


def _upstream(stage: Stage, planned: list[Stage]) -> list[Stage]:
    """Return the stages that this one rests on, directly or not, in order."""
    wanted = set(stage.needs)
    for earlier in reversed(planned):
        if earlier.artefact in wanted:
            wanted |= set(earlier.needs)
    return [earlier for earlier in planned if earlier.artefact in wanted]


def preview(folder: Folder, plan: Plan, planned: list[Stage], only: str | None) -> list[Outcome]:
    """Say what would run and why; nothing is written."""
    outcomes: list[Outcome] = []
    changing: dict[str, str] = {}
    for stage in planned:
        above = [changing[need] for need in stage.needs if need in changing]
        made = folder.sidecar(stage.artefact) is not None and folder.path(stage.artefact).exists()
        if above and made:
            outcome = Outcome(stage.name, stage.artefact, "may run", f"if {above[0]} gives something new")
        else:
            why = "not made yet" if above else folder.stale(stage.artefact, _key(folder, plan, stage))
            outcome = Outcome(stage.name, stage.artefact, "would run" if why else "fresh", why)
        if outcome.status != "fresh":
            changing[stage.artefact] = stage.name
            outcome.notes += _costs(folder, plan) if stage.artefact == RATINGS else []
        outcomes.append(outcome)
    return [outcome for outcome in outcomes if only in (None, outcome.stage)]


def _costs(folder: Folder, plan: Plan) -> list[str]:
    """Say what the services of the plan would cost."""
    return [str(bill) for bill in bills(folder, plan, services_of(folder, plan, Purse()))]


def _options(plan: Plan, stage: Stage) -> dict[str, Any]:
    return {**stage.options(plan), "stage version": stage.version}


def _inputs(folder: Folder, plan: Plan, stage: Stage) -> dict[str, str]:
    inputs = dict(stage.outside(folder, plan))
    for need in stage.needs:
        sidecar = folder.sidecar(need)
        inputs[need] = sidecar.digest if sidecar else "missing"
    return inputs


def _key(folder: Folder, plan: Plan, stage: Stage) -> str:
    return key_of(stage.name, _options(plan, stage), _seed(plan, stage), _inputs(folder, plan, stage))


def _seed(plan: Plan, stage: Stage) -> int | None:
    return plan.seed if stage.seeded else None


def _done(folder: Folder, plan: Plan, stage: Stage, planned: list[Stage], voice: Voice, purse: Purse) -> Outcome:
    key = _key(folder, plan, stage)
    why = folder.stale(stage.artefact, key)
    if not why:
        voice.say(f"{stage.name:<15} fresh")
        return Outcome(stage.name, stage.artefact, "fresh")
    started = time.monotonic()
    job = Job(folder, plan, voice, key, [other.artefact for other in planned], purse)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", LikewiseWarning)
        with nullcontext() if stage.counted else voice.busy(stage.name):
            stage.make(job)
    job.notes += [str(entry.message) for entry in caught if issubclass(entry.category, LikewiseWarning)]
    _seal(folder, plan, stage, job)
    outcome = Outcome(stage.name, stage.artefact, "made", why, time.monotonic() - started, job.summary, job.notes)
    told = ", ".join(f"{name} {value}" for name, value in job.summary.items() if name != "raters")
    voice.say(f"{stage.name:<15} made {stage.artefact:<18} {outcome.seconds:5.1f} s   {told}")
    for note in job.notes:
        voice.say(f"{'':<15} note: {note}")
    return outcome


def _seal(folder: Folder, plan: Plan, stage: Stage, job: Job) -> None:
    sidecar = Sidecar(
        stage=stage.name,
        key=job.key,
        digest=digest_of(folder.path(stage.artefact)),
        inputs=_inputs(folder, plan, stage),
        options=_options(plan, stage),
        seed=_seed(plan, stage),
        licences=job.licences,
        notes=job.notes,
        summary=job.summary,
        versions=versions(),
    )
    folder.seal(stage.artefact, sidecar)


def as_plain(outcomes: list[Outcome]) -> list[dict[str, Any]]:
    """Return the outcomes for machines."""
    return [asdict(outcome) for outcome in outcomes]
