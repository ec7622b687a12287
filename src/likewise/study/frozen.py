"""A plan's hash: over everything that it says and every picture's bytes. A frozen plan is one that a database holds."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

from likewise.errors import StudyError, some
from likewise.images import digest, inside
from likewise.study.parts import Parts
from likewise.study.texts import Text
from likewise.tables.files import write_text

FROZEN_FILE = "study.frozen.json"


def canonical(study: Parts) -> dict[str, Any]:
    """Return the plan as plain values, without where it lies."""
    plain: dict[str, Any] = _plain(study)
    del plain["images"]
    return plain


def _plain(value: Any) -> Any:
    if isinstance(value, Text):
        return dict(value.by_language)
    if is_dataclass(value):
        return {entry.name: _plain(getattr(value, entry.name)) for entry in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(entry) for entry in value]
    return str(value) if isinstance(value, Path) else value


def plan_hash(study: Parts, digests: Mapping[str, str]) -> str:
    """Return the sha256 of the plan and its pictures."""
    text = json.dumps({"plan": canonical(study), "pictures": dict(digests)}, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def picture_digests(study: Parts, known: Mapping[str, Any] | None = None) -> dict[str, dict[str, Any]]:
    """Return size, time and sha256 of every picture; one whose size and time are as noted is not read again."""
    found: dict[str, dict[str, Any]] = {}
    for name in study.pictures:
        path = inside(study.images, name)
        stat = path.stat()
        entry = {"size": stat.st_size, "time": stat.st_mtime_ns}
        old = (known or {}).get(name, {})
        same = all(old.get(key) == value for key, value in entry.items())
        found[name] = {**entry, "sha256": old["sha256"] if same else digest(path)}
    return found


def freeze(study: Parts, folder: Path) -> str:
    """Write down the plan as it is and return its hash; if it was frozen before, it must be the same."""
    path = folder / FROZEN_FILE
    old = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    pictures = picture_digests(study, old.get("pictures"))
    found = plan_hash(study, {name: entry["sha256"] for name, entry in pictures.items()})
    if old and old["hash"] != found:
        refuse_change(study, pictures, old)
    if not old:
        record = {"hash": found, "plan": canonical(study), "pictures": pictures}
        write_text(path, json.dumps(record, indent=1, sort_keys=True, ensure_ascii=False))
    return found


def refuse_change(study: Parts, pictures: Mapping[str, Any], old: Mapping[str, Any]) -> None:
    """Say what differs from the frozen plan."""
    now = json.loads(json.dumps(canonical(study)))
    parts = [key for key in sorted({*now, *old["plan"]}) if now.get(key) != old["plan"].get(key)]
    then = {name: entry["sha256"] for name, entry in old["pictures"].items()}
    shown = {name: entry["sha256"] for name, entry in pictures.items()}
    parts += [name for name in sorted({*then, *shown}) if then.get(name) != shown.get(name)]
    fix = "Put it back, or copy the study to a new folder (without its database and study.frozen.json) and change that."
    raise StudyError("a frozen plan does not change", got=f"another {some(parts)}", fix=fix)
