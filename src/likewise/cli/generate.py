"""likewise generate: the images of a text-to-image model, and whom they show."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import click

from likewise.cli.options.shared import cost_options
from likewise.errors import SpecError


@click.command()
@click.argument("prompts", type=click.Path(path_type=Path, exists=True, dir_okay=False), metavar="PROMPTS")
@click.option("--out", type=click.Path(path_type=Path), required=True, help="Folder for the images and tables.")
@click.option("--endpoint", default="", help="Address of an OpenAI-compatible images endpoint, e.g. https://host/v1.")
@click.option("--model", default="", help="Name of the model at the endpoint.")
@click.option("--size", default="1024x1024", help="Image size to request.")
@click.option("--key-env", default="", help="Environment variable that holds the key.")
@click.option("--price", type=float, default=0.0, help="USD per image.")
@click.option("--function", default="", help="A Python function module:name of (prompt, seed), instead of an endpoint.")
@click.option("--seeds", type=int, help="Images per prompt; overrides the file.")
@click.option("--attribute", default="predicted_gender", help="Column whose share is estimated.")
@click.option("--share-of", default="female", help="Level of the attribute.")
@click.option(
    "--attributes",
    type=click.Path(path_type=Path, exists=True),
    help="Table of attributes by image; none are predicted.",
)
@click.option(
    "--benchmark", type=click.Path(path_type=Path, exists=True), help="Table of benchmark shares: term, share."
)
@click.option("--detector", default="retinaface", help="Face detector that counts people.")
@click.option("--quiet", is_flag=True, help="Print no progress.")
@click.option("--json", "as_json", is_flag=True, help="Print the estimates as JSON on stdout.")
@cost_options
def generate(prompts: Path, out: Path, **given: Any) -> None:
    """Generate images for prompts and estimate whom they show, against benchmark shares."""
    from likewise.generation.audit import Generated, GenerateSpec, audit_generated
    from likewise.generation.prompts import read_prompts
    from likewise.runtime.progress import reporter
    from likewise.services.budget import Budget

    def agree(cost: str) -> bool:
        return bool(given["yes"]) or (sys.stdin.isatty() and click.confirm(f"{cost} Continue?", err=True))

    spec = GenerateSpec(
        attribute=given["attribute"], share_of=given["share_of"], attributes=given["attributes"],
        benchmark=given["benchmark"], detector=given["detector"],
    )  # fmt: skip
    found: Generated = audit_generated(
        read_prompts(prompts, seeds=given["seeds"]), _source(given), out, spec,
        budget=Budget(most=given["max_cost"], agree=agree), reporter=reporter(quiet=given["quiet"]),
    )  # fmt: skip
    if given["as_json"]:
        click.echo(json.dumps(found.plain(), indent=1, default=str))
        return
    click.echo(str(found.estimates))
    for note in found.notes:
        click.echo(f"note: {note}")
    click.echo(f"estimates: {out / 'estimates.csv'}")


def _source(given: dict[str, Any]) -> Any:
    from likewise.generation.sources import EndpointSource, FunctionSource

    if bool(given["endpoint"]) == bool(given["function"]):
        raise SpecError("Name one source of images", fix="Use --endpoint URL or --function module:name.")
    if given["function"]:
        return FunctionSource(function=given["function"], price=given["price"])
    names = ("endpoint", "model", "size", "key_env", "price")
    return EndpointSource(**{name: given[name] for name in names})
