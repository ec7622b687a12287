"""Running the stages of an audit folder from the command line: costs, progress, and the printed outcome."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from likewise.cli.failures import LOG
from likewise.errors import GateError


def _budget(*, yes: bool, max_cost: float | None, as_json: bool) -> Any:
    """At a terminal the costs are confirmed; a script has to accept them beforehand."""
    from likewise.services.budget import Budget

    def agree(cost: str) -> bool:
        return yes or (sys.stdin.isatty() and not as_json and click.confirm(f"{cost} Continue?", err=True))

    return Budget(most=max_cost, agree=agree)


def _reporter(folder: str, *, quiet: bool, dry_run: bool) -> Any:
    """Progress goes to the terminal and to the log file of the audit folder."""
    from likewise.runtime.progress import reporter

    there = (Path(folder) / "audit.toml").is_file()
    return reporter(quiet=quiet or dry_run, log=None if dry_run or not there else Path(folder) / LOG)


def _show(planned: Sequence[Any], written: Mapping[str, str | None], decided: Sequence[Any]) -> None:
    """Print what would be done, the files that were written, and the outcome of each gate."""
    for outcome in planned:
        click.echo(f"{outcome.stage:<15} {outcome.status:<10} {outcome.artifact:<18} {outcome.why}".rstrip())
        for note in outcome.notes:
            click.echo(f"{'':<15} {note}")
    for what, path in written.items():
        if path:
            click.echo(f"{what}: {path}")
    for outcome in decided:
        click.echo(outcome.line, err=outcome.failed)


def run_audit(
    folder: str, only: str | None, *, dry_run: bool, quiet: bool, as_json: bool,
    yes: bool = False, max_cost: float | None = None, text: str = "",
    executor: str | None = None, workers: int | None = None, address: str | None = None,
    no_cache: bool = False, pdf: bool = False, excel: bool = False, fail_if: Sequence[str] = (),
) -> None:  # fmt: skip
    """Run all stages of an audit folder, or one, and print the outcome; a gate that fails is the last line."""
    from likewise.audit.runner import as_plain, run

    gates = _gates(folder, fail_if)
    budget = _budget(yes=yes, max_cost=max_cost, as_json=as_json)
    place = {"kind": executor, "workers": workers, "address": address, "cache": False if no_cache else None}
    outcomes = run(
        folder, reporter=_reporter(folder, quiet=quiet, dry_run=dry_run), only=only, dry_run=dry_run, budget=budget,
        text=text, place=place,
    )  # fmt: skip
    report = Path(folder) / "report.html"
    written = str(report) if any(o.stage == "report" for o in outcomes) and not dry_run else None
    printed = _printed(report) if pdf and written else None
    sheets = _sheets(folder) if excel and not dry_run else None
    decided = [] if dry_run else _decided(folder, gates)
    if as_json:
        plain = {"folder": folder, "stages": as_plain(outcomes), "report": written, "pdf": printed, "excel": sheets}
        plain |= {"gates": [{"condition": o.gate.text, "failed": o.failed, "line": o.line} for o in decided]}
        click.echo(json.dumps(plain, indent=1, default=str))
    else:
        _show(outcomes if dry_run else [], {"report": written, "pdf": printed}, decided)
    if any(outcome.failed for outcome in decided):
        sys.exit(GateError.exit_code)


def _gates(folder: str, conditions: Sequence[str]) -> list[Any]:
    """Read the conditions of --fail-if before any work; their systems are those of the plan."""
    from likewise.audit.api import Audit
    from likewise.audit.results.gate import check_gates

    return check_gates(conditions, Audit(folder).systems) if conditions else []


def _decided(folder: str, gates: list[Any]) -> list[Any]:
    from likewise.audit.api import Audit
    from likewise.audit.results.gate import decide

    estimates = Audit(folder).estimates if gates else None
    return [decide(gate, estimates) for gate in gates]  # type: ignore[arg-type]


def _sheets(folder: str) -> str:
    from likewise.audit.adapters.excel import write_excel

    return str(write_excel(folder))


def _printed(report: Path) -> str:
    from likewise.report.pdf import write_pdf

    return str(write_pdf(report))
