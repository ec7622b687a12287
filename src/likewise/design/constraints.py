"""The hard constraints of a matching, in two forms: as masks for the search, and as a ledger that proves each row.

The ledger is computed from the tables by itself, not from the masks, so that an error in one shows in the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pandas as pd

from likewise.design.search.metric import Euclid, Metric
from likewise.design.search.points import Floats, Index, points, scatter_width
from likewise.errors import SpecError, TableError, nearest, some
from likewise.tables import Contrast, Images, MatchSpec, Vectors
from likewise.tables.matching.caliper import Limit, Width

Mask = npt.NDArray[np.bool_]
Within = Sequence[tuple[Vectors, float]]


class Rule(Protocol):
    """A rule on pairs: which of these reference images may go with which of these focal images."""

    @property
    def name(self) -> str:
        """How ledgers and counts call it."""

    def mask(self, rows: Index, columns: Index) -> Mask:
        """Return ``[b, m]``: whether the pair keeps the rule."""


@dataclass(frozen=True)
class Exact:
    """Both have the same level; an empty cell (-1) agrees with none."""

    name: str
    focal: npt.NDArray[np.int64]
    reference: npt.NDArray[np.int64]

    def mask(self, rows: Index, columns: Index) -> Mask:
        """Return which pairs agree."""
        left = self.focal[rows][:, None]
        same: Mask = (left == self.reference[columns][None, :]) & (left >= 0)
        return same


@dataclass(frozen=True)
class Caliper:
    """The two differ by at most ``limit``; an empty cell keeps no caliper."""

    name: str
    focal: Floats
    reference: Floats
    limit: float

    def mask(self, rows: Index, columns: Index) -> Mask:
        """Return which pairs are near enough."""
        return np.abs(self.focal[rows][:, None] - self.reference[columns][None, :]) <= self.limit


@dataclass(frozen=True)
class Near:
    """A second distance lies below ``limit`` (the recognizer rule): bounds first, exact sums inside their band."""

    name: str
    metric: Euclid
    limit: float

    def mask(self, rows: Index, columns: Index) -> Mask:
        """Return which pairs are nearer than the limit."""
        low, left, right = self.metric.squared(rows, columns, np.float32)
        limit = self.limit**2
        keep: Mask = low < limit * (1 + 1e-12)
        at = np.nonzero(keep)
        sure = low[at] + left[at[0]] + right[at[1]] < limit * (1 - 1e-12)
        for row, open_ in by_row(at[0][~sure], at[1][~sure]):
            keep[row, open_] = self.metric.exact(int(rows[row]), columns[open_]) < self.limit
        return keep


def rules(
    faces: Images, contrast: Contrast, spec: MatchSpec, focal: list[str], reference: list[str], within: Within = ()
) -> list[Rule]:
    """Prepare the spec's rules for these two lists of images, the cheap ones first."""
    found: list[Rule] = []
    for name in spec.exact:
        column = need_column(faces, name, "exact")
        codes = pd.Series(pd.factorize(column)[0].astype(np.int64), index=column.index)  # an empty cell is -1
        found.append(Exact(f"exact {name}", np.asarray(codes.loc[focal]), np.asarray(codes.loc[reference])))
    for name, width in spec.caliper:
        if name not in ("distance", "score"):
            column = _numbers(faces, name)
            limit = _in_own_unit(width, column, faces, contrast)
            left, right = column.loc[focal].to_numpy(), column.loc[reference].to_numpy()
            found.append(Caliper(f"caliper {name}", left, right, limit))
    for vectors, limit in within:
        found.append(Near(near_name(vectors, limit), Euclid(*points(vectors, focal, reference), keep=2**28), limit))
    return found


def by_row(rows: Index, columns: Index) -> Iterator[tuple[int, Index]]:
    """Yield each row with its columns, from two lists of which the first is sorted."""
    names, starts = np.unique(rows, return_index=True)
    yield from zip(names.tolist(), np.split(columns, starts[1:]), strict=False)


def near_name(vectors: Vectors, limit: float) -> str:
    """Name the constraint on a second distance in ledgers and counts."""
    return f"{vectors.source} < {limit:g}"


def ledger(
    frame: pd.DataFrame, faces: Images, contrast: Contrast, spec: MatchSpec, within: Within, farthest: float
) -> pd.DataFrame:
    """Prove every rule for every pair, from the tables alone; ``farthest`` is the caliper on the distance."""
    side = contrast.side(faces)
    a, b = frame["a"], frame["b"]
    proof = {"contrast": (side.loc[a].to_numpy() == 1) & (side.loc[b].to_numpy() == -1)}
    if "identity" in spec.antiexact:
        proof["antiexact identity"] = _once(frame, faces.identities, again=spec.replace)
    for name in spec.exact:
        column = faces.attribute(name)
        proof[f"exact {name}"] = column.loc[a].to_numpy() == column.loc[b].to_numpy()
    for name, width in spec.caliper:
        if name == "distance":
            proof["caliper distance"] = frame["distance"].to_numpy() <= farthest
        elif name != "score":
            column = _numbers(faces, name)
            apart = np.abs(column.loc[a].to_numpy() - column.loc[b].to_numpy())
            proof[f"caliper {name}"] = apart <= _in_own_unit(width, column, faces, contrast)
    for vectors, limit in within:
        apart = vectors.take(a.tolist()).astype(np.float64) - vectors.take(b.tolist())
        squares = (apart**2).reshape(len(a), int(np.prod(apart.shape[1:])))
        proof[near_name(vectors, limit)] = np.sqrt(squares.sum(axis=1)) < limit
    return pd.DataFrame(proof, index=frame.index)


def _once(frame: pd.DataFrame, identity: pd.Series, *, again: bool) -> Mask:
    """Whether both people of a row occur nowhere else: a focal unit may recur in its own set.

    With ``again`` (replacement) a reference may recur.
    """
    whose = {side: identity.loc[frame[side]].to_numpy() for side in ("a", "b")}
    focal = pd.DataFrame({"who": whose["a"], "image": frame["a"].to_numpy()}).groupby("who")["image"].nunique()
    seen = pd.Series(whose["b"]).value_counts()
    alone: Mask = (focal.loc[whose["a"]].to_numpy() == 1) & ((seen.loc[whose["b"]].to_numpy() == 1) | again)
    crossed: Mask = np.isin(whose["a"], whose["b"]) | np.isin(whose["b"], whose["a"])
    once: Mask = alone & ~crossed
    return once


def spread(column: pd.Series, side: pd.Series, name: str) -> float:
    """Return the standard deviation within the groups, pooled: a unit that matching itself cannot change."""
    within = [column[side == sign].var(ddof=1) for sign in (1, -1)]
    if np.isnan(within).any():
        raise TableError(
            f"A caliper on {name!r} in sd needs two values on each side, and one has fewer",
            fix="Give the caliper in the column's own unit.",
        )
    return float(np.sqrt(np.mean(within)))


def _in_own_unit(limit: Limit, column: pd.Series, faces: Images, contrast: Contrast) -> float:
    width = Width.of(limit)
    return width.value * (spread(column, contrast.side(faces), str(column.name)) if width.in_sd else 1.0)


def farthest(spec: MatchSpec, metric: Metric) -> float:
    """Return the caliper on the distance in the distance's own unit; infinity without one."""
    width = Width.of(dict(spec.caliper).get("distance", np.inf))
    if not width.in_sd:
        return width.value
    assert isinstance(metric, Euclid)  # the spec refuses it for precomputed distances
    return width.value * scatter_width(metric.x, metric.y)


def need_column(faces: Images, name: str, option: str) -> pd.Series:
    """Return a column that an option of the spec names."""
    if name not in faces.attributes:
        fix = nearest(name, faces.attributes) or f"The columns are {some(faces.attributes, 8)}."
        raise SpecError(f"Column {name!r} of {option} not found in Images", fix=fix)
    return faces.attribute(name)


def _numbers(faces: Images, name: str) -> pd.Series:
    column = need_column(faces, name, "caliper")
    if not pd.api.types.is_numeric_dtype(column.dtype):
        raise SpecError(f"A caliper on {name!r} is not possible: it holds text", fix="Use exact.")
    return column.astype("float64")
