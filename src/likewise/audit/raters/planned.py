"""The raters of a plan: their options with resolved paths, which of them are paid services, and what those cost."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from likewise.audit.folder.artifacts import COUNTERFACTUALS, IMAGES, PLACEBO
from likewise.audit.folder.store import Folder
from likewise.audit.plan.model import Plan
from likewise.audit.plan.sections import RaterPlan
from likewise.audit.raters.pair_questions import ShownPairs, has_pairs, most_pairs, pair_requests
from likewise.data.keys import file_of
from likewise.rating.models import resolve_model
from likewise.runtime.pixels import ImageFolder
from likewise.runtime.registry import components
from likewise.services.base import Service
from likewise.services.budget import Budget, CostEstimate
from likewise.tables import Images

PATHS = ("path", "directions", "latents", "card")
"""Options that are always files, relative to the plan."""
Shown = tuple[list[str], ImageFolder]
"""Images, and their pictures."""


def resolved(folder: Folder, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options with their files relative to the plan; weights may be a name instead."""
    return {key: _resolved(folder.root, key, value) for key, value in options.items()}


def _resolved(root: Path, key: str, value: Any) -> Any:
    if not isinstance(value, str) or not value:
        return value
    looks = "/" in value or bool(Path(value).suffix)
    return str(root / value) if key in PATHS or (looks and (root / value).is_file()) else value


def rater_name(folder: Folder, rater: RaterPlan) -> str:
    """Return the name of a rater; a file is relative to the plan."""
    return str(_resolved(folder.root, "name", rater.name))


def make_rater(folder: Folder, rater: RaterPlan) -> Any:
    """Make a rater of the plan."""
    return resolve_model(rater.kind, rater_name(folder, rater), resolved(folder, rater.options))


def own_thresholds(models: Iterable[Any]) -> dict[str, float]:
    """Return the thresholds that recognizers have, by name; one of the user's own may have none."""
    found = {model.name: float(model.threshold) for model in models}
    return {name: threshold for name, threshold in found.items() if not math.isnan(threshold)}


def label_thresholds(models: Iterable[Any]) -> dict[str, float]:
    """Return the thresholds of classifiers, by name; NaN where answers are averaged instead (detectors, grades)."""
    return {model.name: float(model.threshold) for model in models}


def rater_options_plain(plan: Plan) -> dict[str, Any]:
    """Return the raters as plain values, for the keys of stages that depend on them."""
    plain: dict[str, Any] = {"rater": [asdict(rater) for rater in plan.rater]}
    if plan.precomputed:
        plain["precomputed"] = [asdict(entry) for entry in plan.precomputed]
    return plain


def rater_files(plan: Plan) -> tuple[str, ...]:
    """Return the files that raters need: their options' files, and precomputed answers."""
    named = [str(rater.options[key]) for rater in plan.rater for key in PATHS if rater.options.get(key)]
    named += [rater.name for rater in plan.rater if rater.name.lower().endswith((".onnx", ".toml"))]
    return (*named, *(entry.path for entry in plan.precomputed))


def classifies(plan: Plan) -> bool:
    """Whether a rater gives labels to the unedited images."""
    models = any(labels_images(plan, rater) for rater in plan.rater)
    return models or any(not entry.recognizes for entry in plan.precomputed)


def labels_images(plan: Plan, rater: RaterPlan) -> bool:
    """Whether this classifier rates the unedited images: beside a sweep a service only does where the plan says so."""
    wanted = rater.unedited if rater.unedited is not None else not is_service(rater.name)
    return rater.kind == "classifier" and (plan.counterfactual is None or wanted)


def services_of(folder: Folder, plan: Plan, budget: Budget) -> dict[int, Service]:
    """Make the raters that are services, by their place in the plan; their responses are kept in the folder."""
    found = {}
    for number, rater in enumerate(plan.rater):
        if rater.kind == "classifier" and is_service(rater.name):
            service: Service = make_rater(folder, rater)
            service.open(folder.root, budget)
            found[number] = service
    return found


def is_service(name: str) -> bool:
    """Whether a classifier is a service, by its class alone: others may be slow to make."""
    try:
        factory = components("classifier")[name]()
    except Exception:  # unknown or broken: reported where it is made
        return False
    return isinstance(factory, type) and issubclass(factory, Service)


def costs(folder: Folder, plan: Plan, services: dict[int, Service]) -> list[CostEstimate]:
    """Estimate what the services will cost: exact where the edits are there, else an upper bound."""
    if not services:
        return []
    if (folder.path(COUNTERFACTUALS) / IMAGES).is_file() and not any(map(has_pairs, services.values())):
        return [exact_costs(service, [_swept(folder)], []) for service in services.values()]
    sweep, rows = plan.counterfactual, len(plan.data.source(folder.root).faces())
    edits = 0
    if sweep is not None:
        edits = sweep.most * (len(sweep.strengths) * (2 if sweep.placebo else 1) + (3 if sweep.placebo else 0))
    found = []
    for number, service in services.items():
        pictures = edits + (rows if labels_images(plan, plan.rater[number]) else 0)
        calls = pictures * service.calls_a_picture + most_pairs(service, rows, sweep.most if sweep else 0)
        found.append(CostEstimate(service.name, service.where, calls, service.price, most=True))
    return found


def _swept(folder: Folder) -> Shown:
    place = folder.path(COUNTERFACTUALS)
    keys = [key for name in (IMAGES, PLACEBO) if (place / name).is_file() for key in Images.read(place / name).keys]
    return keys, ImageFolder((place / "images").resolve(), {key: file_of(key) for key in keys})


def exact_costs(service: Service, shown: Sequence[Shown], pairs: Sequence[ShownPairs]) -> CostEstimate:
    """Estimate what a service will cost from the pictures themselves; recorded responses cost nothing."""
    requests = [
        request
        for keys, album in shown
        for _, part in album.stacks(keys)
        for picture in part
        for request in service.requests_of(picture)
    ]
    return service.cost_estimate([*requests, *(request for each in pairs for request in pair_requests(service, each))])
