"""Services in a plan: which raters are one, what asking them will cost, and where their answers are kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from likewise.cli.plan import Plan, Rater
from likewise.images import Album
from likewise.make.counterfactual import file_of
from likewise.plugins import create, occupants
from likewise.services.purse import Bill, Purse
from likewise.services.service import Service
from likewise.store import Folder
from likewise.tables import Faces

SWEEP = "counterfactuals"
Looked = tuple[list[str], Album]
"""Images, and how they are looked at."""


def recognises(plan: Plan) -> bool:
    """Say whether somebody under audit tells how far apart two images are."""
    models = any(rater.slot == "recogniser" for rater in plan.rater)
    return models or any(entry.recognises for entry in plan.answered)


def classifies(plan: Plan) -> bool:
    """Say whether somebody gives labels to the images as they are."""
    models = any(labels_images(plan, rater) for rater in plan.rater)
    return models or any(not entry.recognises for entry in plan.answered)


def labels_images(plan: Plan, rater: Rater) -> bool:
    """Say whether this classifier looks at the images as they are: besides a sweep only one that asks no payment."""
    return rater.slot == "classifier" and (plan.counterfactual is None or not _is_service(rater.name))


def sweeps(plan: Plan) -> bool:
    """Say whether a classifier looks at counterfactuals."""
    return plan.counterfactual is not None and any(rater.slot == "classifier" for rater in plan.rater)


def rater_options(folder: Folder, rater: Rater) -> dict[str, Any]:
    """Return a rater's options with its file found in the audit folder."""
    return {key: str(folder.root / value) if key == "path" else value for key, value in rater.options.items()}


def services_of(folder: Folder, plan: Plan, purse: Purse) -> dict[int, Service]:
    """Make the raters that are services, by their place in the plan; their answers are kept in the folder."""
    found = {}
    for number, rater in enumerate(plan.rater):
        if rater.slot == "classifier" and _is_service(rater.name):
            service: Service = create("classifier", rater.name, rater_options(folder, rater))
            service.open(folder.root, purse)
            found[number] = service
    return found


def _is_service(name: str) -> bool:
    """Look at the class alone: other classifiers may be slow to make."""
    try:
        factory = occupants("classifier")[name]()
    except Exception:  # unknown or broken: whoever makes it says so
        return False
    return isinstance(factory, type) and issubclass(factory, Service)


def bills(folder: Folder, plan: Plan, services: dict[int, Service], shown: Looked | None = None) -> list[Bill]:
    """Say what the services will cost: to the call when the pictures are there, at most so much before."""
    if not services:
        return []
    if shown is not None:
        return [_bill(service, *shown) for service in services.values()]
    if plan.counterfactual is None:  # the images themselves, which are not opened for an estimate
        most = len(plan.faces.source(folder.root).faces())
        return [Bill(service.name, service.where, most, service.price, most=True) for service in services.values()]
    if (folder.path(SWEEP) / "faces.parquet").is_file():
        images, album = rated_album(folder)
        return [_bill(service, images, album) for service in services.values()]
    spec = plan.counterfactual
    most = spec.most * (len(spec.levels) * (2 if spec.placebo else 1) + (3 if spec.placebo else 0))
    return [Bill(service.name, service.where, most, service.price, most=True) for service in services.values()]


def sweep_album(folder: Folder) -> tuple[Faces, Album]:
    """Return the counterfactuals and their pictures."""
    made = Faces.read(folder.path(SWEEP) / "faces.parquet")
    return made, _album(folder, made.images)


def placebo_of(folder: Folder) -> Faces | None:
    """Return the faces of the placebo arms, where the sweep has any."""
    path = folder.path(SWEEP) / "placebo.parquet"
    return Faces.read(path) if path.is_file() else None


def rated_album(folder: Folder) -> tuple[list[str], Album]:
    """Return everything of the sweep that classifiers look at, the placebo arms included."""
    arms = placebo_of(folder)
    images = [*sweep_album(folder)[0].images, *(arms.images if arms else [])]
    return images, _album(folder, images)


def sheet_of(folder: Folder, *, show: bool) -> Path | None:
    """Return the contact sheet of the sweep where it may be shown: of drawings, of people only if the plan says so."""
    made = folder.sidecar(SWEEP)
    shown = made is not None and (show or made.summary.get("toy") is True)
    return folder.path(SWEEP) / "sheet.jpg" if shown else None


def _album(folder: Folder, images: list[str]) -> Album:
    return Album((folder.path(SWEEP) / "images").resolve(), {key: file_of(key) for key in images})


def _bill(service: Service, images: list[str], album: Album) -> Bill:
    return service.bill([service.request(picture) for _, part in album.stacks(images) for picture in part])
