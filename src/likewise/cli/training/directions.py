"""The commands of ``likewise directions``, and ``likewise lambdas``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from likewise.cli.help import Group


@click.group(cls=Group)
def directions() -> None:
    """Fit directions of attributes in a generator's latent space, and draw them."""


@directions.command(name="sample")
@click.argument("out", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--generator", default="mobilestylegan", show_default=True, help="Generator.")
@click.option("--faces", default=4000, show_default=True, help="Number of faces, in hundreds; may be raised later.")
@click.option("--size", default=256, show_default=True, help="Size in pixels.")
@click.option("--seed", default=0, show_default=True)
@click.option("--column", "columns", multiple=True, help="Column to describe; default: all.")
@click.option("--workers", default=1, show_default=True, help="Number of processes.")
@click.option("--quiet", is_flag=True, help="Print no progress.")
def directions_sample(out: Path, workers: int, quiet: bool, **given: Any) -> None:
    """Draw faces of a generator and describe them with networks; a stopped command resumes."""
    from likewise.audit.tools.directions import sample_faces
    from likewise.runtime.executor import Executor
    from likewise.runtime.progress import reporter

    engine = Executor(kind="processes" if workers > 1 else "local", workers=workers)
    for line in sample_faces(out, engine=engine, reporter=reporter(quiet=quiet), **given):
        click.echo(line)


@directions.command(name="fit")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option(
    "--attribute", "attributes", multiple=True, help="Column; default: all that are numeric or have two levels."
)
@click.option("--labels", default="", help="Source of the labels, for the card.")
@click.option("--out", type=click.Path(path_type=Path), help="File to write; default: DIR/directions.npz.")
@click.option(
    "--rule",
    type=click.Choice(["least squares", "logistic"]),
    default="least squares",
    show_default=True,
    help="Classifier of two levels: least squares holds other attributes better, logistic separates better.",
)
def directions_fit(folder: Path, **given: Any) -> None:
    """Fit on the faces and latents of an audit, or of `directions sample`; accuracy is on unseen identities."""
    from likewise.audit.tools.directions import fit_directions

    for line in fit_directions(folder, **given):
        click.echo(line)


@directions.command(name="show")
@click.argument("name", metavar="[FILE]", default="")
@click.option("--out", type=click.Path(path_type=Path), help="PNG to write.")
@click.option("--generator", default="mobilestylegan", show_default=True, help="Generator.")
@click.option("--along", default="", help="Direction to draw; default: the first.")
@click.option("--hold", multiple=True, help="Attribute whose score is held.")
@click.option("--amount", "amounts", type=float, multiple=True, default=(-2, -1, 0, 1, 2), help="Standard deviations.")
@click.option("--faces", default=4, show_default=True, help="Number of faces.")
@click.option("--seed", default=1, show_default=True)
@click.option("--size", default=256, show_default=True, help="Size of a face in pixels.")
def directions_show(name: str, **given: Any) -> None:
    """Describe directions and their accuracy; with --out, draw one (default: the shipped ones)."""
    from likewise.audit.tools.directions import show_directions

    for line in show_directions(name, **given):
        click.echo(line)


@directions.command(name="spaces")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--image", required=True, help="The image to project.")
@click.option("--out", required=True, type=click.Path(path_type=Path), help="PNG to write.")
@click.option("--directions", default="", help="File of directions; default: the folder's, or the shipped ones.")
@click.option("--along", default="", help="Direction to draw; default: the first.")
@click.option("--hold", multiple=True, help="Attribute whose score is held.")
@click.option("--amount", "amounts", type=float, multiple=True, default=(-2, -1, 0, 1, 2), help="Standard deviations.")
@click.option("--size", default=256, show_default=True, help="Size of a face in pixels.")
def directions_spaces(folder: Path, image: str, **given: Any) -> None:
    """Draw a direction on one image of an audit in three spaces: restricted, regularized, unregularized."""
    from likewise.audit.tools.lambda_sweep import three_spaces

    for line in three_spaces(folder, image, **given):
        click.echo(line)


@click.command()
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option(
    "--lambda",
    "lambdas",
    type=float,
    multiple=True,
    default=(0, 0.01, 0.1, 1, float("inf")),
    help="Weight of the regularization; repeatable.",
)
@click.option("--images", default=60, show_default=True, help="Largest number of images; one per identity.")
@click.option("--recognizer", default="", help="Recognizer that compares identities; default: the plan's [fidelity].")
@click.option("--attribute", "attributes", multiple=True, help="Label to classify; default: all that are possible.")
@click.option("--quiet", is_flag=True, help="Print no progress.")
def lambdas(folder: Path, quiet: bool, **given: Any) -> None:
    """Project some images under several lambdas: fidelity and semantics, as estimates and a figure."""
    from likewise.audit.tools.lambda_sweep import sweep_lambdas
    from likewise.runtime.progress import reporter

    for line in sweep_lambdas(folder, reporter=reporter(quiet=quiet), **given):
        click.echo(line)
