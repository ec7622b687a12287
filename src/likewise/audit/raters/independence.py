"""Warn when a rater under audit shares its family with a model that took part in choosing the sample."""

from __future__ import annotations

import re

from likewise.audit.folder.store import Folder
from likewise.audit.plan.model import Plan
from likewise.audit.raters.planned import make_rater


def warn_shared_family(folder: Folder, plan: Plan, model: str, family: str) -> list[str]:
    """Return a warning for each rater of the same family as a model that was used in the matching."""
    audited = [make_rater(folder, rater) for rater in plan.recognizers]
    return [
        f"{rater.name} is under audit, and {model}, of the same family ({family}), was used to choose the matched "
        "pairs. Its matched gap is not independent of the matching; prefer the other raters."
        for rater in audited
        if rater.family == family
    ]


def warn_shared_source(folder: Folder, plan: Plan, source: str) -> list[str]:
    """Return the same warnings for vectors whose source is a recognizer of a known family."""
    found = re.fullmatch(r"recognizer (.+), family (.+)", source)
    return warn_shared_family(folder, plan, found[1], found[2]) if found else []
