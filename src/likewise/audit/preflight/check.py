"""The preflight of an audit: one pass that lists all that is missing or wrong. Nothing is written.

``likewise check`` shows it; ``likewise run``, ``likewise audit`` and ``Audit.run`` do it first, for the stages that
will run. Names, files, columns and weights come first, because they take no time; only then are components made, which
loads their networks and shows missing packages and wrong options.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from likewise.audit.folder.artifacts import IMAGES
from likewise.audit.folder.store import PLAN, Folder
from likewise.audit.matching import unmatched_trials
from likewise.audit.needs import is_missing, needs_of
from likewise.audit.plan.design_sections import PrecomputedAnswers
from likewise.audit.plan.model import Plan
from likewise.audit.preflight.data import check_data
from likewise.audit.preflight.durations import durations
from likewise.audit.preflight.features import check_features
from likewise.audit.preflight.licenses import check_license
from likewise.audit.preflight.problem import Check, missing_weight
from likewise.audit.raters.edit_service import edit_costs, edit_service
from likewise.audit.raters.planned import classifies, costs, services_of
from likewise.audit.raters.precomputed import read_entry
from likewise.audit.stage import ComponentUse, Stage
from likewise.audit.stages import enabled_stages, read_plan
from likewise.data.keys import known_keys
from likewise.data.precomputed_labels import read_labels
from likewise.data.scores.measure import need_consistent, separation
from likewise.errors import LikewiseError, PlanError, PluginError, TableError, VectorError, nearest, some
from likewise.rating.models import resolve_model
from likewise.runtime.registry import KINDS, components, create
from likewise.services.budget import Budget
from likewise.tables import Images, Vectors

_EXTRAS = {"torch": "torch", "safetensors": "torch", "dlib": "faces", "onnxruntime": "onnx", "onnx": "onnx",
           "ray": "ray", "faiss": "scale", "boto3": "apis", "h5py": "torch"}  # fmt: skip


_NEAR = 30  # days before the retention date


def check_audit(root: str | Path, *, decode: bool = False, measure: bool = False) -> Check:
    """Check everything that the plan of this folder names.

    Parameters
    ----------
    root : str or Path
        The audit folder.
    decode : bool
        Decode every image, not only its header.
    measure : bool
        Time the stages on an image or two.
    """
    folder = Folder(root)
    plan = read_plan(folder.path(PLAN))
    found = Check(plan.report.title, [stage.name for stage in enabled_stages(plan)])
    check_retention(found, plan)
    images = check_data(found, folder.root, plan, whole=decode, files_only=False)
    stages = enabled_stages(plan)
    check_inputs(found, folder, plan, stages, images)
    check_license(found, folder, plan, stages)
    check_components(found, folder, plan, stages, names_only=False)
    check_matched_features(found, folder, plan, stages, images)
    check_services(found, folder, plan)
    found.notes += unmatched_trials(plan)
    if not plan.rater and not plan.precomputed and plan.collect is None:
        found.notes.append("the plan has no rater: the report will show the design alone")
    if measure and found.ready and plan.data.images and images is not None:
        found.times = durations(folder, plan, images)
    return found


def preflight(folder: Folder, plan: Plan, stages: Sequence[Stage]) -> Check:
    """Check what these stages need, and raise all problems at once; quick checks come first."""
    found = Check(plan.report.title, [stage.name for stage in stages])
    check_retention(found, plan)
    images = _images(found, folder, plan, stages)
    check_inputs(found, folder, plan, stages, images)
    check_license(found, folder, plan, stages)
    check_components(found, folder, plan, stages, names_only=True)
    found.raise_problems()
    check_components(found, folder, plan, stages, names_only=False)
    check_matched_features(found, folder, plan, stages, images)
    found.raise_problems()
    return found


def _images(found: Check, folder: Folder, plan: Plan, stages: Sequence[Stage]) -> Images | None:
    """Return the images of a run: checked where they will be read, else as they were read."""
    if any(stage.name == "read" for stage in stages):
        return check_data(found, folder.root, plan, whole=False, files_only=True)
    read = folder.path(IMAGES)
    return Images.read(read) if read.is_file() else None


def check_matched_features(
    found: Check, folder: Folder, plan: Plan, stages: Sequence[Stage], images: Images | None
) -> None:
    """Check the features of the matching; those of a generator only where nothing else is missing."""
    known = found.ready or not plan.projects
    if images is not None and known and any(stage.name == "match" for stage in stages):
        check_features(found, folder.root, plan, images)


def check_retention(found: Check, plan: Plan) -> None:
    """Refuse a run after the retention date, and note a date that is near."""
    left, until = plan.privacy.days_left(date.today()), plan.privacy.retain_until
    if left is not None and left < 0:
        fix = "Delete the data and this folder; or, if a longer period was decided on, change the date."
        found.problem(f"The data were to be kept until {until} (retain_until in [privacy])", fix, kind=PlanError)
    elif left is not None and left <= _NEAR:
        found.notes.append(f"the data may be kept for {left} more days, until {until}")


def missing_weights(folder: str | Path) -> list[str]:
    """Return the weights that the plan of a folder needs, directly or indirectly, and that are not fetched."""
    place = Folder(folder)
    plan = read_plan(place.path(PLAN))
    needed = [
        name
        for stage in enabled_stages(plan)
        for use in _uses(stage, place, plan)
        for name in needs_of(use, plan).weights
    ]
    return [name for name in dict.fromkeys(needed) if is_missing(name)]


def check_inputs(found: Check, folder: Folder, plan: Plan, stages: Sequence[Stage], images: Images | None) -> None:
    """Check the files that the plan names, and the keys in those of vectors and precomputed answers."""
    for path in dict.fromkeys(path for stage in stages for path in stage.files(plan) if path):
        place = folder.root / path
        found.files.append({
            "file": path, "exists": place.exists(), "bytes": place.stat().st_size if place.is_file() else 0
        })  # fmt: skip
        if not place.exists() and path != plan.data.table:
            found.problem(f"File not found: {path} (in {folder.root})", "Paths are relative to the plan.")
    if plan.estimate.labels and not classifies(plan):
        fix = "Remove them, or add answers of the service as [[precomputed]]."
        problem = "labels in [estimate] have no effect: beside [counterfactual], services rate the edits only"
        found.problem(problem, fix, kind=PlanError)
    if images is None:
        return
    if any(stage.name == "project" for stage in stages) and plan.vectors and (folder.root / plan.vectors).exists():
        _attempt(found, "vectors", lambda: _check_vectors(folder.root / plan.vectors, images))
    if any(stage.name == "rate" for stage in stages):
        for entry in plan.precomputed:
            if (folder.root / entry.path).exists():
                what = f"[[precomputed]] {entry.rater!r}"
                _attempt(found, what, partial(_check_answers, folder.root, entry, images))


def _check_vectors(path: Path, images: Images) -> None:
    keys = Vectors.read(path).keys
    if known_keys(pd.Series(keys, dtype="str"), images, path.name, strict=False).isna().all():
        fix = f"Its keys are {some(keys, 3)}; the table has {some(images.keys, 3)}."
        raise VectorError(f"{path.name} has no vector of an image of the table", fix=fix)


def _check_answers(root: Path, entry: PrecomputedAnswers, images: Images) -> None:
    path = root / entry.path
    if entry.embeddings:
        _check_vectors(path, images)
    elif entry.scores:
        need_consistent(separation(read_entry(path, images, entry), images), entry.rater, entry.how)
    elif not len(read_labels(path, images, entry.rater, columns=entry.columns, scale=entry.scale)):
        raise TableError(
            f"{path.name} has no answer about an image of the table",
            fix="Its column 'image' has to hold keys of the table, with or without suffix.",
        )


def check_components(found: Check, folder: Folder, plan: Plan, stages: Sequence[Stage], *, names_only: bool) -> None:
    """Check the names and the weights of all components; then make them, unless only names are checked."""
    uses: dict[str, ComponentUse] = {}
    for stage in stages:
        try:
            uses |= {f"{use.kind} {use.name} {sorted(use.options.items())}": use for use in _uses(stage, folder, plan)}
        except LikewiseError as error:
            found.add(error, stage.name)
    lacking: dict[int, list[str]] = {}
    for number, use in enumerate(uses.values()):
        if use.kind in KINDS and _is_name(use.name) and use.name not in components(use.kind):
            fix = nearest(use.name, components(use.kind)) or f"Installed: {some(components(use.kind), 12)}."
            found.problem(f"Unknown {use.kind} {use.name!r}", fix, kind=PluginError)
            lacking[number] = []
            continue
        needed = needs_of(use, plan)
        for package, extra in needed.missing_packages().items():
            problem = f"{use.kind} {use.name} needs the package {package!r}, which is not installed"
            found.problem(problem, f"Install it with: pip install 'likewise[{extra}]'", kind=PluginError)
            lacking[number] = []
        if missing := [name for name in needed.weights if is_missing(name)]:
            lacking[number] = missing
    missing_weight(found, [name for names in lacking.values() for name in names], str(folder.root))
    if names_only:
        return
    found.components = [
        {"component": f"{use.kind} {use.name}", "state": "missing", "license": ""}
        if number in lacking
        else _made(found, use, plan)
        for number, use in enumerate(uses.values())
    ]


def _uses(stage: Stage, folder: Folder, plan: Plan) -> list[ComponentUse]:
    return [use for use in stage.components(folder, plan) if use.name]


def _is_name(name: str) -> bool:
    return ":" not in name and not name.lower().endswith((".onnx", ".toml"))


def _made(found: Check, use: ComponentUse, plan: Plan) -> dict[str, str]:
    row = {"component": f"{use.kind} {use.name}", "state": "ready", "license": ""}
    if use.late:
        return {**row, "state": "made after its inputs"}
    made = _attempt(found, row["component"], lambda: _make(use, plan))
    return {**row, "license": str(getattr(made, "license", ""))} if made is not None else {**row, "state": "missing"}


def _make(use: ComponentUse, plan: Plan) -> Any:
    """Make a component; networks load late."""
    if use.kind == "detector":
        from likewise.models.detectors.registry import detector  # noqa: PLC0415

        return detector(use.name)
    if use.kind == "segmenter":
        from likewise.counterfactuals.masked_sweep import segmenter  # noqa: PLC0415

        return segmenter()
    if use.kind == "describer":
        from likewise.data.describe import describer  # noqa: PLC0415

        assert plan.describe is not None
        return describer(plan.describe)
    make = resolve_model if use.kind in ("recognizer", "classifier") else create
    made = make(use.kind, use.name, use.options)
    if isinstance(name := getattr(made, "detector", None), str) and name:
        _make(ComponentUse("detector", name), plan)
    return made


def _attempt(found: Check, what: str, make: Callable[[], Any]) -> Any:
    """Make something; an error becomes a problem, a missing package with the command that installs it."""
    try:
        return make()
    except ImportError as error:
        package = (error.name or "").partition(".")[0] or str(error)
        extra = _EXTRAS.get(package)
        fix = f"pip install 'likewise[{extra}]'" if extra else f"pip install {package}"
        found.problem(f"{what} needs the package {package!r}, which is not installed", fix, kind=PluginError)
    except LikewiseError as error:
        found.add(error, what)
    return None


def check_services(found: Check, folder: Folder, plan: Plan) -> None:
    """Check the keys of paid services, and estimate their costs."""
    try:
        services = services_of(folder, plan, Budget())
        editor = edit_service(folder, plan, Budget())
    except LikewiseError as error:
        found.add(error)
        return
    for service in (*services.values(), *([editor] if editor else [])):
        lacking = service.missing()
        state = "key missing" if lacking else "ready"
        found.components.append({"component": f"service {service.name}", "state": state, "license": service.license})
        if lacking:
            found.problem(lacking)
    found.costs = [str(cost) for cost in (*edit_costs(folder, plan), *costs(folder, plan, services))]
