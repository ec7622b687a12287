"""likewise generate: the images of a text-to-image model, and whom they show."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import click

from likewise.cli.options.shared import cost_options
from likewise.errors import SpecError

_file = click.Path(path_type=Path, exists=True, dir_okay=False)
_folder = click.Path(path_type=Path, exists=True, file_okay=False)


@click.command()
@click.argument("prompts", type=_file, metavar="[PROMPTS]", required=False)
@click.option("--out", type=click.Path(path_type=Path), required=True, help="Folder for images, tables and report.")
@click.option("--endpoint", default="", help="Address of an OpenAI-compatible images endpoint, e.g. https://host/v1.")
@click.option("--model", default="", help="Name of the model at the endpoint.")
@click.option("--size", default="1024x1024", help="Image size to request.")
@click.option("--skip", multiple=True, help="Field the endpoint does not know: seed, size or response_format.")
@click.option("--key-env", default="", help="Environment variable that holds the key.")
@click.option("--price", type=float, default=0.0, help="USD per image.")
@click.option("--function", default="", help="A Python function module:name of (prompt, seed), instead of an endpoint.")
@click.option("--folder", type=_folder, help="Images that are there: PROMPT/SEED.png, or the files of --table.")
@click.option("--table", type=_file, help="Table of images that are there, one row each.")
@click.option("--image-column", default="image", help="Column of --table with the file.")
@click.option("--prompt-column", default="prompt", help="Column of --table with the prompt.")
@click.option("--term-column", default="", help="Column of --table with the term; default: term, else the prompt.")
@click.option("--seed-column", default="", help="Column of --table with the seed; default: seed, if there.")
@click.option("--seeds", type=int, help="Images per prompt; overrides the file.")
@click.option("--attribute", default="predicted_gender", help="Column whose share is estimated.")
@click.option("--share-of", default="female", help="Level of the attribute.")
@click.option("--levels", default="", help="Levels that can occur although none does, e.g. woman,man.")
@click.option("--by", default="", help="Columns whose combinations are estimated, e.g. predicted_gender,measured_tone.")
@click.option("--attributes", type=_file, help="Table of attributes by image; none are predicted.")
@click.option("--benchmark", type=_file, help="Table of benchmark shares by term.")
@click.option("--benchmark-term", default="term", help="Column of --benchmark with the term.")
@click.option("--benchmark-share", default="share", help="Column of --benchmark with the share.")
@click.option("--labels", type=_file, help="What people said about a random part: corrects the shares.")
@click.option("--real", type=_folder, help="Photographs for quality by group; needs --real-table.")
@click.option("--real-table", type=_file, help="Table of the photographs: image and the attribute.")
@click.option("--detector", default="retinaface", help="Face detector that counts people.")
@click.option("--pictures/--no-pictures", default=True, help="Show images in the report.")
@click.option("--title", default="", help="Title of the report.")
@click.option("--quiet", is_flag=True, help="Print no progress.")
@click.option("--json", "as_json", is_flag=True, help="Print the estimates as JSON on stdout.")
@cost_options
def generate(prompts: Path | None, out: Path, **given: Any) -> None:
    """Generate images for prompts, or read ready ones, and estimate whom they show."""
    from likewise.generation.audit import audit_generated
    from likewise.generation.prompts import read_prompts
    from likewise.runtime.progress import reporter
    from likewise.services.budget import Budget

    def agree(cost: str) -> bool:
        return bool(given["yes"]) or (sys.stdin.isatty() and click.confirm(f"{cost} Continue?", err=True))

    found = audit_generated(
        None if prompts is None else read_prompts(prompts, seeds=given["seeds"]), _source(given), out, _spec(given),
        budget=Budget(most=given["max_cost"], agree=agree), reporter=reporter(quiet=given["quiet"]),
    )  # fmt: skip
    if given["as_json"]:
        click.echo(json.dumps(found.plain(), indent=1, default=str))
        return
    click.echo(str(found.estimates))
    for note in found.notes:
        click.echo(f"note: {note}")
    click.echo(f"estimates: {out / 'estimates.csv'}")
    click.echo(f"report: {found.report}")


def _spec(given: dict[str, Any]) -> Any:
    from likewise.generation.benchmark import BenchmarkTable
    from likewise.generation.quality import RealImages
    from likewise.generation.spec import GenerateSpec

    if bool(given["real"]) != bool(given["real_table"]):
        raise SpecError(
            "--real and --real-table go together", fix="Give the folder of the photographs and their table."
        )
    shares = {"path": given["benchmark"], "term": given["benchmark_term"], "share": given["benchmark_share"]}
    return GenerateSpec(
        attribute=given["attribute"], share_of=given["share_of"], attributes=given["attributes"],
        levels=_list(given["levels"]), by=_list(given["by"]), labels=given["labels"], detector=given["detector"],
        benchmark=BenchmarkTable(**shares) if given["benchmark"] else None, pictures=given["pictures"],
        real=RealImages(folder=given["real"], table=given["real_table"]) if given["real"] else None,
        title=given["title"],
    )  # fmt: skip


def _list(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _source(given: dict[str, Any]) -> Any:
    from likewise.generation.ready import ReadyImages
    from likewise.generation.sources import EndpointSource, FunctionSource

    ready = given["folder"] is not None or given["table"] is not None
    if bool(given["endpoint"]) + bool(given["function"]) + ready != 1:
        raise SpecError(
            "Name one source of images",
            fix="Use --endpoint URL, --function module:name, or --folder DIR (--table FILE).",
        )
    if ready:
        columns = {name: given[f"{name}_column"] for name in ("image", "prompt", "term", "seed")}
        return ReadyImages(folder=given["folder"], table=given["table"], **columns)
    if given["function"]:
        return FunctionSource(function=given["function"], price=given["price"])
    names = ("endpoint", "model", "size", "key_env", "price", "skip")
    return EndpointSource(**{name: given[name] for name in names})
