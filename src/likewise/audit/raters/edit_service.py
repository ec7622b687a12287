"""Editors behind a paid endpoint: their recorded answers lie in the audit folder, and their cost is approved first."""

from __future__ import annotations

from collections.abc import Sequence

from likewise.audit.context import StageContext
from likewise.audit.folder.store import Folder
from likewise.audit.plan.model import Plan
from likewise.audit.raters.planned import resolved
from likewise.counterfactuals.sweep_spec import SweepSpec
from likewise.runtime.registry import Editor, components, create
from likewise.services.budget import Budget, CostEstimate
from likewise.services.edits.http_editor import HttpEditor


def edits_by_service(spec: SweepSpec | None) -> bool:
    """Return whether the editor of a plan is an endpoint, by its class alone."""
    try:
        factory = components("editor")[spec.editor]() if spec is not None else None
    except Exception:  # unknown or broken: reported where it is made
        return False
    return isinstance(factory, type) and issubclass(factory, HttpEditor)


def edit_service(folder: Folder, plan: Plan, budget: Budget) -> HttpEditor | None:
    """Return the editor of a plan where it is an endpoint."""
    spec = plan.counterfactual
    if spec is None or not edits_by_service(spec):
        return None
    editor: HttpEditor = create(
        "editor", spec.editor, {"attribute": spec.attribute or plan.contrast.column, **resolved(folder, spec.options)}
    )
    editor.open(folder.root, budget)
    return editor


def edit_costs(folder: Folder, plan: Plan) -> list[CostEstimate]:
    """Return an upper bound of what the edits cost."""
    editor = edit_service(folder, plan, Budget())
    return [] if editor is None or plan.counterfactual is None else [editor.cost_of(plan.counterfactual.most)]


def approved(context: StageContext, spec: SweepSpec, editor: Editor, keys: Sequence[str]) -> bool:
    """Open an editor behind an endpoint, and have its cost approved; return whether it is one."""
    if not isinstance(editor, HttpEditor):
        return False
    editor.open(context.folder.root, context.budget)
    editor.failures.clear()
    editor.check_strengths(spec.strengths)
    context.budget.approve([editor.cost_of(len(keys))])
    return True
