"""Which parts of a plan are for research only, and which designs remain without them."""

from __future__ import annotations

from collections.abc import Sequence

from likewise.audit.folder.store import Folder
from likewise.audit.needs import needs_of
from likewise.audit.plan.model import COMMERCIAL, Plan
from likewise.audit.preflight.problem import Check
from likewise.audit.stage import Stage
from likewise.errors import LikewiseError, PlanError
from likewise.models.requirements import restricted

REMAINS = (
    "Without them there remain: matched pairs on the features of a recognizer (--encoder sface), on your own vectors "
    "(--vectors), on columns (--encoder columns) or on a generator that you may use (stylegan2); counterfactual edits "
    'by an endpoint (editor = "http") or ready ones (likewise import-edits); human studies; answers that you have '
    "(--scores, --embeddings, --labels). likewise weights list --commercial shows the networks."
)


def research_only_parts(folder: Folder, plan: Plan, stages: Sequence[Stage]) -> dict[str, list[str]]:
    """Return the components of a plan that have parts for research only, each with the reasons."""
    found: dict[str, list[str]] = {}
    for stage in stages:
        try:
            uses = stage.components(folder, plan)
        except LikewiseError:  # reported by the check of the components
            continue
        for use in uses:
            needed = needs_of(use, plan)
            reasons = [*needed.research_only, *(why for weight in needed.weights if (why := restricted(weight)))]
            if reasons:
                found[f"{use.kind} {use.name}"] = reasons
    return found


def check_license(found: Check, folder: Folder, plan: Plan, stages: Sequence[Stage]) -> None:
    """List the parts that a plan for commercial use may not have."""
    if plan.license != COMMERCIAL:
        return
    for part, reasons in research_only_parts(folder, plan, stages).items():
        found.problem(f"license = '{COMMERCIAL}', and the {part} is for research only ({'; '.join(reasons)})", REMAINS,
                      kind=PlanError)  # fmt: skip
