"""The reproductions by name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from likewise.errors import InputError, nearest
from likewise.reproduce.common import Reproduction
from likewise.reproduce.covariates import covariates
from likewise.reproduce.occupations import occupations
from likewise.reproduce.projection_sweep import projection_sweep
from likewise.reproduce.published_pairs import published_pairs
from likewise.reproduce.same_person import same_person

NAMES: dict[str, Callable[[Path], Reproduction]] = {
    "same-person": same_person,
    "pairs": published_pairs,
    "covariates": covariates,
    "projection-sweep": projection_sweep,
    "occupations": occupations,
}


def reproduce(name: str, data: Path) -> Reproduction:
    """Recompute a published table or figure from the published data.

    Parameters
    ----------
    name
        ``same-person``, ``pairs``, ``covariates``, ``projection-sweep`` or ``occupations``.
    data
        The folder with the published data, which is not part of likewise (docs/analysis.md lists the files).

    Returns
    -------
    Reproduction
        A row of Estimates for every cell, and notes on what differs from the publication.
    """
    if name not in NAMES:
        fix = nearest(name, NAMES) or f"Choose one of {', '.join(NAMES)}."
        raise InputError(f"Unknown reproduction {name[:80]!r}", fix=fix)
    if not data.is_dir():
        raise InputError(f"Folder not found: {data}", fix="docs/analysis.md lists the files that it must contain.")
    return NAMES[name](data)
