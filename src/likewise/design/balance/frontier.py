"""The frontier of balance: how many pairs are kept at each tolerance, and how much imbalance is left."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from likewise.design.balance.table import balance
from likewise.design.match import match
from likewise.errors import SpecError
from likewise.tables import Contrast, Estimates, Images, MatchSpec, Trials, Vectors
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
) -> Estimates:
    """Match by cardinality at several tolerances and report pairs kept against imbalance left.

    Parameters
    ----------
    images, vectors, contrast, units
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
        ``quantity`` is the tolerance (``max_smd 0.1``); ``pairs_kept`` and ``imbalance_left`` of the sample "matched".
        A tolerance at which fewer than two pairs are kept has no ``imbalance_left``.
    """
    spec = spec or MatchSpec(method="cardinality")
    if spec.method != "cardinality":
        raise SpecError(f"A frontier needs method = 'cardinality', not {spec.method!r}", fix="Set it in the spec.")
    rows: list[dict[str, object]] = []
    for tolerance in sorted(at):
        found = match(images, vectors, contrast, replace(spec, max_smd=tolerance), units=units)
        values = {"pairs_kept": float(len(found))}
        if len(found) > 1:
            shown = {"covariates": covariates} if covariates else {"vectors": vectors}
            table = balance(images, contrast, found, units=units, **shown)
            smd = table.where(stat="smd", sample="matched").frame["estimate"]
            values["imbalance_left"] = float(smd.abs().mean())
        count = len(found)
        rows += [
            row(
                f"max_smd {tolerance:g}",
                stat,
                "matched",
                contrast.label,
                value,
                n=count,
                clusters=count,
                method=_METHOD,
            )
            for stat, value in values.items()
        ]
    return Estimates.of(rows)
