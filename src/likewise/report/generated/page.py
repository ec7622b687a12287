"""The page of a text-to-image audit. It computes no statistic."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from likewise import __version__
from likewise.report.figures.style import NARROW, WIDE, to_svg
from likewise.report.generated.figure import share_plot
from likewise.report.generated.rows import (
    combination_table,
    noise_rows,
    pair_rows,
    people_rows,
    quality_rows,
    refusal_rows,
    share_rows,
    stated_level,
)
from likewise.report.generated.sentences import answer, checks
from likewise.report.names import plain
from likewise.report.sections.sample.gallery import Shot
from likewise.tables import Estimates
from likewise.tables.io import write_text


@dataclass(frozen=True, kw_only=True)
class GeneratedPage:
    """What the page is made from."""

    estimates: Estimates
    attribute: str
    share_of: str
    facts: Mapping[str, Any]
    """Source, date, numbers of images, prompts, terms and seeds: see ``generate.json``."""
    benchmark: Mapping[str, float] | None = None
    notes: Sequence[str] = ()
    gallery: Mapping[str, Sequence[Shot]] = field(default_factory=dict)
    """Some images of each term."""
    licenses: Sequence[tuple[str, str]] = ()
    title: str = ""


def write_generated(path: Path, page: GeneratedPage) -> Path:
    """Write the page."""
    environment = Environment(loader=PackageLoader("likewise.report"), autoescape=True, undefined=StrictUndefined)
    script, style = (
        (files("likewise.report") / "templates" / name).read_text("utf-8") for name in ("report.js", "report.css")
    )
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    text = environment.get_template("generated.html.j2").render(
        _context(page), version=__version__, script_hash=f"sha256-{digest}",
        style=Markup(style), script=Markup(script),  # noqa: S704  # our own files
    )  # fmt: skip
    write_text(path, text)
    return path


def _context(page: GeneratedPage) -> dict[str, Any]:
    estimates, quantity = page.estimates, f"{page.attribute}: {page.share_of}"
    shares = share_rows(estimates, quantity, page.benchmark)
    people, refused = people_rows(estimates), refusal_rows(estimates)
    found: dict[str, Any] = {
        "title": page.title or f"Text-to-image audit of {page.facts['source']}", "attribute": plain(page.attribute),
        "share_of": page.share_of, "facts": page.facts, "level": stated_level(estimates), "shares": shares,
        "has_benchmark": page.benchmark is not None, "has_corrected": any(row["corrected"] != "–" for row in shares),
        "answer": answer(estimates, quantity, shares, page.share_of),
        "checks": checks(estimates, quantity, page.attribute, page.facts, people, refused),
        "combinations": combination_table(estimates), "people": people, "refused": refused,
        "pairs": pair_rows(estimates), "quality": quality_rows(estimates), "noise": noise_rows(estimates, quantity),
        "gallery": page.gallery, "notes": page.notes, "licenses": page.licenses,
        "figure": _drawn(page, quantity, "; ".join(f"{row['term']}: {row['share']}" for row in shares)),
    }  # fmt: skip
    return found | {"parts": _parts(found)}


def _parts(found: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return anchor and title of the sections that the page has."""
    every = [
        ("summary", "Summary", True), ("shares", "Shares by term", True),
        ("combinations", "Intersections", found["combinations"]), ("people", "People in the image", found["people"]),
        ("refusals", "Refused requests", found["refused"]), ("pairs", "Paired prompts", found["pairs"]),
        ("quality", "Quality by group", found["quality"]), ("noise", "Label noise", found["noise"]),
        ("gallery", "Gallery", found["gallery"]), ("limits", "Limitations and notes", True),
        ("provenance", "Provenance", True),
    ]  # fmt: skip
    return [(key, title) for key, title, there in every if there]


def _drawn(page: GeneratedPage, quantity: str, words: str) -> Markup:
    plot = partial(share_plot, page.estimates, quantity, page.benchmark)
    drawn = ((name, to_svg(plot(width=width), words)) for name, width in (("wide", WIDE), ("narrow", NARROW)))
    svg = "".join(f'<div class="{name}">{each}</div>' for name, each in drawn)
    return Markup(svg)  # noqa: S704  # our own figure: matplotlib escapes its texts, to_svg the description
