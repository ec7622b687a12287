"""The paper's rules written the plainest way: the full matrix, argmin, remove, repeat. For comparison only."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pandas as pd

import likewise as lw

Row = tuple[str, str, float]


def full_matrix(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """All distances at once, each summed over its own pair."""
    return np.array([[np.sqrt(((y - x) ** 2).sum()) for y in right] for x in left]).reshape(len(left), len(right))


class Naive:
    """A matching problem as tables of everything with everything."""

    def __init__(self, faces: lw.Images, vectors: lw.Vectors, contrast: lw.Contrast, spec: lw.MatchSpec, **beside):
        side, self.faces, self.spec, self.vectors = contrast.side(faces), faces, spec, vectors
        self.side = side
        within = beside.get("within", ())
        self.difficulty = beside.get("difficulty")
        self.identity = faces.identities
        self._known: dict[str, list[tuple[str, float]]] = {}
        there = [image for image in faces.keys if image in vectors and all(image in v for v, _ in within)]
        there = [image for image in there if not spec.references or self.references_of(image)]
        self.focal = sorted(image for image in there if side[image] == 1)
        self.reference = sorted(image for image in there if side[image] == -1)
        self.distance = self._distances(vectors)
        self.allowed = self._allowed(within)

    def _distances(self, vectors: lw.Vectors) -> np.ndarray:
        flat = [
            vectors.take(images).astype(np.float64).reshape(len(images), int(np.prod(vectors.values.shape[1:])))
            for images in (self.focal, self.reference)
        ]
        return full_matrix(*flat)

    def _deviation(self, name: str) -> float:
        """The pooled deviation within the groups: of a column over everybody, of the points over who is offered."""
        if name != "distance":
            groups = self.faces.attribute(name).groupby(self.side.loc[self.faces.keys].to_numpy())
            return float(np.sqrt(groups.var(ddof=1).loc[[1, -1]].mean()))
        if not self.focal or not self.reference:
            return 0.0  # no image to compare with
        flat = [self.vectors.take(images).astype(np.float64) for images in (self.focal, self.reference)]
        return float(np.sqrt(np.mean([part.var(axis=0, ddof=1).sum() for part in flat])))

    def _allowed(self, within) -> np.ndarray:
        allowed = np.ones((len(self.focal), len(self.reference)), dtype=bool)
        for name in self.spec.exact:
            column = self.faces.attribute(name)
            for i, a in enumerate(self.focal):
                for j, b in enumerate(self.reference):
                    allowed[i, j] &= bool(pd.notna(column[a]) and column[a] == column[b])
        for name, width in self.spec.caliper:
            limit = width if isinstance(width, float) else float(width[:-2]) * self._deviation(name)
            if name == "distance":
                allowed &= self.distance <= limit
                continue
            left, right = (self.faces.attribute(name).loc[images].to_numpy() for images in (self.focal, self.reference))
            allowed &= np.abs(left[:, None] - right[None, :]) <= limit
        for vectors, limit in within:
            sides = (vectors.take(images).astype(np.float64) for images in (self.focal, self.reference))
            allowed &= full_matrix(*sides) < limit
        return allowed

    def references_of(self, image: str) -> list[tuple[str, float]]:
        if image not in self._known:
            self._known[image] = self._references_of(image)
        return self._known[image]

    def _references_of(self, image: str) -> list[tuple[str, float]]:
        frame, where = self.faces.frame.set_index("image"), dict(self.spec.reference_where)
        found = []
        for other in sorted(self.identity.index[self.identity == self.identity[image]]):
            if other == image or other not in self.difficulty or image not in self.difficulty:
                continue
            if any(str(frame.loc[other, name]) != level for name, level in where.items()):
                continue
            apart = self.difficulty.take([other, image]).astype(np.float64).reshape(2, -1)
            hard = float(np.sqrt(((apart[0] - apart[1]) ** 2).sum()))
            if hard >= (self.spec.difficulty_at_least or 0):
                found.append((other, hard))
        return found

    def chosen_references(self, a: str, b: str) -> tuple[str, str] | None:
        options = [
            (abs(hard_a - hard_b), one, other)
            for one, hard_a in self.references_of(a)
            for other, hard_b in self.references_of(b)
            if self.spec.difficulty_ratio is None
            or max(hard_a, hard_b) <= self.spec.difficulty_ratio * min(hard_a, hard_b)
        ]
        return min(options)[1:] if options else None

    def greedy(self) -> list[Row]:
        """Take the smallest of all that is left, remove both people (or images), repeat."""
        left = np.where(self.allowed, self.distance, np.inf)
        pairs: list[Row] = []
        most = self.spec.max_pairs or np.inf
        while left.size and np.isfinite(left).any() and len(pairs) < most:
            i, j = np.unravel_index(int(np.argmin(left)), left.shape)
            a, b = self.focal[i], self.reference[j]
            if self.spec.references and self.chosen_references(a, b) is None:
                left[i, j] = np.inf
                continue
            pairs.append((a, b, float(left[i, j])))
            left[[self._gone(image, a) for image in self.focal], :] = np.inf
            left[:, [self._gone(image, b) for image in self.reference]] = np.inf
        return pairs

    def _gone(self, image: str, taken: str) -> bool:
        if "identity" in self.spec.antiexact:
            return bool(self.identity[image] == self.identity[taken])
        return image == taken

    def in_turn(self, order: list[str]) -> list[Row]:
        """Let each focal image of this order take the nearest that is left."""
        left = np.where(self.allowed, self.distance, np.inf)
        pairs: list[Row] = []
        for a in order:
            i = self.focal.index(a)
            if np.isfinite(left[i]).any() and len(pairs) < (self.spec.max_pairs or np.inf):
                j = int(np.argmin(left[i]))
                pairs.append((a, self.reference[j], float(left[i, j])))
                left[[self._gone(image, a) for image in self.focal], :] = np.inf
                left[:, [self._gone(image, self.reference[j]) for image in self.reference]] = np.inf
        return pairs

    def best_total(self, size: int) -> float:
        """The least total over all matchings of so many pairs, by trying them all (few nodes only)."""
        cells = self._cells()
        rows = sorted({u for u, _ in cells})
        columns: list[object] = sorted({v for _, v in cells})
        padded = columns + [None] * len(rows)
        totals = []
        for way in set(permutations(padded, len(rows))):
            used = [cells[u, v] for u, v in zip(rows, way, strict=True) if v is not None and (u, v) in cells]
            if len(used) == size == sum(v is not None for v in way):
                totals.append(sum(used))
        return min(totals, default=float("inf"))

    def _cells(self) -> dict[tuple[str, object], float]:
        cells: dict[tuple[str, object], float] = {}
        for i, a in enumerate(self.focal):
            for j, b in enumerate(self.reference):
                if self.allowed[i, j] and (not self.spec.references or self.chosen_references(a, b)):
                    once = "identity" in self.spec.antiexact
                    key = (self.identity[a], self.identity[b]) if once else (a, b)
                    cells[key] = min(cells.get(key, np.inf), self.distance[i, j])
        return cells
