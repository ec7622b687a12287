"""The commands of ``likewise editor``."""

from __future__ import annotations

from pathlib import Path

import click

from likewise.cli.help import Group


@click.group(cls=Group)
def editor() -> None:
    """Distill a feed-forward editor from the embedded generator, or show one."""


@editor.command(name="draw")
@click.argument("out", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--blocks", default=100, show_default=True, help="Blocks of 20 faces in all; may be raised later.")
@click.option("--size", default=128, show_default=True, help="Pixels on a side.")
@click.option("--seed", default=0, show_default=True)
def editor_draw(out: Path, blocks: int, size: int, seed: int) -> None:
    """Draw faces and the same faces moved along the directions of the edited attributes; a stopped command resumes."""
    from likewise.counterfactuals.editor_pairs import draw_pairs

    draw_pairs(out, blocks=blocks, size=size, seed=seed, log=click.echo)


@editor.command(name="train")
@click.argument("out", metavar="FILE", type=click.Path(path_type=Path))
@click.option("--pairs", required=True, type=click.Path(path_type=Path), help="Folder of drawn pairs.")
@click.option("--held", type=click.Path(path_type=Path), help="Pairs of another seed for validation.")
@click.option("--start", type=click.Path(path_type=Path, exists=True), help="Weights to continue from; default: none.")
@click.option("--seconds", default=3600.0, show_default=True, help="Training time in CPU seconds.")
@click.option("--batch", default=8, show_default=True, help="Batch size, in pairs.")
@click.option("--rate", default=1e-3, show_default=True, help="Learning rate; falls to 0 along half a cosine.")
@click.option("--tone", default=0.3, show_default=True, help="Share of pairs of skin tone; the others are of gender.")
@click.option("--bfloat16", is_flag=True, help="Convolve in half precision: quicker where the processor has it.")
@click.option("--seed", default=0, show_default=True)
def editor_train(
    out: Path, pairs: Path, held: Path | None, start: Path | None, seconds: float, batch: int, rate: float, tone: float,
    bfloat16: bool, seed: int,
) -> None:  # fmt: skip
    """Train on drawn pairs and write safetensors; a stopped command resumes."""
    from likewise.counterfactuals.editor_pairs import shape_and_held
    from likewise.models.distilled.training import TrainSpec, train_editor

    shape, stays = shape_and_held()
    shares = (1 - tone, tone)
    spec = TrainSpec(seconds=seconds, batch=batch, lr=rate, shares=shares, bfloat16=bfloat16, seed=seed)
    train_editor(pairs, held, out, shape, spec, about={"held": stays}, start=start, log=click.echo)
    click.echo(f"wrote {out}")


@editor.command(name="show")
@click.argument("weights", metavar="[FILE]", default="")
@click.option("--images", type=click.Path(path_type=Path), help="Folder of aligned faces to edit; the first eight.")
@click.option("--out", type=click.Path(path_type=Path), help="PNG to write.")
@click.option("--attribute", default="", help="Attribute to edit; default: the first.")
@click.option(
    "--strength",
    "strengths",
    type=float,
    multiple=True,
    default=(-1, -0.5, 0, 0.5, 1),
    help="Edit strength; repeatable.",
)
def editor_show(
    weights: str, images: Path | None, out: Path | None, attribute: str, strengths: tuple[float, ...]
) -> None:
    """Print the model card of a distilled editor, and draw faces at every strength."""
    from likewise.models.distilled.commands import show_editor

    for line in show_editor(weights, images=images, out=out, attribute=attribute, strengths=strengths):
        click.echo(line)
