"""match: Faces and Vectors and a Contrast become Pairs."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from likewise.design.greedy import Codes, Greedy, Taken
from likewise.design.metric import Euclid, Given, Metric, Table
from likewise.design.optimal import Optimal
from likewise.design.outcome import Search, outcome
from likewise.design.points import Index, Points, points
from likewise.design.references import Difficulty, References, references
from likewise.design.rules import Within, farthest, near_name, rules
from likewise.design.scan import Scan
from likewise.design.scored import Scored, Scores, scored_by
from likewise.design.scoreline import Scoreline
from likewise.design.sides import Offer, check_keys, offer
from likewise.design.spread import on_file
from likewise.design.threads import usable_threads
from likewise.engine import Engine, Progress, Silent
from likewise.errors import SpecError, VectorError
from likewise.tables import Contrast, Faces, MatchSpec, Pairs, Vectors

MEMORY = 3 * 2**29
Accepts = Callable[[int, int], bool]


def match(
    faces: Faces,
    vectors: Vectors | None,
    contrast: Contrast,
    spec: MatchSpec | None = None,
    *,
    within: Within = (),
    difficulty: Difficulty | None = None,
    allowed: Mapping[str, Container[str]] | None = None,
    distances: Given | None = None,
    scores: Scores | None = None,
    memory: int = MEMORY,
    threads: int | None = None,
    engine: Engine | None = None,
    progress: Progress | None = None,
) -> Pairs:
    """Find look-alikes across the contrast: ``a`` is focal, ``b`` reference, closest pairs first.

    Every rule of the spec is hard. What could not be matched is counted by reason in ``dropped``.

    ``within`` limits second distances: ``[(recogniser_vectors, 0.6)]`` asks for less than 0.6 between the two.
    ``difficulty`` is what references are chosen by: Pairs of images of one identity with a distance, or Vectors.
    ``allowed`` names why an image may not be matched, with the images that may: the others are counted as dropped.
    ``distances`` are given ones for ``distance="given"``: a frame (focal rows, reference columns; empty forbids), or a
    function of two lists of images. ``scores`` are given ones for ``method="propensity"``, on the spec's scale.
    ``memory`` bounds what the search takes beside the vectors. The blocks of a large search on vectors are done on
    ``engine``, if there is one. Neither of these nor ``threads`` changes the result.
    """
    spec = spec or MatchSpec()
    _check_data(vectors, spec, distances, scores)
    with on_file([vectors, *(second for second, _ in within)], engine) as (own, *seconds):
        near = [(second, limit) for second, (_, limit) in zip(seconds, within, strict=True) if second is not None]
        where = _Where(memory, threads or usable_threads(), engine, progress or Silent())
        given = _Given(faces, own, contrast, spec, near, distances, where, allowed or {})
        return _matched(given, difficulty, scores)


def _matched(given: _Given, difficulty: Difficulty | None, scores: Scores | None) -> Pairs:
    faces, vectors, contrast, spec = given.faces, given.vectors, given.contrast, given.spec
    found = references(faces, difficulty, spec)
    scored = scored_by(faces, vectors, contrast, spec, scores) if spec.method == "propensity" else None
    offered = offer(faces, contrast, spec, given.needed(found, scored))
    if not offered.focal or not offered.reference:
        _check_sides(offered, found, contrast)
        search = Search.nothing(offered)
    else:
        search = _search(given, offered, found, scored)
    return outcome(search, offered, faces, contrast, spec, given.within, found, scored)


@dataclass(frozen=True)
class _Where:
    """How much a search may take, where it is done, and who wants to know."""

    memory: int
    threads: int
    engine: Engine | None
    progress: Progress


@dataclass(frozen=True)
class _Given:
    """Everything that a matching was asked with."""

    faces: Faces
    vectors: Vectors | None
    contrast: Contrast
    spec: MatchSpec
    within: Within
    distances: Given | None
    where: _Where
    allowed: Mapping[str, Container[str]]

    def needed(self, found: References | None, scored: Scored | None) -> list[tuple[str, Container[str]]]:
        """Say what an image must have to be offered at all, and how its lack is called."""
        needed: list[tuple[str, Container[str]]] = []
        if self.vectors is not None:
            check_keys(self.faces, self.vectors)
            needed.append(("no vector", self.vectors))
        needed.extend(self.allowed.items())
        if scored is not None:
            needed.append(("no score", set(scored.scores.index)))
        for second, limit in self.within:
            if not limit > 0:
                raise SpecError("a limit on a second distance is above 0", got=f"{limit!r} for {second.source}")
            check_keys(self.faces, second)
            needed.append((f"no vector for {near_name(second, limit)}", second))
        if found is not None:
            needed.append(("no valid reference", {image for image in self.faces.images if found.has(image)}))
        return needed

    def metric(self, focal: list[str], reference: list[str], scored: Scored | None) -> Metric:
        """Return the distance between the two sides."""
        if scored is not None:
            return Euclid(_as_points(scored.scores, focal), _as_points(scored.scores, reference))
        if self.distances is not None:
            return Table(focal, reference, self.distances)
        assert self.vectors is not None
        return Euclid(*points(self.vectors, focal, reference, self.spec), keep=self.where.memory * 5 // 8)


def _check_data(vectors: Vectors | None, spec: MatchSpec, distances: Given | None, scores: Scores | None) -> None:
    """Data and spec belong together: what is asked for is there, and nothing is given in vain."""
    if (spec.distance == "given") != (distances is not None):
        fix = "Use both or neither."
        raise SpecError("distance = 'given' goes with distances=, and only with it", got=spec.distance, fix=fix)
    if scores is not None and spec.method != "propensity":
        raise SpecError("scores= go with method = 'propensity'", got=spec.method, fix="Leave them out.")
    if scores is not None and (idle := _fitted_in_vain(spec)):
        fix = "Leave one of them out."
        raise SpecError(f"{idle} says how scores are fitted, and scores= gives them", got="both", fix=fix)
    if vectors is None and distances is None and scores is None:
        raise VectorError("matching needs vectors, given distances or given scores", got="none of them")


def _fitted_in_vain(spec: MatchSpec) -> str:
    """Name an option that has no effect on given scores; what a preset fixes was not asked for."""
    if spec.score_on:
        return "score_on"
    if spec.folds != 5 and not spec.preset:
        return "folds"
    return "seed" if spec.seed and spec.order != "random" else ""


def _check_sides(offered: Offer, found: References | None, contrast: Contrast) -> None:
    """A side without anybody is an error, unless it was the references that left nobody: that is a result."""
    if found is not None and any(reason == "no valid reference" for _, reason, _ in offered.gone):
        return
    empty = contrast.focal if not offered.focal else contrast.reference
    reasons = "; ".join(f"{reason} ({side}): {count}" for side, reason, count in offered.gone)
    raise VectorError(
        f"both sides have images with vectors, each identity on one side; {empty!r} has none", got=reasons
    )


def _as_points(scores: pd.Series, images: list[str]) -> Points:
    return Points(scores.loc[images].to_numpy(dtype=np.float64)[:, None], np.arange(len(images), dtype=np.intp))


def _search(given: _Given, offered: Offer, found: References | None, scored: Scored | None) -> Search:
    """Run the search; when images choose one by one, those of the smaller group do."""
    spec, where, progress = given.spec, given.where, given.where.progress
    flipped = (
        spec.order in ("key", "random", "largest", "smallest")
        and spec.ratio == 1
        and len(offered.reference) < len(offered.focal)
    )
    lists = (offered.reference, offered.focal) if flipped else (offered.focal, offered.reference)
    own, other = _codes(given.faces, *lists, spec)
    order = _order(lists[0], spec, scored)
    if scored is not None and not given.within and found is None and _only_score(spec):
        left, right = (scored.scores.loc[images].to_numpy(dtype=np.float64) for images in lists)
        line = Scoreline(left, right, own, other, scored.limit)
        taken = line.pairs(most=spec.max_pairs, order=order)
        progress.advance(len(offered.focal))
        return Search.of(taken, own, other, line.used, line.partners(), flipped)
    metric = given.metric(*lists, scored)
    limit = farthest(spec, metric) if scored is None else scored.limit
    scan = Scan(
        metric,
        rules(given.faces, given.contrast, spec, *lists, given.within),
        limit,
        "caliper distance" if scored is None else "caliper score",
        where.memory,
        where.threads,
        where.engine,
    )
    accepts = _accepts(found, lists, flipped)
    if "optimal" in (spec.method, spec.order):
        best = Optimal(scan, own, other, accepts).pairs(most=spec.max_pairs, progress=progress)
        return Search.of(best, own, other, _used(best, own, other), scan.partners(), flipped, farthest=limit)
    greedy = Greedy(scan, own, other, accepts, approximate=spec.search == "approximate")
    taken = greedy.pairs(ratio=spec.ratio, most=spec.max_pairs, order=order, progress=progress)
    return Search.of(taken, own, other, greedy.used, scan.partners(), flipped, greedy.note, limit)


def _only_score(spec: MatchSpec) -> bool:
    columns = [name for name, _ in spec.caliper if name != "score"]
    return spec.ratio == 1 and not spec.exact and not columns and spec.order != "optimal"


def _accepts(found: References | None, lists: tuple[list[str], list[str]], flipped: bool) -> Accepts:
    if found is None or found.ratio is None:  # whoever was offered has a reference, and any two will do
        return lambda row, column: True

    def accepts(row: int, column: int) -> bool:
        names = lists[0][row], lists[1][column]
        return found.choose(*(names[::-1] if flipped else names)) is not None

    return accepts


def _order(images: list[str], spec: MatchSpec, scored: Scored | None) -> Index | None:
    """Return in which order rows choose; nothing means the closest pair of all goes first."""
    if spec.order in ("closest", "optimal"):
        return None
    keys = np.arange(len(images), dtype=np.intp)
    if spec.order == "random":
        return np.random.default_rng(spec.seed).permutation(keys)
    if spec.order == "key" or scored is None:
        return keys
    values = scored.scores.loc[images].to_numpy(dtype=np.float64)
    return np.lexsort((keys, -values if spec.order == "largest" else values))


def _used(taken: list[Taken], own: Codes, other: Codes) -> npt.NDArray[np.bool_]:
    used = np.zeros(int(max(own.max(), other.max())) + 1, dtype=bool)
    used[own[[row for _, row, _ in taken]]] = True
    used[other[[column for _, _, column in taken]]] = True
    return used


def _codes(faces: Faces, first: list[str], second: list[str], spec: MatchSpec) -> tuple[Codes, Codes]:
    """Number what may not recur: identities over both sides, or else every image on its own."""
    images = first + second
    names = faces.identities.loc[images] if "identity" in spec.antiexact else pd.Series(images)
    codes = pd.factorize(names)[0].astype(np.int64)
    return codes[: len(first)], codes[len(first) :]
