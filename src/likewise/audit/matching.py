"""What the stages match, variants, balance and trials share: the inputs of a matching, as the plan names them."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from likewise.audit.context import StageContext
from likewise.audit.described import RESPONSE, described_columns, described_numbers, own_part
from likewise.audit.folder.artifacts import DIFFICULTY, EMBEDDINGS, FIDELITY, RATINGS
from likewise.audit.plan.design_sections import DesignRecognizer, SecondaryDistance, UnitsPlan
from likewise.audit.plan.model import Plan, by_file
from likewise.design.balance.covariate_summary import numeric_covariates
from likewise.design.cardinality.matching import NO_LEVEL
from likewise.design.features import (
    Floats,
    freed_components,
    joined,
    mean_row,
    scores,
    without_direction,
)
from likewise.design.match import match
from likewise.design.units import DIFFERENCE, MEAN, unit_side
from likewise.errors import PlanError, SeparatedError, TableError, nearest, some
from likewise.latents.directions import shipped, shipped_names
from likewise.latents.fidelity import GATE
from likewise.runtime.executor import Progress
from likewise.runtime.registry import create
from likewise.tables import Matches, MatchSpec, Ratings, Trials, Vectors
from likewise.tables.io import read_frame

PEOPLE_EACH = 5
"""Identities of the smaller group for each component that ``features = "auto"`` balances; fewer leave no sample."""
MOST_IMPOSTORS = 4000
"""Impostor trials of each group that are matched at most: more take long, and the identities limit the precision."""


def matching_options(plan: Plan) -> dict[str, Any]:
    """Return the sections that a matching depends on besides [match]; nothing where they are absent."""
    every: dict[str, Any] = {
        "secondary_distance": [asdict(entry) for entry in plan.secondary_distance],
        "reference_difficulty": plan.reference_difficulty and asdict(plan.reference_difficulty),
        "precomputed_distances": plan.precomputed_distances and asdict(plan.precomputed_distances),
        "units": _units_options(plan.units) if plan.units != UnitsPlan() else None,
    }
    return {name: value for name, value in every.items() if value}


def _units_options(units: UnitsPlan) -> dict[str, Any]:
    """Return the section as older plans have it: without what is not set, so that they are not run again."""
    return {name: value for name, value in asdict(units).items() if name not in ("own_step", "described") or value}


def matching_files(plan: Plan) -> tuple[str, ...]:
    """Return the files that a matching reads."""
    hard, given = plan.reference_difficulty, plan.precomputed_distances
    vectors = tuple(entry.vectors for entry in plan.secondary_distance if entry.vectors)
    own = (plan.units.own_step,) if plan.units.own_step else ()
    return (*vectors, *(hard.files if hard else ()), *(given.files if given else ()), *own)


def unmatched_trials(plan: Plan) -> list[str]:
    """Return a note where single images are matched although recognizers rate trials.

    A plan without [units] keeps matching images, so that a plan that was fixed before does not change its numbers; the
    note says what that means and which lines match trials. References of equal difficulty are a design of their own.
    """
    if plan.matches_trials or not plan.recognizes or plan.match.references or plan.precomputed_distances:
        return []
    return [
        "Single images are matched, but recognizers rate trials of two images, so that the matched estimates are not "
        'balanced by trial. Add [units] with kind = "trials" and features = "auto", and set method = "cardinality" in '
        "[match]."
    ]


def number_of_focal(context: StageContext) -> int:
    """Count the focal images: the work of a matching."""
    return int((context.plan.contrast.side(context.images()) == 1).sum())


Kind = Literal["planned", "images", "impostors"]
"""What is matched: what the plan says, or single images or impostor trials where the plan matches genuine trials."""


def matched(context: StageContext, spec: MatchSpec, progress: Progress, *, kind: Kind = "planned") -> Matches:
    """Match by a design, with every input that the plan names."""
    plan = context.plan
    within = [
        (_vectors(context, entry.recognizer, entry.options, entry.vectors), _limit(context, entry))
        for entry in plan.secondary_distance
    ]
    return match(
        context.images(),
        None if by_file(spec) else features_of(context),
        plan.contrast,
        _on_features(plan, spec),
        units=_units(context, kind),
        within=within,
        difficulty=difficulty_of(context) if spec.references else None,
        allowed=allowed_images(context),
        engine=plan.executor,
        progress=progress,
        **precomputed_numbers(context, spec),
    )


def _units(context: StageContext, kind: Kind) -> Trials | None:
    """Return the trials to match; None where images are."""
    if kind == "images":
        return None
    return impostors_within(context) if kind == "impostors" else context.units()


def impostors_within(context: StageContext) -> Trials:
    """Return impostor trials of two people of one group, at most ``MOST_IMPOSTORS`` of each, drawn at random."""
    every = context.trials().impostors()
    side = unit_side(context.images(), every, context.plan.contrast)
    rng, kept = np.random.default_rng([context.plan.seed, 3]), list[str]()
    for sign in (1, -1):
        units = side.index[side == sign].to_numpy(dtype=str)
        few = rng.choice(units, MOST_IMPOSTORS, replace=False) if len(units) > MOST_IMPOSTORS else units
        kept += few.tolist()
    return Trials(every.frame[every.frame["trial"].isin(set(kept))])


def matched_or_nearest(
    context: StageContext, spec: MatchSpec, progress: Progress, *, kind: Kind = "planned"
) -> Matches:
    """Match by the plan's design; where no sample is balanced, take the closest pairs, and say that they are not.

    No balanced sample exists where the groups do not overlap in what is balanced, e.g. in vectors that hold the
    attribute itself. Half of the smaller group is a round number: fewer pairs are closer. Part of the bias is left
    (``benchmarks/fallback_bias.py``), so the design is called not balanced wherever its estimates stand.
    """
    reason = ""
    try:
        found = matched(context, spec, progress, kind=kind)
        if len(found) or spec.method != "cardinality" or NO_LEVEL in found.note:  # no other design has pairs then
            return found
    except SeparatedError as error:
        reason = f" ({str(error).partition('. ')[0]})"
    second = matched(context, closest_pairs(spec, _smaller_group(context)), progress, kind=kind)
    note = (
        f"Not balanced: no sample has every balanced number within {spec.tolerance:g}{reason}, so the closest pairs "
        f"are taken ({len(second)}, of at most half of the smaller group). The vectors may hold the attribute itself: "
        "name its own direction (own or own_step in [units]), balance columns of the table ([encode] columns), or add "
        "images"
    )
    context.notes.append(f"{note}.")
    return second.with_note(note)


def closest_pairs(spec: MatchSpec, smaller: int) -> MatchSpec:
    """Return the design that replaces a balanced sample: the closest pairs, half of the smaller group's identities."""
    most = max(smaller // 2, 2)
    return replace(spec, method="nearest", max_smd=None, keep=MatchSpec.keep, balance=(), max_pairs=most)


def features_of(context: StageContext) -> Vectors | None:
    """Return the numbers that units are compared on: of the vectors, and with ``described`` of described columns."""
    found = _vector_features(context)
    if found is None or not context.plan.units.described:
        return found
    direction = conditional_direction(context.plan)
    own = own_part(context.path(RESPONSE), context.latents(), direction["gradient"]) if direction else None
    return joined(mean_row(found), described_numbers(context.images().subset(found.keys), context.plan, own))


def _vector_features(context: StageContext) -> Vectors | None:
    """Return the latents, scores along directions, or components."""
    vectors, units = context.latents_or_none(), context.plan.units
    if vectors is None or units.features == "latents":
        return vectors
    if units.features == "scores":
        known, own = shipped(context.plan.project.generator), left_out_direction(context.plan)
        named = dict(zip(known.names, known.gradients, strict=True))
        freed = without_direction(vectors, **_given_step(context, named[own])) if units.own_step else vectors
        return scores(freed, {name: gradient for name, gradient in named.items() if name != own})
    count = units.components
    if units.features == "auto":
        if vectors.values.ndim == 2 and vectors.values.shape[1] <= count:
            return without_direction(vectors, **_given_step(context)) if units.own_step else vectors
        beside = len(described_columns(context.plan)) if units.described else 0
        beside += _balanced_columns(context)
        count = min(count, max(_smaller_group(context) // PEOPLE_EACH - beside, 2))
    own_direction = _given_step(context) if units.own_step else _noted_direction(context)
    return freed_components(vectors, count, **own_direction)


def _balanced_columns(context: StageContext) -> int:
    """Count the numbers of the table's columns that are balanced besides the features."""
    names = {name.removesuffix(MEAN).removesuffix(DIFFERENCE) for name in context.plan.match.balance}
    return len(numeric_covariates(context.images(), sorted(names)))


def _given_step(context: StageContext, gradient: Floats | None = None) -> dict[str, Any]:
    """Return the step that the plan names, and the gradient of the attribute's score; by default the step's own."""
    path = context.plan.units.own_step
    given = context.vectors(context.file(path)).values
    width = context.latents().values.shape[-1]
    if given.shape[0] != 1 or given.shape[-1] != width:
        problem = f"{path} (own_step in [units]) has shape {tuple(given.shape)}"
        raise PlanError(problem, fix=f"It needs one row of {width} numbers, as the vectors have.")
    step = np.asarray(given, dtype=np.float64).reshape(-1, width).mean(axis=0)
    return {"step": step, "gradient": step if gradient is None else gradient}


def _smaller_group(context: StageContext) -> int:
    """Count the identities of the smaller group."""
    images, side = context.images(), context.plan.contrast.side(context.images())
    return min(images.identities.loc[side.index[side == sign]].nunique() for sign in (1, -1))


def _noted_direction(context: StageContext) -> dict[str, Any]:
    """Return the conditional direction; a note says where a generator has none for the contrast."""
    plan, found = context.plan, conditional_direction(context.plan)
    if not found and plan.projects and plan.project.generator in shipped_names():
        context.notes.append(
            f"No shipped direction is that of {plan.contrast.column!r}, so that the attribute itself is part of what "
            "is balanced. Name its direction as own in [units], if there is one."
        )
    return found


def conditional_direction(plan: Plan) -> dict[str, Any]:
    """Return the step and the gradient of the contrast's own attribute; nothing where no direction is known."""
    if not plan.projects or plan.project.generator not in shipped_names():
        return {}
    known = shipped(plan.project.generator)
    if not plan.units.own and len(own_directions(known.names, plan.contrast.column)) != 1:
        return {}
    own = left_out_direction(plan)
    step = known.step(own, hold=[name for name in known.names if name != own])
    return {"step": step, "gradient": known.gradients[known.names.index(own)]}


def own_directions(names: Sequence[str], column: str) -> list[str]:
    """Return the directions of the contrast's own attribute: those with its name behind their source, or its kind.

    >>> own_directions(["predicted_gender", "predicted_age"], "sex")
    ['predicted_gender']
    """
    from likewise.counterfactuals.validation.default_validators import kind_of  # noqa: PLC0415  # --help stays quick

    what, kind = column.partition("_")[2] or column, kind_of(column)
    same = [name for name in names if name.partition("_")[2] == what]
    return same or [name for name in names if kind and kind_of(name) == kind]


def left_out_direction(plan: Plan) -> str:
    """Return the direction that scores leave out: the one that [units] names, or that of the contrast."""
    names, own = shipped(plan.project.generator).names, plan.units.own
    if own and own not in names:
        fix = nearest(own, names) or f"The directions are {some(names, 14)}."
        raise PlanError(f"Unknown direction {own!r} as own in [units]", fix=fix)
    return own or _own_direction(names, plan.contrast.column)


def _own_direction(names: Sequence[str], column: str) -> str:
    """Return the direction of the contrast's own attribute: the one with the same name behind its source."""
    same = own_directions(names, column)
    if len(same) != 1:
        fix = f"Name it as own in [units]; the directions are {some(names, 14)}."
        raise PlanError(f"No direction is that of the contrast {column!r}, so that none can be left out", fix=fix)
    return same[0]


def _on_features(plan: Plan, spec: MatchSpec) -> MatchSpec:
    """Drop the option for rows of W+: scores and components have none."""
    return replace(spec, rows="all") if plan.units.features != "latents" and spec.rows == "mean" else spec


def allowed_images(context: StageContext) -> dict[str, Container[str]]:
    """Return the images that may be matched, where there is a gate."""
    if context.plan.fidelity is None or not context.plan.fidelity.gate:
        return {}
    frame = context.tables.read(Ratings, context.path(FIDELITY) / RATINGS).frame
    kept = frame[(frame["rater"] == GATE) & (frame["value"] == 1)]
    return {"not reconstructed faithfully": set(kept["unit"])}


def difficulty_of(context: StageContext) -> Trials | Vectors | None:
    """Return the difficulty of second images: pairs with a distance, or embeddings."""
    given = context.plan.reference_difficulty
    if given is None:
        return None
    if given.perceptual:
        return context.tables.read(Trials, context.path(EMBEDDINGS) / DIFFICULTY)
    if given.pairs:
        return context.tables.read(Trials, context.file(given.pairs))
    return _vectors(context, given.recognizer, given.options, given.vectors)


def _vectors(context: StageContext, recognizer: str, options: dict[str, Any], path: str) -> Vectors:
    if recognizer:
        return context.vectors(context.path(EMBEDDINGS) / DesignRecognizer(recognizer, options).folder)
    return context.vectors(context.file(path))


def _limit(context: StageContext, entry: SecondaryDistance) -> float:
    """Return the limit as a euclidean distance of embeddings, which is what the search uses."""
    if not entry.recognizer:
        return entry.limit
    recognizer = create("recognizer", entry.recognizer, entry.options)
    if hasattr(recognizer, "as_euclidean"):
        return float(recognizer.as_euclidean(entry.limit or recognizer.threshold))
    if not entry.limit:
        fix = "Add limit to [[secondary_distance]], as a euclidean distance of embeddings."
        raise PlanError(f"{recognizer.name} has no threshold as a euclidean distance", fix=fix)
    context.notes.append(f"The limit of {recognizer.name} is the euclidean distance of its embeddings.")
    return entry.limit


def precomputed_numbers(context: StageContext, spec: MatchSpec) -> dict[str, Any]:
    """Read the distance matrix or the propensity scores that a design uses."""
    given = context.plan.precomputed_distances
    if given is None or (not by_file(spec) and (given.distances or not spec.scored)):
        return {}
    if given.distances:
        return {"distances": _by_image(context.file(given.distances))}
    if spec.score_on:  # a variant that fits its own
        return {}
    frame = _by_image(context.file(given.scores))
    if list(frame.columns) != ["score"]:
        columns = some(frame.columns, 8)
        raise TableError(f"{given.scores} has the columns {columns} beside 'image'", fix="It needs image and score.")
    return {"scores": frame["score"]}


def _by_image(path: Path) -> pd.DataFrame:
    frame, _ = read_frame(path, text=("image",))
    if "image" not in frame.columns:
        raise TableError(
            f"Column 'image' not found in {path.name} (columns: {some(frame.columns, 8)})",
            fix="Name the column of image keys image.",
        )
    frame["image"] = frame["image"].astype("str")
    return frame.set_index("image")
