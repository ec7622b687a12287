"""The options that say what is audited; init and audit share them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

LAYOUTS = ("table", "folders", "celeba", "fairface")  # said here again, so that --help opens no heavy room
_PATH = click.Path(path_type=Path)
_OPTIONS = (
    click.option("--images", type=_PATH, help="Folder of images; without it nothing looks at pictures."),
    click.option("--table", type=_PATH, help="CSV, TSV or Parquet, one row an image; or the folder of CelebA's files."),
    click.option("--layout", type=click.Choice(LAYOUTS), default="table", show_default=True,
                 help="How they are laid out; folders: one a person, as LFW."),
    click.option("--protected", required=True, help="Column with the protected attribute, e.g. perceived_gender."),
    click.option("--focal", required=True, help="Level whose gap is asked for, e.g. female."),
    click.option("--reference", required=True, help="Level it is compared with, e.g. male."),
    click.option("--identity", default="identity", show_default=True, help="Column that says whose image it is."),
    click.option("--image-column", default="image", show_default=True, help="Column with the file name or key."),
    click.option("--rename", multiple=True, metavar="OLD=NEW", help="Another name for a column; repeatable."),
    click.option("--skip-missing", is_flag=True, help="Leave out rows whose image is not there, and count them."),
    click.option("--covariates", default="", help="Comma-separated columns that should be alike; default: all others."),
    click.option("--vectors", type=_PATH, help="Your own vectors (.npz, .npy, table): look-alikes are near in them."),
    click.option("--generator", default="", help="Whose latent space images are projected into [mobilestylegan]."),
    click.option("--encoder", default="", help="Who encodes images instead; 'columns' takes the covariates."),
    click.option("--rater", multiple=True, metavar="[SLOT:]NAME", help="A model under audit; repeatable."),
    click.option("--editor", default="", help="Who turns the attribute for classifiers under audit."),
    click.option("--scores", multiple=True, metavar="[NAME=]FILE", help="A recogniser's scores of pairs: a, b, score."),
    click.option("--embeddings", multiple=True, metavar="[NAME=]FILE", help="A recogniser's embeddings, under audit."),
    click.option("--labels", multiple=True, metavar="[NAME=]FILE", help="A classifier's answers: CSV or JSON lines."),
    click.option("--similarity", is_flag=True, help="Scores are similarities, not distances."),
    click.option("--scale", default=1.0, help="What a similarity or confidence is at most; 100 for per cent."),
    click.option("--people", type=_PATH, help="What people answered: unit, rater, question, value."),
    click.option("--title", default="Audit", show_default=True, help="What the report is called."),
    click.option("--seed", default=0, show_default=True),
    click.option("--force", is_flag=True, help="Overwrite a plan that is there."),
)  # fmt: skip


def plan_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a verb the options that a plan is made from."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command
