"""The verbs of ``likewise fader``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click


@click.group()
def fader() -> None:
    """Train a network that turns an attribute of faces, or show what one does."""


@fader.command(name="train")
@click.argument("out", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--images", required=True, type=click.Path(path_type=Path), help="Folder of aligned faces.")
@click.option("--table", required=True, type=click.Path(path_type=Path), help="CSV, TSV or Parquet, one row an image.")
@click.option(
    "--attribute",
    "attributes",
    required=True,
    multiple=True,
    help="Column, or column=focal,reference; the first is turned, the others are held.",
)
@click.option("--image-column", default="image", show_default=True, help="Column with the file name or key.")
@click.option("--size", default=64, show_default=True, help="Pixels on a side: 32, 64, 128 or 256.")
@click.option("--width", default=32, show_default=True, help="Channels of the first layer.")
@click.option("--code", default=0, show_default=True, help="Channels of the code; 0: as many as the last layer.")
@click.option("--steps", default=20_000, show_default=True, help="Batches in all; may be raised later.")
@click.option("--batch", default=32, show_default=True, help="Faces a batch.")
@click.option("--rate", default=2e-3, show_default=True, help="Learning rate.")
@click.option("--cool", default=0, show_default=True, help="Steps at the end in which the rate falls to 0.")
@click.option("--adversary", default=1e-2, show_default=True, help="Adversarial weight after its rise.")
@click.option("--rise", default=5_000, show_default=True, help="Steps in which it rises from 0.")
@click.option("--turns", default=1, show_default=True, help="Batches that the discriminator learns from a step.")
@click.option("--pairs", default="", help="Column in which images of one face share a value.")
@click.option("--alike", type=float, help="With --pairs: weight of the distance of two such codes.  [default: 0.1]")
@click.option("--erase", is_flag=True, help="At the end, take what is still linear in the attributes out of the code.")
@click.option("--mirror/--no-mirror", default=True, help="Mirror half of the faces.")
@click.option("--shift", default=0, show_default=True, help="Move faces by up to so many pixels.")
@click.option("--every", default=500, show_default=True, help="Steps between checkpoints, log lines and samples.")
@click.option("--seed", default=0, show_default=True)
@click.option("--device", default="cpu", show_default=True, help="cpu, cuda or cuda:N.")
@click.option("--quiet", is_flag=True, help="Say nothing while at work.")
def fader_train(out: Path, attributes: tuple[str, ...], quiet: bool, **given: Any) -> None:
    """Train on a folder of faces and a table; the same command goes on after a stop."""
    from likewise.cli.fader import train_fader
    from likewise.cli.progress import voice

    for line in train_fader(out, attributes=list(attributes), voice=voice(quiet=quiet), **given):
        click.echo(line)


@fader.command(name="show")
@click.argument("weights", metavar="[FILE]", default="")
@click.option("--images", type=click.Path(path_type=Path), help="Folder of faces to turn; the first eight.")
@click.option("--out", type=click.Path(path_type=Path), help="PNG to draw them to.")
@click.option("--attribute", default="", help="What is turned; the first attribute unless said otherwise.")
@click.option(
    "--detail", default="keep", show_default=True, help="keep what is not turned, or as drawn by the network."
)
@click.option("--level", "levels", type=float, multiple=True, default=(-2, -1, 0, 1, 2), help="Where the dial stands.")
def fader_show(weights: str, **given: Any) -> None:
    """Say what a fader network turns and holds, and draw faces at every level."""
    from likewise.cli.fader import show_fader

    for line in show_fader(weights, **given):
        click.echo(line)
