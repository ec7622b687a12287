"""What would a vision system have answered, had only the protected attribute been different?

Names are loaded when they are first used, so that ``import likewise`` is quick and needs no torch.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from likewise.analyse.gaps import gaps
    from likewise.analyse.slopes import slopes
    from likewise.design.balance import balance
    from likewise.design.levels import match_levels
    from likewise.design.match import match
    from likewise.design.retrieval import retrieval
    from likewise.design.trials import trials
    from likewise.report.figures import gap_plot, love_plot, rate_plot
    from likewise.study.plan import Study
    from likewise.tables import Contrast, Estimates, Faces, MatchSpec, Pairs, Ratings, Vectors
    from likewise.world import World

__version__ = "0.1.0"
__all__ = [
    "Contrast", "Estimates", "Faces", "MatchSpec", "Pairs", "Ratings", "Study", "Vectors", "World",
    "balance", "gap_plot", "gaps", "love_plot", "match", "match_levels", "rate_plot", "retrieval",
    "slopes", "trials",
]  # fmt: skip

_HOME = {
    **dict.fromkeys(["Contrast", "Estimates", "Faces", "MatchSpec", "Pairs", "Ratings", "Vectors"], "likewise.tables"),
    **dict.fromkeys(["gap_plot", "love_plot", "rate_plot"], "likewise.report.figures"),
    "Study": "likewise.study.plan",
    "World": "likewise.world",
    "balance": "likewise.design.balance",
    "gaps": "likewise.analyse.gaps",
    "match": "likewise.design.match",
    "match_levels": "likewise.design.levels",
    "retrieval": "likewise.design.retrieval",
    "slopes": "likewise.analyse.slopes",
    "trials": "likewise.design.trials",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'likewise' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
