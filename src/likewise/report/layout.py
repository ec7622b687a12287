"""The layout of the report: its sections in order, and the template that they fill."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from likewise.report.names import quantity


@dataclass(frozen=True)
class Part:
    """A section of the page: its anchor, its title, its template, and the context keys that make it appear."""

    key: str
    title: str
    template: str
    needs: tuple[str, ...] = ()
    unfolded: bool = True
    content: Any = None


PARTS = (
    Part("summary", "Executive summary", "summary"),
    Part("findings", "Findings in words", "findings"),
    Part("data", "Systems and data", "data", ("tested", "population", "datasheet")),
    Part("designs", "Comparison of designs", "designs", ("comparison", "panels")),
    Part("error-rates", "Error rates", "errors", ("errors",)),
    Part("gaps", "Gaps", "gaps", ("gaps",)),
    Part("labels", "Labels by design", "labels", ("labels",)),
    Part("groups", "Groups and intersections", "groups", ("groups",)),
    Part("preferences", "Choices between two images", "preferences", ("preferences",)),
    Part("matching", "Matching", "matching"),
    Part("fidelity", "Fidelity of the reconstructions", "fidelity", ("fidelity",)),
    Part("balance", "Covariate balance", "balance", ("balance",)),
    Part("specifications", "Specification curve", "specifications", ("curves",)),
    Part("edits", "Counterfactual edits", "edits", ("slopes", "placebos", "validity_counts")),
    Part("families", "", "family", ("families",)),
    Part("gallery", "Gallery", "gallery", ("walls", "undecodable")),
    Part("truth", "Ground truth (simulation)", "truth", ("truth",)),
    Part("limits", "Limitations and notes", "limits"),
    Part("annex", "Annex: standards and model card", "annex", ("lines",)),
    Part("provenance", "Provenance", "provenance", ("made",)),
)
"""All sections in order. A new section is an entry here, a template, and its rows in ``sections/``."""


def render(context: Mapping[str, Any]) -> str:
    """Fill the page's template."""
    environment = Environment(loader=PackageLoader("likewise.report"), autoescape=True, undefined=StrictUndefined)
    environment.filters["quantity"] = quantity
    style, script = (_asset(name) for name in ("report.css", "report.js"))
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return environment.get_template("report.html.j2").render(
        {**context, "parts": _parts(context)}, style=style, script=script, script_hash=f"sha256-{digest}"
    )


def _asset(name: str) -> Markup:
    text = (files("likewise.report") / "templates" / name).read_text(encoding="utf-8")
    return Markup(text)  # noqa: S704  # our own file


def _parts(context: Mapping[str, Any]) -> list[Part]:
    parts: list[Part] = []
    for part in PARTS:
        if part.key == "families":
            parts += [Part(f["key"], f["title"], part.template, content=f) for f in context["families"]]
        elif not part.needs or any(context[name] for name in part.needs):
            parts.append(part)
    return parts
