"""project: vectors of the images: projected into a latent space, encoded, or the plan's own."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from likewise.audit.context import StageContext
from likewise.audit.folder.artifacts import ALIGNED, DESCRIBED, IMAGES, LATENTS
from likewise.audit.folder.cached_work import cached
from likewise.audit.folder.store import Folder
from likewise.audit.plan.model import Plan
from likewise.audit.raters.independence import warn_shared_family, warn_shared_source
from likewise.audit.raters.planned import rater_options_plain
from likewise.audit.stage import ComponentUse, Stage, named_weights
from likewise.data.keys import known_keys
from likewise.errors import ImageError, PluginError, VectorError, some
from likewise.latents.loss_history import with_losses
from likewise.latents.projection import FAILURES, PROJECTED, Projection, compared_every, not_projected, solver
from likewise.rating.encode import Features, columns_as_vectors
from likewise.rating.rate import Embedding
from likewise.runtime.executor import Work
from likewise.runtime.registry import create
from likewise.tables import Images, Vectors
from likewise.tables.vectors import write_stream

_POOR = 0.5  # share of the image that the reconstructions miss, from which a note is due


class Project(Stage):
    """Give each image a vector."""

    name, artifact, section, version = "project", LATENTS, "project", 11
    help = "Project the images into the generator's latent space, or encode them."

    def enabled(self, plan: Plan) -> bool:
        """Whether the plan has a feature space."""
        return plan.has_space

    def needs(self, plan: Plan) -> tuple[str, ...]:
        """Return the images, aligned where the plan aligns them."""
        return (IMAGES if plan.describe is None else DESCRIBED, ALIGNED)

    def options(self, plan: Plan) -> dict[str, Any]:
        """Return what defines the space; the raters too, where a note about shared families depends on them."""
        if plan.encode is not None:
            return {"encode": asdict(plan.encode), **rater_options_plain(plan)}
        return {"vectors": plan.vectors, **rater_options_plain(plan)} if plan.vectors else asdict(plan.project)

    def components(self, folder: Folder, plan: Plan) -> list[ComponentUse]:
        """Return generator and perceptual distance, or the encoder."""
        if plan.encode is not None:
            return [ComponentUse(plan.encode.kind, plan.encode.name, plan.encode.options)] if plan.encode.kind else []
        if not plan.projects:
            return []
        spec = plan.project
        return [ComponentUse("generator", spec.generator, spec.options), ComponentUse("perceptual", spec.perceptual)]

    def weights(self, plan: Plan) -> tuple[str, ...]:
        """Return the weights of the encoder."""
        return named_weights(plan.encode.options) if plan.encode else ()

    def files(self, plan: Plan) -> tuple[str, ...]:
        """Return the plan's own vectors."""
        return (plan.vectors,) if plan.vectors else ()

    def run(self, context: StageContext) -> None:
        """Write the vectors."""
        if context.plan.projects:
            _project(context)
            return
        vectors = _encode(context) if context.plan.encode else _own_vectors(context)
        with context.replaced(LATENTS) as fresh:
            write_stream(fresh, vectors.keys, [vectors.values], source=vectors.source)
        context.summary = {"images": len(vectors), "source": vectors.source}
        context.notes += warn_shared_source(context.folder, context.plan, vectors.source)


def _own_vectors(context: StageContext) -> Vectors:
    """Read the plan's own vectors under the table's keys; those of other images are ignored."""
    given = Vectors.read(context.file(context.plan.vectors))
    keys = known_keys(pd.Series(given.keys, dtype="str"), context.images(), "vectors", strict=False)
    there = keys.notna().to_numpy()
    if not there.any():
        fix = f"Its keys are {some(given.keys, 3)}; the table has {some(context.images().keys, 3)}."
        raise VectorError(f"{context.plan.vectors} has no vector of an image of the table", fix=fix)
    return given if (keys == given.keys).all() else Vectors(keys[there], given.values[there], source=given.source)


def _encode(context: StageContext) -> Vectors:
    """Return the vectors of all images that the encoder has features for; the others are counted by group."""
    spec, images = context.plan.encode, context.images()
    assert spec is not None
    if spec.columns:
        return columns_as_vectors(images, list(spec.columns))
    encoder = context.note_license(create(spec.kind, spec.name, spec.options))
    if spec.kind == "classifier" and not hasattr(encoder, "features"):
        raise PluginError(f"The classifier {spec.name!r} has no features(pictures)", fix="Choose another encoder.")
    album = context.album(images)
    work: Work = Features(spec.kind, spec.name, spec.options, album, spec.size)
    if spec.kind == "recognizer":
        work = Embedding(spec.name, spec.options, album)
    work = cached(context, work, album, [ComponentUse(spec.kind, spec.name, spec.options)], how=spec.size)
    values = np.concatenate([result["e"] for result in context.map_chunks("encode", work, images.keys)])
    there = np.isfinite(values).all(axis=1)
    if not there.any():
        raise VectorError(f"{encoder.name} has no features for any image", fix="Check the images, or [encode].")
    if not there.all():
        lost = images.frame.loc[~there, context.plan.contrast.column].value_counts().to_dict()
        context.notes.append(
            f"{encoder.name} has no features for {int((~there).sum())} images; they are not matched: {lost}"
        )
    if spec.kind == "recognizer":
        context.notes += warn_shared_family(context.folder, context.plan, encoder.name, encoder.family)
    kept = [image for image, known in zip(images.keys, there, strict=True) if known]
    return Vectors(kept, values[there], source=f"{spec.kind} {encoder.name}")


def _project(context: StageContext) -> None:
    (images, album), spec = context.framed(), context.plan.project
    generator = context.note_license(create("generator", spec.generator, spec.options))
    context.note_license(create("perceptual", spec.perceptual))
    made = solver(spec)[2]
    uses = [ComponentUse("generator", spec.generator, spec.options), ComponentUse("perceptual", spec.perceptual)]
    every = compared_every(spec, len(images.keys))
    how = [asdict(spec), made.steps, *([every] if every > 1 else [])]
    work = cached(context, Projection(spec, album, every), album, uses, how=how)
    iterative = hasattr(generator, "draw") and spec.method != "encoder"
    few = made.batch if iterative else 0  # iterations take long: a killed run loses only what is in progress
    done = [
        (result["state"], result["distance"], result["baseline"])
        for result in context.map_chunks("project", work, images.keys, chunk=few, failures=not_projected)
    ]
    state, left, baseline = (np.concatenate(part) for part in zip(*done, strict=True))
    shown = state == PROJECTED
    context.notes += _failures(images, state, context.plan.contrast.column)
    if not shown.any():
        raise ImageError(f"No image could be projected: {'; '.join(context.notes)}", fix="Check the images.")
    kept = [image for image, there in zip(images.keys, shown, strict=True) if there]
    source = ", ".join(word for word in (generator.name, "W+", spec.words, made.words) if word)
    for family in made.families:
        context.notes += warn_shared_family(context.folder, context.plan, "the projection", family)
    with context.replaced(LATENTS) as fresh:  # the finished chunks are read again, one at a time
        results = context.reread_chunks("project", work, images.keys, chunk=few)
        write_stream(fresh, kept, with_losses(results, fresh, len(kept), made.steps), source=source)
    missed = float(np.nanmedian(left[shown] / np.maximum(baseline[shown], 1e-12)))  # an encoder compares some of many
    context.summary = {"images": len(kept), "source": source, "median share not reconstructed": round(missed, 4)}
    context.notes += _poor(generator.name, missed)


def _poor(generator: str, missed: float) -> list[str]:
    """Warn where the generator hardly comes nearer to the images than its mean image does."""
    if missed <= _POOR:
        return []
    return [
        f"The generator {generator} does not reconstruct these images: {missed:.0%} of their difference from its mean "
        "image is missing. Matching on such latents is unreliable."
    ]


def _failures(images: Images, state: npt.NDArray[np.int8], column: str) -> list[str]:
    """Count images that are not projected, by group and reason."""
    notes = []
    for failure, why in FAILURES.items():
        lost = images.frame.loc[state == failure, column].value_counts().to_dict()
        if lost:
            named = some(images.frame.loc[state == failure, "image"])
            notes.append(f"{sum(lost.values())} images are not projected ({why}): {lost}: {named}")
    return notes
