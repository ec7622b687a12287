"""What is checked of the table and its images before any work."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pandas as pd
from PIL import Image, UnidentifiedImageError

from likewise.audit.estimate.groups import check_groups_plan
from likewise.audit.plan.model import Plan
from likewise.audit.preflight.levels import missing_levels, other_spellings, values_in_no_group
from likewise.audit.preflight.problem import Check
from likewise.data.layouts import listed_images
from likewise.design.units import DIFFERENCE, MEAN
from likewise.errors import ContrastError, ImageError, LikewiseError, TableError, nearest, some
from likewise.runtime.pixels import FORMATS, decode, find
from likewise.tables import Images

FEWEST = 2
"""Identities that each group needs: with fewer there is no interval."""


def check_data(found: Check, root: Path, plan: Plan, *, whole: bool, files_only: bool) -> Images | None:
    """Check the table, its columns and levels, and the files; return the images that will be read."""
    try:
        images = plan.data.source(root).faces()
    except LikewiseError as error:
        found.add(error)
        return None
    if not len(images):
        found.problem(f"The table {plan.data.table} has no rows", kind=TableError)
        return None
    check_columns(found, images, plan)
    column = plan.contrast.column
    if column not in images.attributes:
        columns = some(images.attributes, 12)
        problem = f"Column {column!r} of [contrast] not found in {plan.data.table or 'the table'} (columns: {columns})"
        found.problem(problem, nearest(column, images.attributes), kind=ContrastError)
        return None
    missing = missing_levels(images, plan.contrast)
    for problem, fix in missing:
        found.problem(problem, fix, kind=ContrastError)
    if spelling := other_spellings(images, plan.contrast):
        found.notes.append(f"{spelling}. Edit the table.")
    if plan.data.images:
        images = check_files(found, images, root / plan.data.images, plan, whole=whole, files_only=files_only)
    if not missing and len(images):
        check_groups(found, images, plan)
        check_intersections(found, images, plan)
    return images


def check_columns(found: Check, images: Images, plan: Plan) -> None:
    """Check the columns that the plan names, and that covariates have no empty cells."""
    described = set(plan.describe.columns) if plan.describe else set()
    known = [*images.frame.columns, *described]
    for where, names in _named_columns(plan).items():
        for name in names:
            if name not in known:
                columns = some(images.attributes, 12)
                problem = f"Column {name!r} of {where} not found in the table (columns: {columns})"
                found.problem(problem, nearest(name, known), kind=TableError)
    for name in plan.covariates:
        if name in images.frame.columns and (empty := int(images.frame[name].isna().sum())):
            fix = "Fill them, drop these rows, or remove the covariate."
            found.problem(f"Covariate {name!r} has {empty} empty cells", fix, kind=TableError)


def _named_columns(plan: Plan) -> dict[str, Iterable[str]]:
    specs = {"[match]": plan.match, **{f"[[variant]] {entry.name!r}": entry.match for entry in plan.variant}}
    named: dict[str, Iterable[str]] = {"covariates": plan.covariates}
    for where, spec in specs.items():
        calipers = [name for name, _ in spec.caliper if name not in ("distance", "score")]
        columns = [*spec.exact, *spec.balance, *spec.score_on, *calipers, *(name for name, _ in spec.reference_where)]
        named[where] = [name.removesuffix(MEAN).removesuffix(DIFFERENCE) for name in columns]
    estimate = plan.estimate
    named["[estimate]"] = [name for name in (estimate.made_by, estimate.term, *estimate.measured) if name]
    named["[groups]"] = plan.groups.by if plan.groups else ()
    named["[encode]"] = plan.encode.columns if plan.encode else ()
    return named


def check_groups(found: Check, images: Images, plan: Plan) -> None:
    """Count images and identities by group; check that there are enough, and none in both groups."""
    contrast = plan.contrast
    side = contrast.side(images)
    names = {1: str(contrast.focal), -1: str(contrast.reference), 0: "neither"}
    for sign, name in names.items():
        people = images.identities[(side == sign).to_numpy()].value_counts()
        if len(people) or sign:
            row = {"group": name, "images": int(people.sum()), "identities": len(people)}
            found.groups.append({**row, "with two images": int((people > 1).sum())})
    if bool((side == 0).any()):
        found.notes.append(f"values of {contrast.column!r} in neither group: {values_in_no_group(images, contrast)}")
    small = [row for row in found.groups[:2] if row["identities"] < FEWEST]
    if small:
        counts = ", ".join(
            f"{row['group']} {row['images']} of {row['identities']} identities" for row in found.groups[:2]
        )
        fix = f"Each group needs images of at least {FEWEST} identities."
        found.problem(f"Too few images: {counts}", fix, kind=TableError)
    _check_both(found, images, side, plan)
    _check_trials(found, plan)


def check_intersections(found: Check, images: Images, plan: Plan) -> None:
    """Check that [groups] leaves two groups and its reference; columns that are described later are not known yet."""
    if plan.groups is None or any(name not in images.attributes for name in plan.groups.by):
        return
    try:
        check_groups_plan(plan.groups, images)
    except LikewiseError as error:
        found.add(error)


def _check_both(found: Check, images: Images, side: pd.Series, plan: Plan) -> None:
    sides = pd.Series(side.to_numpy()).replace(0, pd.NA).groupby(images.identities.to_numpy()).nunique()
    both = sides.index[sides > 1]
    if not len(both):
        return
    who = "1 identity has" if len(both) == 1 else f"{len(both)} identities have"
    text = f"{who} images in both groups ({some(both, 3)})"
    if plan.match.both_sides != "error":
        found.notes.append(f"{text}; both_sides = {plan.match.both_sides!r} in [match] applies")
        return
    fix = "Correct the table, or set both_sides = 'drop' or 'majority' in [match]."
    found.problem(text, fix, kind=TableError)


def _check_trials(found: Check, plan: Plan) -> None:
    asks = bool(plan.recognizers) or plan.collect is not None
    without = [row["group"] for row in found.groups[:2] if row["with two images"] == 0]
    if not asks or not without:
        return
    text = f"No identity of {' and '.join(without)} has two images"
    if len(without) == 2 and plan.recognizers:
        fix = "Check the identity column, or remove recognizers from the plan."
        found.problem(f"{text}, so that there are no genuine trials", fix, kind=TableError)
    else:
        found.notes.append(f"{text}: recognizers and people cannot be compared there")


def check_files(found: Check, images: Images, root: Path, plan: Plan, *, whole: bool, files_only: bool) -> Images:
    """Compare the files with the rows, and look whether they are images; return the images that will be read."""
    if not root.is_dir():
        found.problem(f"Folder of images not found: {root}", "Check images in [data].", kind=ImageError)
        return images
    files = {key: find(root, key) for key in images.keys}
    lost = [key for key, path in files.items() if path is None]
    known = {path.relative_to(root.resolve()).as_posix() for path in files.values() if path is not None}
    bad = [] if files_only else [key for key, path in files.items() if path and not _readable(path, whole=whole)]
    spare = [] if files_only else [name for name in listed_images(root) if name not in known]
    found.images = {
        "files": len(known), "rows without a file": lost, "files without a row": spare,
        "unreadable": bad, "checked": "pixels" if whole else "headers",
    }  # fmt: skip
    if len(lost) == len(images):
        fix = "Check images and image in [data]."
        found.problem(f"None of the {len(lost)} images of the table is in {root}", fix, kind=ImageError)
    elif lost and plan.data.missing_images == "error":
        fix = 'Add the files, or set missing_images = "drop" in [data].'
        found.problem(f"{len(lost)} rows of the table have no file: {some(lost, 3)}", fix, kind=ImageError)
    if bad and plan.data.bad_images == "error":
        fix = 'Replace them, or set bad_images = "drop" in [data].'
        found.problem(f"{len(bad)} images cannot be read: {some(bad, 3)}", fix, kind=ImageError)
    if plan.data.missing_images == "drop" and len(lost) < len(images):
        return images.subset(key for key, path in files.items() if path is not None)
    return images


def _readable(path: Path, *, whole: bool) -> bool:
    try:
        if whole:
            decode(path)
        else:
            with Image.open(path, formats=FORMATS):
                pass
    except (ImageError, UnidentifiedImageError, OSError, SyntaxError, ValueError):
        return False
    return True
