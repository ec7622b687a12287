"""How long each preset would take: every kind of work is measured once, on an image or two of the user's own."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from likewise.audit.plan.file import plan_of
from likewise.audit.plan.model import Plan
from likewise.audit.plan.request import PRESETS, AuditRequest
from likewise.audit.plan.scaffold import plan_text
from likewise.audit.raters.planned import is_service
from likewise.data.align import Alignment, settled
from likewise.errors import LikewiseError
from likewise.latents.projection import Projection, ProjectSpec
from likewise.rating.encode import Features
from likewise.rating.rate import Embedding, Scoring
from likewise.runtime.pixels import ImageFolder, find
from likewise.runtime.registry import create
from likewise.tables import Images

Work = Callable[[list[str]], Any]
Known = dict[str, float | str | tuple[float, float]]
_FEW, _MORE = 0.25, 0.5  # efforts of short projections: the slope between them is the cost of the steps
# Below a quarter the shortest schedule loses whole phases, and the slope would be that of a phase instead of a step.
_REST = 10.0  # CPU seconds of matching, estimates and report of a small audit (benchmarks.audit_time)


@dataclass(frozen=True)
class PresetTime:
    """The CPU seconds of one preset, and what could not be measured."""

    preset: str
    seconds: float
    parts: dict[str, float]
    """CPU seconds by kind of work."""
    unknown: tuple[str, ...] = ()


def preset_times(request: AuditRequest) -> list[PresetTime]:
    """Measure the work of every preset in CPU seconds; one that cannot be measured here says why."""
    images = request.source.faces()
    root = request.images.resolve() if request.images else Path()
    files = {
        key: path.relative_to(root).as_posix()
        for key in (images.keys[:20] if request.images else [])
        if (path := find(root, key))
    }
    album, known = ImageFolder(root, dict(list(files.items())[:2])), Known()
    return [_time(preset, request, images, album, known) for preset in PRESETS]


def _time(preset: str, request: AuditRequest, images: Images, album: ImageFolder, known: Known) -> PresetTime:
    plan = plan_of(plan_text(None, replace(request, preset=preset))[0])
    parts, unknown = {"matching, estimates, report": _REST}, []
    for what, measure in _works(plan, album, known).items():
        if what not in known:
            known[what] = _tried(measure)
        each = known[what]
        if isinstance(each, str):
            unknown.append(f"{what}: {each}")
        elif isinstance(each, float):
            parts[what] = each * len(images)
    if plan.counterfactual is not None:
        unknown.append("counterfactual edits and their validation")
    return PresetTime(preset, sum(parts.values()), parts, tuple(unknown))


def _tried(measure: Callable[[], float]) -> float | str:
    try:
        return measure()
    except LikewiseError as error:  # weights that are not fetched, a package that is not installed
        return str(error)


def _works(plan: Plan, album: ImageFolder, known: Known) -> dict[str, Callable[[], float]]:
    """Return what measures the CPU seconds an image, by kind of work."""
    keys = list(album.files)
    if not keys:
        return {}
    works: dict[str, Callable[[], float]] = {}
    if plan.align is not None:
        works["align"] = lambda: _alignment(plan, album, keys)
    if plan.projects:
        spec = plan.project
        works[f"project ({spec.words})"] = lambda: _projection(spec, album, keys[:1], known)
    if plan.encode is not None and plan.encode.kind:
        encode = plan.encode
        looked: Work = Features(encode.kind, encode.name, encode.options, album, encode.size)
        if encode.recognizer:
            looked = Embedding(encode.name, encode.options, album)
        works[f"encode ({encode.name})"] = partial(_one, looked, keys)
    return works | _raters(plan, album, keys)


def _raters(plan: Plan, album: ImageFolder, keys: list[str]) -> dict[str, Callable[[], float]]:
    """Return the raters that run here; calls of a service may cost money and are not measured."""
    works: dict[str, Callable[[], float]] = {}
    for rater in plan.rater:
        work: Work = Scoring(rater.name, rater.options, album)
        if rater.kind == "recognizer":
            work = Embedding(rater.name, rater.options, album)
        if not is_service(rater.name):
            works[f"rate ({rater.name})"] = partial(_one, work, keys)
    return works


def _one(work: Work, keys: list[str]) -> float:
    """Return the CPU seconds of one image; the first one warms up."""
    work(keys[:1])
    return _cpu(lambda: work(keys[-1:]))


def _alignment(plan: Plan, album: ImageFolder, keys: list[str]) -> float:
    assert plan.align is not None
    spec = settled(plan.align, create("generator", plan.project.generator, plan.project.options))
    with tempfile.TemporaryDirectory() as folder:
        return _one(Alignment(spec, album, Path(folder)), keys)


def _projection(spec: ProjectSpec, album: ImageFolder, keys: list[str], known: Known) -> float:
    """Return the CPU seconds of one image: of a descent from the slope between two short ones."""
    iterative = spec.method in ("auto", "refine") and hasattr(create("generator", spec.generator, spec.options), "draw")
    if not iterative:
        return _one(Projection(spec, album), keys)
    few, slope = _descent(replace(spec, effort=1.0), album, keys, known)
    return few + slope * max(spec.effort - _FEW, 0.0)


def _descent(spec: ProjectSpec, album: ImageFolder, keys: list[str], known: Known) -> tuple[float, float]:
    """Return the CPU seconds of a short descent, and those of a whole effort; measured once for all presets."""
    kept = f"descent of {spec}"
    if kept not in known:
        short, longer = (Projection(replace(spec, effort=effort), album) for effort in (_FEW, _MORE))
        few, more = _one(short, keys), _cpu(lambda: longer(keys))
        known[kept] = (few, max(more - few, 0.0) / (_MORE - _FEW))
    found = known[kept]
    assert isinstance(found, tuple)
    return found


def _cpu(work: Callable[[], Any]) -> float:
    started = time.process_time()
    work()
    return time.process_time() - started


def lines_of(times: list[PresetTime], chosen: str) -> list[str]:
    """Return lines for the terminal: each preset with its time, and what takes longest."""
    lines = ["  CPU time of each preset, measured on your images (several cores share it):"]
    for each in times:
        longest = max(each.parts, key=lambda name: each.parts[name])
        total = ("at least " if each.unknown else "") + in_words(each.seconds)
        said = f"{total:>17}, of which {longest} {in_words(each.parts[longest])}"
        lines.append(f"  {'>' if each.preset == chosen else ' '} {each.preset:<9}{said}")
    own = next(each for each in times if each.preset == chosen)
    lines += [f"  not measured: {what}" for what in own.unknown]
    if own.seconds > 3600:
        lines.append("  quicker: --preset quick, fewer images, --encoder columns (matches on the table), or [executor]")
    return lines


def in_words(seconds: float) -> str:
    """Write a duration.

    >>> in_words(42), in_words(600), in_words(9000)
    ('42 s', '10 min', '2.5 h')
    """
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
