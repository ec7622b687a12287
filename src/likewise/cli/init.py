"""init: a commented plan for somebody's own images and table, checked before it is written."""

from __future__ import annotations

import tomllib
import warnings
from pathlib import Path

import pandas as pd

from likewise.cli.plan import FORMAT, plan_from
from likewise.cli.wish import Wish, inline, quoted, raters, relative, space
from likewise.errors import ImageError, StoreError, VectorError, WordingWarning
from likewise.images import find
from likewise.make.keys import known_keys
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
{faces}
image = {image}                # column with the file name, with or without its ending
identity = {identity}          # column that says whose image it is
bad_images = "drop"            # images that do not decode are left out and counted; or "error"
missing_images = {missing}       # or "drop": leave out rows whose image is not in the folder, and count them
{rename}

[contrast]                     # every difference is focal - reference
column = {column}
focal = {focal}
reference = {reference}

{project}
[match]
method = "greedy"              # the closest pair that is left, until none is
antiexact = ["identity"]       # a person occurs in one pair at most
# exact = ["eyeglasses"]       # columns in which both agree
# caliper = {{ perceived_age = 5, distance = "1sd" }}   # the largest differences allowed: plain, or in sd
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
{raters}
# [[rater]]
# slot = "recogniser"          # says how far apart two images of a person are
# name = "world"

# [[rater]]
# slot = "classifier"          # gives labels, to the images as they are or to the sweep below
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
title = {title}

# [engine]
# kind = "processes"
# workers = 2
"""


def plan_text(folder: Path | None, wish: Wish) -> tuple[str, list[str]]:
    """Check what was given; return the plan and lines that say what was found. Nothing is written."""
    if wish.images is not None and not wish.images.is_dir():
        raise ImageError("--images is a folder", got=str(wish.images))
    faces = wish.source.faces()
    contrast = Contrast(wish.protected, focal=wish.focal, reference=wish.reference)
    contrast.side(faces)
    wanted = [name.strip() for name in wish.covariates.split(",") if name.strip()]
    for name in wanted:
        faces.attribute(name)
    names = wanted or _usable(faces, wish.protected)
    _check_vectors(wish.vectors, faces)
    top, section = space(wish, folder, names)
    text = _PLAN.format(
        format=FORMAT, seed=wish.seed, covariates=", ".join(quoted(name) for name in names), vectors=top,
        faces=_faces(wish, folder), image=quoted(wish.image_column), identity=quoted(wish.identity),
        missing=quoted("drop" if wish.skip_missing else "error"), rename=_rename(wish),
        column=quoted(wish.protected), focal=quoted(wish.focal), reference=quoted(wish.reference),
        project=section, raters=raters(wish, folder), title=quoted(wish.title),
    )  # fmt: skip
    plan_from(tomllib.loads(text), text)
    return text, _found(faces, wish, contrast, names)


def init_audit(folder: Path, wish: Wish, *, force: bool) -> list[str]:
    """Write the plan, and return lines that say what was found."""
    if (folder / PLAN).exists() and not force:
        raise StoreError(f"{folder / PLAN} is there already", fix="Edit it, or add --force to write it anew.")
    text, lines = plan_text(folder, wish)
    write_text(folder / PLAN, text)
    who = "" if wish.rater or wish.scores or wish.embeddings or wish.labels else "name who is audited in it, then: "
    return [f"wrote {folder / PLAN}", *lines, f"next: {who}likewise check {folder}"]


def _faces(wish: Wish, folder: Path | None) -> str:
    lines = [f"layout = {quoted(wish.layout)}"] if wish.layout != "table" else []
    lines += [f"images = {relative(wish.images, folder)}"] if wish.images else []
    return "\n".join([*lines, *([f"table = {relative(wish.table, folder)}"] if wish.table else [])])


def _rename(wish: Wish) -> str:
    if wish.renamed:
        return f"rename = {inline(wish.renamed)}"
    return '# rename = { gender = "perceived_gender" }   # say whose word an attribute is'


def _check_vectors(path: Path | None, faces: Faces) -> None:
    if path is None:
        return
    names = pd.Series(Vectors.read(path).images, dtype="str")
    if known_keys(names, faces, "--vectors", strict=False).isna().all():
        raise VectorError("--vectors holds vectors of the table's images", got="none of them")


def _usable(faces: Faces, protected: str) -> list[str]:
    """Every other column of numbers, or of few words: what has a value of its own in each row cannot be balanced."""
    frame = faces.frame
    few = [name for name in faces.attributes if frame[name].nunique() <= 12 or frame[name].dtype.kind in "fiub"]
    numbered = {name for name in few if frame[name].dtype.kind in "iu" and frame[name].nunique() == len(frame) > 12}
    return [name for name in few if name != protected and name not in numbered and frame[name].nunique() >= 2]


def _found(faces: Faces, wish: Wish, contrast: Contrast, names: list[str]) -> list[str]:
    side = contrast.side(faces)
    sides = (int((side == 1).sum()), int((side == -1).sum()), int((side == 0).sum()))
    where = _missing(faces, wish.images)
    lines = [
        f"  {len(faces)} images of {faces.identities.nunique()} identities{where}",
        f"  {contrast.focal} {sides[0]}, {contrast.reference} {sides[1]}, neither {sides[2]}",
        f"  covariates: {', '.join(names) or 'none'}",
    ]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", WordingWarning)
        faces.warn_of_wording()
    return lines + [f"  note: {entry.message}" for entry in caught]


def _missing(faces: Faces, images: Path | None) -> str:
    if images is None:
        return "; no images are given, so nothing looks at pictures"
    missing = sum(find(images, key) is None for key in faces.images)
    return f", {missing} of them not in {images}"
