"""embed: embeddings and perceptual distances that the matching uses besides the latents."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from likewise.audit.context import StageContext
from likewise.audit.folder.artifacts import DESCRIBED, DIFFICULTY, EMBEDDINGS, IMAGES
from likewise.audit.folder.cached_work import cached
from likewise.audit.folder.store import Folder
from likewise.audit.plan.design_sections import DesignRecognizer
from likewise.audit.plan.model import Plan
from likewise.audit.stage import ComponentUse, Stage, named_weights
from likewise.errors import TableError
from likewise.rating.rate import Embedding, embeddings_as_vectors
from likewise.rating.reference_difficulty import Difference, couples, difficulties
from likewise.runtime.registry import create
from likewise.tables import Trials, Vectors
from likewise.tables.vectors import write_stream


class Embed(Stage):
    """Embed all images with the recognizers of the design."""

    name, artifact, section = "embed", EMBEDDINGS, "secondary_distance"
    help = "Embed the images with the recognizers that the matching uses."

    def enabled(self, plan: Plan) -> bool:
        """Whether the matching uses embeddings or perceptual distances."""
        return plan.embeds

    def needs(self, plan: Plan) -> tuple[str, ...]:
        """Return the images."""
        return (IMAGES if plan.describe is None else DESCRIBED,)

    def options(self, plan: Plan) -> dict[str, Any]:
        """Return the recognizers and the perceptual distance."""
        hard = plan.reference_difficulty
        return {
            "recognizers": [asdict(entry) for entry in plan.design_recognizers],
            "perceptual": asdict(hard) if hard and hard.perceptual else {},
        }

    def components(self, folder: Folder, plan: Plan) -> list[ComponentUse]:
        """Return the recognizers and the perceptual distance."""
        found = [ComponentUse("recognizer", entry.name, entry.options) for entry in plan.design_recognizers]
        hard = plan.reference_difficulty
        return found + ([ComponentUse("perceptual", hard.perceptual, hard.options)] if hard and hard.perceptual else [])

    def weights(self, plan: Plan) -> tuple[str, ...]:
        """Return the recognizers' weights."""
        return named_weights(*(entry.options for entry in plan.design_recognizers))

    def run(self, context: StageContext) -> None:
        """Write one folder of vectors for each recognizer, and the perceptual distances within identities."""
        with context.replaced(EMBEDDINGS) as fresh:
            for entry in context.plan.design_recognizers:
                vectors = _embedded(context, entry)
                (fresh / entry.folder).mkdir()
                write_stream(fresh / entry.folder, vectors.keys, [vectors.values], source=vectors.source)
            if context.plan.reference_difficulty and context.plan.reference_difficulty.perceptual:
                _differences(context).write(fresh / DIFFICULTY)


def _embedded(context: StageContext, entry: DesignRecognizer) -> Vectors:
    images = context.images()
    recognizer = context.note_license(create("recognizer", entry.name, entry.options))
    album, uses = context.album(images), [ComponentUse("recognizer", entry.name, entry.options)]
    work = cached(context, Embedding(entry.name, entry.options, album), album, uses)
    parts = np.concatenate([result["e"] for result in context.map_chunks(entry.folder, work, images.keys)])
    vectors = embeddings_as_vectors(images.keys, parts, recognizer)
    context.summary[recognizer.name] = f"{len(vectors)} of {len(images)} faces detected"
    if len(vectors) < len(images):
        lost = images.frame.loc[~images.frame["image"].isin(vectors.keys), context.plan.contrast.column]
        counts = lost.value_counts().to_dict()
        context.notes.append(f"{recognizer.name} detects no face in {len(lost)} images: {counts}")
    return vectors


def _differences(context: StageContext) -> Trials:
    given, images = context.plan.reference_difficulty, context.images()
    assert given is not None
    perceptual = context.note_license(create("perceptual", given.perceptual, given.options))
    pairs = couples(images)
    if not pairs:
        raise TableError("No identity has two images, which references need", fix="Check the identity column.")
    work = Difference(given.perceptual, given.options, context.album(images), pairs)
    parts = [result["d"] for result in context.map_chunks("difficulty", work, list(pairs))]
    context.summary[perceptual.name] = f"{len(pairs)} pairs of images"
    return difficulties(pairs, np.concatenate(parts).tolist())
