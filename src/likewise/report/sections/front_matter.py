"""Front matter and data sheet: who audited what, when, on which data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from likewise.report.names import plain
from likewise.tables import Contrast, Estimates

UNSTATED = "not stated"
_SOURCES = {
    "perceived": "perceived by annotators",
    "self": "self-reported",
    "predicted": "predicted by a model",
    "measured": "measured on the image",
}


@dataclass(frozen=True, kw_only=True)
class FrontMatter:
    """What the plan states about the audit. Empty entries are reported as not stated.

    Examples
    --------
    >>> FrontMatter(date="2026-01-31", auditor="A. Auditor").header()
    [('Date', '2026-01-31'), ('Auditor', 'A. Auditor')]
    """

    date: str = ""
    auditor: str = ""
    organization: str = ""
    system: str = ""
    """The system under audit, as its vendor calls it."""
    system_version: str = ""
    system_hash: str = ""
    plan_hash: str = ""
    data_source: str = ""
    """Where the images come from."""
    data_license: str = ""
    consent: str = ""
    """What the people in the images agreed to."""

    def header(self) -> list[tuple[str, str]]:
        """Return what stands below the title: the entries that are stated."""
        version = " ".join(filter(None, (self.system, self.system_version)))
        rows = [
            ("Date", self.date), ("Auditor", self.auditor), ("Organization", self.organization),
            ("System", version), ("Plan", self.plan_hash[:16]),
        ]  # fmt: skip
        return [(name, value) for name, value in rows if value]

    def rows(self) -> list[tuple[str, str]]:
        """Return all entries for the data sheet."""
        named = {
            "Date": self.date, "Auditor": self.auditor, "Organization": self.organization,
            "System under audit": self.system, "System version": self.system_version,
            "System hash": self.system_hash, "Plan hash (SHA-256)": self.plan_hash,
            "Source of the images": self.data_source, "License of the images": self.data_license,
            "Consent": self.consent,
        }  # fmt: skip
        return [(name, value or UNSTATED) for name, value in named.items()]


def datasheet(
    front: FrontMatter, population: Sequence[Mapping[str, Any]], balance: Estimates, contrast: Contrast
) -> list[tuple[str, str]]:
    """Return the data sheet: what the plan states, counts, and the source of each label."""
    rows = front.rows()
    if population:
        images, people = (sum(int(row.get(key, 0)) for row in population) for key in ("images", "people"))
        rows.append(("Images and identities", f"{images:,} images of {people:,} identities"))
    covariates = [name for name in balance.where(stat="smd").frame["quantity"].unique() if name != contrast.column]
    rows.append((f"Source of the label: {plain(contrast.column)}", label_source(contrast.column)))
    return [*rows, *((f"Source of the label: {plain(name)}", label_source(name)) for name in covariates)]


def label_source(column: str) -> str:
    """Return the source of a label from the prefix of its column.

    Examples
    --------
    >>> label_source("self_gender"), label_source("age")
    ('self-reported', 'not stated in the column name')
    """
    return _SOURCES.get(column.partition("_")[0], f"{UNSTATED} in the column name")
