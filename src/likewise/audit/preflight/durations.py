"""How long the stages will take: measured on an image or two, and extrapolated."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from likewise.audit.folder.store import Folder
from likewise.audit.plan.model import Plan
from likewise.errors import LikewiseError
from likewise.latents.projection import Projection
from likewise.rating.encode import Features
from likewise.rating.rate import Embedding, Scoring
from likewise.runtime.pixels import ImageFolder, decode, find
from likewise.tables import Images

Work = Callable[[list[str]], Any]


def durations(folder: Folder, plan: Plan, images: Images) -> list[dict[str, Any]]:
    """Measure each work on two images, the first to warm up (except for a projection, which is slow).

    The workers share the images. Services are left out: calls may cost money.
    """
    root = (folder.root / plan.data.images).resolve()
    files = {key: path.relative_to(root).as_posix() for key in images.keys[:2] if (path := find(root, key))}
    album, keys = ImageFolder(root, files), list(files)
    rows = [_read(album, keys, len(images))]
    for what, work, number, warm in _works(folder, plan, album, len(images)):
        rows.append(_measured(what, work, keys, number, warm=warm))
    for row in rows:
        row["seconds"] /= plan.executor.workers if plan.executor.kind != "local" else 1
    return [row for row in rows if row["seconds"] > 0]


def _read(album: ImageFolder, keys: list[str], images: int) -> dict[str, Any]:
    started = time.process_time()
    for key in keys:
        decode(album.root / album.files[key])
    return {"what": "read", "images": images, "seconds": (time.process_time() - started) / max(len(keys), 1)}


def _works(folder: Folder, plan: Plan, album: ImageFolder, images: int) -> list[tuple[str, Work, int, bool]]:
    from likewise.audit.raters.planned import rater_name, resolved, services_of  # noqa: PLC0415
    from likewise.services.budget import Budget  # noqa: PLC0415

    works: list[tuple[str, Work, int, bool]] = []
    if plan.projects:
        works.append((f"project ({plan.project.generator})", Projection(plan.project, album), images, False))
    if plan.encode and plan.encode.kind:
        name = plan.encode.name
        looked = Features(plan.encode.kind, name, plan.encode.options, album, plan.encode.size)
        recognized = Embedding(name, plan.encode.options, album)
        works.append((f"encode ({name})", recognized if plan.encode.recognizer else looked, images, True))
    asked = images if plan.counterfactual is None else plan.counterfactual.most * len(plan.counterfactual.strengths)
    services = services_of(folder, plan, Budget())
    for number, rater in enumerate(plan.rater):
        name, options = rater_name(folder, rater), resolved(folder, rater.options)
        if rater.kind == "recognizer":
            works.append((f"rate ({rater.name})", Embedding(name, options, album), images, True))
        elif number not in services:
            works.append((f"rate ({rater.name})", Scoring(name, options, album), asked, True))
    return works


def _measured(what: str, work: Work, keys: list[str], images: int, *, warm: bool) -> dict[str, Any]:
    try:
        if warm:
            work(keys[:1])
        started = time.process_time()
        work(keys[-1:])
    except LikewiseError:  # images that are not aligned yet, for instance
        return {"what": what, "images": images, "seconds": 0.0}
    return {"what": what, "images": images, "seconds": time.process_time() - started}
