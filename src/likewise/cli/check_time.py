"""How long the stages that look at pictures will take: an image or two go through them, and the rest is multiplied."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from likewise.cli.encoding import Features
from likewise.cli.plan import Plan
from likewise.errors import LikewiseError
from likewise.images import Album, decode, find
from likewise.make.project import Projection
from likewise.make.rate import Embedding, Scoring
from likewise.store import Folder
from likewise.tables import Faces

Work = Callable[[list[str]], Any]


def durations(folder: Folder, plan: Plan, faces: Faces) -> list[dict[str, Any]]:
    """Measure each work on two images, the first to warm up (not of a projection, which is slow enough).

    Workers of the engine share the images. Services are left out: how fast they answer is not ours to try.
    """
    root = (folder.root / plan.faces.images).resolve()
    files = {key: path.relative_to(root).as_posix() for key in faces.images[:2] if (path := find(root, key))}
    album, keys = Album(root, files), list(files)
    rows = [_read(album, keys, len(faces))]
    for what, work, images, warm in _works(folder, plan, album, len(faces)):
        rows.append(_measured(what, work, keys, images, warm=warm))
    for row in rows:
        row["seconds"] /= plan.engine.workers if plan.engine.kind != "here" else 1
    return [row for row in rows if row["seconds"] > 0]


def _read(album: Album, keys: list[str], images: int) -> dict[str, Any]:
    started = time.perf_counter()
    for key in keys:
        decode(album.root / album.files[key])
    return {"what": "read", "images": images, "seconds": (time.perf_counter() - started) / max(len(keys), 1)}


def _works(folder: Folder, plan: Plan, album: Album, images: int) -> list[tuple[str, Work, int, bool]]:
    from likewise.cli.asking import rater_options, services_of  # noqa: PLC0415
    from likewise.services.purse import Purse  # noqa: PLC0415

    works: list[tuple[str, Work, int, bool]] = []
    if not plan.vectors and plan.encode is None:
        works.append((f"project ({plan.project.generator})", Projection(plan.project, album), images, False))
    if plan.encode and plan.encode.slot:
        name = str(getattr(plan.encode, plan.encode.slot))
        looked = Features(plan.encode.slot, name, plan.encode.options, album, plan.encode.size)
        recognised = Embedding(name, plan.encode.options, album)
        works.append((f"encode ({name})", recognised if plan.encode.recogniser else looked, images, True))
    asked = images if plan.counterfactual is None else plan.counterfactual.most * len(plan.counterfactual.levels)
    services = services_of(folder, plan, Purse())
    for number, rater in enumerate(plan.rater):
        options = rater_options(folder, rater)
        if rater.slot == "recogniser":
            works.append((f"rate ({rater.name})", Embedding(rater.name, options, album), images, True))
        elif number not in services:
            works.append((f"rate ({rater.name})", Scoring(rater.name, options, album), asked, True))
    return works


def _measured(what: str, work: Work, keys: list[str], images: int, *, warm: bool) -> dict[str, Any]:
    try:
        if warm:
            work(keys[:1])
        started = time.perf_counter()
        work(keys[-1:])
    except LikewiseError:  # pictures that are not yet aligned, say; the run will tell
        return {"what": what, "images": images, "seconds": 0.0}
    return {"what": what, "images": images, "seconds": time.perf_counter() - started}
