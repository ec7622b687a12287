"""The verbs of ``likewise directions``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click


@click.group()
def directions() -> None:
    """Fit which way an attribute lies in a generator's latent space, and draw it."""


@directions.command(name="sample")
@click.argument("out", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--generator", default="mobilestylegan", show_default=True, help="Who draws: the slot's occupant.")
@click.option("--faces", default=4000, show_default=True, help="How many, in hundreds; may be raised later.")
@click.option("--size", default=256, show_default=True, help="Pixels they are drawn at.")
@click.option("--seed", default=0, show_default=True)
@click.option("--column", "columns", multiple=True, help="What is described; default: everything that describe knows.")
@click.option("--workers", default=1, show_default=True, help="Processes that draw and describe.")
@click.option("--quiet", is_flag=True, help="Say nothing while at work.")
def directions_sample(out: Path, workers: int, quiet: bool, **given: Any) -> None:
    """Draw faces of a generator and have networks describe them; the same command goes on after a stop."""
    from likewise.cli.directions import sample_faces
    from likewise.cli.progress import voice
    from likewise.engine import Engine

    engine = Engine(kind="processes" if workers > 1 else "here", workers=workers)
    for line in sample_faces(out, engine=engine, voice=voice(quiet=quiet), **given):
        click.echo(line)


@directions.command(name="fit")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--attribute", "attributes", multiple=True, help="Column; default: every number and all with two levels.")
@click.option("--labels", default="", help="What was labelled and by whom, for the card.")
@click.option("--out", type=click.Path(path_type=Path), help="Where to; default: DIR/directions.npz.")
@click.option(
    "--rule",
    type=click.Choice(["least squares", "logistic"]),
    default="least squares",
    show_default=True,
    help="How two levels are told apart: least squares holds others more nearly, logistic reads them best.",
)
def directions_fit(folder: Path, **given: Any) -> None:
    """Fit on the faces and latents of an audit, or of `directions sample`; skill is on unseen identities."""
    from likewise.cli.directions import fit_directions

    for line in fit_directions(folder, **given):
        click.echo(line)


@directions.command(name="show")
@click.argument("name", metavar="[FILE]", default="")
@click.option("--out", type=click.Path(path_type=Path), help="PNG to draw to.")
@click.option("--generator", default="mobilestylegan", show_default=True, help="Who draws.")
@click.option("--along", default="", help="Which direction is drawn; the first unless said otherwise.")
@click.option("--hold", multiple=True, help="Attribute whose score stays where it is.")
@click.option("--amount", "amounts", type=float, multiple=True, default=(-2, -1, 0, 1, 2), help="Standard deviations.")
@click.option("--faces", default=4, show_default=True, help="How many rows.")
@click.option("--seed", default=1, show_default=True)
@click.option("--size", default=256, show_default=True, help="Pixels of a face.")
def directions_show(name: str, **given: Any) -> None:
    """Say what directions are and how well they are read; with --out, draw one (default: the shipped ones)."""
    from likewise.cli.directions import show_directions

    for line in show_directions(name, **given):
        click.echo(line)


@directions.command(name="spaces")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--image", required=True, help="The image that is projected into the three spaces.")
@click.option("--out", required=True, type=click.Path(path_type=Path), help="PNG to draw to.")
@click.option("--directions", default="", help="File of directions; default: the folder's, or the shipped ones.")
@click.option("--along", default="", help="Which direction is drawn; the first unless said otherwise.")
@click.option("--hold", multiple=True, help="Attribute whose score stays where it is.")
@click.option("--amount", "amounts", type=float, multiple=True, default=(-2, -1, 0, 1, 2), help="Standard deviations.")
@click.option("--size", default=256, show_default=True, help="Pixels of a face.")
def directions_spaces(folder: Path, image: str, **given: Any) -> None:
    """Draw a direction on one image of an audit in three spaces: restricted, regularised, unregularised."""
    from likewise.cli.spaces import three_spaces

    for line in three_spaces(folder, image, **given):
        click.echo(line)


@click.command()
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option(
    "--lambda", "lambdas", type=float, multiple=True, default=(0, 0.01, 0.1, 1, float("inf")), help="Weights."
)
@click.option("--images", default=60, show_default=True, help="How many images at most; one an identity.")
@click.option(
    "--recogniser", default="", help="Who says whether it is the same person; default: the plan's [fidelity]."
)
@click.option("--attribute", "attributes", multiple=True, help="Label to be read; default: all that can be.")
@click.option("--quiet", is_flag=True, help="Say nothing while at work.")
def lambdas(folder: Path, quiet: bool, **given: Any) -> None:
    """Project some images under several lambdas: fidelity and semantics, as estimates and a figure."""
    from likewise.cli.progress import voice
    from likewise.cli.spaces import sweep_lambdas

    for line in sweep_lambdas(folder, voice=voice(quiet=quiet), **given):
        click.echo(line)
