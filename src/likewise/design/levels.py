"""More than two levels: sets of one image per level, star-shaped around the reference level; and crossed columns.

A set is a reference image with its nearest image of every focal level; its cost is the sum of these distances. Sets are
taken greedily, the cheapest of all first, and all units of the identities in a set leave. Costs only rise, so that a
heap of costs that are recomputed when they come to the top gives the exact result.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from likewise.design.constraints import Within, farthest, ledger, near_name, rules
from likewise.design.eligible import check_keys, offer
from likewise.design.features import mean_row
from likewise.design.search.greedy import Codes, Greedy
from likewise.design.search.metric import Euclid
from likewise.design.search.points import Floats, points
from likewise.design.search.result import Side, reasons
from likewise.design.search.scan import Scan
from likewise.design.search.threads import usable_threads
from likewise.design.units import trial_units
from likewise.errors import ContrastError, SpecError, VectorError, nearest, some
from likewise.runtime.executor import Silent
from likewise.tables import Contrast, Images, Matches, MatchSpec, Trials, Vectors
from likewise.tables.contrast import written

Choice = tuple[float, tuple[int, ...], tuple[float, ...]]
"""The cost of a set, the image of each level, and their distances."""


def crossed(faces: Images, columns: Sequence[str]) -> tuple[Images, str]:
    """Return faces with the columns' levels put together (``female & dark``), and the new column's name."""
    unknown = [name for name in columns if name not in faces.attributes]
    if unknown or len(set(columns)) < 2:
        fix = nearest(unknown[0], faces.attributes) if unknown else ""
        what = f"Column {unknown[0]!r} not found in Images" if unknown else f"Fewer than two columns: {some(columns)}"
        raise SpecError(what, fix=fix or "Name two or more columns to cross.")
    parts = [faces.attribute(name).astype("str").where(faces.attribute(name).notna()) for name in columns]
    together = parts[0].str.cat(pd.concat(parts[1:], axis=1), sep=" & ")
    name = " & ".join(columns)
    return faces.with_attribute(name, together.dropna()), name


def match_levels(
    faces: Images,
    vectors: Vectors,
    contrasts: Sequence[Contrast],
    spec: MatchSpec | None = None,
    *,
    units: Trials | None = None,
    within: Within = (),
    memory: int = 2**30,
    threads: int | None = None,
) -> Matches:
    """Match several focal levels of one column to one reference level, in sets of one unit a level.

    Each set is as many pairs (``a`` of the focal level, ``b`` the set's reference unit), with ``set`` and ``stratum``
    (the contrast); ``balance`` and the estimators take the pairs of their own contrast. ``max_pairs`` counts sets.

    Parameters
    ----------
    faces, vectors, contrasts, spec
        As in ``match``; the contrasts share their column and reference level. ``crossed`` makes intersections.
    units
        Genuine trials to match instead of images.
    within, memory, threads
        As in ``match``.

    Returns
    -------
    Matches
        The pairs of all sets.

    Examples
    --------
    >>> import numpy as np, pandas as pd, likewise as lw
    >>> rows = {"image": list("123"), "identity": list("abc"), "tone": ["dark", "mid", "light"]}
    >>> images = lw.Images(pd.DataFrame(rows))
    >>> vectors = lw.Vectors(images.keys, np.array([[0.0], [1], [2]]), source="toy")
    >>> contrasts = [lw.Contrast("tone", level, "light") for level in ("dark", "mid")]
    >>> lw.match_levels(images, vectors, contrasts).frame[["set", "a", "b"]].values.tolist()
    [['s00001', '1', '3'], ['s00001', '2', '3']]
    """
    spec = spec or MatchSpec()
    if units is not None:
        return _of_trials(faces, vectors, contrasts, spec, units, within, memory, threads)
    _check(contrasts, spec)
    check_keys(faces, vectors)
    faces, several = _on_one_level(faces, contrasts, spec)
    stars = _Stars.of(faces, vectors, contrasts, spec, within, memory, threads or usable_threads())
    stars.leave_out(several)
    chosen = stars.sets(spec.max_pairs)
    frame = stars.frame(chosen)
    proof = _proof(frame, faces, stars.limits, spec, within)
    short = spec.max_pairs is not None and len(chosen) < spec.max_pairs
    notes = {
        "No set satisfies all constraints": not chosen,
        f"Only {len(chosen)} of the {spec.max_pairs} requested sets exist": short and chosen,
        f"{sum(several.values())} images of people on several levels are left out": several,
    }
    return Matches(
        frame,
        spec=spec,
        ledger=proof,
        dropped=stars.dropped(frame, spec.max_pairs),
        offered=stars.offered,
        note="; ".join(said for said, so in notes.items() if so),
    )


def _of_trials(
    faces: Images, vectors: Vectors, contrasts: Sequence[Contrast], spec: MatchSpec, units: Trials, within: Within,
    memory: int, threads: int | None,
) -> Matches:  # fmt: skip
    """Match trials: those of a single identity whose images are on one level."""
    level = faces.attribute(contrasts[0].column)
    frame = units.genuine().frame
    same = level.loc[frame["a"]].to_numpy() == level.loc[frame["b"]].to_numpy()
    if len(frame) < len(units) or not same.all():
        fix = "Give genuine trials whose two images are on one level."
        raise SpecError(f"{len(units) - int(same.sum())} trials are impostors or on two levels", fix=fix)
    made = trial_units(faces, units, contrasts[0], spec)
    own = made.vectors(mean_row(vectors) if spec.rows == "mean" else vectors)
    seconds = [(made.vectors(second), limit) for second, limit in within]
    found = match_levels(made.images, own, contrasts, made.spec, within=seconds, memory=memory, threads=threads)
    return made.dress(found, spec)


def _check(contrasts: Sequence[Contrast], spec: MatchSpec) -> None:
    if len({(contrast.column, str(contrast.reference)) for contrast in contrasts}) != 1:
        raise ContrastError(
            f"The contrasts do not share their column and reference level: {some(contrasts)}",
            fix="Compare every focal level with the same reference.",
        )
    if len({str(contrast.focal) for contrast in contrasts}) < len(contrasts):
        raise ContrastError(f"A focal level is named twice: {some(contrasts)}", fix="Name each level once.")
    taken = spec.method == "nearest" and spec.order == "closest" and spec.distance == "euclidean"
    if not taken or spec.ratio > 1 or spec.references or spec.replace or spec.search != "exact":
        fix = "Match the levels one by one with match()."
        raise SpecError(
            "Sets of several levels need method = 'nearest', order = 'closest', distance = 'euclidean'", fix=fix
        )


def _on_one_level(faces: Images, contrasts: Sequence[Contrast], spec: MatchSpec) -> tuple[Images, dict[str, int]]:
    """Return the faces of identities that are on one level, and how many images the others have on each."""
    levels = faces.attribute(contrasts[0].column).groupby(faces.identities).nunique()
    several = sorted(levels.index[levels > 1])
    if several and spec.both_sides != "drop":
        fix = "Correct the labels, or set both_sides to 'drop'."
        raise ContrastError(f"{len(several)} identities are on several levels: {some(several)}", fix=fix)
    if not several:
        return faces, {}
    out = faces.identities.isin(several)
    where = faces.attribute(contrasts[0].column)[out].dropna().map(written)
    return faces.subset(list(out.index[~out])), dict(Counter(where.tolist()))


@dataclass
class _Stars:
    """Reference images as centers, and for each focal level a search from the centers to its images."""

    contrasts: Sequence[Contrast]
    centers: list[str]
    images: list[list[str]]
    levels: list[Greedy]
    own: Codes
    other: list[Codes]
    offered: dict[str, int]
    gone: list[tuple[str, str, int]]

    @classmethod
    def of(
        cls, faces: Images, vectors: Vectors, contrasts: Sequence[Contrast], spec: MatchSpec, within: Within,
        memory: int, threads: int,
    ) -> _Stars:  # fmt: skip
        needed: list[tuple[str, Container[str]]] = [("no vector", vectors)]
        needed += [(f"no vector for {near_name(second, limit)}", second) for second, limit in within]
        offers = [offer(faces, contrast, spec, needed) for contrast in contrasts]
        centers = sorted(set.intersection(*(set(entry.reference) for entry in offers)))
        images = [entry.focal for entry in offers]
        if not centers or not all(images):
            raise VectorError(
                "A level has no unit with vectors whose identity is on one level only",
                fix="Add images of that level, or leave it out.",
            )
        scans = []
        for contrast, focal in zip(contrasts, images, strict=True):
            left, right = points(vectors, centers, focal, spec)
            found = rules(faces, contrast, spec, centers, focal, within)
            metric = Euclid(left, right, keep=memory // 2)
            scans.append(Scan(metric, found, farthest(spec, metric), memory=memory, threads=threads))
        names = [*centers, *(image for part in images for image in part)]
        whose = faces.identities.loc[names] if "identity" in spec.antiexact else pd.Series(names)
        codes = pd.factorize(whose)[0].astype(np.int64)
        cuts = np.cumsum([len(centers), *map(len, images)])[:-1]
        own, *other = np.split(codes, cuts)
        offered = {str(contrast.focal): entry.offered[str(contrast.focal)]
                   for contrast, entry in zip(contrasts, offers, strict=True)}  # fmt: skip
        reference = str(contrasts[0].reference)
        offered[reference] = offers[0].offered[reference]
        gone = sorted({entry for part in offers for entry in part.gone})
        levels = [Greedy(scan, own, codes, lambda row, column: True) for scan, codes in zip(scans, other, strict=True)]
        return cls(contrasts, centers, images, levels, own, other, offered, gone)

    @property
    def limits(self) -> list[tuple[Contrast, float]]:
        """The caliper on the distance for each contrast, in its own unit."""
        return [(contrast, level.scan.farthest) for contrast, level in zip(self.contrasts, self.levels, strict=True)]

    def leave_out(self, several: dict[str, int]) -> None:
        """Count those of people on several levels, who never take part."""
        for level in self.offered:
            if several.get(level):
                self.offered[level] += several[level]
                self.gone.append((level, "identity on several levels", several[level]))

    def sets(self, most: int | None) -> list[tuple[int, Choice]]:
        """Return (center, choice) in the order in which sets are taken."""
        used = np.zeros(int(max(codes.max() for codes in (self.own, *self.other))) + 1, dtype=bool)
        for level in self.levels:
            level.used = used  # one and the same for all
            level.begin(Silent())
        heap: list[tuple[float, tuple[int, ...], int]] = [(0.0, (-1,), row) for row in range(len(self.centers))]
        found: list[tuple[int, Choice]] = []
        fresh: dict[int, Choice] = {}
        while heap and (most is None or len(found) < most):
            cost, members, row = heapq.heappop(heap)
            if used[self.own[row]]:
                continue
            last = fresh.get(row)
            codes = [self.other[level][member] for level, member in enumerate(members) if member >= 0]
            if last is not None and (cost, members) == last[:2] and not used[codes].any():
                found.append((row, last))
                used[[self.own[row], *codes]] = True
                continue
            choice = self._choice(row)
            if choice is not None:
                fresh[row] = choice
                heapq.heappush(heap, (choice[0], choice[1], row))
        return found

    def _choice(self, row: int) -> Choice | None:
        """Return the nearest living image of every level, measured exactly; nothing when a level has none."""
        found = [level.best(row) for level in self.levels]
        best = [entry for entry in found if entry is not None]
        if len(best) < len(found):
            return None
        distances = tuple(distance for distance, _ in best)
        return float(np.sum(distances)), tuple(member for _, member in best), distances

    def frame(self, chosen: list[tuple[int, Choice]]) -> pd.DataFrame:
        """Return the sets as pairs with their center."""
        rows = []
        for rank, (center, (_, members, distances)) in enumerate(chosen, 1):
            for level, contrast in enumerate(self.contrasts):
                rows.append((f"s{rank:05d}-{level + 1}", self.images[level][members[level]], self.centers[center],
                             distances[level], contrast.label, f"s{rank:05d}"))  # fmt: skip
        frame = pd.DataFrame(rows, columns=["pair", "a", "b", "distance", "stratum", "set"])
        text = dict.fromkeys(["pair", "a", "b", "stratum", "set"], "str")
        return frame.astype({**text, "distance": "float64"})

    def dropped(self, frame: pd.DataFrame, most: int | None) -> pd.DataFrame:
        """Count by level and by rule who is in no set; a center needs a partner on every level."""
        full = most is not None and frame["set"].nunique() >= most
        left = "beyond max_pairs" if full else "partners used up"
        rows = list(self.gone)
        for name, side in self._fates(frame):
            counted = reasons(side, self.levels[0].used, left)
            rows += [(name, reason, count) for reason, count in sorted(counted.items()) if count]
        return pd.DataFrame(rows, columns=["side", "reason", "images"])

    def _fates(self, frame: pd.DataFrame) -> Iterator[tuple[str, Side]]:
        """Yield each level, the reference level last, with what became of its images."""
        found = [level.scan.partners() for level in self.levels]
        names = [str(contrast.focal) for contrast in self.contrasts]
        for name, images, codes, had in zip(names, self.images, self.other, found, strict=True):
            yield name, Side(codes, np.isin(images, frame["a"]), had.stages, had.columns)
        stages = [f"{stage}, {name}" for name, had in zip(names, found, strict=True) for stage in had.stages]
        rows = np.concatenate([had.rows for had in found])
        reference = str(self.contrasts[0].reference)
        yield reference, Side(self.own, np.isin(self.centers, frame["b"]), stages, rows)


def _proof(
    frame: pd.DataFrame, faces: Images, limits: list[tuple[Contrast, float]], spec: MatchSpec, within: Within
) -> pd.DataFrame:
    """Prove every contrast's pairs by themselves, and that no unit is in two sets."""
    parts = [
        ledger(frame[frame["stratum"] == contrast.label], faces, contrast, spec, within, limit)
        for contrast, limit in limits
    ]
    proof = pd.concat(parts).sort_index() if len(frame) else parts[0]
    identity = faces.identities
    people = pd.concat([frame[["set"]].assign(who=identity.loc[frame[side]].to_numpy()) for side in ("a", "b")])
    sets: Floats = people.groupby("who")["set"].transform("nunique").to_numpy().reshape(2, -1)
    if "identity" in spec.antiexact:
        proof["identity in one set"] = (sets == 1).all(axis=0)
    return proof
