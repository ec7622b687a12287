"""export: the report's numbers for machines and spreadsheets; nothing is computed here."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from likewise import __version__
from likewise.audit.context import StageContext
from likewise.audit.folder.artifacts import BALANCE, ESTIMATES, EXPORT, MATCHES
from likewise.audit.folder.store import Sidecar
from likewise.audit.plan.model import Plan
from likewise.audit.stage import Stage
from likewise.report.names import Naming
from likewise.report.sections.findings.designs import panels
from likewise.report.sections.findings.error_rates import error_findings
from likewise.report.sentences import balance_verdict, gap_findings, slope_finding
from likewise.tables import Estimates, Matches
from likewise.tables.io import write_frame, write_text
from likewise.tables.table import Table


class Export(Stage):
    """Write the numbers of the report."""

    name, artifact, section, version, counted = "export", EXPORT, "report", 2, False
    help = "Write the numbers of the report as JSON and CSV."

    def needs(self, plan: Plan) -> tuple[str, ...]:
        """Return the tables that are exported."""
        return (MATCHES, BALANCE, ESTIMATES)

    def options(self, plan: Plan) -> dict[str, Any]:
        """Return the report section and the contrast."""
        return {**asdict(plan.report), "contrast": asdict(plan.contrast)}

    def run(self, context: StageContext) -> None:
        """Write report.json, and every table as CSV."""
        balance, estimates, pairs = context.balance(), context.estimates(), context.matches()
        with context.replaced(EXPORT) as fresh:
            for name, table in (("estimates", estimates), ("balance", balance), ("matches", pairs)):
                write_frame(fresh / f"{name}.csv", table.frame)
            plain = json.dumps(_report(context, pairs, balance, estimates), indent=1)
            write_text(fresh / "report.json", plain + "\n")
        context.summary = {"files": len(list(context.path(EXPORT).iterdir()))}


def _report(context: StageContext, pairs: Matches, balance: Estimates, estimates: Estimates) -> dict[str, Any]:
    contrast, naming = context.plan.contrast, Naming.of(balance, estimates)
    sidecars = {name: context.folder.sidecar(name) for name in context.planned if name != EXPORT}
    return {
        "likewise": __version__,
        "title": context.plan.report.title,
        "contrast": asdict(contrast),
        "findings": [
            *gap_findings(estimates, contrast, naming=naming),
            *error_findings(estimates, contrast, naming),
            slope_finding(estimates),
        ],
        "conclusions": [panel.conclusion for panel in panels(estimates, contrast, naming)],
        "balance verdict": balance_verdict(balance),
        "design": {
            "spec": pairs.spec.to_dict() if pairs.spec else {},
            "pairs": len(pairs),
            "offered": dict(pairs.offered),
            "dropped": _records(pairs.dropped),
        },
        "estimates": _plain(estimates),
        "balance": _plain(balance),
        "made": {name: _how(sidecar) for name, sidecar in sidecars.items() if sidecar},
    }


def _how(sidecar: Sidecar) -> dict[str, Any]:
    """Say how an artifact was made, without what differs from folder to folder (times of files are in the key)."""
    return {name: value for name, value in asdict(sidecar).items() if name not in ("key", "inputs")}


def _plain(table: Table) -> list[dict[str, Any]]:
    return _records(table.frame)


def _records(frame: Any) -> list[dict[str, Any]]:
    """Return rows as plain values; an empty end of an interval becomes null."""
    records: list[dict[str, Any]] = json.loads(frame.to_json(orient="records", double_precision=15))
    return records
