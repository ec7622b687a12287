"""The commands of ``likewise fader``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from likewise.cli.help import Group


@click.group(cls=Group)
def fader() -> None:
    """Train a network that edits an attribute of faces, or show one."""


@fader.command(name="train")
@click.argument("out", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--images", required=True, type=click.Path(path_type=Path), help="Folder of aligned faces.")
@click.option("--table", required=True, type=click.Path(path_type=Path), help="CSV, TSV or Parquet, one row per image.")
@click.option(
    "--attribute",
    "attributes",
    required=True,
    multiple=True,
    help="Column, or column=focal,reference; the first is edited, the others are held.",
)
@click.option("--image-column", default="image", show_default=True, help="Column with the file name or key.")
@click.option("--size", default=64, show_default=True, help="Pixels on a side: 32, 64, 128 or 256.")
@click.option("--width", default=32, show_default=True, help="Channels of the first layer.")
@click.option("--code", default=0, show_default=True, help="Channels of the code; 0: as many as the last layer.")
@click.option("--steps", default=20_000, show_default=True, help="Batches in all; may be raised later.")
@click.option("--batch", default=32, show_default=True, help="Batch size.")
@click.option("--rate", default=2e-3, show_default=True, help="Learning rate.")
@click.option("--cool", default=0, show_default=True, help="Steps at the end in which the learning rate decays to 0.")
@click.option("--adversary", default=1e-2, show_default=True, help="Weight of the adversarial loss after its warmup.")
@click.option("--rise", default=5_000, show_default=True, help="Steps of linear warmup of that weight.")
@click.option("--turns", default=1, show_default=True, help="Discriminator updates per step.")
@click.option("--pairs", default="", help="Column in which images of one face share a value.")
@click.option(
    "--alike", type=float, help="With --pairs: weight of the distance between codes of one face.  [default: 0.1]"
)
@click.option("--erase", is_flag=True, help="At the end, remove from the code what is linear in the attributes.")
@click.option("--mirror/--no-mirror", default=True, help="Flip half of the faces at random.")
@click.option("--shift", default=0, show_default=True, help="Largest random shift in pixels.")
@click.option("--every", default=500, show_default=True, help="Steps between checkpoints, log lines and samples.")
@click.option("--seed", default=0, show_default=True)
@click.option("--device", default="cpu", show_default=True, help="cpu, cuda or cuda:N.")
@click.option("--quiet", is_flag=True, help="Print no progress.")
def fader_train(out: Path, attributes: tuple[str, ...], quiet: bool, **given: Any) -> None:
    """Train on a folder of faces and a table; a stopped command resumes."""
    from likewise.models.fader.commands import train_fader
    from likewise.runtime.progress import reporter

    for line in train_fader(out, attributes=list(attributes), reporter=reporter(quiet=quiet), **given):
        click.echo(line)


@fader.command(name="show")
@click.argument("weights", metavar="[FILE]", default="")
@click.option("--images", type=click.Path(path_type=Path), help="Folder of faces to edit; the first eight.")
@click.option("--out", type=click.Path(path_type=Path), help="PNG to write.")
@click.option("--attribute", default="", help="Attribute to edit; default: the first.")
@click.option(
    "--detail", default="keep", show_default=True, help="keep unedited detail, or show the network's own drawing."
)
@click.option("--level", "levels", type=float, multiple=True, default=(-2, -1, 0, 1, 2), help="Edit strength.")
def fader_show(weights: str, **given: Any) -> None:
    """Describe what a fader network edits and holds, and draw faces at every edit strength."""
    from likewise.models.fader.commands import show_fader

    for line in show_fader(weights, **given):
        click.echo(line)
