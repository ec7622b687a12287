"""Running the stages of an audit folder from the command line: costs, progress, and the printed outcome."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import click

from likewise.cli.failures import LOG


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


def run_audit(
    folder: str, only: str | None, *, dry_run: bool, quiet: bool, as_json: bool,
    yes: bool = False, max_cost: float | None = None, text: str = "",
    executor: str | None = None, workers: int | None = None, address: str | None = None, pdf: bool = False,
) -> None:  # fmt: skip
    """Run all stages of an audit folder, or one, and print the outcome."""
    from likewise.audit.runner import as_plain, run

    budget = _budget(yes=yes, max_cost=max_cost, as_json=as_json)
    place = {"kind": executor, "workers": workers, "address": address}
    outcomes = run(
        folder, reporter=_reporter(folder, quiet=quiet, dry_run=dry_run), only=only, dry_run=dry_run, budget=budget,
        text=text, place=place,
    )  # fmt: skip
    report = Path(folder) / "report.html"
    written = str(report) if any(o.stage == "report" for o in outcomes) and not dry_run else None
    printed = _printed(report) if pdf and written else None
    if as_json:
        plain = {"folder": folder, "stages": as_plain(outcomes), "report": written, "pdf": printed}
        click.echo(json.dumps(plain, indent=1, default=str))
    elif dry_run:
        for outcome in outcomes:
            click.echo(f"{outcome.stage:<15} {outcome.status:<10} {outcome.artifact:<18} {outcome.why}".rstrip())
            for note in outcome.notes:
                click.echo(f"{'':<15} {note}")
    elif written:
        click.echo(f"report: {written}")
        if printed:
            click.echo(f"pdf: {printed}")


def _printed(report: Path) -> str:
    from likewise.report.pdf import write_pdf

    return str(write_pdf(report))
