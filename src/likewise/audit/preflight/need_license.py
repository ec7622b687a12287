"""A plan for commercial use is refused before it is written where it has parts for research only."""

from __future__ import annotations

import tempfile
from pathlib import Path

from likewise.audit.folder.store import PLAN, Folder
from likewise.audit.plan.model import COMMERCIAL
from likewise.audit.plan.request import AuditRequest
from likewise.audit.plan.scaffold import plan_text
from likewise.audit.preflight.licenses import REMAINS, research_only_parts
from likewise.audit.stages import enabled_stages, plan_of
from likewise.errors import PlanError
from likewise.tables.io import write_text


def need_license(folder: Path, request: AuditRequest) -> None:
    """Raise before a plan for commercial use is written with parts for research only; all of them are listed."""
    if request.license != COMMERCIAL:
        return
    text = plan_text(folder, request)[0]
    plan = plan_of(text)
    with tempfile.TemporaryDirectory() as place:  # nothing is written to the audit's own folder yet
        write_text(Path(place) / PLAN, text)
        parts = research_only_parts(Folder(place), plan, enabled_stages(plan))
    if parts:
        listed = "; ".join(f"{part} ({'; '.join(reasons)})" for part, reasons in parts.items())
        raise PlanError(f"These parts are for research only: {listed}", fix=REMAINS)
