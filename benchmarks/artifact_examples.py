"""Examples to train the artifact validator with: faces, edited as the editors do, with and without artifacts.

Clean examples are those that editors make: the drawing of a face at another strength beside its drawing at its own
(``detail = "light"``), the change between two drawings added to the picture (``keep``, and the distilled editor), and
the drawing of a face beside its photograph (a reconstruction). The photograph is a drawing as well, of a latent that
lies as far off as projections do, with grain, blur, exposure and compression; or it is a photograph, see
``artifact_people``.
"""

from __future__ import annotations

import io
from dataclasses import dataclass, replace
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
REAL, WEAK = 0.5, 0.15
"""Shares of examples that are of photographs, and of their edits of gender that are those of the distilled editor."""
APART, CHOOSING, OF = (3, 7), (1,), 8
"""Of every eight photographs: which are measured only, and on which thresholds are set."""
SMALLEST, COLORED, LIT = 2000, 12, 45
"""Pixels of skin that a face has at least; how far, in bytes, its colors lie from gray, and its median value."""
GRID = 16
"""Places a side at which the network says where an artifact is."""


@dataclass(frozen=True)
class Face:
    """A face: its photograph, its drawing, two moves of gender, then two of tone.

    Of a drawn face the photograph is a stand-in. The tones of a real one are the distilled editor's, added to the
    photograph, and after them come two of its weak changes of gender.
    """

    photograph: Pictures
    drawn: Pictures
    moved: Pictures
    mask: Mask
    points: Floats
    """Eyes, nose, corners of the mouth ``[5, 2]``; NaN where none were detected."""
    real: bool = False


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
    real: bool = False


def read(work: Path, part: str) -> list[Face]:
    """Return the faces of a folder that are for ``training`` or ``thresholds``, that are kept ``apart``, or ``all``."""
    faces = []
    for path in sorted(work.glob("*[0-9].npz")):
        if part not in ("all", _part(path.stem)):
            continue
        with np.load(path) as block:
            if block.files:  # no pictures: its projection failed
                parts = [block[name] for name in ("photographs", "drawn", "moved", "masks", "points")]
                made = [replace(Face(*face), real="-" in path.stem) for face in zip(*parts, strict=True)]
                faces += [face for face in made if _shows(face)]
    return faces


def _shows(face: Face) -> bool:
    """Return whether there is skin enough; of a photograph also in color and in light."""
    skin = face.photograph[face.mask].astype(np.float32)
    if len(skin) <= SMALLEST:
        return False
    return not face.real or bool(np.ptp(skin, axis=1).mean() > COLORED and np.median(skin) > LIT)


def _part(stem: str) -> str:
    """Return what a block of drawn faces, or a photograph, is for."""
    number = int(stem.rpartition("-")[2])
    if "-" not in stem:
        return "training" if number % EVERY else "thresholds"
    return "apart" if number % OF in APART else "thresholds" if number % OF in CHOOSING else "training"


def pair(face: Face, rng: Rng, *, way: str, move: int, spoil: bool = True) -> tuple[Pictures, Pictures, Mask]:
    """Return the picture that an edit is compared with, the clean edit, and the mask.

    ``move`` is which of the face's moves is the edit; ``spoil`` gives the photograph grain and compression.
    """
    source = face.drawn if way == KEPT and not face.real else face.photograph
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
    own = face.photograph if face.real else face.drawn
    change = (face.moved[move].astype(np.float32) - own) * np.float32(rng.uniform(0.3, 1.1))
    if face.real:  # a network drew it already
        return pasted(photograph, np.rint(np.clip(photograph + change, 0, 255)).astype(np.uint8), weight)
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
    face, other = (_drawn_at_random(faces, rng) for _ in range(2))
    way, move = _edited(face, rng)
    toned = way != REDRAWN and move in (2, 3)
    before, clean, mask = pair(face, rng, way=way, move=move, spoil=not face.real or rng.random() < 0.5)
    kind = str(rng.choice(list(SHARES), p=list(SHARES.values()))) if rng.random() < SPOILED else ""
    if toned and kind == "wrong tone":  # recoloring follows it; the rule of tints judges it
        kind = "seam"
    edit = plant(kind, clean, mask, other.drawn, rng, points=face.points) if kind else clean
    if rng.random() < 0.15:  # as an endpoint answers
        edit = np.where(mask[..., None], compressed(edit, int(rng.integers(85, 97))), before)
    beside = recolor(before, edit, mask) if toned else before
    region = changed_region(before, edit[None]) if rng.random() < 0.5 else mask
    x = network_input(beside, edit, region, redrawn=way == REDRAWN)
    where = _where(clean, edit, region) if kind else np.zeros((GRID, GRID), bool)
    compared = RECONSTRUCTION if way == REDRAWN else TONE if toned else EDIT
    return Example(x.astype(np.float16), global_measures(x), kind, where, compared, face.real)


def _drawn_at_random(faces: list[Face], rng: Rng) -> Face:
    """Return a photograph's face or a drawn one, each as often as the share says if there are both."""
    real = rng.random() < REAL
    of_kind = [face for face in faces if face.real == real] or faces
    return of_kind[int(rng.integers(len(of_kind)))]


def _edited(face: Face, rng: Rng) -> tuple[str, int]:
    """Return the way and the move of an edit.

    The change between two drawings of a face, added to its photograph, shows both faces: so real ones get their tone
    and a few changes of gender from the distilled editor.
    """
    way, side = str(rng.choice(list(WAYS), p=list(WAYS.values()))), int(rng.integers(2))
    toned = way != REDRAWN and rng.random() < TONED
    if not face.real or way == REDRAWN:
        return way, side + 2 * toned
    if toned:
        return KEPT, side + 2
    return (KEPT, side + 4) if rng.random() < WEAK else (LIGHT, side)


def _where(clean: Pictures, edit: Pictures, mask: Mask) -> Mask:
    """Return the places where an artifact shows: its edges, because within a wide one nothing need look wrong."""
    apart = edit.astype(np.float32) - clean
    edges = np.abs(apart - ndimage.gaussian_filter(apart, (6, 6, 0))).max(axis=-1) > 4
    small = cropped_like(np.repeat(edges[..., None].astype(np.uint8) * 255, 3, axis=-1), mask)[..., 0] > 100
    cells = small.reshape(GRID, SIDE // GRID, GRID, SIDE // GRID).mean(axis=(1, 3))
    return np.asarray(cells > 0.12)


def mirrored(one: Example) -> Example:
    """Return the example seen in a mirror."""
    return replace(one, x=one.x[..., ::-1], where=one.where[:, ::-1])
