"""likewise study init --from: the trials or images of an audit as a study, and its responses back into the audit."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pandas as pd
import tomlkit

from likewise.audit.folder.artifacts import DESCRIBED, IMAGES, TRIALS
from likewise.audit.folder.store import PLAN, Folder
from likewise.audit.plan.file import edit_plan, read_plan
from likewise.audit.plan.model import Plan
from likewise.cli.study.from_generated import FACTS
from likewise.errors import ImageError, SpecError, StageError, StoreError, TableError
from likewise.study.config.load import NAME
from likewise.study.config.questions import KINDS
from likewise.tables import Images, Trials
from likewise.tables.io import write_frame, write_text

_EACH = 3  # responses per unit
_TASKS = 40  # per rater at most
_SPARE = 2  # raters more than are needed, because some do not finish


def study_from_audit(folder: Path, audit: Path, kind: str, *, units: int, seed: int) -> list[str]:
    """Write a study about the trials (kind same-person) or the images of an audit.

    Parameters
    ----------
    folder
        Where to write the study.
    audit
        The audit folder; its stages read and, for trials, trials must have run.
    kind
        A shipped kind of study.
    units
        How many units to draw at random; 0 takes all.
    seed
        The seed of the draw and of the study.

    Returns
    -------
    list of str
        What was written, and what to do next.
    """
    if (folder / NAME).exists():
        raise StoreError(f"{folder} already has a study ({NAME})", fix="Choose another folder.")
    store = Folder(audit)
    plan = read_plan(store.path(PLAN))
    if not plan.data.images:
        raise ImageError(f"The audit {audit} has no images", fix="Add images to [data] of its audit.toml.")
    frame = _units(store, kind, plan)
    if units > len(frame) or units < 0:
        raise SpecError(f"--units is {units}, but the audit has {len(frame)}", fix="Lower it, or leave it out.")
    if units:
        chosen = np.sort(np.random.default_rng(seed).permutation(len(frame))[:units])
        frame = frame.iloc[chosen].reset_index(drop=True)
    write_frame(folder / "units.csv", frame)
    images = os.path.relpath((store.root / plan.data.images).resolve(), folder.resolve())
    write_text(folder / NAME, _plan(kind, len(frame), images, seed))
    return [
        f"wrote {folder / NAME}: {len(frame)} {'trials' if kind == 'same-person' else 'images'} of {audit}",
        "next: edit [consent] and [pay], then",
        f"  likewise study plan {folder}",
        f"  likewise study serve {folder}",
        f"  likewise study export {folder} --into {audit}",
    ]


def _units(store: Folder, kind: str, plan: Plan) -> pd.DataFrame:
    group = plan.contrast.column
    source = _made(store, DESCRIBED, "describe") if plan.describe else _made(store, IMAGES, "read")
    images = Images.read(source).frame.set_index("image")
    if "file" not in images.columns:
        raise TableError(f"{IMAGES} of the audit has no column 'file'", fix=f"Run: likewise read {store.root}")
    if kind != "same-person":
        return pd.DataFrame({"unit": images.index, "image": images["file"], "group": images[group]}).reset_index(
            drop=True
        )
    trials = Trials.read(_made(store, TRIALS, "trials")).frame
    sides = [trials[side].map(images[group]).astype(str) for side in ("a", "b")]
    level = sides[0].where(sides[0] == sides[1], "mixed")
    return pd.DataFrame(
        {"unit": trials["trial"], "a": trials["a"].map(images["file"]), "b": trials["b"].map(images["file"]),
         "same": trials["same"].astype(int), "group": level}
    )  # fmt: skip


def _made(store: Folder, artifact: str, stage: str) -> Path:
    path = store.path(artifact)
    if not path.is_file():
        raise StageError(f"{path} is missing", fix=f"Run: likewise {stage} {store.root}")
    return path


def _plan(kind: str, units: int, images: str, seed: int) -> str:
    """Return the text of study.toml."""
    tasks = min(_TASKS, units)
    document = tomlkit.document()
    document.add(tomlkit.comment("A study about an audit. Edit [consent] and [pay] before you serve it."))
    values = {
        "format": 2, "title": KINDS[kind].title("en"), "kind": kind, "seed": seed,
        "raters": max(_EACH, -(-units * _EACH // tasks)) + _SPARE, "raters_per_unit": _EACH, "tasks_per_rater": tasks,
    }  # fmt: skip
    for key, value in values.items():
        document.add(key, tomlkit.item(value))
    sections: dict[str, dict[str, object]] = {
        "units": {"table": "units.csv", "images": images, "group": "group"},
        "consent": {
            "text": "You are asked to take part in a study of how people see faces. "
            "We keep your answers and how long they took.",
            "contact": "study@example.org",
        },
        "pay": {"per_task": 0.1, "currency": "USD"},
    }
    for name, entries in sections.items():
        table = tomlkit.table()
        for key, value in entries.items():
            table.add(key, tomlkit.item(value))
        document.add(tomlkit.nl())
        document.add(name, table)
    return tomlkit.dumps(document)


def into_audit(audit: Path, responses: Path) -> str:
    """Let the stage collect of an audit read a table of responses; return what was changed."""
    if (audit / FACTS).is_file():
        return f"next: run your likewise generate command with --out {audit} again, with --labels {responses}"
    store = Folder(audit)
    path = os.path.relpath(responses.resolve(), store.root.resolve())
    edit_plan(store.path(PLAN), "collect", {"crowd": "file", "options": {"path": path}})
    return f"[collect] of {store.path(PLAN)} reads {path}; next: likewise run {audit}"
