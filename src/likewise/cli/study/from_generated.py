"""likewise study init --from a folder of generate: people say what they perceive in a random part of the images."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import tomlkit

from likewise.errors import ImageError, SpecError, StoreError
from likewise.study.config.load import NAME
from likewise.study.config.questions import KINDS
from likewise.tables import Images
from likewise.tables.io import parse_json, write_frame, write_text

FACTS = "generate.json"
_EACH, _TASKS, _SPARE = 3, 40, 2  # responses per image, tasks per rater at most, raters more than are needed


def is_generated(folder: Path) -> bool:
    """Return whether a folder is one of ``likewise generate``."""
    return (folder / FACTS).is_file()


def study_from_generated(folder: Path, drawn: Path, kind: str, *, units: int, seed: int) -> list[str]:
    """Write a study about the attribute of drawn images, or of a shipped kind about single images.

    Units are images that show one person, drawn at random: their responses correct the shares (``--labels``).
    """
    if (folder / NAME).exists():
        raise StoreError(f"{folder} already has a study ({NAME})", fix="Choose another folder.")
    if kind == "same-person":
        raise SpecError("Drawn images are no pairs of one person", fix="Leave --kind out, or use another kind.")
    facts = _facts(drawn / FACTS)
    if not facts["images"]:
        raise ImageError(f"The images of {drawn} are not known", fix="Run likewise generate with --folder.")
    frame = _units(drawn, units, seed)
    write_frame(folder / "units.csv", frame)
    images = os.path.relpath((drawn / facts["images"]).resolve(), folder.resolve())
    write_text(folder / NAME, _plan(facts, kind, len(frame), images, seed))
    return [
        f"wrote {folder / NAME}: {len(frame)} images of {drawn}, drawn at random",
        "next: edit [consent] and [pay], then",
        f"  likewise study plan {folder}",
        f"  likewise study serve {folder}",
        f"  likewise study export {folder} --into {drawn}",
    ]


def _facts(path: Path) -> dict[str, Any]:
    """Read what ``likewise generate`` wrote about its images."""
    try:
        facts = parse_json(path.read_text(encoding="utf-8"))
        return {**facts, "images": str(facts["images"])}
    except FileNotFoundError as error:
        raise StoreError(f"{path} is missing", fix="Give the folder that likewise generate wrote.") from error
    except (ValueError, KeyError, TypeError) as error:
        raise StoreError(f"{path} is damaged ({str(error)[:100]})", fix="Run likewise generate again.") from error


def _units(drawn: Path, units: int, seed: int) -> pd.DataFrame:
    images = Images.read(drawn / "images.csv")
    frame = images.frame
    if "people" in frame.columns:
        frame = frame[pd.to_numeric(frame["people"], errors="coerce") == 1]
    if not 0 <= units <= len(frame):
        problem = f"--units is {units}, but {len(frame)} images show one person"
        raise SpecError(problem, fix="Lower it, or leave it out.")
    if units:
        frame = frame.iloc[np.sort(np.random.default_rng(seed).permutation(len(frame))[:units])]
    return pd.DataFrame({"unit": frame["image"], "image": frame["image"], "group": frame["term"]}).reset_index(
        drop=True
    )


def _plan(facts: dict[str, Any], kind: str, units: int, images: str, seed: int) -> str:
    """Return the text of study.toml."""
    tasks = min(_TASKS, units)
    what = facts["attribute"].partition("_")[2].replace("_", " ") or facts["attribute"]
    title = KINDS[kind].title("en") if kind else f"Which {what} do you perceive?"
    plan: dict[str, Any] = {
        "format": 2, "title": title, "kind": kind or "own", "seed": seed,
        "raters": max(_EACH, -(-units * _EACH // tasks)) + _SPARE, "raters_per_unit": _EACH, "tasks_per_rater": tasks,
    }  # fmt: skip
    if not kind:
        plan |= {"skip": True, "question": [_question(facts, what)]}
    plan["units"] = {"table": "units.csv", "images": images, "group": "group"}
    if not kind:
        plan["instructions"] = {
            "text": f"You will see one picture at a time. Say which {what} you perceive in the person. There is no "
            "right answer that you could miss: we ask how the person looks to you. Skip a picture that shows no person."
        }
    plan["consent"] = {
        "text": "You are asked to take part in a study of how people see pictures. The pictures were drawn by a "
        "computer. We keep your answers and how long they took.",
        "contact": "study@example.org",
    }
    plan["pay"] = {"per_task": 0.1, "currency": "USD"}
    head = "# A study about drawn images. Edit [consent] and [pay] before you serve it.\n"
    return head + tomlkit.dumps(plan)


def _question(facts: dict[str, Any], what: str) -> dict[str, Any]:
    """Return the question: 1 is the level whose share is estimated, 0 the other."""
    others = [level for level in facts["levels"] if level != facts["share_of"]]
    other = others[0] if len(others) == 1 else f"not {facts['share_of']}"
    options = [{"value": 1, "label": str(facts["share_of"]).capitalize()}, {"value": 0, "label": other.capitalize()}]
    return {"name": "perceived", "text": f"Which {what} do you perceive in this person?", "options": options}
