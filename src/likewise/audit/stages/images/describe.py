"""describe: predict attributes of the images with networks, and measure others from the pixels."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from likewise.audit.context import StageContext
from likewise.audit.described import FACES, RESPONSE, measured_response
from likewise.audit.folder.artifacts import DESCRIBED, IMAGES
from likewise.audit.folder.store import Folder
from likewise.audit.matching import conditional_direction
from likewise.audit.plan.model import Plan
from likewise.audit.stage import ComponentUse, Stage
from likewise.data.describe_spec import DescribeSpec
from likewise.runtime.registry import create
from likewise.tables.io import write_text


class Describe(Stage):
    """Add predicted and measured columns to the images."""

    name, artifact, section, version = "describe", DESCRIBED, "describe", 2
    help = "Predict age, gender and pose of each face, and measure its skin tone."

    def enabled(self, plan: Plan) -> bool:
        """Whether the plan has the section."""
        return plan.describe is not None

    def needs(self, plan: Plan) -> tuple[str, ...]:
        """Return the images."""
        return (IMAGES,)

    def options(self, plan: Plan) -> dict[str, Any]:
        """Return the section."""
        balanced = {"units": {"described": True, "own": plan.units.own}} if plan.units.described else {}
        return {**asdict(plan.describe), **balanced} if plan.describe else {}

    def components(self, folder: Folder, plan: Plan) -> list[ComponentUse]:
        """Return the describer."""
        return [ComponentUse("describer", "describe")] if plan.describe else []

    def run(self, context: StageContext) -> None:
        """Describe the images chunk by chunk; record the source of each column and what is missing by group."""
        from likewise.data.describe import Describing, describer, put_together  # noqa: PLC0415  # networks load late

        spec, contrast = context.plan.describe, context.plan.contrast
        assert spec is not None  # enabled only with the section
        images = context.source_images()
        describer(spec)  # a missing weight is reported before any work
        parts = list(context.map_chunks("describe", Describing(spec, context.album(images)), images.keys))
        made = put_together(images, parts, spec)
        context.licenses.update(made.licenses)
        empty = made.faces.frame[list(spec.columns)].isna()
        context.summary = {"images": len(images), "made by": dict(made.made_by), "empty": empty.sum().to_dict()}
        side = contrast.side(images).reindex(images.keys)
        if empty.any(axis=None):
            missing = empty.any(axis=1).to_numpy()
            shares = {contrast.focal: missing[side == 1], contrast.reference: missing[side == -1]}
            shown = ", ".join(f"{name} {share.mean():.1%}" for name, share in shares.items() if len(share))
            context.notes.append(f"Some images lack an attribute (no face detected, or too little skin): {shown}.")
        if context.plan.units.described:
            _write_response(context, spec)
        made.faces.write(context.path(DESCRIBED))


def _write_response(context: StageContext, spec: DescribeSpec) -> None:
    """Measure how each column responds to the contrast's own attribute, where its direction is known."""
    direction = conditional_direction(context.plan)
    if not direction:
        return
    generator = create("generator", context.plan.project.generator, context.plan.project.options)
    found = measured_response(generator, **direction, spec=spec, seed=context.plan.seed)
    write_text(context.path(RESPONSE), json.dumps(found, indent=1))
    shown = ", ".join(f"{name} {value:+.3g}" for name, value in found.items())
    context.notes.append(
        f"What the described columns owe to {context.plan.contrast.column!r} itself is removed before they are "
        f"balanced; change for a unit of its score, on {FACES} drawn faces at both ends: {shown}."
    )
