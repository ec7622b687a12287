"""The stage balance: how alike the groups are, before and after, one by one and together, and who was left out."""

from __future__ import annotations

from functools import partial

from likewise.cli.designing import given_numbers, latents_of
from likewise.cli.making import BALANCE, PAIRS, Job, covariates_of
from likewise.cli.noted import noted
from likewise.design.balance import balance
from likewise.design.beyond import dropped_profile, energy, joint, most_apart
from likewise.design.propensity import overlap, score_weights
from likewise.design.scored import fitted
from likewise.tables import Estimates, Pairs

COMPARED = 1000  # images a group in the energy distance


def balancing(job: Job) -> None:
    """Compare the covariates before and after; by propensity, also under weights, with the ground in common."""
    faces, contrast, names = job.faces(), job.plan.contrast, covariates_of(job)
    pairs = Pairs.read(job.path(PAIRS))
    parts: list[Estimates] = []
    weights = None
    if job.plan.match.method == "propensity":
        given = given_numbers(job, job.plan.match).get("scores")
        fit = fitted(faces, latents_of(job), contrast, job.plan.match, given)
        weights = score_weights(fit)
        parts.append(overlap(fit, contrast))
    told = balance(faces, contrast, pairs, covariates=names, weights=weights)
    found = Estimates.together([told, *parts, *_together(job, told, pairs)])
    job.summary = {"rows": len(found)}
    found.write(job.path(BALANCE))


def _together(job: Job, told: Estimates, pairs: Pairs) -> list[Estimates]:
    """Look beyond single covariates: two of them at once, the whole space, and those left out."""
    faces, contrast, names = job.faces(), job.plan.contrast, covariates_of(job)
    some = pairs if len(pairs) > 1 else None
    parts: list[Estimates] = []
    binary = most_apart(faces, told, names)
    if len(binary) > 1:
        parts.append(joint(faces, contrast, some, covariates=binary))
    vectors = latents_of(job)
    if vectors is not None:
        apart = partial(energy, faces, vectors, contrast, some, most=COMPARED)
        parts += noted(job, "energy distance", apart)
    if some is None:
        return parts
    return parts + noted(
        job, "profile of who was left out", partial(dropped_profile, faces, contrast, some, covariates=names)
    )
