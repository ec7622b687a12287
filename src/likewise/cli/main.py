"""The commands. Each is thin: it reads its arguments, calls the library, and prints the outcome."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from likewise import __version__
from likewise.cli.failures import failure
from likewise.cli.generate import generate
from likewise.cli.help import WHOLE
from likewise.cli.import_edits import import_edits
from likewise.cli.inspection.compare import compare
from likewise.cli.inspection.groups import groups
from likewise.cli.options.plan import plan_options
from likewise.cli.options.shared import cache_options, cost_options, executor_options, run_options
from likewise.cli.options.sweep import sweep_options
from likewise.cli.power import power
from likewise.cli.run import run_audit
from likewise.cli.stage_commands import is_paid, stage_help
from likewise.cli.start.doctor import doctor
from likewise.cli.start.init import init
from likewise.cli.start.scores import scores
from likewise.cli.study.commands import study
from likewise.cli.training.directions import directions, lambdas
from likewise.cli.training.editor import editor
from likewise.cli.training.fader import fader
from likewise.cli.upkeep.cache import cache
from likewise.cli.upkeep.forget import forget
from likewise.cli.weights.commands import weights
from likewise.errors import InputError
from likewise.runtime.cpu import let_idle_threads_sleep

_SECTIONS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("Start here", ("demo", "scores", "audit", "init", "check", "run")),
    ("Single stages", ()),
    ("Edits made elsewhere", ("import-edits",)),
    ("Text-to-image models", ("generate",)),
    ("Human studies", ("study",)),
    ("Planning", ("power",)),
    ("Training", ("directions", "editor", "fader")),
    ("Privacy", ("forget",)),
    (
        "Inspection",
        ("doctor", "cache", "show", "groups", "compare", "lambdas", "components", "weights", "reproduce"),
    ),
)


class _Commands(click.Group):
    """Lists the commands by purpose; those of the stages come from the list of stages."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands section by section."""
        for title, names in _SECTIONS:
            rows = [(name, self.commands[name].get_short_help_str(WHOLE)) for name in names]
            with formatter.section(title):
                formatter.write_dl(rows or list(stage_help().items()))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command; one of a stage is made from its name and help."""
        found = super().get_command(ctx, cmd_name)
        return found or (_stage_command(cmd_name) if cmd_name in stage_help() else None)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return all names."""
        return [*super().list_commands(ctx), *stage_help()]


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="likewise")
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
def cli(debug: bool) -> None:
    """Audit a vision system for differences between two groups of people.

    An audit is a folder with a plan (audit.toml). Every stage writes one artifact; artifacts that are up to date are
    kept, and a stopped run resumes.

    Exit codes: 0 done; 1 a part is missing (doctor); 2 invalid input; 3 the folder; 4 another run is active; 5 work
    failed; 6 weights; 7 a gate (--fail-if); 70 an internal error; 130 interrupted.
    """


@cli.command()
@click.argument("folder", metavar="DIR")
@run_options
@executor_options
@cost_options
@click.option(
    "--fail-if", multiple=True, metavar="CONDITION", help="Exit with 7 if it holds, e.g. 'fnmr_gap(dlib) > 0.05'."
)
def run(folder: str, **given: Any) -> None:
    """Run all stages of the plan, after a check of everything that they need."""
    run_audit(folder, None, **given)


def _stage_command(name: str) -> click.Command:
    def stage(folder: str, **given: Any) -> None:
        run_audit(folder, name, **given)

    if name == "counterfactual":
        stage = sweep_options(stage)
    if name == "report":
        pdf = "Also print the report as report.pdf, with Chromium or WeasyPrint."
        stage = click.option("--pdf", is_flag=True, help=pdf)(stage)
    if name == "export":
        excel = "Also write export.xlsx, with one sheet per table."
        stage = click.option("--excel", is_flag=True, help=excel)(stage)
    command = click.argument("folder", metavar="DIR")(
        run_options(executor_options(cost_options(stage) if is_paid(name) else stage))
    )
    what = stage_help()[name]
    return click.command(name=name, help=f"{what} Needs the artifacts of the earlier stages.", short_help=what)(command)


@cli.command()
@click.argument("folder", metavar="DIR")
@plan_options
@run_options
@cache_options
@cost_options
def audit(folder: str, force: bool, **given: Any) -> None:
    """Audit a table and images, or answers about them, in one command: init, check, run."""
    from likewise.audit.plan.request import AuditRequest
    from likewise.audit.plan.scaffold import write_or_resume

    how = {name: given.pop(name) for name in ("dry_run", "quiet", "as_json", "yes", "max_cost", "no_cache")}
    text, lines = write_or_resume(Path(folder), AuditRequest(**given), force=force, dry_run=how["dry_run"])
    for line in [] if how["as_json"] or how["quiet"] else lines:
        click.echo(line)
    run_audit(folder, None, text=text, **how)


@cli.command()
@click.argument("folder", metavar="DIR")
@click.option("--decode", is_flag=True, help="Decode every image, not only its header.")
@click.option("--measure", is_flag=True, help="Time every stage on an image or two, and estimate the total.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON on stdout.")
def check(folder: str, decode: bool, measure: bool, as_json: bool) -> None:
    """Check everything that a run needs, and estimate its cost; nothing is written.

    Exit code 2 when a run would fail.
    """
    from likewise.audit.preflight.check import check_audit
    from likewise.cli.start.check import lines_of

    found = check_audit(folder, decode=decode, measure=measure)
    click.echo(json.dumps(found.plain(), indent=1, default=str) if as_json else "\n".join(lines_of(found)))
    if found.problems:
        sys.exit(InputError.exit_code)


@cli.command()
@click.argument("folder", metavar="[DIR]", default="demo")
@click.option("--toy", is_flag=True, help="A small simulation of drawings: no networks, no downloads, under a minute.")
@click.option("--identities", type=int, help="Number of identities; default: 120, of the toy 400.")
@click.option("--confounding", default=1.0, show_default=True, help="Association of the covariates with the attribute.")
@click.option("--seed", default=0, show_default=True)
@click.option("--allow", multiple=True, metavar="TERMS", help="Accept terms of weights, e.g. research-only.")
@run_options
@cache_options
def demo(folder: str, toy: bool, allow: tuple[str, ...], **given: Any) -> None:
    """Generate synthetic identities with known effects, audit them, and write the report."""
    from likewise.cli.start.demo import start_demo

    how = {name: given.pop(name) for name in ("dry_run", "quiet", "as_json", "no_cache")}
    start_demo(Path(folder), toy=toy, allow=allow, quiet=how["quiet"], **given)
    run_audit(folder, None, **how)


@cli.command()
@click.argument("path", metavar="FILE|DIR", type=click.Path(path_type=Path))
@click.option("--image", help="Of an audit DIR: draw this image, its reconstruction and edits of it.")
@click.option("--out", type=click.Path(path_type=Path), help="PNG to write; default: DIR/shown/IMAGE.png.")
@click.option("--directions", default="", help="File of directions; default: the folder's, or the shipped ones.")
@click.option("--along", multiple=True, help="Direction to draw; default: the contrast's own.")
@click.option("--hold", multiple=True, help="Attribute whose score is held.")
@click.option("--amount", "amounts", type=float, multiple=True, help="Standard deviations; default: -2 -1 1 2.")
def show(path: Path, image: str | None, **given: Any) -> None:
    """Print what an artifact contains, or draw an image beside its reconstruction."""
    from likewise.cli.inspection.show import shown, shown_image

    for line in [shown(path)] if image is None and not any(given.values()) else shown_image(path, image, **given):
        click.echo(line)


@cli.command()
def components() -> None:
    """List the kinds of component and what is installed of each."""
    from likewise.runtime.registry import KINDS
    from likewise.runtime.registry import components as installed

    for kind in KINDS:
        click.echo(f"{kind:<12} {', '.join(installed(kind)) or '(none)'}")


@cli.command()
@click.argument("name", metavar="NAME")
@click.option("--data", required=True, type=click.Path(path_type=Path), help="Folder with the published data.")
@click.option("--json", "as_json", is_flag=True, help="Print one record a cell as JSON on stdout.")
def reproduce(name: str, data: Path, as_json: bool) -> None:
    """Compute a published table or figure again, and list the differences.

    NAME is same-person, pairs, covariates, projection-sweep or occupations.
    """
    from likewise.reproduce import reproduce as reproduced

    made = reproduced(name, data)
    frame = made.estimates.frame
    if as_json:
        records = json.loads(frame.to_json(orient="records", double_precision=15))  # an empty end becomes null
        click.echo(json.dumps({"name": name, "notes": made.notes, "records": records}, indent=1))
        return
    for note in made.notes:
        click.echo(note)
    click.echo("\n" + frame.to_string(index=False, float_format="{:.4f}".format))


_GROUPS = (
    cache, compare, directions, doctor, editor, generate, groups, import_edits, init, lambdas, fader, forget, power,
    scores, study, weights,
)  # fmt: skip
for _group in _GROUPS:
    cli.add_command(_group)


def main(argv: Sequence[str] | None = None) -> None:
    """Run a command; an error is one clear line and a meaningful exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    let_idle_threads_sleep()  # before a command loads torch
    try:
        cli.main(args=arguments, prog_name="likewise", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        sys.exit(InputError.exit_code)
    except (Exception, KeyboardInterrupt) as error:
        if "--debug" in arguments and not isinstance(error, KeyboardInterrupt | click.Abort):
            raise
        kind, message, code = failure(error, arguments)
        if "--json" in arguments:
            click.echo(json.dumps({"error": {"kind": kind, "message": message, "exit_code": code}}, indent=1))
        else:
            click.echo(f"likewise: {message}", err=True)
        sys.exit(code)
