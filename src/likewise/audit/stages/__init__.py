"""The stages of an audit, in order. To add one, write its file and add it to ``STAGES``."""

from __future__ import annotations

from pathlib import Path

from likewise.audit.plan.file import plan_of as _plan_of
from likewise.audit.plan.file import read_plan as _read_plan
from likewise.audit.plan.model import Plan
from likewise.audit.stage import Stage
from likewise.audit.stages.design.balance import Balance
from likewise.audit.stages.design.match import Match
from likewise.audit.stages.design.match_images import MatchImages
from likewise.audit.stages.design.match_impostors import MatchImpostors
from likewise.audit.stages.design.trials import ChooseTrials
from likewise.audit.stages.design.variants import Variants
from likewise.audit.stages.edits.counterfactual import Counterfactual
from likewise.audit.stages.edits.validate_edits import ValidateEdits
from likewise.audit.stages.images.align import Align
from likewise.audit.stages.images.describe import Describe
from likewise.audit.stages.images.read import Read
from likewise.audit.stages.ratings.collect import Collect
from likewise.audit.stages.ratings.rate import Rate
from likewise.audit.stages.results.estimate import Estimate
from likewise.audit.stages.results.export import Export
from likewise.audit.stages.results.report import Report
from likewise.audit.stages.vectors.embed import Embed
from likewise.audit.stages.vectors.fidelity import Fidelity
from likewise.audit.stages.vectors.project import Project

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
    MatchImpostors(),
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
