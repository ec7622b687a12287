"""Shadows: points seen in their few leading directions, whose distances are rigorous lower bounds of the true ones.

For any linear map A that stretches nothing, |z|^2 = |Az|^2 + |Bz|^2 with B^2 = 1 - A'A. With z = x - y and the triangle
inequality for B, |x - y|^2 >= |Ax - Ay|^2 + (|Bx| - |By|)^2, and |Bx|^2 = |x|^2 - |Ax|^2 needs no B. So the k numbers
of Ax, and |Bx| beside them, make a shadow of x, and no two points are nearer than their shadows. A comes from the
leading directions of a sample; how good they are is a matter of speed alone.

Where points vary mostly in a few directions, shadows spare nearly all of the great matrix product. Where they do not,
shadows would cost more than they spare. A probe decides.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from threadpoolctl import threadpool_limits

from likewise.design.search.metric import Euclid, Metric
from likewise.design.search.points import Floats, Index, Numbers, Points, Single, blocks
from likewise.design.search.threads import threaded

LARGE = 2**32  # multiplications from which a shadow is thought of
_SAMPLE, _PROBES = 128, 24  # points a side that directions are learned from, and points that they are tried on
_DIRECTIONS = (16, 32, 48, 64, 96, 128)
_SEEN = 0.6  # the least share of the squared lengths that a shadow must keep
_PAYS = 120  # a search pays off when no more than one in so many columns has to be measured
_RUN, _SHORT = 256, 512  # points at once, and numbers summed in float32
_UNIT = 2.0**-24
_LONGEST, _LOST = (
    1e15,
    1e-15,
)  # lengths whose squares float32 can hold, and more than is lost where it holds too small ones


@dataclass
class ProjectionBounds:
    """A metric that bounds distances by shadows and measures them on the points themselves."""

    whole: Euclid
    flat: Euclid
    """The shadows."""
    doubt: tuple[Single, Single]
    """By how much each shadow may lie beside its place."""
    hidden: tuple[Single, Single]
    """How much of each point its projection does not show, at most."""
    settled: bool = False

    def __post_init__(self) -> None:
        self.shape, self.row_bytes = self.whole.shape, self.flat.row_bytes

    def lower(self, rows: Index, columns: Index, dtype: type[np.floating]) -> Numbers:
        """Return lower bounds of the distances."""
        found = self.flat.lower(rows, columns, dtype)
        found -= self.doubt[0][rows, None]
        found -= self.doubt[1][columns]
        np.maximum(found, 0, out=found)
        return found

    def upper(self, rows: Index, columns: Index, lower: Numbers) -> Numbers:
        """Return upper bounds: what shadows do not show may lie on opposite sides."""
        doubt = self.doubt[0][rows, None].astype(np.float64) + self.doubt[1][columns]
        wide = self.flat.upper(rows, columns, (lower + doubt).astype(lower.dtype))
        apart = self.hidden[0][rows, None].astype(np.float64) + self.hidden[1][columns]
        return np.asarray((np.hypot(wide + doubt, apart) + doubt) * (1 + 1e-6))

    def exact(self, row: int, columns: Index) -> Floats:
        """Return the distances from one focal image to these reference images."""
        return self.whole.exact(row, columns)


def bounded(metric: Metric, farthest: float, *, memory: int, threads: int) -> Metric:
    """Return a metric with the same distances: by shadows where they are quicker, else the one that was given.

    ``farthest`` is the largest distance that will be asked about.
    """
    if not isinstance(metric, Euclid) or not _worth_a_thought(metric, memory):
        return metric
    with threadpool_limits(1, user_api="blas"):  # small products: several threads would wait for each other
        map_ = _learned(metric)
    if map_ is None:
        return metric
    sides = [map_.sides(points, threads) for points in (metric.x, metric.y)]
    if not all(np.isfinite(side.seen).all() for side in sides):
        return metric
    shadow = _thrown(metric, sides, memory)
    return shadow if _pays_off(shadow, farthest) else metric


def _worth_a_thought(metric: Euclid, memory: int) -> bool:
    """Whether the product is large, and there is room for the sample, its directions and the shadows."""
    (rows, columns), width, most = metric.shape, metric.x.width, _DIRECTIONS[-1]
    room = width * (16 * _SAMPLE + 24 * most) + 8 * (most + 4) * (rows + columns) <= memory // 4
    return room and rows * columns * width >= LARGE and width > 2 * most


@dataclass(frozen=True)
class _Map:
    """What throws the shadows: some directions, and the length by which they may stretch a vector at most."""

    center: Single
    directions: Single
    """[p, k], nearly orthonormal."""

    @property
    def stretch(self) -> float:
        """No vector becomes longer than this many times its length."""
        exact = self.directions.astype(np.float64)
        off = exact.T @ exact - np.eye(exact.shape[1])
        return float(np.sqrt(1 + np.sqrt((off**2).sum()) + 1e-9))

    def seen(self, block: Single) -> tuple[Floats, Floats]:
        """Return projections of points and their squared lengths: short sums in float32, sums of them in float64."""
        found, squares = np.zeros((len(block), self.directions.shape[1])), np.zeros(len(block))
        for start in range(0, block.shape[1], _SHORT):
            part = block[:, start : start + _SHORT]
            found += part @ self.directions[start : start + _SHORT]
            squares += np.einsum("ij,ij->i", part, part)
        return found, squares

    def sides(self, points: Points, threads: int) -> _Side:
        """Return what is seen of all points."""
        stretch, count = self.stretch, self.directions.shape[1]
        side = _Side(np.empty((len(points), count), np.float32), *(np.empty(len(points), np.float32) for _ in range(3)))

        def look(index: Index) -> None:
            found, squares = self.seen(points.single(index, self.center))
            side.put(index, found / stretch, squares)

        for _ in threaded(look, blocks(len(points), _RUN), threads):
            pass
        return side


@dataclass(frozen=True)
class _Side:
    """The projections of one side's points, what they hide, and by how much either may err."""

    seen: Single
    hidden: Single
    seen_doubt: Single
    hidden_doubt: Single

    def put(self, index: Index, seen: Floats, squares: Floats) -> None:
        """Note what was seen of some points.

        With g the bound on the error of a short sum of products, projections are off by at most g sqrt(k) |x| together.
        The square of what is hidden is off by e = g |x|^2 and what that makes of |Ax|^2; its root therefore by
        e / root, and never by more than sqrt(e). Points were rounded to float32 before, shadows are afterwards, and so
        are the differences that bounds are. A point too far away for float32 is seen at infinity.
        """
        fits = squares < _LONGEST**2
        squares = np.where(fits, squares, 0)
        length, unit = np.sqrt(squares), (_SHORT + 4) * _UNIT
        share = 1.01 * unit / (1 - unit)
        doubt = share * np.sqrt(seen.shape[1]) * length
        square = share * squares + 2 * length * doubt + doubt**2
        hidden = np.sqrt(np.maximum(squares - np.square(seen).sum(axis=1), 0))
        root = np.minimum(np.sqrt(square), square / np.maximum(hidden, 1e-300))
        self.seen[index], self.hidden[index] = np.where(fits[:, None], seen, np.inf), hidden
        self.seen_doubt[index] = 1.01 * (doubt + 8 * _UNIT * length) + _LOST
        self.hidden_doubt[index] = 1.01 * root


def _thrown(metric: Euclid, sides: list[_Side], memory: int) -> ProjectionBounds:
    """Throw shadows; what is hidden is one of their numbers if it differs by more than it may err."""
    hidden = np.concatenate([side.hidden for side in sides])
    useful = hidden.std() > np.median([side.hidden_doubt.max() for side in sides])
    flat = [np.c_[side.seen, side.hidden if useful else 0 * side.hidden] for side in sides]
    doubt = [side.seen_doubt + side.hidden_doubt if useful else side.seen_doubt for side in sides]
    most = [side.hidden + side.hidden_doubt for side in sides]
    x, y = (Points(part, np.arange(len(part), dtype=np.intp)) for part in flat)
    return ProjectionBounds(metric, Euclid(x, y, keep=memory), (doubt[0], doubt[1]), (most[0], most[1]))


def _learned(metric: Euclid) -> _Map | None:
    """Learn directions from a few points of both sides, choose how many on others; nothing if they see too little."""
    center = metric.center
    some = np.concatenate([points.single(_spread(len(points), _SAMPLE), center) for points in (metric.x, metric.y)])
    values, vectors = np.linalg.eigh((some @ some.T).astype(np.float64))
    most = min(_DIRECTIONS[-1], int((values > 1e-6 * max(values[-1], 0.0)).sum()))
    if most == 0:
        return None
    leading = slice(None, -most - 1, -1)
    directions = _upright(some.T @ (vectors[:, leading] / np.sqrt(values[leading])).astype(np.float32))
    full = _Map(center, directions)
    probes = [points.single(_spread(len(points), _PROBES, between=True), center) for points in (metric.x, metric.y)]
    found, squares = full.seen(np.concatenate(probes))
    kept = np.cumsum(np.square(found).sum(axis=0)) / max(squares.sum(), 1e-300)
    if not kept[-1] >= _SEEN:
        return None
    enough = [count for count in _DIRECTIONS if count < most and 1 - kept[count - 1] <= 1.25 * (1 - kept[-1])]
    return _Map(center, np.ascontiguousarray(directions[:, : min([*enough, most])]))


def _upright(directions: Single) -> Single:
    """Make directions nearly orthonormal, each by turning it away from earlier ones; what depends on those shrinks."""
    exact = directions.astype(np.float64)
    inner = exact.T @ exact + 1e-6 * np.eye(exact.shape[1])
    turned: Single = (exact @ np.linalg.inv(np.linalg.cholesky(inner)).T).astype(np.float32)
    return turned


def _spread(count: int, wanted: int, *, between: bool = False) -> Index:
    """Return about so many places, evenly spread; ``between`` returns others."""
    edges = np.linspace(0, count, wanted + 1)
    at = edges[:-1] + (0.5 if between else 0.0) * (edges[1] - edges[0])
    return np.unique(np.minimum(at.astype(np.intp), count - 1))


def _pays_off(shadow: ProjectionBounds, farthest: float) -> bool:
    """Count for a few rows the columns whose shadows cannot tell if they are nearest, or if they are near enough."""
    rows, everyone = _spread(shadow.shape[0], _PROBES, between=True), np.arange(shadow.shape[1], dtype=np.intp)
    bounds = shadow.lower(rows, everyone, np.float32)
    nearest = [shadow.exact(int(row), bound.argmin(keepdims=True))[0] for row, bound in zip(rows, bounds, strict=True)]
    doubtful = bounds <= np.array(nearest)[:, None]
    if np.isfinite(farthest):
        doubtful |= (bounds <= farthest) & (shadow.upper(rows, everyone, bounds) > farthest)
    return bool(doubtful.mean() * _PAYS <= 1)
