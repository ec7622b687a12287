"""The stages counterfactual and certify: faces are turned, and somebody looks whether only the attribute moved."""

from __future__ import annotations

import inspect
import shutil
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from PIL import Image

from likewise.cli.asking import sweep_album
from likewise.cli.framing import framed
from likewise.cli.judging import Edited, settled_judges
from likewise.cli.making import SWEEP, TRIALS, TURNED, Job
from likewise.errors import TableError
from likewise.images import Album, inside, traits
from likewise.make.certificate import OUTSIDE, Verdict, judged, shares, verdicts
from likewise.make.certify import Certifying, Judges, ratings_of
from likewise.make.contact_sheet import contact_sheet
from likewise.make.counterfactual import (
    Sweep,
    arms_of,
    chosen,
    file_of,
    placebo_faces,
    sweep_faces,
    turned_trials,
    with_partners,
)
from likewise.make.sweep_spec import SweepSpec, editor_of
from likewise.plugins import Editor, occupants
from likewise.tables import Faces, Pairs, Ratings
from likewise.tables.contrast import written

CERTIFICATES, SHEET = "certificates.parquet", "sheet.jpg"
_PATHS = ("directions", "latents")


def sweeping(job: Job) -> None:
    """Turn the attribute of some faces and leave everything else; the placebo arms are made beside."""
    spec = settled(job)
    editor = job.used(editor_of(spec))
    faces, work = _work(job, spec, editor)
    job.notes += _about(job, editor)
    images = _offered(job, faces, spec, editor)
    parts = list(job.chunks("counterfactual", work, images))
    reason = np.concatenate([part["reason"] for part in parts])
    done = [image for image, why in zip(images, reason, strict=True) if not why]
    job.notes += _counted(images, parts, work.album)
    if len(done) < 2:
        fix = "Look at the pictures, or at mask and finder in [counterfactual]."
        raise TableError("a sweep edits at least 2 faces", got=f"{len(done)} of {len(images)}", fix=fix)
    outside = np.concatenate([part["outside"] for part in parts])[reason == ""]
    _put(job, spec, (faces, done), work, outside)
    toy = bool(getattr(editor, "toy", False))
    job.summary = {
        "faces": len(done), "levels": list(spec.levels), "attribute": editor.attribute,
        "mask": "facial skin" if spec.masked(editor) else "none", "placebo arms": list(work.arms), "toy": toy,
        "towards": getattr(editor, "focal", "") or written(job.plan.contrast.focal),
        "held": list(editor.held) if hasattr(editor, "held") else None,
    }  # fmt: skip


def settled(job: Job) -> SweepSpec:
    """Return the plan's sweep with files found in the folder, and +1 standing for the contrast's focal level."""
    spec = job.plan.counterfactual
    assert spec is not None  # the stage is only planned with the section
    options: dict[str, Any] = {
        key: str(job.folder.root / value) if key in _PATHS and value else value for key, value in spec.options.items()
    }
    found = occupants("editor").get(spec.editor)
    if found is not None and "focal" in inspect.signature(found()).parameters:
        options.setdefault("focal", written(job.plan.contrast.focal))
    return replace(spec, options=options)


def _work(job: Job, spec: SweepSpec, editor: Editor) -> tuple[Faces, Sweep]:
    """Say what is edited: photographs inside a mask, or whole pictures in the generator's frame."""
    pictures, arms = job.folder.work(f"{job.key}-pictures"), arms_of(spec, editor)
    if not spec.masked(editor):
        faces, album = framed(job)
        return faces, Sweep(spec, album, pictures, job.plan.seed, arms)
    from likewise.make.masked_sweep import MaskedSweep, frame_for, segmenter  # noqa: PLC0415  # networks load late

    faces = job.faces()
    job.used(segmenter())
    job.used_finder(spec.finder)
    frame = frame_for(editor, job.plan.align)
    return faces, MaskedSweep(spec, job.album(faces), pictures, job.plan.seed, arms, frame)


def _offered(job: Job, faces: Faces, spec: SweepSpec, editor: Editor) -> list[str]:
    """Choose the faces, and say whom the dial has no place for."""
    contrast, latents = job.plan.contrast, getattr(editor, "latents", None)
    aside = faces.subset(contrast.side(faces)[lambda side: side == 0].index)
    if len(aside):
        levels = aside.attribute(contrast.column).map(written, na_action="ignore").value_counts(dropna=False).to_dict()
        told = f"{contrast.focal} nor {contrast.reference}"
        job.notes.append(f"{len(aside)} images are neither {told} and are not turned: {levels}")
    if latents is not None:
        there = [image for image in faces.images if image in latents]
        if len(there) < len(faces):
            job.notes.append(f"{len(faces) - len(there)} images have no latent and are not turned")
        faces = faces.subset(there)
    images = chosen(faces, spec, seed=job.plan.seed, contrast=contrast)
    if not _turns_trials(job):
        return images
    offered = set(faces.images)
    return [image for image in with_partners(images, _genuine(job)) if image in offered]


def _turns_trials(job: Job) -> bool:
    """Say whether recognisers are asked about edited pictures: then both pictures of a trial are turned."""
    return any(rater.slot == "recogniser" for rater in job.plan.rater)


def _genuine(job: Job) -> Pairs:
    return Pairs.read(job.path(TRIALS)).genuine()


def _about(job: Job, editor: Editor) -> list[str]:
    """Say what the reader has to know of the editor."""
    notes = []
    if editor.attribute != job.plan.contrast.column:
        notes.append(f"The editor turns {editor.attribute!r}; the contrast is about {job.plan.contrast.column!r}.")
    return notes


def _counted(images: list[str], parts: list[dict[str, Any]], album: Album) -> list[str]:
    """Count what could not be edited, and what was unusual."""
    reasons = Counter(str(why) for part in parts for why in part["reason"] if why)
    unusual = Counter(remark for part in parts for told in part["remark"] for remark in str(told).split("|") if remark)
    why = [str(reason) for part in parts for reason in part["reason"]]
    edited = [image for image, reason in zip(images, why, strict=True) if not reason]
    unusual.update(trait for image in edited for trait in traits(inside(album.root, album.files[image])))
    notes = [f"{count} of {len(images)} images are not edited: {why}." for why, count in reasons.most_common()]
    told = ", ".join(f"{what} ({count})" for what, count in unusual.most_common())
    return notes + ([f"Unusual pictures in the sweep, which are edited all the same: {told}."] if told else [])


def _put(job: Job, spec: SweepSpec, swept: tuple[Faces, list[str]], work: Sweep, outside: np.ndarray) -> None:
    """Put pictures and tables in place; a run killed here finds its pictures again, because they are copied."""
    faces, images = swept
    made, arms = sweep_faces(faces, images, spec), placebo_faces(faces, images, spec, work.arms) if work.arms else None
    with job.folder.swapped(SWEEP) as fresh:
        made.write(fresh / "faces.parquet")
        ratings_of(images, spec.levels, {OUTSIDE: outside.astype(float)}).write(fresh / "outside.parquet")
        (fresh / "images").mkdir()
        for name in map(file_of, [*made.images, *(arms.images if arms else [])]):
            shutil.copyfile(work.folder / name, fresh / "images" / name)
        if arms is not None:
            arms.write(fresh / "placebo.parquet")
        if _turns_trials(job):
            turned_trials(_genuine(job), made).write(fresh / TURNED)
        shown = Album(fresh / "images", {key: file_of(key) for key in made.images})
        sheet = contact_sheet(work.album, shown, images, spec.levels)
        Image.fromarray(sheet).save(fresh / SHEET, format="JPEG", quality=90)


def certifying(job: Job) -> None:
    """Have the judges look at every edit; those that break a rule are kept out of the slopes."""
    planned, sidecar = job.plan.judged, job.folder.sidecar(SWEEP)
    assert planned is not None and sidecar is not None  # the stage is only planned after a sweep that is judged
    spec, told = settled_judges(planned, job.plan, Edited.of(sidecar.summary))
    job.notes += told
    judges = Judges(spec)
    for judge in (*judges.classifiers.values(), *filter(None, [judges.recogniser])):
        job.used(judge)
    made, album = sweep_album(job.folder)
    levels, images = tuple(sorted(made.frame["level"].unique())), sorted(made.frame["parent"].unique())
    originals = (framed(job) if _in_frame(job) else (job.faces(), job.album(job.faces())))[1]
    outside = Ratings.read(job.path(SWEEP) / "outside.parquet")
    parts = [outside]
    if spec.judges or spec.recogniser:
        done = list(job.chunks("certify", Certifying(spec, levels, originals, album), images))
        answers = {question: np.concatenate([part[question] for part in done]) for question in done[0]}
        parts.append(ratings_of(images, levels, answers))
    ratings = Ratings.together(parts)
    verdict = judged(ratings, made, replace(spec, person=judges.person))
    Ratings.together([ratings, verdicts(verdict, made)]).write(job.path(CERTIFICATES))
    job.summary = {"originals": len(images), **shares(verdict.reasons, images)}
    job.notes += [*_too_far(verdict), *_verdict(job, verdict.reasons, made)]


def _in_frame(job: Job) -> bool:
    sidecar = job.folder.sidecar(SWEEP)
    return sidecar is not None and sidecar.summary.get("mask") == "none"


def _too_far(verdict: Verdict) -> list[str]:
    if not verdict.too_far:
        return []
    levels = ", ".join(f"{level:+g}" for level in verdict.too_far)
    return [
        f"Levels that are left out of the slopes for everybody: {levels}. They lie beyond the training range, and "
        "most edits there break a rule."
    ]


def _verdict(job: Job, reasons: pd.Series, made: Faces) -> list[str]:
    if reasons.empty:
        return []
    parents = made.frame.drop_duplicates("parent").set_index("parent")
    lost = parents.loc[reasons.index, job.plan.contrast.column].map(written).value_counts().to_dict()
    why = ", ".join(f"{reason} ({count})" for reason, count in reasons.value_counts().items())
    return [
        f"The edits of {len(reasons)} of {len(parents)} faces are not certified and are kept out of the slopes: {why}. "
        f"By group: {lost}."
    ]
