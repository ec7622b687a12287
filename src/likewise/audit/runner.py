"""Run the stages of an audit: skip what is up to date, run what is stale, and record everything."""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from likewise.audit.context import StageContext
from likewise.audit.folder.artifacts import COUNTERFACTUALS, RATINGS
from likewise.audit.folder.store import PLAN, Folder, Sidecar, digest_of, key_of, versions
from likewise.audit.folder.table_cache import TableCache
from likewise.audit.plan.model import Plan
from likewise.audit.preflight.check import preflight
from likewise.audit.raters.edit_service import edit_costs
from likewise.audit.raters.planned import costs, services_of
from likewise.audit.stage import Stage
from likewise.audit.stages import enabled_stages, plan_of, read_plan
from likewise.errors import LikewiseWarning, PlanError, StageError, nearest, some
from likewise.runtime.progress import Reporter
from likewise.services.budget import Budget

WROTE, CURRENT, WOULD_RUN, MAY_RUN = "wrote", "up to date", "would run", "may run"


@dataclass
class Outcome:
    """What became of a stage."""

    stage: str
    artifact: str
    status: str
    """wrote, up to date, or (in a dry run) would run / may run"""
    why: str = ""
    seconds: float = 0.0
    summary: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


@dataclass
class Run:
    """One run over an audit folder: its plan, its stages and the tables that it has read."""

    folder: Folder
    plan: Plan
    stages: list[Stage]
    reporter: Reporter
    budget: Budget
    tables: TableCache = field(default_factory=TableCache)

    def needs(self, stage: Stage) -> list[str]:
        """Return the artifacts that a stage reads, of those that the plan makes."""
        planned = {other.artifact for other in self.stages}
        return [need for need in dict.fromkeys(stage.needs(self.plan)) if need in planned]

    def options(self, stage: Stage) -> dict[str, Any]:
        """Return what an artifact depends on."""
        return {**stage.options(self.plan), "stage version": stage.version}

    def inputs(self, stage: Stage) -> dict[str, str]:
        """Return the digests of everything that a stage reads."""
        inputs = dict(stage.outside(self.folder, self.plan))
        for need in self.needs(stage):
            sidecar = self.folder.sidecar(need)
            inputs[need] = sidecar.digest if sidecar else "missing"
        return inputs

    def seed(self, stage: Stage) -> int | None:
        """Return the seed of a stage that depends on it."""
        return self.plan.seed if stage.seeded else None

    def key(self, stage: Stage) -> str:
        """Return the hash of everything that an artifact depends on."""
        return key_of(stage.name, self.options(stage), self.seed(stage), self.inputs(stage))

    def stale(self, stage: Stage) -> str:
        """Return why a stage has to run; empty when its artifact is up to date."""
        return self.folder.stale(stage.artifact, self.key(stage))


def run(
    root: str,
    *,
    reporter: Reporter,
    only: str | None = None,
    dry_run: bool = False,
    budget: Budget | None = None,
    text: str = "",
    place: Mapping[str, Any] | None = None,
) -> list[Outcome]:
    """Run the stages of the plan in ``root``, or one of them; paid services are paid from the budget.

    A dry run can be of a plan that is not written yet: its ``text``. ``place`` replaces the plan's [executor]; no
    result depends on it.
    """
    unwritten = dry_run and bool(text)
    folder = Folder(root, new=unwritten)
    plan = _placed(plan_of(text) if unwritten else read_plan(folder.path(PLAN)), place or {})
    this = Run(folder, plan, enabled_stages(plan), reporter, budget or Budget())
    chosen = _chosen(this, only)
    if dry_run:
        return [outcome for outcome in preview(this) if only in (None, outcome.stage)]
    with folder.locked():
        _need_inputs(this, chosen if only else [])
        preflight(folder, plan, _to_run(this, chosen))
        outcomes = [_done(this, stage) for stage in chosen]
        if only is None:
            folder.clear_work()
    return outcomes


def _placed(plan: Plan, place: Mapping[str, Any]) -> Plan:
    given = {name: value for name, value in place.items() if value is not None}
    if given.get("kind", plan.executor.kind) != plan.executor.kind:  # workers and address belong to another executor
        given = {"workers": 1, "address": "", **given}
    return replace(plan, executor=replace(plan.executor, **given)) if given else plan


def _chosen(this: Run, only: str | None) -> list[Stage]:
    names = [stage.name for stage in this.stages]
    if only is not None and only not in names:
        fix = f"Add its section to {this.folder.path(PLAN)}. {nearest(only, names)}".strip()
        raise PlanError(f"The plan has no stage {only!r} (stages: {some(names, 20)})", fix=fix)
    return [stage for stage in this.stages if only in (None, stage.name)]


def _need_inputs(this: Run, chosen: list[Stage]) -> None:
    """Check that the inputs of single stages are there and up to date."""
    for stage in chosen:
        for earlier in _upstream(this, stage):
            if why := this.stale(earlier):
                root = this.folder.root
                fix = f"Run: likewise {earlier.name} {root}   (or: likewise run {root})"
                raise StageError(f"{stage.name} needs {earlier.artifact}, which is stale: {why}", fix=fix)


def _to_run(this: Run, chosen: list[Stage]) -> list[Stage]:
    """Return the chosen stages that are stale, or depend on one that is: only what they need is checked."""
    stale = {outcome.stage for outcome in preview(this, costs_too=False) if outcome.status != CURRENT}
    return [stage for stage in chosen if stage.name in stale]


def _upstream(this: Run, stage: Stage) -> list[Stage]:
    """Return the stages that this one depends on, directly or not, in order."""
    wanted = set(this.needs(stage))
    for earlier in reversed(this.stages):
        if earlier.artifact in wanted:
            wanted |= set(this.needs(earlier))
    return [earlier for earlier in this.stages if earlier.artifact in wanted]


def preview(this: Run, *, costs_too: bool = True) -> list[Outcome]:
    """Return what would run and why, and what it costs; nothing is written."""
    outcomes: list[Outcome] = []
    changing: dict[str, str] = {}
    for stage in this.stages:
        above = [changing[need] for need in this.needs(stage) if need in changing]
        exists = this.folder.sidecar(stage.artifact) is not None and this.folder.path(stage.artifact).exists()
        if above and exists:
            outcome = Outcome(stage.name, stage.artifact, MAY_RUN, f"if the result of {above[0]} changes")
        else:
            why = "not written yet" if above else this.stale(stage)
            outcome = Outcome(stage.name, stage.artifact, WOULD_RUN if why else CURRENT, why)
        if outcome.status != CURRENT:
            changing[stage.artifact] = stage.name
            outcome.notes += _costs(this, stage.artifact) if costs_too else []
        outcomes.append(outcome)
    return outcomes


def _costs(this: Run, artifact: str) -> list[str]:
    if artifact == COUNTERFACTUALS:
        return [str(cost) for cost in edit_costs(this.folder, this.plan)]
    if artifact != RATINGS:
        return []
    services = services_of(this.folder, this.plan, Budget())
    return [str(cost) for cost in costs(this.folder, this.plan, services)]


def _done(this: Run, stage: Stage) -> Outcome:
    key = this.key(stage)
    why = this.folder.stale(stage.artifact, key)
    if not why:
        this.reporter.say(f"{stage.name:<15} {CURRENT}")
        return Outcome(stage.name, stage.artifact, CURRENT)
    started = time.monotonic()
    planned = tuple(other.artifact for other in this.stages)
    context = StageContext(this.folder, this.plan, this.reporter, key, planned, this.budget, this.tables)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", LikewiseWarning)
        with nullcontext() if stage.counted else this.reporter.busy(stage.name):
            stage.run(context)
    context.notes += [str(entry.message) for entry in caught if issubclass(entry.category, LikewiseWarning)]
    _seal(this, stage, context)
    seconds = time.monotonic() - started
    outcome = Outcome(stage.name, stage.artifact, WROTE, why, seconds, context.summary, context.notes)
    _report(this.reporter, outcome)
    return outcome


def _report(reporter: Reporter, outcome: Outcome) -> None:
    shown = ", ".join(f"{name} {value}" for name, value in outcome.summary.items() if name != "raters")
    reporter.say(f"{outcome.stage:<15} {WROTE} {outcome.artifact:<18} {outcome.seconds:5.1f} s   {shown}")
    for note in outcome.notes:
        reporter.say(f"{'':<15} note: {note}")


def _seal(this: Run, stage: Stage, context: StageContext) -> None:
    sidecar = Sidecar(
        stage=stage.name,
        key=context.key,
        digest=digest_of(this.folder.path(stage.artifact)),
        inputs=this.inputs(stage),
        options=this.options(stage),
        seed=this.seed(stage),
        licenses=context.licenses,
        notes=context.notes,
        summary=context.summary,
        versions=versions(),
    )
    this.folder.seal(stage.artifact, sidecar)


def as_plain(outcomes: list[Outcome]) -> list[dict[str, Any]]:
    """Return the outcomes for machines."""
    return [asdict(outcome) for outcome in outcomes]
