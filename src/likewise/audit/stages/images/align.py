"""align: transform the faces into the frame that the generator draws."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from likewise.audit.context import StageContext
from likewise.audit.folder.artifacts import ALIGNED, DESCRIBED, IMAGES
from likewise.audit.folder.cached_work import cached
from likewise.audit.folder.store import Folder
from likewise.audit.plan.model import Plan
from likewise.audit.stage import ComponentUse, Stage
from likewise.data.align import LOST, STATES, Alignment, settled, tally
from likewise.data.keys import file_of
from likewise.errors import TableError
from likewise.runtime.registry import create


class Align(Stage):
    """Align every face."""

    name, artifact, section = "align", ALIGNED, "align"
    help = "Align the faces to the generator's frame."

    def enabled(self, plan: Plan) -> bool:
        """Whether the plan has the section."""
        return plan.align is not None

    def needs(self, plan: Plan) -> tuple[str, ...]:
        """Return the images."""
        return (IMAGES if plan.describe is None else DESCRIBED,)

    def options(self, plan: Plan) -> dict[str, Any]:
        """Return the section and the generator."""
        return (asdict(plan.align) if plan.align else {}) | {"generator": plan.project.generator}

    def components(self, folder: Folder, plan: Plan) -> list[ComponentUse]:
        """Return the generator and the detector."""
        detector = [ComponentUse("detector", plan.align.detector)] if plan.align else []
        return [ComponentUse("generator", plan.project.generator, plan.project.options), *detector]

    def run(self, context: StageContext) -> None:
        """Write the aligned pictures; images without a usable face are counted by group."""
        images, plan = context.images(), context.plan
        assert plan.align is not None  # enabled only with the section
        generator = context.note_license(create("generator", plan.project.generator, plan.project.options))
        spec = settled(plan.align, generator)
        context.note_detector(spec.detector)
        pictures = context.folder.work(f"{context.key}-aligned")
        pictures.mkdir(parents=True, exist_ok=True)
        album, uses = context.album(images), [ComponentUse("detector", spec.detector)]
        work = cached(context, Alignment(spec, album, pictures), album, uses, how=asdict(spec), pictures=pictures)
        done = context.map_chunks(
            "align", work, images.keys, failures=lambda result: int(np.isin(result["state"], LOST).sum())
        )
        states = np.concatenate([result["state"] for result in done])
        kept = [image for image, state in zip(images.keys, states, strict=True) if state not in LOST]
        if not kept:
            raise TableError("No face was detected in any image", fix="Check the images, or [align].")
        with context.replaced(ALIGNED) as fresh:
            images.subset(kept).write(fresh / IMAGES)
            (fresh / "images").mkdir()
            for image in kept:
                (pictures / file_of(image)).replace(fresh / "images" / file_of(image))
        groups = dict(zip(images.keys, images.attribute(plan.contrast.column), strict=True))
        context.summary = {"images": len(kept), "frame": spec.frame, "size": spec.size}
        context.notes += _lost(tally(images.keys, states.tolist(), groups))


def _lost(counts: Any) -> list[str]:
    notes = []
    for state in LOST:
        lost = {group: f"{by[STATES[state]]} of {sum(by.values())}" for group, by in counts.items()}
        if count := sum(by[STATES[state]] for by in counts.values()):
            notes.append(f"{count} images are not aligned ({STATES[state]}) and not projected: {lost}")
    return notes
