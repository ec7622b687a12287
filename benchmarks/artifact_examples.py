"""Examples to train the artifact validator with: drawn faces, edited as the editors do, with and without artifacts.

Clean examples are those that editors make: the drawing of a face at another strength beside its drawing at its own
(``detail = "light"``), the change between two drawings added to the picture (``keep``, and the distilled editor), and
the drawing of a face beside its photograph (a reconstruction). The photograph is a drawing as well, of a latent that
lies as far off as projections do, with grain, blur, exposure and compression. No photograph of a person has a part.
"""

from __future__ import annotations

import io
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from PIL import Image
from scipy import ndimage

from benchmarks.artifact_forms import SHARES, plant
from likewise.counterfactuals.face_region import FEATHER, FaceRegion, relit
from likewise.counterfactuals.masks import feathered, pasted
from likewise.counterfactuals.validation.artifact_measures import global_measures
from likewise.counterfactuals.validation.artifacts import (
    EDIT,
    RECONSTRUCTION,
    SIDE,
    TONE,
    changed_region,
    cropped_like,
    network_input,
    recolor,
)
from likewise.runtime.registry import Pictures

Floats = npt.NDArray[np.float32]
Mask = npt.NDArray[np.bool_]
Rng = np.random.Generator
LIGHT, KEPT, REDRAWN = "light", "keep", "redrawn"
WAYS = {LIGHT: 0.45, KEPT: 0.3, REDRAWN: 0.25}
"""How often an edit is drawn in the light of the photograph, added to it, or is the reconstruction itself."""
SPOILED, TONED = 0.55, 0.4
"""Shares of examples with an artifact, and of edits that are of skin tone."""
EVERY = 6
"""Every sixth block of faces is for setting thresholds: so more blocks can be drawn between two pieces of training."""
GRID = 16
"""Places a side at which the network says where an artifact is."""


@dataclass(frozen=True)
class Face:
    """A drawn face: a stand-in for its photograph, its drawing, two moves of gender, then two of tone."""

    photograph: Pictures
    drawn: Pictures
    moved: Pictures
    mask: Mask


@dataclass(frozen=True)
class Example:
    """What the network sees, and what it should say."""

    x: npt.NDArray[np.float16]
    measures: Floats
    kind: str
    """Of the artifact; empty for a clean edit."""
    where: Mask
    """Places where the artifact shows, ``[GRID, GRID]``."""
    compared: int
    """Which threshold it has: of an edit, of an edit of tone, of a reconstruction."""


def read(work: Path, *, part: str = "all") -> list[Face]:
    """Return the faces of a folder: all, those for training, or those on which thresholds are set."""
    faces = []
    for path in sorted(work.glob("[0-9]*.npz")):
        own = "thresholds" if int(path.stem) % EVERY == 0 else "training"
        if part not in ("all", own):
            continue
        with np.load(path) as block:
            parts = [block[name] for name in ("photographs", "drawn", "moved", "masks")]
            faces += [Face(*face) for face in zip(*parts, strict=True) if face[3].sum() > 2000]
    return faces


def pair(face: Face, rng: Rng, *, way: str, move: int, spoil: bool = True) -> tuple[Pictures, Pictures, Mask]:
    """Return the picture that an edit is compared with, the clean edit, and the mask.

    ``move`` is which of the face's moves is the edit; ``spoil`` gives the photograph grain and compression.
    """
    source = face.drawn if way == KEPT else face.photograph
    photograph = photographed(source, rng) if spoil else source
    weight = feathered(face.mask, FEATHER * len(face.mask))
    if way == KEPT:
        return photograph, _added(face, photograph, weight, rng, move), face.mask
    light = _light(photograph, face)
    control, edit = (pasted(photograph, one, weight) for one in relit(np.stack([face.drawn, face.moved[move]]), light))
    return (photograph, control, face.mask) if way == REDRAWN else (control, edit, face.mask)


def _light(photograph: Pictures, face: Face) -> Floats:
    size = len(face.mask)
    region = FaceRegion(photograph, np.eye(2, 3), size, (0, 0), face.mask.astype(np.float32), face.mask)
    return region.light(photograph, face.drawn)


def _added(face: Face, photograph: Pictures, weight: Floats, rng: Rng, move: int) -> Pictures:
    """Add the change between two drawings: of any strength, a little blurred or moved, as a network draws it."""
    change = (face.moved[move].astype(np.float32) - face.drawn) * np.float32(rng.uniform(0.3, 1.1))
    if rng.random() < 0.4:
        change = ndimage.gaussian_filter(change, (*[rng.uniform(0.5, 2.5)] * 2, 0))
    if rng.random() < 0.3:
        change = ndimage.shift(change, (*rng.uniform(-1.2, 1.2, 2), 0), order=1)
    return pasted(photograph, np.rint(np.clip(photograph + change, 0, 255)).astype(np.uint8), weight)


def photographed(picture: Pictures, rng: Rng) -> Pictures:
    """Return a drawing as a camera might have it: exposure, white balance, softness, grain, compression."""
    made = picture.astype(np.float32)
    if rng.random() < 0.5:
        balance = rng.uniform(0.93, 1.07, 3).astype(np.float32)
        made = np.asarray(255 * (made / 255) ** rng.uniform(0.75, 1.35) * balance, np.float32)
    if rng.random() < 0.4:
        made = ndimage.gaussian_filter(made, (*[rng.uniform(0.3, 1.3)] * 2, 0))
    if rng.random() < 0.5:
        made = made + rng.normal(0, rng.uniform(0.5, 6), made.shape).astype(np.float32)
    shown = np.rint(np.clip(made, 0, 255)).astype(np.uint8)
    return compressed(shown, int(rng.integers(60, 97))) if rng.random() < 0.6 else shown


def compressed(picture: Pictures, quality: int) -> Pictures:
    """Write and read a picture as JPEG."""
    file = io.BytesIO()
    Image.fromarray(picture).save(file, "JPEG", quality=quality)
    return np.asarray(Image.open(file))


def example(faces: list[Face], rng: Rng) -> Example:
    """Return a clean edit of a face at random, or one with an artifact."""
    face, other = (faces[int(k)] for k in rng.integers(len(faces), size=2))
    way = str(rng.choice(list(WAYS), p=list(WAYS.values())))
    toned = way != REDRAWN and rng.random() < TONED
    before, clean, mask = pair(face, rng, way=way, move=int(rng.integers(2)) + 2 * toned)
    kind = str(rng.choice(list(SHARES), p=list(SHARES.values()))) if rng.random() < SPOILED else ""
    if toned and kind == "wrong tone":  # recoloring follows it; the rule of tints judges it
        kind = "seam"
    edit = plant(kind, clean, mask, other.drawn, rng) if kind else clean
    if rng.random() < 0.15:  # as an endpoint answers
        edit = np.where(mask[..., None], compressed(edit, int(rng.integers(85, 97))), before)
    beside = recolor(before, edit, mask) if toned else before
    region = changed_region(before, edit[None]) if rng.random() < 0.5 else mask
    x = network_input(beside, edit, region, redrawn=way == REDRAWN)
    where = _where(clean, edit, region) if kind else np.zeros((GRID, GRID), bool)
    compared = RECONSTRUCTION if way == REDRAWN else TONE if toned else EDIT
    return Example(x.astype(np.float16), global_measures(x), kind, where, compared)


def _where(clean: Pictures, edit: Pictures, mask: Mask) -> Mask:
    """Return the places where an artifact shows: its edges, because within a wide one nothing need look wrong."""
    apart = edit.astype(np.float32) - clean
    edges = np.abs(apart - ndimage.gaussian_filter(apart, (6, 6, 0))).max(axis=-1) > 4
    small = cropped_like(np.repeat(edges[..., None].astype(np.uint8) * 255, 3, axis=-1), mask)[..., 0] > 100
    cells = small.reshape(GRID, SIDE // GRID, GRID, SIDE // GRID).mean(axis=(1, 3))
    return np.asarray(cells > 0.12)


def mirrored(one: Example) -> Example:
    """Return the example seen in a mirror."""
    return Example(one.x[..., ::-1], one.measures, one.kind, one.where[:, ::-1], one.compared)


def kinds_of(examples: Iterable[Example]) -> npt.NDArray[np.str_]:
    """Return the kind of each example."""
    return np.array([one.kind for one in examples])
