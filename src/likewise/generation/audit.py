"""From prompts to estimates: draw, count people, predict attributes, estimate shares."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from likewise.analysis.generated import generated_shares, paired_prompts, people_counts
from likewise.data.describe import describe
from likewise.data.describe_spec import DescribeSpec
from likewise.errors import LikewiseError, TableError, nearest, some
from likewise.generation.draw import IMAGES, TABLE, draw_images
from likewise.generation.people import count_people, of_single_people
from likewise.generation.prompts import PromptFile
from likewise.generation.sources import ImageSource
from likewise.models.detectors.registry import detector
from likewise.runtime.progress import Quiet, Reporter
from likewise.services.budget import Budget
from likewise.tables import Estimates, Images
from likewise.tables.io import read_frame, write_frame


@dataclass(frozen=True, kw_only=True)
class GenerateSpec:
    """What is estimated about generated images."""

    attribute: str = "predicted_gender"
    share_of: str = "female"
    attributes: Path | None = None
    """A table of attributes by image (people's responses, or another network's): nothing is predicted then."""
    benchmark: Path | None = None
    """A table with the columns ``term`` and ``share``."""
    detector: str = "retinaface"


@dataclass(frozen=True)
class Generated:
    """The images with their attributes, the estimates, and notes."""

    images: Images
    estimates: Estimates
    notes: list[str] = field(default_factory=list)

    def plain(self) -> dict[str, Any]:
        """Return everything for JSON."""
        return {"estimates": self.estimates.frame.to_dict("records"), "notes": self.notes, "images": len(self.images)}


def audit_generated(
    prompts: PromptFile,
    source: ImageSource,
    folder: Path,
    spec: GenerateSpec | None = None,
    *,
    budget: Budget | None = None,
    reporter: Reporter | None = None,
) -> Generated:
    """Draw the images of the prompts and estimate whom they show.

    Writes ``images/``, ``images.csv``, ``refusals.csv``, ``estimates.parquet`` and ``estimates.csv`` in the folder. An
    interrupted run resumes: images that are there are not requested again.
    """
    spec, shown = spec or GenerateSpec(), reporter or Quiet()
    benchmark = _benchmark(spec.benchmark, prompts)  # a wrong file fails before the first request
    with shown.task("generate", len(prompts.jobs)) as progress:
        drawn = draw_images(prompts, source, folder, budget=budget, progress=progress)
    if not len(drawn.images):
        raise TableError(
            "No image was drawn: every request was refused", fix="Read the refusals in the log, and change the prompts."
        )
    images, counts = _described(drawn.images, folder, spec, shown)
    images.write(folder / TABLE)
    notes = [_refusals(drawn.refused)] if len(drawn.refused) else []
    parts = [_estimated(images, spec, benchmark), *counts]
    if "pair" in images.attributes:
        parts += _paired(images, spec, notes)
    estimates = Estimates.together(parts)
    estimates.write(folder / "estimates.parquet")
    write_frame(folder / "estimates.csv", estimates.frame, {})
    return Generated(images, estimates, notes)


def _described(images: Images, folder: Path, spec: GenerateSpec, shown: Reporter) -> tuple[Images, list[Estimates]]:
    """Return the images with the attribute, and how many people they show where a detector counted them."""
    if spec.attributes is not None:
        frame, _ = read_frame(spec.attributes, text=("image",))
        if missing := [name for name in ("image", spec.attribute) if name not in frame.columns]:
            columns = some(frame.columns, 8)
            raise TableError(
                f"Column {missing[0]!r} not found in {spec.attributes.name} (columns: {columns})",
                fix=nearest(missing[0], frame.columns),
            )
        known = frame.drop_duplicates("image").set_index("image")[spec.attribute]
        return images.with_attribute(spec.attribute, known[known.index.isin(images.keys)]), []
    find = detector(spec.detector).find
    with shown.task("people", len(images)) as progress:
        images = count_people(images, folder / IMAGES, lambda picture: len(find(picture)), progress=progress)
    with shown.task("describe", len(images)) as progress:
        wanted = DescribeSpec(columns=(spec.attribute,))
        images = describe(images, folder / IMAGES, spec=wanted, progress=progress)
    return of_single_people(images, [spec.attribute]), [people_counts(images)]


def _estimated(images: Images, spec: GenerateSpec, benchmark: dict[str, float] | None) -> Estimates:
    return generated_shares(images, attribute=spec.attribute, share_of=spec.share_of, benchmark=benchmark)


def _paired(images: Images, spec: GenerateSpec, notes: list[str]) -> list[Estimates]:
    hit = images.attribute(spec.attribute)
    value = f"share {spec.share_of}"
    scored = images.with_attribute(value, (hit.astype(str) == spec.share_of).astype(float).where(hit.notna()))
    try:
        return [paired_prompts(scored, value=value)]
    except LikewiseError as error:
        notes.append(f"Paired prompts are not compared: {error}")
        return []


def _benchmark(path: Path | None, prompts: PromptFile) -> dict[str, float] | None:
    if path is None:
        return None
    frame, _ = read_frame(path, text=("term",))
    if not {"term", "share"} <= set(frame.columns):
        raise TableError(
            f"{path.name} needs the columns 'term' and 'share' (columns: {some(frame.columns, 8)})",
            fix="Rename its columns.",
        )
    shares = dict(zip(frame["term"].astype(str), pd.to_numeric(frame["share"], errors="coerce"), strict=True))
    missing = sorted({prompt.about for prompt in prompts.prompt} - set(shares))
    if missing:
        raise TableError(f"{path.name} has no benchmark share for {some(missing)}", fix="Add these rows.")
    return {name: float(share) for name, share in shares.items()}


def _refusals(refused: pd.DataFrame) -> str:
    by = refused["term"].value_counts().to_dict()
    return f"{len(refused)} requests were refused, by term: {by}"
