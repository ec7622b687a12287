"""Front matter and data sheet: who audited what, when, on which data."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from likewise.report.names import plain
from likewise.tables import Contrast, Estimates

_SOURCES = {
    "perceived": "perceived by annotators",
    "self": "self-reported",
    "predicted": "predicted by a model",
    "measured": "measured on the image",
}
_UNIT = re.compile(r" \((mean|difference)\)$")
"""How the covariates of a trial end: the mean of its two images, or how far they are apart."""


@dataclass(frozen=True, kw_only=True)
class FrontMatter:
    """What the plan states about the audit. The report names the empty entries in one sentence.

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
        """Return the entries of the data sheet that are stated."""
        return [(name, value) for name, value in self._named().items() if value]

    def unstated(self) -> list[str]:
        """Name the entries that the plan does not state.

        Examples
        --------
        >>> FrontMatter(auditor="A", organization="B", system="C", system_version="1", data_source="D").unstated()
        ['system hash', 'license of the images', 'consent']
        """
        optional = [name for name in self._named() if name not in ("Date", "Plan hash (SHA-256)")]
        return [name[0].lower() + name[1:] for name in optional if not self._named()[name]]

    def _named(self) -> dict[str, str]:
        return {
            "Date": self.date, "Auditor": self.auditor, "Organization": self.organization,
            "System under audit": self.system, "System version": self.system_version,
            "System hash": self.system_hash, "Plan hash (SHA-256)": self.plan_hash,
            "Source of the images": self.data_source, "License of the images": self.data_license,
            "Consent": self.consent,
        }  # fmt: skip


def datasheet(
    front: FrontMatter, population: Sequence[Mapping[str, Any]], balance: Estimates, contrast: Contrast
) -> list[tuple[str, str]]:
    """Return the data sheet: what the plan states, counts, and the labels by their source."""
    rows = front.rows()
    if population:
        images, people = (sum(int(row.get(key, 0)) for row in population) for key in ("images", "people"))
        rows.append(("Images and identities", f"{images:,} images of {people:,} identities"))
    covariates = [name for name in balance.where(stat="smd").frame["quantity"].unique() if name != contrast.column]
    by_source: dict[str, list[str]] = {}
    for name in dict.fromkeys(_UNIT.sub("", name) for name in (contrast.column, *covariates)):
        by_source.setdefault(label_source(name), []).append(plain(name))
    return [*rows, *((f"Labels {source}", ", ".join(names)) for source, names in by_source.items())]


def label_source(column: str) -> str:
    """Return the source of a label from the prefix of its column.

    Examples
    --------
    >>> label_source("self_gender"), label_source("age")
    ('self-reported', 'without a stated source')
    """
    return _SOURCES.get(column.partition("_")[0], "without a stated source")
