"""The verbs. Each is thin: it reads its arguments, calls a pure function, and says what came of it."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from likewise import __version__
from likewise.cli.sweep_plan import sweep_options
from likewise.cli.verbs_audit import plan_options
from likewise.cli.verbs_directions import directions, lambdas
from likewise.cli.verbs_fader import fader
from likewise.cli.verbs_study import study
from likewise.cli.verbs_weights import weights
from likewise.errors import InputError, LikewiseError

STAGES = {
    "read": "Find, open and fingerprint the images of the table.",
    "describe": "Say of each face its predicted age, gender and pose, and its measured tone.",
    "align": "Bring the faces into the generator's frame.",
    "project": "Project the images into the generator's latent space.",
    "fidelity": "Judge the reconstructions by group, and keep what is unlike out of the matching.",
    "embed": "Embed the images with the recognisers that the matching goes by.",
    "match": "Match look-alikes across the contrast.",
    "variants": "Match by the designs that might have been chosen instead.",
    "balance": "Compare the covariates before and after matching.",
    "trials": "Choose which two images of a person the raters are asked about.",
    "counterfactual": "Turn the attribute of some faces and leave everything else.",
    "certify": "Have judges look whether only the attribute moved.",
    "rate": "Have the models under audit answer.",
    "ask": "Collect what people answered.",
    "analyse": "Estimate gaps and slopes, with intervals.",
    "export": "Write the report's numbers as JSON and CSV.",
    "report": "Draw the report.",
}
_SECTIONS = (
    ("Start here", ("demo", "audit", "init", "check", "run")),
    ("One stage at a time", tuple(STAGES)),
    ("Ask people", ("study",)),
    ("Train", ("directions", "fader")),
    ("Look around", ("show", "lambdas", "slots", "weights", "reproduce")),
)


class _Verbs(click.Group):
    """Lists the verbs in the order in which one meets them."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the verbs section by section."""
        for title, names in _SECTIONS:
            rows = [(name, self.commands[name].get_short_help_str(80)) for name in names]
            with formatter.section(title):
                formatter.write_dl(rows)


@click.group(cls=_Verbs, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="likewise")
def cli() -> None:
    """What would a vision system have answered, had only the protected attribute been different?

    An audit is a folder with a plan (audit.toml). Every verb makes one artefact in it; what is up to date is
    skipped, and a killed run goes on where it was.

    Exit codes: 0 done; 2 wrong input; 3 the folder; 4 another run is at work; 5 work failed; 6 weights;
    130 stopped by you.
    """


def _common(command: Callable[..., Any]) -> Callable[..., Any]:
    for option in (
        click.option("--json", "as_json", is_flag=True, help="Print the outcome as JSON on stdout."),
        click.option("--quiet", is_flag=True, help="Say nothing while at work."),
        click.option("--dry-run", is_flag=True, help="Say what would run and why; write nothing."),
    ):
        command = option(command)
    return command


def _placed(command: Callable[..., Any]) -> Callable[..., Any]:
    for option in (
        click.option("--address", help="Of a Ray cluster, e.g. auto or ray://head:10001; instead of the plan's."),
        click.option("--workers", type=int, help="How many at once; instead of the plan's."),
        click.option("--engine", help="Where: here, processes or ray; instead of the plan's."),
    ):
        command = option(command)
    return command


def _paid(command: Callable[..., Any]) -> Callable[..., Any]:
    for option in (
        click.option("--yes", is_flag=True, help="Agree to what paid services cost."),
        click.option("--max-cost", type=float, metavar="USD", help="Agree to paid services up to this amount."),
    ):
        command = option(command)
    return command


def _purse(*, yes: bool, max_cost: float | None, as_json: bool) -> Any:
    """Whoever sits at the terminal is asked; a script has to say it beforehand."""
    from likewise.services.purse import Purse

    def agree(bill: str) -> bool:
        return yes or (sys.stdin.isatty() and not as_json and click.confirm(f"{bill} Go on?", err=True))

    return Purse(most=max_cost, agree=agree)


def _go(
    folder: str, only: str | None, *, dry_run: bool, quiet: bool, as_json: bool,
    yes: bool = False, max_cost: float | None = None, text: str = "",
    engine: str | None = None, workers: int | None = None, address: str | None = None,
) -> None:  # fmt: skip
    from likewise.cli.progress import voice
    from likewise.cli.run import as_plain, run

    speaker = voice(quiet=quiet or dry_run)
    purse = _purse(yes=yes, max_cost=max_cost, as_json=as_json)
    place = {"kind": engine, "workers": workers, "address": address}
    outcomes = run(folder, voice=speaker, only=only, dry_run=dry_run, purse=purse, text=text, place=place)
    report = Path(folder) / "report.html"
    written = str(report) if any(o.stage == "report" for o in outcomes) and not dry_run else None
    if as_json:
        click.echo(
            json.dumps({"folder": folder, "stages": as_plain(outcomes), "report": written}, indent=1, default=str)
        )
    elif dry_run:
        for outcome in outcomes:
            click.echo(f"{outcome.stage:<15} {outcome.status:<10} {outcome.artefact:<18} {outcome.why}".rstrip())
            for note in outcome.notes:
                click.echo(f"{'':<15} {note}")
    elif written:
        click.echo(f"report: {written}")


@cli.command()
@click.argument("folder", metavar="DIR")
@_common
@_placed
@_paid
def run(folder: str, **given: Any) -> None:
    """Go through all stages that the plan names."""
    _go(folder, None, **given)


def _add_stage(name: str, what: str) -> None:
    def verb(folder: str, **given: Any) -> None:
        _go(folder, name, **given)

    if name == "counterfactual":
        verb = sweep_options(verb)
    command = click.argument("folder", metavar="DIR")(_common(_placed(_paid(verb) if name == "rate" else verb)))
    cli.command(name=name, help=f"{what} Needs what the earlier stages make.", short_help=what)(command)


for _name, _what in STAGES.items():
    _add_stage(_name, _what)


@cli.command()
@click.argument("folder", metavar="DIR")
@plan_options
def init(folder: str, force: bool, **given: Any) -> None:
    """Write a commented plan (audit.toml) for images, or answers about them, and a table."""
    from likewise.cli.init import init_audit
    from likewise.cli.wish import Wish

    for line in init_audit(Path(folder), Wish(**given), force=force):
        click.echo(line)


@cli.command()
@click.argument("folder", metavar="DIR")
@plan_options
@_common
@_paid
def audit(
    folder: str, force: bool, dry_run: bool, quiet: bool, as_json: bool, yes: bool, max_cost: float | None, **given: Any
) -> None:
    """From images (or answers about them), a table, a contrast and raters to the report: init, then run."""
    from likewise.cli.audit import planned
    from likewise.cli.wish import Wish

    text, lines = planned(Path(folder), Wish(**given), force=force, dry_run=dry_run)
    for line in [] if as_json or quiet else lines:
        click.echo(line)
    how: dict[str, Any] = {"dry_run": dry_run, "quiet": quiet, "as_json": as_json, "yes": yes, "max_cost": max_cost}
    _go(folder, None, text=text, **how)


@cli.command()
@click.argument("folder", metavar="DIR")
@click.option("--decode", is_flag=True, help="Decode every image, not only its header.")
@click.option("--measure", is_flag=True, help="Put an image or two through every stage, to say how long all take.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON on stdout.")
def check(folder: str, decode: bool, measure: bool, as_json: bool) -> None:
    """Say before any work what is there, what is missing and what it will cost. Writes nothing.

    Exit code 2 when a run would fail.
    """
    from likewise.cli.check import checked
    from likewise.cli.check_words import told

    found = checked(folder, decode=decode, measure=measure)
    click.echo(json.dumps(found.plain(), indent=1, default=str) if as_json else "\n".join(told(found)))
    if found.wrong:
        sys.exit(InputError.exit_code)


@cli.command()
@click.argument("folder", metavar="[DIR]", default="demo")
@click.option(
    "--toy", is_flag=True, help="A small world of drawings: no networks, no downloads, a quarter of a minute."
)
@click.option("--identities", type=int, help="How many people there are; 100, in the toy 400.")
@click.option(
    "--confounding", default=1.0, show_default=True, help="How strongly the covariates go with the attribute."
)
@click.option("--seed", default=0, show_default=True)
@click.option(
    "--allow", multiple=True, metavar="TERMS", help="Accept terms of weights, e.g. research-only; remembered."
)
@_common
def demo(
    folder: str, toy: bool, allow: tuple[str, ...], dry_run: bool, quiet: bool, as_json: bool, **given: Any
) -> None:
    """Draw people whose truth is known, audit them with real networks, and draw the report."""
    from likewise.cli.demo_start import start_demo

    start_demo(Path(folder), toy=toy, allow=allow, quiet=quiet, **given)
    _go(folder, None, dry_run=dry_run, quiet=quiet, as_json=as_json)


@cli.command()
@click.argument("path", metavar="FILE|DIR", type=click.Path(path_type=Path))
@click.option("--image", help="Of an audit DIR: draw this image, its reconstruction and edits of it.")
@click.option("--out", type=click.Path(path_type=Path), help="PNG to draw to; default: DIR/shown/IMAGE.png.")
@click.option("--directions", default="", help="File of directions; default: the folder's, or the shipped ones.")
@click.option("--along", multiple=True, help="Which direction is drawn; default: the contrast's own.")
@click.option("--hold", multiple=True, help="Attribute whose score stays where it is.")
@click.option("--amount", "amounts", type=float, multiple=True, help="Standard deviations; default: -2 -1 1 2.")
def show(path: Path, image: str | None, **given: Any) -> None:
    """Print what an artefact holds, or draw an image beside its reconstruction."""
    from likewise.cli.show import shown, shown_image

    for line in [shown(path)] if image is None and not any(given.values()) else shown_image(path, image, **given):
        click.echo(line)


@cli.command()
def slots() -> None:
    """List the slots and who sits in them."""
    from likewise.plugins import SLOTS, occupants

    for slot in SLOTS:
        click.echo(f"{slot:<12} {', '.join(occupants(slot)) or '(empty)'}")


@cli.command()
@click.argument("name", metavar="NAME")
@click.option("--data", required=True, type=click.Path(path_type=Path), help="Folder with the published data.")
@click.option("--json", "as_json", is_flag=True, help="Print one record a cell as JSON on stdout.")
def reproduce(name: str, data: Path, as_json: bool) -> None:
    """Make a published table or figure again, and say what differs.

    NAME is same-person, pairs, covariates, projection-sweep or occupations.
    """
    from likewise.cli.reproduce import reproduce as reproduced

    made = reproduced(name, data)
    frame = made.estimates.frame
    if as_json:
        records = json.loads(frame.to_json(orient="records", double_precision=15))  # an empty end becomes null
        click.echo(json.dumps({"name": name, "notes": made.notes, "records": records}, indent=1))
        return
    for note in made.notes:
        click.echo(note)
    click.echo("\n" + frame.to_string(index=False, float_format="{:.4f}".format))


for group in (directions, lambdas, fader, study, weights):
    cli.add_command(group)


def main(argv: Sequence[str] | None = None) -> None:
    """Run a verb; an error of ours is one clear line and a meaningful exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        cli.main(args=arguments, prog_name="likewise", standalone_mode=False)
    except LikewiseError as error:
        _fail(type(error).__name__, str(error), error.exit_code, arguments)
    except click.ClickException as error:
        error.show()
        sys.exit(InputError.exit_code)
    except (KeyboardInterrupt, click.Abort):
        _fail(
            "Stopped",
            "stopped; what is finished is kept, and the same command goes on from there.",
            130,
            arguments,
        )


def _fail(kind: str, message: str, code: int, arguments: list[str]) -> None:
    if "--json" in arguments:
        click.echo(json.dumps({"error": {"kind": kind, "message": message, "exit_code": code}}, indent=1))
    else:
        click.echo(f"likewise: {message}", err=True)
    sys.exit(code)
