"""The largest balanced sample as a matching: what is balanced, the pairs, and the proof from the tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pandas as pd

from likewise.design.balance.covariate_summary import numeric_covariates
from likewise.design.cardinality.problem import Floats, Mask, Problem
from likewise.design.cardinality.sample import largest_balanced
from likewise.design.constraints import Within, need_column, rules
from likewise.design.eligible import Eligible
from likewise.design.search.greedy import Taken
from likewise.design.search.metric import Euclid
from likewise.design.search.optimal import Optimal
from likewise.design.search.points import points
from likewise.design.search.result import Search, Side
from likewise.design.search.scan import Scan
from likewise.errors import SeparatedError, SpecError, VectorError
from likewise.runtime.executor import Silent
from likewise.tables import Contrast, Images, MatchSpec, Vectors

_AT_ONCE = 1024  # focal units that are compared with the other side together
NO_LEVEL = "has units of both groups"
"""How the note goes on where exact columns leave no pair."""
_EMPTY = ("no level, focal", "no level, reference")


@dataclass(frozen=True)
class Cardinal:
    """The arguments of a cardinality matching, in terms of its units."""

    images: Images
    vectors: Vectors
    contrast: Contrast
    spec: MatchSpec
    offered: Eligible
    within: Within

    def __post_init__(self) -> None:
        if self.within:
            fix = "Use method = 'optimal', or remove the second distances."
            raise SpecError(
                "method = 'cardinality' balances groups and cannot limit second distances of pairs", fix=fix
            )

    def numbers(self) -> tuple[Floats, Mask]:
        """Return what is balanced, ``[n, k]``, the focal units first, in pooled standard deviations; what is named."""
        plain = replace(self.spec, distance="euclidean")
        sides = points(self.vectors, self.offered.focal, self.offered.reference, plain)
        own = np.concatenate([side.at(np.arange(len(side), dtype=np.intp)) for side in sides])
        units = [*self.offered.focal, *self.offered.reference]
        columns = {
            name: column.loc[units] for name, column in numeric_covariates(self.images, self.spec.balance).items()
        }
        names = [
            *(f"number {place + 1} of the vectors" for place in range(own.shape[1])),
            *(f"covariate {name!r}" for name in columns),
        ]
        numbers, varies = standardized(np.column_stack([own, *columns.values()]), len(self.offered.focal), names)
        return numbers, (np.arange(len(names)) >= own.shape[1])[varies]

    def strata(self) -> npt.NDArray[np.int64]:
        """Return the level of all exact columns together; units with an empty cell have no counterpart."""
        units = [*self.offered.focal, *self.offered.reference]
        names = pd.Series("", index=range(len(units)))
        for name in self.spec.exact:
            names += need_column(self.images, name, "exact").loc[units].astype("str").to_numpy() + "\x1f"
            empty = need_column(self.images, name, "exact").loc[units].isna().to_numpy()
            side = np.where(np.arange(len(units)) < len(self.offered.focal), *_EMPTY)
            names = names.where(~empty, side)
        return pd.factorize(names, sort=True)[0].astype(np.int64)


def standardized(numbers: Floats, focal: int, names: Sequence[str] = ()) -> tuple[Floats, Mask]:
    """Divide by the standard deviation pooled within the sides; leave out what does not vary within them, ``[k]``.

    Variances are over n, not n - 1, so that an SMD of ``balance`` is never larger than the one that is bounded here.
    """
    variances = [side.var(axis=0) for side in (numbers[:focal], numbers[focal:]) if len(side) > 1]
    if not variances:
        raise VectorError("Each side has one unit: nothing can be balanced", fix="Add units.")
    spread = np.sqrt(np.mean(variances, axis=0))
    varies = spread > 1e-12 * np.abs(numbers).max(axis=0, initial=1.0)
    apart = np.abs(numbers[:focal].mean(axis=0) - numbers[focal:].mean(axis=0))
    if (separated := np.flatnonzero(~varies & (apart > 0))).size:
        name = names[separated[0]] if separated[0] < len(names) else "a number"
        fix = "Leave it out: no sample can be balanced in it."
        problem = f"{name[0].upper()}{name[1:]} is constant within each group and differs between them"
        raise SeparatedError(problem, fix=fix)
    if not varies.any():
        fix = "Check the vectors: they are the same for all units."
        raise VectorError("No number varies: there is nothing to balance", fix=fix)
    return numbers[:, varies] / spread[varies], varies


def nearest_other(numbers: Floats, focal: int) -> Floats:
    """Return the distance of every unit to the nearest one of the other side: far ones have no counterpart.

    In float32 and by blocks: it only ranks samples that are balanced alike.
    """
    sides = [np.asarray(part, dtype=np.float32) for part in (numbers[:focal], numbers[focal:])]
    squares = [np.square(side).sum(axis=1) for side in sides]
    found = np.full(len(numbers), np.inf)
    for start in range(0, focal, _AT_ONCE):
        rows = slice(start, min(start + _AT_ONCE, focal))
        block = squares[0][rows, None] + squares[1] - 2 * sides[0][rows] @ sides[1].T
        found[rows] = block.min(axis=1)
        found[focal:] = np.minimum(found[focal:], block.min(axis=0))
    distances: Floats = np.sqrt(np.maximum(found, 0.0))
    return distances


def balanced_search(given: Cardinal, threads: int, memory: int) -> Search:
    """Choose the largest balanced sample and pair it with the least total distance."""
    spec, focal, problem = given.spec, given.offered.focal, _problem(given)
    found = largest_balanced(problem)
    chosen = np.flatnonzero(found.chosen)
    rows, columns = chosen[chosen < len(focal)], chosen[chosen >= len(focal)] - len(focal)
    taken = _paired(given, rows, columns, threads, memory)
    used = np.zeros(int(problem.people.max()) + 1, dtype=bool)
    used[problem.people[found.chosen]] = True
    sides = [
        Side(problem.people[part], found.chosen[part], ["offered partners"], np.ones((1, part.sum()), dtype=bool))
        for part in (problem.focal, ~problem.focal)
    ]
    note = (
        f"Balanced within {np.abs(problem.apart(found.chosen)).max(initial=0.0):.2g} of at most {spec.tolerance:g}: "
        f"{found.size} pairs, and no such sample has more than {found.bound}"
    )
    if not found.size:
        note = f"No sample is balanced within {spec.tolerance:g}: raise max_smd, or balance fewer numbers"
    if not problem.sizes(np.ones(len(problem.focal), dtype=bool)).all(axis=0).any():
        note = f"No level of {', '.join(spec.exact)} (exact) {NO_LEVEL}: remove the column, or group it"
    proof = {f"max_smd {spec.tolerance:g}": problem.holds(found.chosen)}
    return Search(taken, sides[0], sides[1], used, note, proof=proof)


def _problem(given: Cardinal) -> Problem:
    """Return what is balanced, over which units, and how closely."""
    spec, focal, reference = given.spec, given.offered.focal, given.offered.reference
    units = [*focal, *reference]
    names = given.images.identities.loc[units].to_numpy() if "identity" in spec.antiexact else np.array(units)
    numbers, named = given.numbers()
    return Problem(
        numbers=numbers,
        focal=np.arange(len(units)) < len(focal),
        people=pd.factorize(names)[0].astype(np.int64),
        strata=given.strata(),
        tolerance=np.full(numbers.shape[1], spec.tolerance),
        most=spec.max_pairs,
        cost=nearest_other(numbers, len(focal)),
        keep=spec.keep,
        named=named,
    )


def _paired(
    given: Cardinal, rows: npt.NDArray[np.intp], columns: npt.NDArray[np.intp], threads: int, memory: int
) -> list[Taken]:
    """Pair the sample: exact columns have as many units on both sides, so that every unit finds a partner."""
    if len(rows) == 0:
        return []
    focal = [given.offered.focal[row] for row in rows]
    reference = [given.offered.reference[column] for column in columns]
    metric = Euclid(*points(given.vectors, focal, reference, given.spec))
    scan = Scan(metric, rules(given.images, given.contrast, given.spec, focal, reference), np.inf, "caliper distance",
                memory, threads, None)  # fmt: skip
    codes = np.arange(len(focal), dtype=np.int64), np.arange(len(reference), dtype=np.int64) + len(focal)
    best = Optimal(scan, *codes, lambda row, column: True).pairs(progress=Silent())
    return [(distance, int(rows[row]), int(columns[column])) for distance, row, column in best]
