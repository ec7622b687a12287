"""What ``likewise weights`` prints; the work is done by the package ``weights``."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from likewise.errors import ChecksumError, WeightsError, some
from likewise.runtime.progress import Reporter
from likewise.weights import CATALOG, fetch, home, record, where
from likewise.weights.cache import Entry, entries, entry
from likewise.weights.terms import remember


def listed(*, commercial: bool = False) -> list[dict[str, Any]]:
    """Return one row a weight: those of the catalog, then those that were added."""
    added = [held.weight for held in entries() if held.weight.name not in CATALOG]
    known = [weight for weight in (*CATALOG.values(), *added) if weight.commercial or not commercial]
    return [
        {"name": weight.name, "role": weight.role, "state": _state(entry(weight.name)), "terms": weight.terms,
         "purpose": weight.purpose, "license": weight.license, "caution": weight.caution,
         "package": f"{weight.package}=={weight.version}" if weight.registry != "file" else weight.package,
         "registry": weight.registry}
        for weight in known
    ]  # fmt: skip


def _state(held: Entry | None) -> str:
    if held is None:
        return "not fetched"
    return "ready" if held.current else "outdated"


def table(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Lay out the rows as lines."""
    columns = ("name", "role", "state", "terms")
    wide = {column: max(len(row[column]) for row in rows) for column in columns}
    return ["  ".join([*(row[column].ljust(wide[column]) for column in columns), row["purpose"]]) for row in rows]


def commercial_table(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Lay out weights with their license; the caution says what is known of the training data."""
    wide = {column: max(len(row[column]) for row in rows) for column in ("name", "license")}
    lines = [
        f"{row['name']:<{wide['name']}}  {row['license']:<{wide['license']}}  {row['caution'] or 'no caution'}"
        for row in rows
    ]
    note = "The license is the one that the package states; it does not cover the images a network was trained on."
    return [*lines, "", note]


def needed_by(folder: Path) -> tuple[str, ...]:
    """Return the weights that an audit folder needs and that are not in the cache, also the indirect ones."""
    preflight: Any = import_module("likewise.audit.preflight")  # heavy; only this option needs it
    return tuple(preflight.missing_weights(folder))


def fetched(names: Sequence[str], *, allow: Sequence[str], source: Path | None, reporter: Reporter) -> list[Entry]:
    """Fetch, and remember which terms were accepted; the license and the caution of each weight are reported."""
    if not names:
        raise WeightsError(
            "No names of weights were given",
            fix="likewise weights list shows them; --for DIR fetches all that an audit needs.",
        )
    remember(allow)
    made = fetch(names, allow=allow, progress=reporter, source=source)
    for held in made:
        weight = held.weight
        reporter.say(f"{weight.name}: license {weight.license}, terms {weight.terms}")
        if weight.caution:
            reporter.say(f"{weight.name}: caution: {weight.caution}")
    return made


def verified(names: Sequence[str]) -> list[dict[str, str]]:
    """Check the bytes of these weights, or of all in the cache; one error names everything that is wrong."""
    for name in names:
        where(name)
    held = [found for found in entries() if not names or found.weight.name in names]
    rows = [{"name": one.weight.name, "path": str(one.path), "wrong": _wrong(one)} for one in held]
    bad = [f"{row['name']} ({row['wrong']})" for row in rows if row["wrong"]]
    if bad:
        fix = "Fetch or add them again: likewise weights fetch NAME, or likewise weights add FILE --name NAME --force."
        raise ChecksumError(f"Cached weights are damaged or outdated: {some(bad)}", fix=fix)
    return rows


def _wrong(held: Entry) -> str:
    return held.broken() or ("" if held.current else "converted by another version of likewise")


def located(name: str | None) -> str:
    """Return the path of a weight; without a name, that of the cache."""
    return str(where(name) if name else home())


def plain(held: Entry) -> dict[str, Any]:
    """Return a cached weight as plain JSON."""
    weight = record(held.weight.name)
    return {
        "name": weight.name, "path": str(held.path), "sha256": held.sha256, "size": held.size,
        "license": weight.license, "caution": weight.caution, "terms": weight.terms, "found": held.found,
    }  # fmt: skip
