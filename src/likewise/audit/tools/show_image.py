"""show --image: one image of an audit, its reconstruction, and edits along directions, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from likewise.audit.context import StageContext
from likewise.audit.folder.artifacts import LATENTS
from likewise.audit.folder.store import PLAN, Folder
from likewise.audit.stages import read_plan
from likewise.audit.tools.directions import FITTED
from likewise.data.image_grid import sheet
from likewise.data.keys import file_of
from likewise.errors import ImageError, LikewiseError, SpecError, StageError, nearest, some
from likewise.latents.directions import Directions, fit, shipped
from likewise.latents.fidelity import check_latents, shrunk
from likewise.latents.loss_history import losses_of
from likewise.latents.traverse import moved
from likewise.report.figures.loss_curve import descent_figure, pixels_of
from likewise.runtime.pixels import save
from likewise.runtime.registry import Array, Generator, Pictures, create, to_pictures
from likewise.tables import Images

AMOUNTS = (-2.0, -1.0, 1.0, 2.0)
SIDE = 256
_BIGGER = 128  # what is drawn smaller is shown enlarged, so that it can be seen


def show_image(
    root: Path, image: str, *, out: Path | None, directions: str, along: Sequence[str], hold: Sequence[str],
    amounts: Sequence[float],
) -> list[str]:  # fmt: skip
    """Write original | reconstruction | edits of one image as PNG, a row a direction."""
    folder = Folder(str(root))
    plan = read_plan(folder.path(PLAN))
    context = StageContext(folder, plan)
    if plan.vectors or not context.path(LATENTS).is_dir():
        raise StageError(f"The images in {root} are not projected", fix=f"Run: likewise project {root}")
    (faces, album), vectors = context.framed(), context.latents()
    if image not in vectors:
        fix = nearest(image, vectors.keys) or f"Known images: {some(vectors.keys)}."
        raise ImageError(f"No latent of image {image!r}", fix=fix)
    generator: Generator = create("generator", plan.project.generator, plan.project.options)
    w = vectors.take([image])
    check_latents(generator, w)
    known = directions_for(context, directions, generator, faces)
    chosen = _along(known, along, plan.contrast.column)
    original = album([image], size=generator.resolution)
    rows = [_row(generator, w, original, known, name, hold, amounts) for name in chosen or [""]]
    words = ["original", "reconstruction", *([f"{amount:+g} sd" for amount in amounts] if chosen else [])]
    path = out or root / "shown" / file_of(image)
    path.parent.mkdir(parents=True, exist_ok=True)
    losses = losses_of(context.path(LATENTS), int(vectors.rows([image])[0]))
    save(path, _above(sheet(rows, words, [name.replace("_", " ") for name in chosen]), losses))
    way = f", {len(losses)} steps of its descent" if len(losses) else ""
    edits = f", edits along {', '.join(chosen)} ({known.labels})" if known and chosen else ", no edits: no directions"
    return [f"wrote {path}: original, reconstruction{way}{edits}"]


def _above(pictures: Pictures, losses: Array) -> Pictures:
    """Put the way of the descent under the pictures, where there was one."""
    if not len(losses):
        return pictures
    figure = pixels_of(descent_figure(losses, pictures.shape[1]))
    wide = max(pictures.shape[1], figure.shape[1])
    return np.concatenate([_widened(part, wide) for part in (pictures, figure)])


def _widened(picture: Pictures, wide: int) -> Pictures:
    return np.pad(picture, ((0, 0), (0, wide - picture.shape[1]), (0, 0)), constant_values=255)


def directions_for(context: StageContext, given: str, generator: Generator, faces: Images) -> Directions | None:
    """Take the directions that are given, the folder's own, the shipped ones, or fit the contrast's on the spot."""
    own = context.folder.root / FITTED
    if given or own.is_file():
        found = Directions.read(given or own)
        if found.gradients.shape[1] != generator.dim:
            dims = found.gradients.shape[1]
            raise SpecError(
                f"The directions have {dims} dimensions, {generator.name} has {generator.dim}",
                fix="Fit directions in the latents of this generator: likewise directions fit.",
            )
        return found
    try:
        found = shipped(context.plan.project.generator)
        return found if found.source.startswith(generator.name) else None
    except SpecError:
        pass
    try:
        return fit(faces, context.latents(), [context.plan.contrast.column], labels="the audit's own table")
    except LikewiseError:  # too few images, more than two levels: the picture is shown without edits
        return None


def _along(known: Directions | None, along: Sequence[str], column: str) -> list[str]:
    """Say which directions are shown: those asked for, or the one that is about the contrast, or the first."""
    if known is None:
        if along:
            raise SpecError("No directions for this generator", fix="Fit them with: likewise directions fit DIR")
        return []
    about = column.split("_", 1)[-1]
    return list(along) or [next((name for name in known.names if name.endswith(about)), known.names[0])]


def _row(
    generator: Generator, w: Array, original: Pictures, known: Directions | None, name: str,
    hold: Sequence[str], amounts: Sequence[float],
) -> Pictures:  # fmt: skip
    latents = [w]
    if known is not None and name:
        step = known.step(name, hold=[held for held in hold if held != name])
        latents += list(moved(w, step, amounts))
    drawn = to_pictures(generator.synthesize(np.concatenate(latents)))
    size = min(SIDE, max(generator.resolution, _BIGGER))
    return shrunk(np.concatenate([original, drawn]), size)
