"""balance: covariate balance before and after matching, one by one and jointly, and the excluded images."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from typing import Any

from likewise.audit.context import StageContext
from likewise.audit.folder.artifacts import BALANCE, DESCRIBED, IMAGES, LATENTS, MATCHES, TRIALS
from likewise.audit.matching import allowed_images, features_of, precomputed_numbers
from likewise.audit.plan.model import Plan
from likewise.audit.stage import Stage
from likewise.design.balance.frontier import TOLERANCES, frontier
from likewise.design.balance.multivariate import dropped_profile, energy, joint, most_apart
from likewise.design.balance.table import balance, unit_images, verdict
from likewise.design.features import mean_row
from likewise.design.propensity.matching import fitted
from likewise.design.propensity.scores import overlap, score_weights
from likewise.design.units import trial_units
from likewise.tables import Estimates, Matches, MatchSpec

COMPARED = 1000  # images per group in the energy distance
MOST_UNITS = 20_000  # units up to which the design is matched again at other tolerances, for the frontier


class Balance(Stage):
    """Compare the covariates of the groups."""

    name, artifact, section, version, counted = "balance", BALANCE, "covariates", 3, False
    help = "Compare the covariates before and after matching."

    def needs(self, plan: Plan) -> tuple[str, ...]:
        """Return the images, their vectors and the matched pairs."""
        trials = (TRIALS,) if plan.matches_trials else ()
        return (IMAGES if plan.describe is None else DESCRIBED, LATENTS, MATCHES, *trials)

    def options(self, plan: Plan) -> dict[str, Any]:
        """Return the contrast and the covariates; by propensity, the design too."""
        design = {"match": plan.match.to_dict()} if plan.match.scored or plan.match.method == "cardinality" else {}
        return {"contrast": asdict(plan.contrast), "covariates": list(plan.covariates), **design}

    def files(self, plan: Plan) -> tuple[str, ...]:
        """Return the file of propensity scores."""
        given = plan.precomputed_distances
        return (given.scores,) if given and given.scores else ()

    def run(self, context: StageContext) -> None:
        """Write the balance table; by propensity, also under weights, with the overlap."""
        images, plan, names, pairs = context.images(), context.plan, context.covariates(), context.matches()
        parts: list[Estimates] = []
        weights = None
        if plan.match.scored and not plan.matches_trials:
            given = precomputed_numbers(context, plan.match).get("scores")
            fit = fitted(images, context.latents_or_none(), plan.contrast, plan.match, given)
            weights = score_weights(fit)
            parts.append(overlap(fit, plan.contrast))
        units = context.units()
        replaced = plan.match.method == "cardinality" and pairs.spec is not None and pairs.spec.method != "cardinality"
        # what could not be balanced is named; without covariates, the space itself is all that can be compared
        space = features_of(context) if replaced or not names else None
        found = balance(images, plan.contrast, pairs, covariates=names, units=units, weights=weights, vectors=space)
        reached = verdict(found, sample="matched" if len(pairs) > 1 else "all")
        parts += [] if replaced else _frontier(context, pairs)
        every = Estimates.together([found, *parts, *_jointly(context, found, pairs)])
        context.summary = {"rows": len(every), "verdict": reached.sentence}
        every.write(context.path(BALANCE))


def _frontier(context: StageContext, pairs: Matches) -> list[Estimates]:
    """Match again at other tolerances: pairs kept against imbalance left in the covariates, or in what is balanced."""
    spec, features, units = context.plan.match, features_of(context), context.units()
    count = len(context.images()) if units is None else len(units)
    if spec.method != "cardinality" or features is None or len(pairs) < 2 or count > MOST_UNITS:
        return []
    made = partial(
        frontier, context.images(), features, context.plan.contrast, spec, units=units,
        covariates=context.covariates(), at=sorted({*TOLERANCES, spec.tolerance}), allowed=allowed_images(context),
    )  # fmt: skip
    return context.attempt("frontier of balance", made)


def _jointly(context: StageContext, found: Estimates, pairs: Matches) -> list[Estimates]:
    """Compare two covariates at once, the whole space, and the excluded images."""
    images, contrast, names = context.images(), context.plan.contrast, context.covariates()
    enough, units, vectors = pairs if len(pairs) > 1 else None, context.units(), context.latents_or_none()
    parts: list[Estimates] = []
    if units is None:
        binary = most_apart(images, found, names)
        if len(binary) > 1:
            parts.append(joint(images, contrast, enough, covariates=binary))
    else:
        made = trial_units(images, units, contrast, MatchSpec(both_sides="drop"))
        vectors = None if vectors is None else made.vectors(mean_row(vectors))
        images = unit_images(images, contrast, names, units)
        names = [name for name in images.attributes if name != contrast.column]
    if vectors is not None:
        apart = partial(energy, images, vectors, contrast, enough, most=COMPARED)
        parts += context.attempt("energy distance", apart)
    if enough is None or not names:
        return parts
    profile = partial(dropped_profile, images, contrast, enough, covariates=names)
    return parts + context.attempt("profile of the excluded images", profile)
