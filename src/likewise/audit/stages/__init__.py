"""The stages of an audit, in order. To add one, write its file and add it to ``STAGES``."""

from __future__ import annotations

from pathlib import Path

from likewise.audit.plan.file import plan_of as _plan_of
from likewise.audit.plan.file import read_plan as _read_plan
from likewise.audit.plan.model import Plan
from likewise.audit.stage import Stage
from likewise.audit.stages.align import Align
from likewise.audit.stages.balance import Balance
from likewise.audit.stages.collect import Collect
from likewise.audit.stages.counterfactual import Counterfactual
from likewise.audit.stages.describe import Describe
from likewise.audit.stages.embed import Embed
from likewise.audit.stages.estimate import Estimate
from likewise.audit.stages.export import Export
from likewise.audit.stages.fidelity import Fidelity
from likewise.audit.stages.match import Match
from likewise.audit.stages.match_images import MatchImages
from likewise.audit.stages.project import Project
from likewise.audit.stages.rate import Rate
from likewise.audit.stages.read import Read
from likewise.audit.stages.report import Report
from likewise.audit.stages.trials import ChooseTrials
from likewise.audit.stages.validate_edits import ValidateEdits
from likewise.audit.stages.variants import Variants

STAGES: list[Stage] = [
    Read(),
    Describe(),
    Align(),
    Project(),
    Fidelity(),
    Embed(),
    Match(),
    MatchImages(),
    Variants(),
    Balance(),
    ChooseTrials(),
    Counterfactual(),
    ValidateEdits(),
    Rate(),
    Collect(),
    Estimate(),
    Export(),
    Report(),
]
"""Every stage runs after the stages whose artifacts it needs."""


def enabled_stages(plan: Plan) -> list[Stage]:
    """Return the stages that this plan has, each after those whose artifacts it needs, else in the order of the list.

    Trials come before the matching where they are matched, and after it where its references are their second images.
    """
    waiting, done = [stage for stage in STAGES if stage.enabled(plan)], list[Stage]()
    while waiting:
        missing = {stage.artifact for stage in waiting}
        ready = next((stage for stage in waiting if not missing & set(stage.needs(plan))), waiting[0])
        waiting.remove(ready)
        done.append(ready)
    return done


def read_plan(path: Path) -> Plan:
    """Read a plan, with the sections of all stages."""
    return _read_plan(path, sections=_sections())


def plan_of(text: str) -> Plan:
    """Read the text of a plan, with the sections of all stages."""
    return _plan_of(text, sections=_sections())


def _sections() -> dict[str, type]:
    return {stage.section: stage.section_type for stage in STAGES if stage.section_type is not None}
