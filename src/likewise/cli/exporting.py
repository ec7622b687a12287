"""export: the report's numbers for machines and spreadsheets; nothing is computed here."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from likewise import __version__
from likewise.cli.making import BALANCE, ESTIMATES, PAIRS, Job
from likewise.report.legs import panels
from likewise.report.rates import error_findings
from likewise.report.words import balance_verdict, gap_findings, slope_finding
from likewise.store import Sidecar
from likewise.tables import Estimates, Pairs
from likewise.tables.files import write_frame, write_text
from likewise.tables.table import Table

EXPORT = "export"


def exporting(job: Job) -> None:
    """Write report.json, and every table as CSV."""
    balance, estimates = (Estimates.read(job.path(name)) for name in (BALANCE, ESTIMATES))
    pairs = Pairs.read(job.path(PAIRS))
    with job.folder.swapped(EXPORT) as fresh:
        for name, table in (("estimates", estimates), ("balance", balance), ("pairs", pairs)):
            write_frame(fresh / f"{name}.csv", table.frame)
        write_text(fresh / "report.json", json.dumps(_report(job, pairs, balance, estimates), indent=1) + "\n")
    job.summary = {"files": len(list(job.path(EXPORT).iterdir()))}


def _report(job: Job, pairs: Pairs, balance: Estimates, estimates: Estimates) -> dict[str, Any]:
    contrast = job.plan.contrast
    sidecars = {name: job.folder.sidecar(name) for name in job.planned if name != EXPORT}
    return {
        "likewise": __version__,
        "title": job.plan.report.title,
        "contrast": asdict(contrast),
        "findings": [
            *gap_findings(estimates, contrast),
            *error_findings(estimates, contrast),
            slope_finding(estimates),
        ],
        "conclusions": [panel.conclusion for panel in panels(estimates, contrast)],
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
    """Say how an artefact was made, without what differs from folder to folder (times of files are in the key)."""
    return {name: value for name, value in asdict(sidecar).items() if name not in ("key", "inputs")}


def _plain(table: Table) -> list[dict[str, Any]]:
    return _records(table.frame)


def _records(frame: Any) -> list[dict[str, Any]]:
    """Return rows as plain values; an empty end of an interval becomes null."""
    records: list[dict[str, Any]] = json.loads(frame.to_json(orient="records", double_precision=15))
    return records
