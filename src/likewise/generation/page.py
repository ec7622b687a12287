"""Hands the estimates and some pictures of a text-to-image audit over to the report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from likewise.generation.spec import GenerateSpec
from likewise.report.generated.page import GeneratedPage, write_generated
from likewise.report.sections.sample.gallery import Shot, thumbnail
from likewise.runtime.pixels import decode, inside
from likewise.tables import Estimates, Images

_EACH, _MOST = 6, 20  # images of a term, and terms, that are shown


def write_page(
    path: Path, images: Images, estimates: Estimates, spec: GenerateSpec, *, facts: Mapping[str, Any], root: Path,
    benchmark: Mapping[str, float] | None, notes: Sequence[str],
) -> Path:  # fmt: skip
    """Write the report."""
    shown = spec.pictures and bool(facts["images"])
    page = GeneratedPage(
        estimates=estimates, attribute=spec.attribute, share_of=spec.share_of, facts=facts, benchmark=benchmark,
        notes=notes, gallery=_gallery(images, spec, root) if shown else {}, title=spec.title,
        licenses=sorted(facts["licenses"].items()),
    )  # fmt: skip
    return write_generated(path, page)


def _gallery(images: Images, spec: GenerateSpec, root: Path) -> dict[str, list[Shot]]:
    frame = images.frame
    gallery: dict[str, list[Shot]] = {}
    for term, part in list(frame.groupby("term", sort=True))[:_MOST]:
        rows = part.sort_values("seed", kind="stable") if "seed" in part.columns else part
        gallery[str(term)] = [_shot(row, spec, root) for _, row in rows.head(_EACH).iterrows()]
    return gallery


def _shot(row: pd.Series, spec: GenerateSpec, root: Path) -> Shot:
    said = row[spec.attribute]
    people = f"{int(row['people'])} faces" if "people" in row.index and row["people"] != 1 else "no attribute"
    words = [f"seed {row['seed']}"] if "seed" in row.index and pd.notna(row["seed"]) else []
    caption = ", ".join([*words, people if pd.isna(said) else str(said)])
    return Shot(thumbnail(decode(inside(root, str(row["image"])))), caption)
