"""The sections of a written plan that define the feature space and the editor, by preset."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tomlkit
from tomlkit.items import AoT, Table

from likewise.audit.plan.photo_editor import AUTO, GENERATOR, direction_options, photo_editor
from likewise.audit.plan.request import COLUMNS, AuditRequest, kind_and_name
from likewise.audit.plan.toml import commented, listed, section
from likewise.data.describe_spec import BALANCED
from likewise.errors import LikewiseError
from likewise.runtime.registry import components

ENCODED = (GENERATOR,)
"""The generators with an encoder of their own."""
_QUICK, _THOROUGH = 0.3, 3.0  # of the number of steps of a projection
_FRAMED = ("mobilestylegan", "stylegan2")  # known without loading torch


def space_sections(request: AuditRequest, names: list[str]) -> Mapping[str, Table]:
    """Return the sections of the feature space: none with vectors, [encode], or [align] and [project]."""
    if request.vectors:
        return {}
    encoder = request.encoder or ("" if request.images else COLUMNS)
    if encoder == COLUMNS:
        return {"encode": section(comment="distances are between these columns", columns=names)}
    if encoder:
        kind, name = kind_and_name(encoder, ("perceptual", "recognizer", "classifier"))
        size = {"size": commented(64, "pixels that are compared")} if kind == "perceptual" else {}
        return {"encode": section(comment="distances are between these features", **{kind: name}, **size)}
    name = request.generator or GENERATOR
    align = {"align": section(comment="to the generator's frame")} if _has("frame", name) else {}
    return {**align, "project": _projection(name, "refine" if _edits_latents(request) else request.preset)}


def _edits_latents(request: AuditRequest) -> bool:
    """Whether a first look would edit the latents that it projects.

    What the encoder alone finds is often another person, so that no edit of it is valid.
    """
    editor = request.editor
    if editor == AUTO:
        editor = photo_editor(request.protected, generator=request.generator)["editor"]
    return editor == "direction" and request.preset == "quick" and (request.generator or GENERATOR) in ENCODED


def balanced_columns(generator: str, column: str, *, of_trials: bool) -> tuple[str, ...]:
    """Return the described columns that are balanced beside the latents of photographs.

    Only for trials, the embedded generator and perceived gender: what the columns owe to the attribute itself has to be
    removed, which needs its shipped direction, and their gain was measured there (docs/matching.md).
    """
    from likewise.counterfactuals.validation.default_validators import kind_of  # noqa: PLC0415  # --help stays quick

    return BALANCED if of_trials and generator == GENERATOR and kind_of(column) == "gender" else ()


def _projection(name: str, preset: str) -> Table:
    """Return [project]; what the method has of its own is a comment, because other methods refuse it."""
    gradients = name in _FRAMED or _has("draw", name)
    toy = "the built-in toy: it draws the images of the simulation only"
    table = section(
        generator=commented(name, toy if name == "world" else "`likewise components` lists others"),
        perceptual="lpips-alex" if gradients else "pixels",
    )
    for key, value in _method(name, preset, gradients=gradients).items():
        table.add(key, value)
    weight = 0.1 if gradients else 0.0001
    if not (preset == "quick" and name in ENCODED):
        table.add(tomlkit.comment(f"lambda = {weight:g}   # weight of the rows' deviation from their mean"))
    return table


def _method(name: str, preset: str, *, gradients: bool) -> dict[str, Any]:
    if not gradients or preset == "standard":
        return {}
    if preset == "refine":
        return {"method": commented("refine", "edits of the encoder's latents often show another person")}
    if preset == "thorough":
        return {"effort": commented(_THOROUGH, "times the usual number of steps")}
    if name in ENCODED:
        return {"method": commented("encoder", "seconds, but coarse: for a first look, not for a conclusion")}
    return {"effort": commented(_QUICK, "times the usual number of steps: for a first look")}


def variant_sections(request: AuditRequest) -> dict[str, AoT]:
    """Return alternative designs for the specification curve, where the preset has them."""
    if request.preset != "thorough":
        return {}
    designs = [
        section(comment="alternative designs: does the conclusion depend on the design?", name="optimal",
                method="optimal"),
        section(name="caliper 1 sd", caliper=_inline(distance="1sd")),
        section(name="the largest balanced sample", method="cardinality", keep=1.0),
    ]  # fmt: skip
    return {"variant": listed(designs)}


def editor_section(request: AuditRequest) -> Table:
    """Return [counterfactual]; an editor in the latent space takes the latents of the audit, projected once."""
    projects = bool(request.images) and not (request.vectors or request.encoder)
    about: dict[str, Any] = {"generator": request.generator, "projects": projects}
    given: dict[str, Any] = {"editor": request.editor}
    if request.editor == AUTO:
        given = photo_editor(request.protected, **about)
    elif request.editor == "direction":
        given["options"] = direction_options(**about)
    table = section(comment="the same images with only the attribute edited", editor=given.pop("editor"))
    options = given.pop("options", {})
    for key, value in given.items():
        table.add(key, list(value) if isinstance(value, tuple) else value)
    if options:
        why = (
            "the latents of the audit: nothing is projected a second time" if projects else "each picture is projected"
        )
        table.add("options", commented(_inline(**options), why))
    return table


def _inline(**values: Any) -> Any:
    table = tomlkit.inline_table()
    table.update(values)
    return table


def _has(what: str, name: str) -> bool:
    """Whether a generator says in which frame it draws, or has gradients (``draw``); by its class alone."""
    if name in _FRAMED:
        return True
    try:
        return bool(getattr(components("generator")[name](), what, ""))
    except (KeyError, LikewiseError, ImportError):
        return False
