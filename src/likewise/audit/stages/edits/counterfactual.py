"""counterfactual: edit one attribute of some images and nothing else, with placebo arms beside."""

from __future__ import annotations

import inspect
import shutil
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image

from likewise.audit.context import StageContext
from likewise.audit.folder.artifacts import (
    ALIGNED,
    COUNTERFACTUALS,
    DESCRIBED,
    EDITED_TRIALS,
    IMAGES,
    LATENTS,
    PLACEBO,
    SHEET,
    TRIALS,
)
from likewise.audit.folder.artifacts import OUTSIDE as OUTSIDE_PIXELS
from likewise.audit.folder.store import Folder
from likewise.audit.plan.model import Plan
from likewise.audit.raters.edit_service import approved
from likewise.audit.raters.planned import PATHS, resolved
from likewise.audit.stage import ComponentUse, Stage, named_weights
from likewise.counterfactuals.sweep import (
    Sweep,
    arms_of,
    chosen,
    placebo_faces,
    sweep_faces,
    turned_trials,
    with_partners,
)
from likewise.counterfactuals.sweep_spec import IMPORT, NONE, PERSON, SKIN, SweepSpec, editor_of
from likewise.counterfactuals.validation.measure_edits import ratings_of
from likewise.counterfactuals.validation.validity import OUTSIDE
from likewise.data.contact_sheet import contact_sheet
from likewise.data.keys import file_of
from likewise.data.pictures import PictureSource
from likewise.errors import LikewiseError, TableError
from likewise.runtime.executor import Executor
from likewise.runtime.pixels import ImageFolder, inside, traits
from likewise.runtime.registry import Editor, components
from likewise.tables import Images
from likewise.tables.contrast import written

_REGIONS = {SKIN: "facial skin", PERSON: "person", NONE: "none"}


class Counterfactual(Stage):
    """Edit the attribute of some images."""

    name, artifact, section, version, seeded = "counterfactual", COUNTERFACTUALS, "counterfactual", 4, True
    help = "Edit the attribute of some images and leave everything else."
    paid = True

    def enabled(self, plan: Plan) -> bool:
        """Whether the plan has the section."""
        return plan.counterfactual is not None

    def needs(self, plan: Plan) -> tuple[str, ...]:
        """Return the images; for recognizers the trials too, and the latents where the editor reads them."""
        latents = (LATENTS,) if _options(plan).get("latents") == LATENTS else ()
        trials = (TRIALS,) if plan.recognizers else ()
        return (IMAGES if plan.describe is None else DESCRIBED, *trials, ALIGNED, *latents)

    def options(self, plan: Plan) -> dict[str, Any]:
        """Return the section, the contrast and the alignment."""
        section = asdict(plan.counterfactual) if plan.counterfactual else {}
        return section | {"contrast": asdict(plan.contrast), "align": asdict(plan.align) if plan.align else {}}

    def components(self, folder: Folder, plan: Plan) -> list[ComponentUse]:
        """Return the editor, and segmenter and detector of a masked sweep."""
        spec = plan.counterfactual
        if spec is None:
            return []
        options, late = sweep_spec(folder, plan).options, bool(spec.options.get("latents"))
        found = [ComponentUse("editor", spec.editor, options, late=late)]
        region = _region(spec)
        found += [ComponentUse("segmenter", "bisenet")] if region != NONE else []
        return found + ([ComponentUse("detector", spec.detector)] if region == SKIN else [])

    def weights(self, plan: Plan) -> tuple[str, ...]:
        """Return the editor's weights."""
        return named_weights(_options(plan))

    def files(self, plan: Plan) -> tuple[str, ...]:
        """Return the files that the editor's options name."""
        named = [str(_options(plan)[key]) for key in PATHS if _options(plan).get(key)]
        return tuple(path for path in named if path != LATENTS)

    def run(self, context: StageContext) -> None:
        """Write the edited pictures, their table, the placebo arms and a contact sheet."""
        spec = sweep_spec(context.folder, context.plan)
        editor = context.note_license(editor_of(spec))
        images, work = _work(context, spec, editor)
        context.notes += _about(context, editor)
        keys = _offered(context, images, spec, editor)
        parts = _edited(context, spec, editor, work, keys)
        reason = np.concatenate([part["reason"] for part in parts])
        done = [image for image, why in zip(keys, reason, strict=True) if not why]
        groups = dict(zip(images.keys, images.attribute(context.plan.contrast.column).map(written), strict=True))
        context.notes += _counted(keys, parts, work.album, groups)
        if len(done) < 2:
            fix = "Check the images, or mask and detector in [counterfactual]."
            why = (
                f" (most often: {Counter(reason[reason != '']).most_common(1)[0][0]})" if len(done) < len(keys) else ""
            )
            raise TableError(f"Only {len(done)} of {len(keys)} images could be edited; a sweep needs 2{why}", fix=fix)
        outside = np.concatenate([part["outside"] for part in parts])[reason == ""]
        _put(context, spec, (images, done), work, outside)
        context.summary = {
            "images": len(done), "strengths": list(spec.strengths), "attribute": editor.attribute,
            "mask": _REGIONS[spec.region(editor)], "placebo arms": list(work.arms),
            "toy": bool(getattr(editor, "toy", False)),
            "toward": getattr(editor, "focal", "") or written(context.plan.contrast.focal),
            "held": list(editor.held) if hasattr(editor, "held") else None,
        }  # fmt: skip


def _options(plan: Plan) -> dict[str, Any]:
    return plan.counterfactual.options if plan.counterfactual else {}


def _edited(
    context: StageContext, spec: SweepSpec, editor: Editor, work: Sweep, keys: list[str]
) -> list[dict[str, Any]]:
    """Edit chunk by chunk; an endpoint is called from this process, and resumes from its recorded answers."""
    if not approved(context, spec, editor, keys):
        return list(context.map_chunks("counterfactual", work, keys))
    here = Executor(chunk=context.plan.executor.chunk, retries=0)
    with context.reporter.task("counterfactual", len(keys)) as progress:
        parts = list(here.map(replace(work, editor=editor), keys, progress=progress))
    context.notes += getattr(editor, "remarks", list)()
    return parts


def _region(spec: SweepSpec) -> str:
    """Return where edits may show, by the class of the editor alone: an instance may be slow to make."""
    if spec.mask:
        return spec.mask
    try:
        factory = components("editor")[spec.editor]()
    except (KeyError, LikewiseError, ImportError):
        return NONE
    return str(getattr(factory, "mask", SKIN))


def sweep_spec(folder: Folder, plan: Plan) -> SweepSpec:
    """Return the plan's sweep with resolved paths, and +1 meaning the contrast's focal level."""
    spec = plan.counterfactual
    assert spec is not None  # enabled only with the section
    options = resolved(folder, spec.options)
    found = components("editor").get(spec.editor)
    if spec.editor == IMPORT and options.get("images"):
        options["images"] = str(folder.root / str(options["images"]))
    takes = inspect.signature(found()).parameters if found is not None else {}
    if "focal" in takes:
        options.setdefault("focal", written(plan.contrast.focal))
    if "attribute" in takes and takes["attribute"].default is inspect.Parameter.empty:
        options.setdefault("attribute", spec.attribute or plan.contrast.column)
    return replace(spec, options=options)


def _work(context: StageContext, spec: SweepSpec, editor: Editor) -> tuple[Images, Sweep]:
    """Return what is edited and how: photographs inside a mask, or whole pictures in the generator's frame."""
    pictures, arms = context.folder.work(f"{context.key}-pictures"), arms_of(spec, editor)
    if not spec.masked(editor):
        whole = spec.region(editor) == PERSON  # photographs as they are
        images, album = (context.images(), context.album(context.images())) if whole else context.framed()
        return images, Sweep(spec, album, pictures, context.plan.seed, arms)
    from likewise.counterfactuals.masked_sweep import MaskedSweep, frame_for, segmenter  # noqa: PLC0415  # networks load late

    images = context.images()
    context.note_license(segmenter())
    context.note_detector(spec.detector)
    frame = frame_for(editor, context.plan.align)
    return images, MaskedSweep(spec, context.album(images), pictures, context.plan.seed, arms, frame)


def _offered(context: StageContext, images: Images, spec: SweepSpec, editor: Editor) -> list[str]:
    """Choose the images, and note those that cannot be edited."""
    contrast, latents = context.plan.contrast, getattr(editor, "latents", None)
    neither = images.subset(contrast.side(images)[lambda side: side == 0].index)
    if len(neither):
        levels = (
            neither.attribute(contrast.column).map(written, na_action="ignore").value_counts(dropna=False).to_dict()
        )
        groups = f"{contrast.focal} nor {contrast.reference}"
        context.notes.append(f"{len(neither)} images are neither {groups} and are not edited: {levels}")
    if latents is not None:
        there = [image for image in images.keys if image in latents]
        if len(there) < len(images):
            context.notes.append(f"{len(images) - len(there)} images have no latent and are not edited")
        images = images.subset(there)
    ready = getattr(editor, "images", None)
    if ready is not None:  # a set that is there already
        there = [image for image in images.keys if image in ready]
        context.notes.append(f"{len(images) - len(there)} of {len(images)} images are not in the set of edits")
        images = images.subset(there)
    keys = chosen(images, spec, seed=context.plan.seed, contrast=contrast)
    if not context.plan.recognizers:
        return keys
    known = set(images.keys)  # recognizers rate trials: both images of a trial are edited
    return [image for image in with_partners(keys, context.trials().genuine()) if image in known]


def _about(context: StageContext, editor: Editor) -> list[str]:
    """Note an editor of another attribute than the contrast's."""
    column = context.plan.contrast.column
    return [] if editor.attribute == column else [f"The editor edits {editor.attribute!r}; the contrast is {column!r}."]


def _counted(
    keys: list[str], parts: list[dict[str, Any]], album: PictureSource, groups: Mapping[str, object]
) -> list[str]:
    """Count the images that could not be edited, and unusual ones, by reason and group."""
    why = [str(reason) for part in parts for reason in part["reason"]]
    message = [str(remark) for part in parts for remark in part["remark"]]
    reasons: dict[str, Counter[str]] = {}
    unusual: dict[str, Counter[str]] = {}
    for image, reason, remarks in zip(keys, why, message, strict=True):
        found = [reason] if reason else [*filter(None, remarks.split("|")), *_traits(album, image)]
        for each in found:
            (reasons if reason else unusual).setdefault(each, Counter())[str(groups[image])] += 1
    notes = [
        f"{by.total()} of {len(keys)} images are not edited: {each}. By group: {dict(by)}."
        for each, by in sorted(reasons.items(), key=lambda item: -item[1].total())
    ]
    shown = "; ".join(f"{each} ({by.total()}: {dict(by)})" for each, by in sorted(unusual.items()))
    return notes + ([f"Unusual images in the sweep, which are edited all the same: {shown}."] if shown else [])


def _traits(album: PictureSource, image: str) -> list[str]:
    return traits(inside(album.root, album.files[image])) if isinstance(album, ImageFolder) else []


def _put(
    context: StageContext, spec: SweepSpec, swept: tuple[Images, list[str]], work: Sweep, outside: npt.NDArray[Any]
) -> None:
    """Put pictures and tables in place; they are copied, so that a run killed here resumes."""
    images, keys = swept
    made = sweep_faces(images, keys, spec)
    arms = placebo_faces(images, keys, spec, work.arms) if work.arms else None
    with context.replaced(COUNTERFACTUALS) as fresh:
        made.write(fresh / IMAGES)
        ratings_of(keys, spec.strengths, {OUTSIDE: outside.astype(float)}).write(fresh / OUTSIDE_PIXELS)
        (fresh / "images").mkdir()
        for name in map(file_of, [*made.keys, *(arms.keys if arms else [])]):
            shutil.copyfile(work.folder / name, fresh / "images" / name)
        if arms is not None:
            arms.write(fresh / PLACEBO)
        if context.plan.recognizers:
            turned_trials(context.trials().genuine(), made).write(fresh / EDITED_TRIALS)
        shown = ImageFolder(fresh / "images", {key: file_of(key) for key in made.keys})
        sheet = contact_sheet(work.album, shown, keys, spec.strengths)
        Image.fromarray(sheet).save(fresh / SHEET, format="JPEG", quality=90)
