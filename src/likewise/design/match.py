"""match: units are matched across a contrast."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pandas as pd

from likewise.design.cardinality.matching import Cardinal, balanced_search
from likewise.design.constraints import Within, farthest, near_name, need_column, rules
from likewise.design.eligible import Eligible, check_keys, offer
from likewise.design.features import mean_row
from likewise.design.propensity.matching import Scored, Scores, common_support, scored_by
from likewise.design.references import Difficulty, References, references
from likewise.design.search.distributed import on_file
from likewise.design.search.greedy import Codes, Greedy, Taken
from likewise.design.search.metric import Euclid, Given, Metric, Table
from likewise.design.search.optimal import Optimal
from likewise.design.search.points import Index, Points, points
from likewise.design.search.result import Search, outcome
from likewise.design.search.scan import Scan
from likewise.design.search.score_matching import Scoreline
from likewise.design.search.threads import usable_threads
from likewise.design.units import ONE_GROUP, ONE_SIDE, TrialUnits, trial_units
from likewise.errors import SpecError, VectorError
from likewise.runtime.executor import Executor, Progress, Silent
from likewise.tables import Contrast, Images, Matches, MatchSpec, Trials, Vectors

MEMORY = 3 * 2**29
Accepts = Callable[[int, int], bool]
People = Callable[[list[str]], npt.NDArray[np.str_]]
"""Who is shown by each unit: ``[u]``, or ``[u, 2]`` where a unit shows two people."""


def match(
    images: Images,
    vectors: Vectors | None,
    contrast: Contrast,
    spec: MatchSpec | None = None,
    *,
    units: Trials | None = None,
    within: Within = (),
    difficulty: Difficulty | None = None,
    allowed: Mapping[str, Container[str]] | None = None,
    distances: Given | None = None,
    scores: Scores | None = None,
    memory: int = MEMORY,
    threads: int | None = None,
    engine: Executor | None = None,
    progress: Progress | None = None,
) -> Matches:
    """Match units across the contrast: ``a`` is focal, ``b`` reference, closest pairs first.

    Every rule of the spec is a hard constraint. What could not be matched is counted by reason in ``dropped``.

    Parameters
    ----------
    images, vectors, contrast
        What is matched, on which numbers, between which groups.
    spec
        The rules; ``MatchSpec()`` by default.
    units
        Match these trials instead of single images: all genuine or all impostor. A trial is compared by the mean and
        the absolute difference of its two images, in the vectors and in every column that the spec names.
    within
        Limits on second distances: ``[(recognizer_vectors, 0.6)]`` requires less than 0.6 between the two.
    difficulty
        What references are chosen by: Trials of one identity with a distance, or Vectors.
    allowed
        By reason, the units that may be matched; the others are counted as dropped for that reason.
    distances
        For ``distance="precomputed"``: a frame (focal rows, reference columns; empty forbids), or a function of two
        lists of units.
    scores
        Propensity scores by unit for ``distance="propensity"``, on the spec's scale, instead of fitted ones.
    memory, threads, engine, progress
        Bytes for the search beside the vectors, and where it runs. None of these changes the result.

    Returns
    -------
    Matches
        With the ledger that proves each constraint, what was dropped, and the estimand.

    Examples
    --------
    >>> import numpy as np, pandas as pd, likewise as lw
    >>> rows = {"image": list("123456"), "identity": list("aabbcc"), "sex": ["F"] * 2 + ["M"] * 4}
    >>> images = lw.Images(pd.DataFrame(rows))
    >>> vectors = lw.Vectors(images.keys, np.array([[0.0], [4], [1], [9], [4], [0]]), source="toy")
    >>> lw.match(images, vectors, lw.Contrast("sex", "F", "M")).frame[["a", "b", "distance"]].values.tolist()
    [['1', '6', 0.0]]
    >>> trials = lw.trials(images, genuine="all", seed=0)
    >>> found = lw.match(images, vectors, lw.Contrast("sex", "F", "M"), units=trials)
    >>> found.frame[["a", "b"]].values.tolist(), found.estimand
    ([['1|2', '5|6']], 'ATT')
    """
    spec = spec or MatchSpec()
    _check_data(vectors, spec, distances, scores)
    with on_file([vectors, *(second for second, _ in within)], engine) as (own, *seconds):
        near = [(second, limit) for second, (_, limit) in zip(seconds, within, strict=True) if second is not None]
        where = _Where(memory, threads or usable_threads(), engine, progress or Silent())
        given = _Given(images, own, contrast, spec, near, distances, where, allowed or {})
        if units is None:
            return _matched(given, difficulty, scores)
        if difficulty is not None:
            raise SpecError("difficulty chooses second images, and the units are trials", fix="Remove difficulty.")
        made = trial_units(images, units, contrast, spec)
        return made.dress(_matched(_of_trials(given, made), None, scores), spec)


def _of_trials(given: _Given, made: TrialUnits) -> _Given:
    """Put everything that is known about images into terms of trials."""
    vectors = given.vectors
    if vectors is not None and given.spec.rows == "mean":
        vectors = mean_row(vectors)
    inside = {
        reason: {unit for unit, a, b in made.ends[["a", "b"]].itertuples() if a in may and b in may}
        for reason, may in given.allowed.items()
    }
    return replace(
        given,
        images=made.images,
        vectors=None if vectors is None else made.vectors(vectors),
        spec=made.spec,
        within=[(made.vectors(second), limit) for second, limit in given.within],
        allowed={ONE_SIDE: made.one_side, ONE_GROUP: made.one_group, **inside},
        people=made.people,
    )


def _matched(given: _Given, difficulty: Difficulty | None, scores: Scores | None) -> Matches:
    images, vectors, contrast, spec = given.images, given.vectors, given.contrast, given.spec
    found = references(images, difficulty, spec)
    scored = scored_by(images, vectors, contrast, spec, scores) if spec.scored else None
    offered = offer(images, contrast, spec, given.needed(found, scored))
    if not offered.focal or not offered.reference:
        _check_sides(offered, found, contrast)
        search = Search.nothing(offered)
    elif spec.method == "cardinality":
        search = balanced_search(given.cardinal(offered), given.where.threads, given.where.memory)
    else:
        search = _search(given, offered, found, scored)
    return outcome(search, offered, images, contrast, spec, given.within, found, scored)


@dataclass(frozen=True)
class _Where:
    """Limits of a search, where it runs, and its progress reporter."""

    memory: int
    threads: int
    engine: Executor | None
    progress: Progress


@dataclass(frozen=True)
class _Given:
    """The arguments of a matching, in terms of its units."""

    images: Images
    vectors: Vectors | None
    contrast: Contrast
    spec: MatchSpec
    within: Within
    distances: Given | None
    where: _Where
    allowed: Mapping[str, Container[str]]
    people: People | None = None

    def needed(self, found: References | None, scored: Scored | None) -> list[tuple[str, Container[str]]]:
        """Name what a unit must have to be eligible, and the reason that is counted where it lacks."""
        needed: list[tuple[str, Container[str]]] = []
        if self.vectors is not None:
            check_keys(self.images, self.vectors)
            needed.append(("no vector", self.vectors))
        needed.extend(self.allowed.items())
        if scored is not None:
            needed.append(("no score", set(scored.scores.index)))
            needed += common_support(scored.scores, self.contrast.side(self.images), self.spec.discard)
        for name in self.spec.balance:
            column = need_column(self.images, name, "balance")
            needed.append((f"no value for {name}", set(column.index[column.notna()])))
        for second, limit in self.within:
            if not limit > 0:
                raise SpecError(
                    f"The limit {limit!r} on the distance of {second.source} is not above 0",
                    fix="Use a positive number.",
                )
            check_keys(self.images, second)
            needed.append((f"no vector for {near_name(second, limit)}", second))
        if found is not None:
            needed.append(("no valid reference", {image for image in self.images.keys if found.has(image)}))
        return needed

    def metric(self, focal: list[str], reference: list[str], scored: Scored | None) -> Metric:
        """Return the distance between the two sides."""
        if scored is not None:
            return Euclid(_as_points(scored.scores, focal), _as_points(scored.scores, reference))
        if self.distances is not None:
            return Table(focal, reference, self.distances)
        assert self.vectors is not None
        return Euclid(*points(self.vectors, focal, reference, self.spec), keep=self.where.memory * 5 // 8)

    def cardinal(self, offered: Eligible) -> Cardinal:
        """Return the problem of the largest balanced sample."""
        assert self.vectors is not None  # the spec refuses cardinality without
        return Cardinal(self.images, self.vectors, self.contrast, self.spec, offered, self.within)


def _check_data(vectors: Vectors | None, spec: MatchSpec, distances: Given | None, scores: Scores | None) -> None:
    """Refuse data that the spec does not use, and a spec whose data are missing."""
    if (spec.distance == "precomputed") != (distances is not None):
        problem = "distances= is missing" if distances is None else "distances= has no effect"
        raise SpecError(
            f"{problem} with distance = {spec.distance!r}", fix="Use distance = 'precomputed' with distances=."
        )
    if scores is not None and not spec.scored:
        raise SpecError(f"scores= has no effect with distance = {spec.distance!r}", fix="Use distance = 'propensity'.")
    if scores is not None and (idle := _fitted_in_vain(spec)):
        raise SpecError(f"{idle} has no effect on scores that are given with scores=", fix="Remove one of them.")
    if vectors is None and distances is None and scores is None:
        raise VectorError("There is nothing to match on", fix="Give vectors, distances= or scores=.")
    if vectors is None and spec.method == "cardinality":
        raise VectorError("Cardinality matching has no vectors to balance", fix="Give vectors.")


def _fitted_in_vain(spec: MatchSpec) -> str:
    """Name an option that has no effect on given scores; options that a preset fixes do not count."""
    if spec.score_on:
        return "score_on"
    if spec.folds != 5 and not spec.preset:
        return "folds"
    return "seed" if spec.seed and spec.order != "random" else ""


def _check_sides(offered: Eligible, found: References | None, contrast: Contrast) -> None:
    """Refuse an empty side, unless no image has a valid reference: that is a result."""
    if found is not None and any(reason == "no valid reference" for _, reason, _ in offered.gone):
        return
    empty = contrast.focal if not offered.focal else contrast.reference
    reasons = "; ".join(f"{reason} ({side}): {count}" for side, reason, count in offered.gone)
    fix = "Each side needs units with vectors whose identity is on one side only."
    raise VectorError(f"No unit of {empty!r} can be matched ({reasons or 'there are none'})", fix=fix)


def _as_points(scores: pd.Series, images: list[str]) -> Points:
    return Points(scores.loc[images].to_numpy(dtype=np.float64)[:, None], np.arange(len(images), dtype=np.intp))


def _search(given: _Given, offered: Eligible, found: References | None, scored: Scored | None) -> Search:
    """Run the search; when units choose one by one, those of the smaller group do."""
    spec, progress, flipped = given.spec, given.where.progress, _flipped(given.spec, offered)
    lists = (offered.reference, offered.focal) if flipped else (offered.focal, offered.reference)
    own, other = _codes(given, *lists)
    order = _order(lists[0], spec, scored)
    if scored is not None and not given.within and found is None and own.ndim == 1 and _only_score(spec):
        left, right = (scored.scores.loc[images].to_numpy(dtype=np.float64) for images in lists)
        line = Scoreline(left, right, own, other, scored.limit)
        taken = line.pairs(most=spec.max_pairs, order=order)
        progress.advance(len(offered.focal))
        return Search.of(taken, own, other, line.used, line.partners(), flipped)
    metric = given.metric(*lists, scored)
    limit = farthest(spec, metric) if scored is None else scored.limit
    scan = _scan(given, lists, metric, limit, "caliper distance" if scored is None else "caliper score")
    accepts = _accepts(found, lists, flipped) if own.ndim == 1 else _strangers(own, other)
    if spec.method == "optimal":
        best = Optimal(scan, own, other, accepts).pairs(most=spec.max_pairs, progress=progress)
        return Search.of(best, own, other, _used(best, own, other), scan.partners(), flipped, farthest=limit)
    greedy = Greedy(scan, own, other, accepts, approximate=spec.search == "approximate", replace=spec.replace)
    taken = greedy.pairs(ratio=spec.ratio, most=spec.max_pairs, order=order, progress=progress)
    return Search.of(taken, own, other, greedy.used, scan.partners(), flipped, greedy.note, limit)


def _flipped(spec: MatchSpec, offered: Eligible) -> bool:
    """Whether units choose one by one and those of the reference group, the smaller one, do so."""
    one_by_one = spec.order in ("key", "random", "largest", "smallest") and spec.ratio == 1 and not spec.replace
    return one_by_one and len(offered.reference) < len(offered.focal)


def _scan(given: _Given, lists: tuple[list[str], list[str]], metric: Metric, limit: float, name: str) -> Scan:
    """Return the search for the nearest partners that keep every rule."""
    kept = rules(given.images, given.contrast, given.spec, *lists, given.within)
    return Scan(metric, kept, limit, name, given.where.memory, given.where.threads, given.where.engine)


def _only_score(spec: MatchSpec) -> bool:
    columns = [name for name, _ in spec.caliper if name != "score"]
    return spec.ratio == 1 and not spec.exact and not columns and spec.method == "nearest" and not spec.replace


def _accepts(found: References | None, lists: tuple[list[str], list[str]], flipped: bool) -> Accepts:
    if found is None or found.ratio is None:  # every eligible image has a reference, and any two will do
        return lambda row, column: True

    def accepts(row: int, column: int) -> bool:
        names = lists[0][row], lists[1][column]
        return found.choose(*(names[::-1] if flipped else names)) is not None

    return accepts


def _strangers(own: Codes, other: Codes) -> Accepts:
    """Refuse a pair of impostor trials that show the same person."""
    return lambda row, column: not np.isin(own[row], other[column]).any()


def _order(images: list[str], spec: MatchSpec, scored: Scored | None) -> Index | None:
    """Return in which order rows choose; None means that the closest pair of all goes first."""
    if spec.order == "closest":
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


def _codes(given: _Given, first: list[str], second: list[str]) -> tuple[Codes, Codes]:
    """Number what may not recur: identities over both sides, or else every unit on its own."""
    units = first + second
    if "identity" not in given.spec.antiexact:
        names = np.array(units, dtype=object)
    elif given.people is None:
        names = given.images.identities.loc[units].to_numpy()
    else:
        names = given.people(units)
    codes = pd.factorize(names.ravel())[0].astype(np.int64).reshape(names.shape)
    return codes[: len(first)], codes[len(first) :]
