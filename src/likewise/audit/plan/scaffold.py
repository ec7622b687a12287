"""A commented plan for a request, checked before it is written (``likewise init``, ``likewise audit``)."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import tomlkit
from tomlkit.items import AoT, Table

from likewise.audit.plan.file import PLAN, plan_of
from likewise.audit.plan.migrations import FORMAT
from likewise.audit.plan.request import FILES, AuditRequest, is_file, kind_and_name, rates_trials
from likewise.audit.plan.space import balanced_columns, editor_section, space_sections, variant_sections
from likewise.audit.plan.toml import commented, listed, relative, section
from likewise.audit.preflight.levels import other_spellings, values_in_no_group
from likewise.data.keys import known_keys
from likewise.errors import ColumnNameWarning, ImageError, StoreError, TableError, VectorError, nearest, some
from likewise.runtime.pixels import find
from likewise.tables import Contrast, Images, Vectors
from likewise.tables.io import write_text

_INTRO = (
    "The plan of an audit. Paths are relative to this file. Everything here can be changed; `likewise run` then",
    "runs the stages that depend on the change, and no others.",
)
_MORE = """
# [[secondary_distance]]       # a caliper on a second distance: a recognizer's, or vectors = "file.npz"
# recognizer = "dlib"
# limit = 0.6

# [reference_difficulty]       # with references = true in [match]: perceptual, recognizer, vectors or pairs
# perceptual = "pixels"

# [[rater]]                    # a model under audit; `likewise components` lists what is installed
# kind = "recognizer"          # gives the distance of two images; a classifier gives labels
# name = "dlib"                # a component, "package.module:Class", or an ONNX file

# [counterfactual]             # the same images with only the attribute edited
# editor = "fader"             # for photographs: `likewise counterfactual DIR --editor auto`
# strengths = [-2, -1, 0, 1, 2]

# [collect]                    # responses of people about the trials: unit, rater, question, value
# crowd = "file"
# options = { path = "responses.csv" }

# [estimate]
# level = 0.95                 # confidence level
# labels = ["smile"]           # labels of classifiers to compare; default: the most common ones

# [executor]                   # where the work is done; no result depends on it
# kind = "processes"
# workers = 8
"""


def plan_text(folder: Path | None, request: AuditRequest) -> tuple[str, list[str]]:
    """Return the text of the plan and lines that summarize the data; without a folder, paths are absolute."""
    document, summary = plan_document(folder, request)
    text = tomlkit.dumps(document) + _MORE
    plan_of(text)
    return text, summary


def plan_document(folder: Path | None, request: AuditRequest) -> tuple[tomlkit.TOMLDocument, list[str]]:
    """Return the plan as a document, and lines that summarize the data."""
    if request.images is not None and not request.images.is_dir():
        raise ImageError(f"Folder of images not found: {request.images}", fix="Check --images.")
    images = request.source.faces()
    if not len(images):
        raise TableError(f"The table {request.table} has no rows", fix="Check that the export finished.")
    if request.protected not in images.attributes:
        problem = f"Column {request.protected!r} not found in {request.table or request.images}"
        columns = f"(columns: {some(images.attributes, 12)})"
        raise TableError(
            f"{problem} {columns}", fix=nearest(request.protected, images.attributes) or "Check --protected."
        )
    contrast = Contrast(request.protected, focal=request.focal, reference=request.reference)
    contrast.side(images)
    wanted = [name.strip() for name in request.covariates.split(",") if name.strip()]
    for name in wanted:
        images.attribute(name)
    names = wanted or _usable(images, request.protected)
    _check_vectors(request.vectors, images)
    return _document(request, folder, names), _summary(images, request, contrast, names)


def init_audit(folder: Path, request: AuditRequest, *, force: bool) -> list[str]:
    """Write the plan, and return lines for the terminal."""
    need_free(folder, force=force)
    text, lines = plan_text(folder, request)
    write_text(folder / PLAN, text)
    rated = request.rater or request.scores or request.embeddings or request.labels or request.people
    first = "" if rated else "add the models under audit to it ([[rater]]), then: "
    return [f"wrote {folder / PLAN}", *lines, f"next: {first}likewise check {folder}"]


def write_or_resume(folder: Path, request: AuditRequest, *, force: bool, dry_run: bool) -> tuple[str, list[str]]:
    """Return the plan and lines for the terminal; the same plan is resumed, another one only overwritten by force.

    A dry run writes nothing.
    """
    _need_folder(folder)
    text, lines = plan_text(folder, request)
    if dry_run and not folder.is_dir():
        text = plan_text(None, request)[0]  # nothing is relative to a missing folder
    return text, write_plan(folder, text, lines, force=force, dry_run=dry_run)


def write_plan(folder: Path, text: str, lines: list[str], *, force: bool, dry_run: bool = False) -> list[str]:
    """Write a plan, unless it is there; another one is overwritten only by force. Return lines for the terminal."""
    _need_folder(folder)
    path = folder / PLAN
    there = path.read_text(encoding="utf-8") if path.is_file() else ""
    if there and there != text and not force:
        fix = f"Use it with: likewise run {folder}; or overwrite it with --force."
        raise StoreError(f"{path} is the plan of another audit, or was edited", fix=fix)
    if dry_run:
        return [f"resumes {path}" if there == text else f"would write {path}", *lines]
    if there != text:
        write_text(path, text)
    return [f"{'resumes' if there == text else 'wrote'} {path}", *lines]


def need_free(folder: Path, *, force: bool) -> None:
    """Raise where the folder has a plan that may not be overwritten."""
    _need_folder(folder)
    if (folder / PLAN).exists() and not force:
        raise StoreError(f"{folder / PLAN} exists", fix="Edit it, or add --force to overwrite it.")


def _need_folder(folder: Path) -> None:
    if folder.exists() and not folder.is_dir():
        raise StoreError(f"{folder} is a file, not a folder", fix="Name a folder for the audit.")


_STATED = (
    ("auditor", "who is responsible"), ("organization", ""), ("system", "what is audited, as its vendor calls it"),
    ("system_version", ""), ("system_hash", ""), ("data_source", "where the images come from"),
    ("data_license", ""), ("consent", "what the people in the images agreed to"),
)  # fmt: skip


def _document(request: AuditRequest, folder: Path | None, names: list[str]) -> tomlkit.TOMLDocument:
    document = tomlkit.document()
    for line in _INTRO:
        document.add(tomlkit.comment(line))
    document.add("format", tomlkit.item(FORMAT))
    document.add("seed", tomlkit.item(request.seed))
    if request.license != "any":
        document.add("license", commented(request.license, "components with parts for research only are refused"))
    document.add("covariates", commented(names, "their balance is reported; the estimates adjust for them"))
    if request.vectors:
        document.add("vectors", commented(relative(request.vectors, folder), "used as they are"))
    document.add("data", _data(request, folder))
    document.add("contrast", section(
        column=request.protected, focal=request.focal, reference=request.reference,
        comment="every difference is focal - reference",
    ))  # fmt: skip
    for name, made in {**_design(request, names), **_raters(request, folder)}.items():
        document.add(name, made)
    if request.by:
        document.add("groups", _groups(request))
    document.add("report", _report(request))
    return document


def _design(request: AuditRequest, names: list[str]) -> dict[str, Table | AoT]:
    """Return the sections of the feature space, the units, the matching, its variants and the trials."""
    spaces = space_sections(request, names)
    generator = str(spaces["project"]["generator"]) if "project" in spaces else ""
    sections: dict[str, Table | AoT] = {**spaces, **_units(request, generator)}
    sections["match"] = _match(names, named=bool(request.covariates), features="columns" in spaces.get("encode", {}))
    sections |= variant_sections(request)
    sections["trials"] = section(comment="impostor trials of each image, for false match rates (0: none)", impostors=10)
    return sections


def _groups(request: AuditRequest) -> Table:
    wanted = list(request.by)
    known = request.source.faces().attributes
    unknown = [name for name in wanted if name not in known]
    if unknown:
        fix = nearest(unknown[0], known) or f"Known: {some(list(known))}."
        raise TableError(f"--by names {unknown[0]!r}, which is no column of the table", fix=fix)
    table = section(by=commented(wanted, "every group of these columns, and every intersection"))
    table.add(tomlkit.comment("suppress_below = 10   # groups of fewer identities are not reported"))
    return table


def _report(request: AuditRequest) -> Table:
    table = section(title=request.title, show_images=commented(False, "true shows images of people"))
    table.add(tomlkit.comment("front matter and data sheet of the report; state what you know:"))
    for name, example in _STATED:
        table.add(tomlkit.comment(f'{name} = "{example}"'))
    return table


def _data(request: AuditRequest, folder: Path | None) -> Table:
    table = tomlkit.table()
    if request.layout != "table":
        table.add("layout", request.layout)
    if request.images:
        table.add("images", relative(request.images, folder))
    if request.table:
        table.add("table", relative(request.table, folder))
    table.add("image", commented(request.image_column, "column with the file name, with or without its suffix"))
    table.add("identity", commented(request.identity, "column with the identity"))
    table.add("bad_images", commented("drop", 'files that do not decode are dropped and listed; or "error"'))
    missing = "drop" if request.skip_missing else "error"
    table.add("missing_images", commented(missing, 'rows without a file: "error", or "drop" and count them'))
    if request.renamed:
        renamed = tomlkit.inline_table()
        renamed.update(request.renamed)
        table.add("rename", renamed)
    else:
        table.add(tomlkit.comment('rename = { gender = "perceived_gender" }   # name the source of an attribute'))
    return table


def _units(request: AuditRequest, generator: str) -> dict[str, Table]:
    """Return [units], and [describe] where described columns are balanced beside the latents."""
    several = bool((request.source.faces().identities.value_counts() > 1).any())
    kind = "trials" if rates_trials(request) and several else "images"
    said = "what is matched: trials (two images, what a recognizer rates) or images (what a classifier rates)"
    features = commented("auto", "what is balanced, without labels: 40 principal components, or the vectors if fewer")
    units = section(kind=commented(kind, said), features=features)
    columns = balanced_columns(generator, request.protected, of_trials=kind == "trials")
    if not columns:
        return {"units": units}
    units.add("described", commented(True, "... and the columns of [describe], without what they owe to the attribute"))
    about = "age, smile and shape, read from the images by networks"
    return {"describe": section(comment=about, columns=list(columns)), "units": units}


def _match(names: list[str], *, named: bool, features: bool) -> Table:
    """Return [match]; the covariates that a request names are balanced, unless they are the features themselves.

    Other columns of the table are not: one that goes with the attribute (a beard) would leave no balanced sample.
    """
    table = section(
        method=commented("cardinality", "nine tenths of the largest sample that is balanced, then paired"),
        max_smd=commented(0.1, "the largest standardized mean difference that is left"),
        antiexact=commented(["identity"], "an identity is in one pair at most"),
    )
    balance = names if named and not features else []
    if balance:
        table.add("balance", commented(balance, "columns that are balanced besides the features"))
    table.add(tomlkit.comment('exact = ["eyeglasses"]       # columns with equal numbers of each level in both groups'))
    if not balance and not features:
        shown = ", ".join(f'"{name}"' for name in names[:3]) or '"perceived_age"'
        table.add(tomlkit.comment(f"balance = [{shown}]  # columns that are balanced besides the features"))
    table.add(tomlkit.comment("max_pairs = 500"))
    return table


def _raters(request: AuditRequest, folder: Path | None) -> Mapping[str, Table | AoT]:
    """Return the sections of raters, precomputed answers, counterfactuals and responses."""
    sections: dict[str, Table | AoT] = {}
    if request.rater:
        sections["rater"] = listed([_rater(given, folder) for given in request.rater])
    files = [_precomputed(request, folder, kind, entry) for kind in FILES for entry in getattr(request, kind)]
    if files:
        sections["precomputed"] = listed(files)
    if request.editor:
        sections["counterfactual"] = editor_section(request)
        sections["validity"] = _validity()
    if request.people:
        options = tomlkit.inline_table()
        options.update({"path": relative(request.people, folder)})
        sections["collect"] = section(comment="responses of people", crowd="file", options=options)
    return sections


def _rater(given: str, folder: Path | None) -> Table:
    kind, name = kind_and_name(given)
    return section(kind=kind, name=relative(Path(name), folder) if is_file(name) else name)


def _validity() -> Table:
    table = section(comment="whether the attribute changed, and nothing else; default: available networks validate")
    for line in (
        'target = "faceres-gender: female"   # validators should have no part in the editing, and not be audited',
        'held = ["emotion: happy"]           # an image whose edits break a rule is excluded from the slopes',
        'recognizer = "openface"',
    ):
        table.add(tomlkit.comment(line))
    return table


def _precomputed(request: AuditRequest, folder: Path | None, kind: str, entry: str) -> Table:
    """Return a section of precomputed answers: NAME=FILE, or FILE, whose stem is then the name."""
    name, sign, rest = entry.partition("=")
    path = Path(rest if sign else entry)
    values: dict[str, Any] = {"rater": name if sign else path.stem, kind: relative(path, folder)}
    if kind == "scores":
        values["measure"] = "similarity" if request.similarity else "distance"
    if request.scale != 1 and (kind == "labels" or (kind == "scores" and request.similarity)):
        values["scale"] = request.scale
    return section(**values)


def _check_vectors(path: Path | None, images: Images) -> None:
    if path is None:
        return
    names = pd.Series(Vectors.read(path).keys, dtype="str")
    if known_keys(names, images, "--vectors", strict=False).isna().all():
        raise VectorError(f"{path} has no vector of an image of the table", fix="Check its keys.")


def _usable(images: Images, protected: str) -> list[str]:
    """Return numeric columns and those of few levels; a column that is unique in each row cannot be balanced."""
    frame = images.frame
    few = [name for name in images.attributes if frame[name].nunique() <= 12 or frame[name].dtype.kind in "fiub"]
    numbered = {name for name in few if frame[name].dtype.kind in "iu" and frame[name].nunique() == len(frame) > 12}
    return [name for name in few if name != protected and name not in numbered and frame[name].nunique() >= 2]


def _summary(images: Images, request: AuditRequest, contrast: Contrast, names: list[str]) -> list[str]:
    side = contrast.side(images)
    counts = (int((side == 1).sum()), int((side == -1).sum()), int((side == 0).sum()))
    lines = [
        f"  {len(images)} images of {images.identities.nunique()} identities{_missing(images, request.images)}",
        f"  {contrast.focal} {counts[0]}, {contrast.reference} {counts[1]}, {_neither(images, contrast, counts[2])}",
        f"  covariates: {', '.join(names) or 'none'}",
    ]
    if spelling := other_spellings(images, contrast):
        lines.append(f"  note: {spelling}")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ColumnNameWarning)
        images.warn_of_unsourced_columns()
    return lines + [f"  note: {entry.message}" for entry in caught]


def _neither(images: Images, contrast: Contrast, count: int) -> str:
    return f"neither {count}" + (f": {values_in_no_group(images, contrast)}" if count else "")


def _missing(images: Images, folder: Path | None) -> str:
    if folder is None:
        return "; no images are given, so that nothing is computed from pixels"
    missing = sum(find(folder, key) is None for key in images.keys)
    if missing == len(images):
        fix = "Check --images, and --image-column (file names, with or without suffix)."
        raise ImageError(f"None of the {missing} images of the table is in {folder}", fix=fix)
    return f"; {missing} not found in {folder}" if missing else f", all found in {folder}"
