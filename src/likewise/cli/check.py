"""check: what is there, what is missing and what it will cost, said before any work. Nothing is written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
from PIL import Image, UnidentifiedImageError

from likewise.cli.asking import bills, services_of
from likewise.cli.check_time import durations
from likewise.cli.plan import Plan, read_plan
from likewise.cli.planned import stages
from likewise.cli.sweeping import settled
from likewise.errors import ImageError, LikewiseError
from likewise.images import FORMATS, decode, find
from likewise.make.certificate import judge_of
from likewise.make.layouts import listed_images
from likewise.plugins import create
from likewise.services.purse import Purse
from likewise.store import PLAN, Folder
from likewise.tables import Faces


@dataclass
class Checked:
    """What a check found; ``wrong`` is what a run would fail by."""

    title: str
    stages: list[str]
    groups: list[dict[str, Any]] = field(default_factory=list)
    images: dict[str, Any] = field(default_factory=dict)
    occupants: list[dict[str, str]] = field(default_factory=list)
    files: list[dict[str, Any]] = field(default_factory=list)
    costs: list[str] = field(default_factory=list)
    times: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    def plain(self) -> dict[str, Any]:
        """Return everything for machines."""
        return asdict(self)


def checked(root: str, *, decode: bool = False, measure: bool = False) -> Checked:
    """Look at everything that the plan of this folder names."""
    folder = Folder(root)
    plan = read_plan(folder.path(PLAN))
    found = Checked(plan.report.title, [stage.name for stage in stages(plan)])
    faces = plan.faces.source(folder.root).faces()
    if plan.faces.images:
        faces = _look_at_images(found, faces, folder.root / plan.faces.images, plan, whole=decode)
    found.groups = _groups(faces, plan)
    _look_at_cells(found, faces, plan)
    found.files = [_file(folder.root, path, found) for path in _named_files(plan)]
    found.occupants = [_occupant(what, make, found) for what, make in _occupants(folder, plan)]
    found.costs = _costs(folder, plan, found)
    if measure and not found.wrong and plan.faces.images:
        found.times = durations(folder, plan, faces)
    return found


def _groups(faces: Faces, plan: Plan) -> list[dict[str, Any]]:
    """Count images, people, and people with two images (who can be recognised) on each side."""
    side = plan.contrast.side(faces)
    names = {1: str(plan.contrast.focal), -1: str(plan.contrast.reference), 0: "neither"}
    rows = []
    for sign, name in names.items():
        people = faces.identities[(side == sign).to_numpy()].value_counts()
        if len(people) or sign:
            twice = int((people > 1).sum())
            rows.append({"group": name, "images": int(people.sum()), "people": len(people), "with two images": twice})
    return rows


def _look_at_cells(found: Checked, faces: Faces, plan: Plan) -> None:
    """Point out what the design will stumble over."""
    frame, side = faces.frame, plan.contrast.side(faces)
    sides = pd.Series(side.to_numpy()).replace(0, pd.NA).groupby(faces.identities.to_numpy()).nunique()
    if (sides > 1).any():
        text = f"{int((sides > 1).sum())} people have images on both sides of the contrast"
        (found.notes if plan.match.both_sides != "error" else found.wrong).append(f"{text} (both_sides in [match])")
    for name in plan.covariates:
        if plan.describe is not None and name not in frame.columns:
            continue
        if frame[name].isna().any() if name in frame.columns else True:
            text = f"{int(frame[name].isna().sum())} empty cells" if name in frame.columns else "is not in the table"
            found.wrong.append(f"covariate {name}: {text}")
    if not plan.rater and not plan.answered and plan.ask is None:
        found.notes.append("the plan names nobody to audit: the report will show the design alone")
    if any(row["with two images"] == 0 for row in found.groups[:2]) and "trials" in found.stages:
        found.notes.append("a group has nobody with two images: recognisers and people cannot be asked about it")


def _look_at_images(found: Checked, faces: Faces, root: Path, plan: Plan, *, whole: bool) -> Faces:
    """Compare the files with the table's rows, look whether they are pictures; return the faces that will be read."""
    files = {key: find(root, key) for key in faces.images}
    lost = [key for key, path in files.items() if path is None]
    known = {path.relative_to(root.resolve()).as_posix() for path in files.values() if path is not None}
    spare = [name for name in listed_images(root) if name not in known]
    unreadable = [key for key, path in files.items() if path is not None and not _readable(path, whole=whole)]
    found.images = {
        "files": len(known), "rows without a file": lost, "files without a row": spare,
        "unreadable": unreadable, "looked at": "whole" if whole else "headers",
    }  # fmt: skip
    if lost and plan.faces.missing_images == "error":
        found.wrong.append(f"{len(lost)} rows of the table have no file, the first {lost[0]!r} (see missing_images)")
    if unreadable and plan.faces.bad_images == "error":
        found.wrong.append(f"{len(unreadable)} images cannot be read, the first {unreadable[0]!r} (see bad_images)")
    if plan.faces.missing_images == "drop" and len(lost) < len(faces):
        return faces.subset(key for key, path in files.items() if path is not None)
    return faces


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


def _named_files(plan: Plan) -> list[str]:
    hard, given = plan.difficulty, plan.given
    named = [plan.vectors, plan.analyse.truth, *(entry.path for entry in plan.answered)]
    named += [entry.vectors for entry in plan.within] + ([hard.vectors, hard.pairs] if hard else [])
    named += [given.distances, given.scores] if given else []
    named += [str(plan.ask.options.get("path", ""))] if plan.ask else []
    return [path for path in named if path]


def _file(root: Path, path: str, found: Checked) -> dict[str, Any]:
    place = root / path
    if not place.exists():
        found.wrong.append(f"{path} is not there")
    return {"file": path, "there": place.exists(), "bytes": place.stat().st_size if place.is_file() else 0}


def _occupants(folder: Folder, plan: Plan) -> list[tuple[str, Callable[[], Any]]]:
    """Name everybody who has a part in the plan, with a way to have them made: then weights and libraries are there."""
    slots: list[tuple[str, str, dict[str, Any]]] = []
    if plan.faces.images and not plan.vectors and plan.encode is None:
        slots += [
            ("generator", plan.project.generator, plan.project.options),
            ("perceptual", plan.project.perceptual, {}),
        ]
    if plan.encode and plan.encode.slot:
        slots.append((plan.encode.slot, str(getattr(plan.encode, plan.encode.slot)), plan.encode.options))
    slots += [("recogniser", entry.recogniser, entry.options) for entry in plan.within if entry.recogniser]
    hard, sweep = plan.difficulty, plan.counterfactual
    for slot in ("recogniser", "perceptual"):
        if hard and getattr(hard, slot):
            slots.append((slot, getattr(hard, slot), hard.options))
    if sweep and not sweep.options.get("latents"):  # one that reads latents can only be made after them
        where: Any = SimpleNamespace(folder=folder, plan=plan)
        slots.append(("editor", sweep.editor, settled(where).options))
    slots += _judges(plan)
    services = services_of(folder, plan, Purse())
    slots += [(r.slot, r.name, r.options) for number, r in enumerate(plan.rater) if number not in services]
    made = [(f"{slot} {name}", lambda s=slot, n=name, o=options: create(s, n, o)) for slot, name, options in slots]
    return [*dict(made).items(), *_finders(plan)]


def _judges(plan: Plan) -> list[tuple[str, str, dict[str, Any]]]:
    """Name those who judge what was drawn again, and what was edited."""
    drawn, edited = plan.fidelity, plan.judged
    found: list[tuple[str, str, dict[str, Any]]] = []
    if drawn is not None:
        found += [("recogniser", drawn.recogniser, drawn.recogniser_options)]
        found += [("classifier", drawn.classifier, drawn.classifier_options)]
    if edited is not None:
        names = [judge_of(judge)[0] for judge in edited.judges]
        found += [("classifier", name, edited.options.get(name, {})) for name in names]
        found += [("recogniser", edited.recogniser or "", edited.options.get(edited.recogniser or "", {}))]
    return [entry for entry in found if entry[1]]


def _finders(plan: Plan) -> list[tuple[str, Callable[[], Any]]]:
    """Return who finds and describes faces; their networks load late."""
    from likewise.make.attributes import describer  # noqa: PLC0415
    from likewise.models.finders import finder  # noqa: PLC0415

    made: list[tuple[str, Callable[[], Any]]] = []
    if plan.align is not None:
        made.append((f"finder {plan.align.finder}", lambda: finder(plan.align.finder)))  # type: ignore[union-attr]
    if plan.describe is not None:
        made.append(("describe", lambda: describer(plan.describe)))
    return made


def _occupant(what: str, make: Callable[[], Any], found: Checked) -> dict[str, str]:
    try:
        made = make()
    except LikewiseError as error:
        found.wrong.append(f"{what}: {error}")
        return {"who": what, "state": "missing", "licence": ""}
    return {"who": what, "state": "ready", "licence": str(getattr(made, "licence", ""))}


def _costs(folder: Folder, plan: Plan, found: Checked) -> list[str]:
    """Say what services cost, and whether their keys are there."""
    services = services_of(folder, plan, Purse())
    for service in services.values():
        lacking = service.missing()
        state = "key missing" if lacking else "ready"
        found.occupants.append({"who": f"service {service.name}", "state": state, "licence": service.licence})
        if lacking:
            found.wrong.append(lacking)
    return [str(bill) for bill in bills(folder, plan, services)]
