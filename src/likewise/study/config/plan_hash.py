"""The hash of a plan: over all its values and the bytes of every image. A served plan is frozen under its hash."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import Any

from likewise.errors import StudyError, some
from likewise.study.config.images import ImageFacts, facts_of, remember
from likewise.study.config.sections import StudyPlan
from likewise.study.config.texts import Text
from likewise.tables.io import parse_json, write_text

FROZEN_FILE = "study.frozen.json"


def canonical(study: StudyPlan) -> dict[str, Any]:
    """Return the plan as plain values, without the path of the image folder."""
    plain: dict[str, Any] = _plain(study)
    del plain["images"]
    if not study.comprehension.items:  # newer than the first frozen plans, whose hash must stay the same
        del plain["comprehension"]
    return plain


@cache
def _names(kind: type) -> tuple[str, ...]:
    return tuple(entry.name for entry in fields(kind)) if is_dataclass(kind) else ()


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, (str, int, float)):
        return value
    if isinstance(value, Text):
        return dict(value.by_language)
    kind: Any = type(value)
    if names := _names(kind):
        return {name: _plain(getattr(value, name)) for name in names}
    if isinstance(value, Mapping):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(entry) for entry in value]
    return str(value) if isinstance(value, Path) else value


def plan_hash(study: StudyPlan, digests: Mapping[str, str]) -> str:
    """Return the sha256 of the plan and its images."""
    text = json.dumps({"plan": canonical(study), "pictures": dict(digests)}, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def image_facts(study: StudyPlan) -> dict[str, ImageFacts]:
    """Return the facts about every image; files that are known by size and modification time are not read again."""
    facts, problems = facts_of(study.images, study.pictures)
    if problems:
        raise StudyError(next(iter(problems.values())))
    return facts


def current_hash(study: StudyPlan) -> str:
    """Return the hash that the plan has now."""
    return plan_hash(study, {name: facts.sha256 for name, facts in image_facts(study).items()})


def freeze(study: StudyPlan, folder: Path, facts: dict[str, ImageFacts] | None = None) -> str:
    """Write the plan down as it is and return its hash; a plan that was frozen before must be the same.

    Parameters
    ----------
    study
        The plan.
    folder
        The folder of the study, where ``study.frozen.json`` is written.
    facts
        What ``image_facts`` returned, when it was called already.

    Returns
    -------
    str
        The hash, 64 hexadecimal digits.
    """
    path = folder / FROZEN_FILE
    old = _frozen(path) if path.is_file() else {}
    facts = image_facts(study) if facts is None else facts
    digests = {name: entry.sha256 for name, entry in facts.items()}
    found = plan_hash(study, digests)
    if old and old["hash"] != found:
        _refuse_change(study, digests, old)
    remember(folder, facts)
    if not old:
        images = {name: {"size": entry.size, "sha256": entry.sha256} for name, entry in facts.items()}
        record = {"hash": found, "plan": canonical(study), "pictures": images}
        # without indentation: Python indents in a slow encoder, and a plan may list 100,000 units
        write_text(path, json.dumps(record, sort_keys=True, ensure_ascii=False))
    return found


def _frozen(path: Path) -> dict[str, Any]:
    """Read the frozen plan of a study that has started."""
    try:
        old = parse_json(path.read_text(encoding="utf-8"))
        if isinstance(old["hash"], str) and isinstance(old["plan"], dict):
            return dict(old)
        raise ValueError("it has no hash and no plan")
    except (ValueError, KeyError, TypeError) as error:
        fix = "Restore it from a copy: it says which plan the responses belong to."
        raise StudyError(f"{path.name} is damaged ({str(error)[:100]})", fix=fix) from error


def _refuse_change(study: StudyPlan, digests: Mapping[str, str], old: Mapping[str, Any]) -> None:
    """Say what differs from the frozen plan."""
    now = json.loads(json.dumps(canonical(study)))
    changed = [key for key in sorted({*now, *old["plan"]}) if now.get(key) != old["plan"].get(key)]
    then = {name: entry["sha256"] for name, entry in old["pictures"].items()}
    changed += [name for name in sorted({*then, *digests}) if then.get(name) != digests.get(name)]
    fix = (
        "Undo the change, or copy the study to a new folder (without its database and study.frozen.json) "
        "and change the copy."
    )
    raise StudyError(f"The plan is frozen, but it was changed: {some(changed)}", fix=fix)
