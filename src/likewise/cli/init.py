"""init: a commented plan for somebody's own images and table, checked before it is written."""

from __future__ import annotations

import json
import os
import warnings
from pathlib import Path

from likewise.cli.plan import FORMAT
from likewise.errors import ImageError, StoreError, VectorError, WordingWarning
from likewise.images import find
from likewise.store import PLAN
from likewise.tables import Contrast, Faces, Vectors
from likewise.tables.files import write_text

_PLAN = """\
# The plan of an audit. Paths are relative to this file. Everything here can be changed; what depends on a
# change is made again by `likewise run`, and nothing else.
format = {format}
seed = {seed}
covariates = [{covariates}]    # what should be alike; checked by balance, adjusted for by analyse
{vectors}
[faces]
images = {images}
table = {table}
image = {image}                # column with the file name, with or without its ending
identity = {identity}          # column that says whose image it is
bad_images = "error"           # or "drop": leave out images that do not decode, and count them
# rename = {{ gender = "perceived_gender" }}   # say whose word an attribute is

[contrast]                     # every difference is focal - reference
column = {column}
focal = {focal}
reference = {reference}

{project}
[match]
method = "greedy"              # the closest pair that is left, until none is
antiexact = ["identity"]       # a person occurs in one pair at most
# exact = ["eyeglasses"]       # columns in which both agree
# caliper = {{ perceived_age = 5, distance = 4.5 }}   # the largest differences allowed
# max_pairs = 500
# references = true            # both need another image of the same person, equally difficult (see [difficulty])

# [[within]]                   # a second distance that may not be exceeded: a recogniser's, or vectors = "file.npz"
# recogniser = "world"
# limit = 0.6
# [difficulty]                 # what references are chosen by: perceptual, recogniser, vectors or pairs
# perceptual = "pixels"

[trials]                       # what recognisers are asked besides two images of each person:
impostors = 10                 # so many images of others an image, to count false matches (0: none)

# Who is audited: one section each. `likewise slots` lists who there is.
# [[rater]]
# slot = "recogniser"          # says how far apart two images of a person are
# name = "world"

# [[rater]]
# slot = "classifier"          # gives labels; needs the sweep below
# name = "world"

# [counterfactual]             # the same face with only the attribute turned
# editor = "world"
# levels = [-2, -1, 0, 1, 2]

# [ask]                        # what people answered about the trials: unit, rater, question, value
# crowd = "file"
# options = {{ path = "answers.csv" }}

[analyse]
level = 0.95

[report]
title = "Audit"

# [engine]
# kind = "processes"
# workers = 2
"""
_PROJECT = """\
[project]
generator = "world"            # the built-in toy: it draws the demo's faces only; `likewise slots` lists others
perceptual = "pixels"
lambda = 1e-4                  # weight of the rows' deviation from their mean

"""


def init_audit(
    folder: Path, *, images: Path, table: Path, protected: str, focal: str, reference: str, identity: str,
    image_column: str, covariates: str, vectors: Path | None, seed: int, force: bool,
) -> list[str]:  # fmt: skip
    """Check what was given, write the plan, and return lines that say what was found."""
    if (folder / PLAN).exists() and not force:
        raise StoreError(f"{folder / PLAN} is there already", fix="Edit it, or add --force to write it anew.")
    if not images.is_dir():
        raise ImageError("--images is a folder", got=str(images))
    faces = Faces.read(table, image=image_column, identity=identity)
    contrast = Contrast(protected, focal=focal, reference=reference)
    side = contrast.side(faces)
    wanted = [name.strip() for name in covariates.split(",") if name.strip()]
    for name in wanted:
        faces.attribute(name)
    names = wanted or _usable(faces, protected)
    if vectors is not None and not set(Vectors.read(vectors).images) & set(faces.images):
        raise VectorError("--vectors holds vectors of the table's images", got="none of them")
    text = _PLAN.format(
        format=FORMAT, seed=seed, covariates=", ".join(json.dumps(name) for name in names),
        images=_relative(images, folder), table=_relative(table, folder),
        image=json.dumps(image_column), identity=json.dumps(identity),
        column=json.dumps(protected), focal=json.dumps(focal), reference=json.dumps(reference),
        vectors=f"vectors = {_relative(vectors, folder)}    # used as they are\n" if vectors else "",
        project="" if vectors else _PROJECT,
    )  # fmt: skip
    write_text(folder / PLAN, text)
    sides = (int((side == 1).sum()), int((side == -1).sum()), int((side == 0).sum()))
    return _found(faces, images, folder, sides, contrast, names)


def _usable(faces: Faces, protected: str) -> list[str]:
    """Every other column of numbers, or of few words: what has a value of its own in each row cannot be balanced."""
    frame = faces.frame
    few = [name for name in faces.attributes if frame[name].nunique() <= 12 or frame[name].dtype.kind in "fiub"]
    return [name for name in few if name != protected and frame[name].nunique() > 1]


def _found(
    faces: Faces, images: Path, folder: Path, sides: tuple[int, int, int], contrast: Contrast, names: list[str]
) -> list[str]:
    missing = sum(find(images, key) is None for key in faces.images)
    lines = [
        f"wrote {folder / PLAN}",
        f"  {len(faces)} images of {faces.identities.nunique()} identities, {missing} of them not in {images}",
        f"  {contrast.focal} {sides[0]}, {contrast.reference} {sides[1]}, neither {sides[2]}",
        f"  covariates: {', '.join(names) or 'none'}",
    ]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", WordingWarning)
        faces.warn_of_wording()
    lines += [f"  note: {entry.message}" for entry in caught]
    return [*lines, f"next: name who is audited in {folder / PLAN}, then: likewise run {folder} --dry-run"]


def _relative(path: Path, folder: Path) -> str:
    return json.dumps(Path(os.path.relpath(path.resolve(), folder.resolve())).as_posix())
