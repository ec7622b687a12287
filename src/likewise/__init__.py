"""Audit a vision system for differences between two groups of people.

How much of a difference in the system's behavior is due to the protected attribute itself, and how much to what is
associated with it in the data? Three designs answer on one scale: matched pairs, counterfactual edits, human studies.

``lw.audit(...)`` runs a whole audit, ``lw.Audit(folder)`` opens one; every stage is also a function of tables. Names
are loaded when they are first used, so that ``import likewise`` is quick and needs no torch.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from likewise.analysis.crowd.agreement import agreement
    from likewise.analysis.crowd.quality import quality
    from likewise.analysis.gaps.estimate import gaps
    from likewise.analysis.groups.estimate import by_group
    from likewise.analysis.sensitivity.matched_gaps import sensitivity
    from likewise.analysis.slopes.estimate import slopes
    from likewise.analysis.verdict import verdicts
    from likewise.analysis.verification.error_rates import error_rates
    from likewise.audit.api import Audit, audit
    from likewise.audit.results.comparison import compare
    from likewise.audit.scores import scores
    from likewise.counterfactuals.edit import counterfactual
    from likewise.counterfactuals.validation.validate import validate_edits
    from likewise.data.describe import describe
    from likewise.design.balance.table import balance
    from likewise.design.levels import match_levels
    from likewise.design.match import match
    from likewise.design.retrieval import retrieval
    from likewise.design.trials import trials
    from likewise.generation.audit import generate
    from likewise.latents.project import project
    from likewise.rating.collect import collect
    from likewise.rating.embed import embed
    from likewise.rating.rate import rate
    from likewise.report import figures
    from likewise.report.figures.estimates import gap_plot, love_plot, rate_plot
    from likewise.report.figures.groups import group_plot
    from likewise.report.page import write_report as report
    from likewise.simulation import World
    from likewise.study.plan import Study
    from likewise.tables import Contrast, Estimates, Images, Matches, MatchSpec, Ratings, Trials, Vectors

__version__ = "0.2.0"
__all__ = [
    "Audit", "Contrast", "Estimates", "Images", "MatchSpec", "Matches", "Ratings", "Study", "Trials", "Vectors",
    "World", "agreement", "audit", "balance", "by_group", "collect", "compare", "counterfactual", "describe",
    "embed", "error_rates", "figures", "gap_plot", "gaps", "generate", "group_plot", "love_plot", "match",
    "match_levels", "project", "quality", "rate", "rate_plot", "report", "retrieval", "scores", "sensitivity", "slopes",
    "trials", "validate_edits", "verdicts",
]  # fmt: skip

_HOME = {
    **dict.fromkeys(
        ["Contrast", "Estimates", "Images", "MatchSpec", "Matches", "Ratings", "Trials", "Vectors"], "likewise.tables"
    ),
    **dict.fromkeys(["gap_plot", "love_plot", "rate_plot"], "likewise.report.figures.estimates"),
    "Audit": "likewise.audit.api",
    "Study": "likewise.study.plan",
    "World": "likewise.simulation",
    "agreement": "likewise.analysis.crowd.agreement",
    "balance": "likewise.design.balance.table",
    "by_group": "likewise.analysis.groups.estimate",
    "collect": "likewise.rating.collect",
    "compare": "likewise.audit.results.comparison",
    "counterfactual": "likewise.counterfactuals.edit",
    "describe": "likewise.data.describe",
    "embed": "likewise.rating.embed",
    "error_rates": "likewise.analysis.verification.error_rates",
    "figures": "likewise.report",
    "gaps": "likewise.analysis.gaps.estimate",
    "generate": "likewise.generation.audit",
    "group_plot": "likewise.report.figures.groups",
    "match": "likewise.design.match",
    "match_levels": "likewise.design.levels",
    "project": "likewise.latents.project",
    "quality": "likewise.analysis.crowd.quality",
    "rate": "likewise.rating.rate",
    "retrieval": "likewise.design.retrieval",
    "scores": "likewise.audit.scores",
    "sensitivity": "likewise.analysis.sensitivity.matched_gaps",
    "slopes": "likewise.analysis.slopes.estimate",
    "trials": "likewise.design.trials",
    "validate_edits": "likewise.counterfactuals.validation.validate",
    "verdicts": "likewise.analysis.verdict",
}
_PACKAGES = ("audit", "report")
"""Packages that are called like functions: importing any of their modules would hide a function of the same name."""


def __getattr__(name: str) -> Any:
    if name in _PACKAGES:
        return importlib.import_module(f"likewise.{name}")
    if name not in _HOME:
        raise AttributeError(f"module 'likewise' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
