"""The options of init and audit: what is audited."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

PRESETS = ("quick", "standard", "thorough")
LAYOUTS = ("table", "folders", "celeba", "fairface")  # repeated here, so that --help loads no heavy package
_PATH = click.Path(path_type=Path)
_OPTIONS = (
    click.option("--images", type=_PATH, help="Folder of images; without it nothing is computed from pixels."),
    click.option("--table", type=_PATH, help="CSV, TSV or Parquet, one row per image; or CelebA's folder."),
    click.option("--layout", type=click.Choice(LAYOUTS), default="table", show_default=True,
                 help="Layout of table and images; folders: one per person, as LFW."),
    click.option("--protected", default="", help="Column with the protected attribute, e.g. perceived_gender."),
    click.option("--focal", default="", help="Focal level, e.g. female."),
    click.option("--reference", default="", help="Reference level, e.g. male."),
    click.option("--identity", default="identity", show_default=True, help="Column with the identity."),
    click.option("--image-column", default="image", show_default=True, help="Column with the file name or key."),
    click.option("--rename", multiple=True, metavar="OLD=NEW", help="New name of a column; repeatable."),
    click.option("--skip-missing", is_flag=True, help="Exclude rows without a file, and count them."),
    click.option("--covariates", default="", help="Columns to balance, by commas; default: adjust for all others."),
    click.option("--by", multiple=True, metavar="COLUMN",
                 help="Column whose groups are reported one by one; repeatable, for intersections."),
    click.option("--vectors", type=_PATH, help="Your own vectors (.npz, .npy, table) to match on."),
    click.option("--generator", default="", help="Generator to project into; default: mobilestylegan."),
    click.option("--encoder", default="", help="Encoder instead of a generator; 'columns' uses the covariates."),
    click.option("--rater", multiple=True, metavar="[KIND:]NAME",
                 help="Model under audit: a component, KIND:module:Class or KIND:FILE.onnx."),
    click.option("--editor", default="",
                 help="Editor of the attribute, for classifiers under audit; auto: the one for photographs."),
    click.option("--scores", multiple=True, metavar="[NAME=]FILE", help="A recognizer's scores of pairs: a, b, score."),
    click.option("--embeddings", multiple=True, metavar="[NAME=]FILE", help="A recognizer's embeddings."),
    click.option("--labels", multiple=True, metavar="[NAME=]FILE", help="A classifier's labels: CSV or JSON lines."),
    click.option("--similarity", is_flag=True, help="Scores are similarities, not distances."),
    click.option("--scale", default=1.0, help="Largest similarity or confidence; 100 for percent."),
    click.option("--people", type=_PATH, help="Responses of people: unit, rater, question, value."),
    click.option("--preset", type=click.Choice(PRESETS), default="standard", show_default=True,
                 help="Work spent on projection and designs; quick is for a first look."),
    click.option("--license", type=click.Choice(("any", "commercial")), default="any", show_default=True,
                 help="commercial: refuse components with parts for research only."),
    click.option("--title", default="Audit", show_default=True, help="Title of the report."),
    click.option("--seed", default=0, show_default=True),
    click.option("--force", is_flag=True, help="Overwrite an existing plan."),
)  # fmt: skip


def plan_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options that a plan is made from."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command
