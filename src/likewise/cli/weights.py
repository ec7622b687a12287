"""What ``likewise weights`` prints; the work itself is done by the weights room."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from likewise.errors import ChecksumError, WeightsError, some
from likewise.weights import CATALOGUE, fetch, home, record, where
from likewise.weights.cache import Entry, entries, entry
from likewise.weights.terms import remember
from likewise.weights.voice import Voice


def listed() -> list[dict[str, Any]]:
    """One row a weight: those of the catalogue, then those that were added."""
    added = [held.weight for held in entries() if held.weight.name not in CATALOGUE]
    return [
        {"name": weight.name, "role": weight.role, "state": _state(entry(weight.name)), "terms": weight.terms,
         "purpose": weight.purpose, "licence": weight.licence, "caution": weight.caution,
         "package": f"{weight.package}=={weight.version}" if weight.registry != "file" else weight.package,
         "registry": weight.registry}
        for weight in (*CATALOGUE.values(), *added)
    ]  # fmt: skip


def _state(held: Entry | None) -> str:
    if held is None:
        return "not fetched"
    return "ready" if held.current else "outdated"


def table(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Lay the rows out as lines."""
    columns = ("name", "role", "state", "terms")
    wide = {column: max(len(row[column]) for row in rows) for column in columns}
    return ["  ".join([*(row[column].ljust(wide[column]) for column in columns), row["purpose"]]) for row in rows]


def fetched(names: Sequence[str], *, allow: Sequence[str], source: Path | None, voice: Voice) -> list[Entry]:
    """Fetch, and remember which terms were accepted; licence and caution are said of each weight."""
    if not names:
        raise WeightsError("names of weights are given", got="none", fix="likewise weights list shows them.")
    remember(allow)
    made = fetch(names, allow=allow, progress=voice, source=source)
    for held in made:
        weight = held.weight
        voice.say(f"{weight.name}: licence {weight.licence}, terms {weight.terms}")
        if weight.caution:
            voice.say(f"{weight.name}: mind, {weight.caution}")
    return made


def verified(names: Sequence[str]) -> list[dict[str, str]]:
    """Check the bytes of these weights, or of all that are there; anything wrong is an error that names all of it."""
    for name in names:
        where(name)
    held = [found for found in entries() if not names or found.weight.name in names]
    rows = [{"name": one.weight.name, "path": str(one.path), "wrong": _wrong(one)} for one in held]
    bad = [f"{row['name']} ({row['wrong']})" for row in rows if row["wrong"]]
    if bad:
        fix = "Get them again: likewise weights fetch NAME, or likewise weights add FILE --name NAME --force."
        raise ChecksumError("cached weights are what was written", got=some(bad), fix=fix)
    return rows


def _wrong(held: Entry) -> str:
    return held.broken() or ("" if held.current else "made by another version of likewise")


def located(name: str | None) -> str:
    """Say where a weight lies; without a name, where all of them do."""
    return str(where(name) if name else home())


def plain(held: Entry) -> dict[str, Any]:
    """Return what was fetched or added as plain JSON."""
    weight = record(held.weight.name)
    return {
        "name": weight.name, "path": str(held.path), "sha256": held.sha256, "size": held.size,
        "licence": weight.licence, "caution": weight.caution, "terms": weight.terms, "found": held.found,
    }  # fmt: skip
