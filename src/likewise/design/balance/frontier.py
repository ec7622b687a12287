"""The frontier of balance: how many pairs are kept at each tolerance, and how much imbalance is left.

Beside it stands what chance alone leaves in a randomized experiment with as many pairs: the difference of two means of
n units has a standard deviation of sqrt(2 / n) of the unit's own, and its mean absolute value is sqrt(2 / pi) of that.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import replace

import numpy as np

from likewise.design.balance.table import balance
from likewise.design.match import match
from likewise.errors import SpecError
from likewise.tables import Contrast, Estimates, Images, Matches, MatchSpec, Trials, Vectors
from likewise.tables.estimates import row

_METHOD = "cardinality matching"

TOLERANCES = (0.02, 0.05, 0.1, 0.15, 0.2)


def frontier(
    images: Images,
    vectors: Vectors,
    contrast: Contrast,
    spec: MatchSpec | None = None,
    *,
    units: Trials | None = None,
    covariates: Sequence[str] = (),
    at: Sequence[float] = TOLERANCES,
    allowed: Mapping[str, Container[str]] | None = None,
) -> Estimates:
    """Match by cardinality at several tolerances and report pairs kept against imbalance left.

    Parameters
    ----------
    images, vectors, contrast, units, allowed
        As in ``match``.
    spec
        A cardinality design; its ``max_smd`` is replaced by each tolerance.
    covariates
        Columns whose imbalance is measured, matched on or not; without any, the numbers of the vectors.
    at
        The tolerances.

    Returns
    -------
    Estimates
        ``quantity`` is the tolerance (``max_smd 0.1``); ``pairs_kept``, ``imbalance_left`` and ``imbalance_by_chance``
        (of a randomized experiment with as many pairs) of the sample "matched". A tolerance at which fewer than two
        pairs are kept has the first only. A row of ``imbalance_left`` of the sample "all" is the unmatched imbalance.

    Examples
    --------
    >>> import likewise as lw
    >>> from likewise.design.balance.frontier import frontier
    >>> images, factors = lw.World(identities=60, seed=1).draw()
    >>> vectors = lw.Vectors(images.keys, factors[:, 1:4], source="factors")
    >>> contrast = lw.Contrast("perceived_gender", "female", "male")
    >>> kept = frontier(images, vectors, contrast, at=(0.05, 0.2)).where(stat="pairs_kept").frame["estimate"]
    >>> bool(kept.is_monotonic_increasing)
    True
    """
    spec = spec or MatchSpec(method="cardinality")
    if spec.method != "cardinality":
        raise SpecError(f"A frontier needs method = 'cardinality', not {spec.method!r}", fix="Set it in the spec.")

    def imbalance(found: Matches | None) -> float:
        shown = {"covariates": covariates} if covariates else {"vectors": vectors}
        table = balance(images, contrast, found, units=units, **shown)
        smd = table.where(stat="smd", sample="all" if found is None else "matched").frame["estimate"]
        return float(smd.abs().mean())

    rows = [_row("unmatched", "imbalance_left", "all", contrast, imbalance(None), _units(images, contrast, units))]
    for tolerance in sorted(at):
        found = match(images, vectors, contrast, replace(spec, max_smd=tolerance), units=units, allowed=allowed)
        count = len(found)
        values = {"pairs_kept": float(count)}
        if count > 1:
            values |= {"imbalance_left": imbalance(found), "imbalance_by_chance": by_chance(count)}
        rows += [
            _row(f"max_smd {tolerance:g}", stat, "matched", contrast, value, count) for stat, value in values.items()
        ]
    return Estimates.of(rows)


def by_chance(pairs: int) -> float:
    """Return the mean absolute SMD that is expected of a randomized experiment with so many pairs.

    >>> round(by_chance(100), 3)
    0.113
    """
    return float(np.sqrt(2 / pairs) * np.sqrt(2 / np.pi))


def _units(images: Images, contrast: Contrast, units: Trials | None) -> int:
    return int((contrast.side(images) != 0).sum()) if units is None else len(units)


def _row(name: str, stat: str, sample: str, contrast: Contrast, value: float, count: int) -> dict[str, object]:
    return row(name, stat, sample, contrast.label, value, n=count, clusters=count, method=_METHOD)
