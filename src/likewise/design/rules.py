"""The hard rules of a matching, in two forms: as masks for the search, and as a ledger that proves each row.

The ledger is computed from the tables by itself, not from the masks, so that a slip in one shows in the other.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from likewise.errors import SpecError, nearest
from likewise.tables import Contrast, Faces, MatchSpec

Mask = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Rules:
    """Which reference images a focal image may be paired with, by the labelled covariates."""

    exact: list[tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]]
    calipers: list[tuple[Floats, Floats, float]]
    farthest: float

    def admits(self, row: int, columns: npt.NDArray[np.intp]) -> Mask:
        """Return for focal image ``row`` which of these reference images keep every rule on covariates."""
        mask = np.ones(len(columns), dtype=bool)
        for focal, reference in self.exact:
            mask &= (reference[columns] == focal[row]) & (focal[row] >= 0)
        for left, right, width in self.calipers:
            mask &= np.abs(right[columns] - left[row]) <= width  # NaN keeps no caliper
        return mask


def rules(faces: Faces, contrast: Contrast, spec: MatchSpec, focal: list[str], reference: list[str]) -> Rules:
    """Prepare the spec's rules for these two lists of images."""
    exact: list[tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]] = []
    for name in spec.exact:
        column = _column(faces, name, "exact")
        codes = pd.Series(pd.factorize(column)[0].astype(np.int64), index=column.index)  # an empty cell is -1
        exact.append((np.asarray(codes.loc[focal]), np.asarray(codes.loc[reference])))
    calipers = []
    for name, width in spec.caliper:
        if name != "distance":
            column = _numbers(faces, name)
            unit = spread(column, contrast.side(faces)) if spec.caliper_in_sd else 1.0
            calipers.append((column.loc[focal].to_numpy(), column.loc[reference].to_numpy(), width * unit))
    return Rules(exact, calipers, dict(spec.caliper).get("distance", np.inf))


def ledger(frame: pd.DataFrame, faces: Faces, contrast: Contrast, spec: MatchSpec) -> pd.DataFrame:
    """Prove every rule for every pair, from the tables alone."""
    side, identity = contrast.side(faces), faces.identities
    a, b = frame["a"], frame["b"]
    proof = {"contrast": (side.loc[a].to_numpy() == 1) & (side.loc[b].to_numpy() == -1)}
    if "identity" in spec.antiexact:
        seen = pd.concat([identity.loc[a], identity.loc[b]]).value_counts()
        proof["antiexact identity"] = (seen.loc[identity.loc[a]].to_numpy() == 1) & (
            seen.loc[identity.loc[b]].to_numpy() == 1
        )
    for name in spec.exact:
        column = faces.attribute(name)
        proof[f"exact {name}"] = column.loc[a].to_numpy() == column.loc[b].to_numpy()
    for name, width in spec.caliper:
        if name == "distance":
            proof["caliper distance"] = frame["distance"].to_numpy() <= width
            continue
        column = _numbers(faces, name)
        unit = spread(column, side) if spec.caliper_in_sd else 1.0
        apart = np.abs(column.loc[a].to_numpy() - column.loc[b].to_numpy())
        proof[f"caliper {name}"] = apart <= width * unit
    return pd.DataFrame(proof, index=frame.index)


def spread(column: pd.Series, side: pd.Series) -> float:
    """Return the standard deviation within the groups, pooled: the ruler that matching itself cannot bend."""
    within = [column[side == sign].var(ddof=1) for sign in (1, -1)]
    return float(np.sqrt(np.mean(within)))


def _column(faces: Faces, name: str, option: str) -> pd.Series:
    if name not in faces.attributes:
        raise SpecError(f"{option} names columns of Faces", got=repr(name), fix=nearest(name, faces.attributes))
    return faces.attribute(name)


def _numbers(faces: Faces, name: str) -> pd.Series:
    column = _column(faces, name, "caliper")
    if not pd.api.types.is_numeric_dtype(column.dtype):
        raise SpecError(
            "a caliper is for a column of numbers", got=f"{name!r} of type {column.dtype}", fix="Use exact."
        )
    return column.astype("float64")
