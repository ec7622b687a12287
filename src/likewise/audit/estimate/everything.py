"""All estimates of an audit: gaps, sensitivity, error rates, slopes, people's responses and image quality."""

from __future__ import annotations

from functools import partial
from typing import Any

import pandas as pd

from likewise.analysis.gaps.estimate import gaps
from likewise.analysis.labels import ANSWERED, LABELED
from likewise.analysis.multiplicity import discoveries
from likewise.analysis.triangulation import standardized_gaps
from likewise.analysis.verdict import verdicts
from likewise.analysis.verification.adjusted import adjusted_fnmr_gap, with_imbalance
from likewise.analysis.verification.error_rates import det, error_rates
from likewise.analysis.verification.shown_rates import supported_rates
from likewise.audit.context import StageContext
from likewise.audit.estimate.crowd import crowd_estimates
from likewise.audit.estimate.edits import edited_trial_gaps, label_slopes
from likewise.audit.estimate.gaps import gap_estimates
from likewise.audit.estimate.groups import group_estimates
from likewise.audit.estimate.images import image_estimates
from likewise.audit.estimate.label_noise import label_noise_estimates
from likewise.audit.estimate.labels import label_gap_estimates
from likewise.audit.estimate.preferences import preference_estimates
from likewise.audit.raters.planned import classifies, make_rater, own_thresholds
from likewise.audit.raters.precomputed import precomputed_thresholds
from likewise.tables import Estimates, Matches, Ratings, Trials


def estimate_everything(context: StageContext) -> Estimates:
    """Estimate everything that the plan's raters and people allow."""
    plan, trials, pairs = context.plan, context.trials(), context.matches()
    if len(pairs) < 2:
        context.notes.append("Fewer than two matched pairs were found: there is no matched estimate.")
    genuine = trials.genuine()
    parts, rates = list[Estimates](), list[Estimates]()
    if plan.recognizes:
        distances = _about(context.ratings(), trials)
        parts += gap_estimates(context, _about(distances, genuine), genuine, pairs, None)
        parts += edited_trial_gaps(context, genuine, pairs)
        rates = _error_rates(context, distances, trials, pairs)
        parts += rates
        if plan.estimate.true_labels:
            parts += label_noise_estimates(context, _about(distances, genuine), genuine, rates)
    if plan.sweeps:
        parts += label_slopes(context)
    if classifies(plan):
        labels = label_gap_estimates(context, context.image_matches())
        parts += [*labels, *_discoveries(labels), *_verdicts(context, labels, plan.estimate.margin)]
    if plan.collect:
        responses = context.responses()
        parts += [*_people_gaps(context, _about(responses, genuine), genuine, pairs)]
        parts += crowd_estimates(context, responses)
    parts += [*preference_estimates(context), *image_estimates(context), *group_estimates(context)]
    if plan.estimate.truth:
        parts.append(context.tables.read(Estimates, context.file(plan.estimate.truth)))
    scaled = _standardized(context, Estimates.together(parts), genuine)
    return Estimates.together([*parts, *scaled, *_joint_verdicts(context, parts, rates, scaled)])


def _joint_verdicts(
    context: StageContext, parts: list[Estimates], rates: list[Estimates], scaled: list[Estimates]
) -> list[Estimates]:
    """Return joint verdicts on the gaps that head the report: one per recognizer, question to people and classifier.

    Of a recognizer without error rates, the mean distance counts. Other gaps of means stand without a verdict, as
    intervals: a second verdict on the same system would be a second chance to err.
    """
    plan, every = context.plan.estimate, Estimates.together(parts).frame
    rated = {str(name).partition(": ")[0] for part in rates for name in part.where(stat="fnmr").frame["quantity"]}
    labeled = {str(name).partition(": ")[0] for name in every.loc[every["stat"] == "q_value", "quantity"]}
    leads = _leads(every, rated)
    lines = len(rated) + len(leads) + len(labeled)
    found = [*_verdicts(context, rates, plan.margin, lines), *_verdicts(context, scaled, plan.margin_sd, lines)]
    for name, lead in leads.items():
        found += _verdicts(context, [lead], plan.margin_sd * _unit(name, lead, scaled), lines)
    return found


def _leads(frame: pd.DataFrame, rated: set[str]) -> dict[str, Estimates]:
    """Return for each mean answer that heads the report its gap: the matched one where there is one."""
    gaps = frame[frame["stat"].eq("gap") & frame["sample"].isin(["matched", "all"])]
    gaps = gaps[~gaps["quantity"].str.contains(f": {LABELED}|: {ANSWERED}| at ", regex=True)]
    raters = gaps["quantity"].str.split(": ").str[0]  # also of no rows: partition() then has no columns
    gaps = gaps[~raters.isin(rated)].sort_values("sample", ascending=False, kind="stable")  # matched before all
    return {str(name): Estimates(part.head(1)) for name, part in gaps.groupby("quantity", sort=False)}


def _unit(name: str, lead: Estimates, scaled: list[Estimates]) -> float:
    """Return the standard deviation of the answers, in which ``margin_sd`` is given; 0 where it is not known."""
    row = lead.frame.iloc[0]
    for part in scaled:
        same = part.where(quantity=name, stat="gap_in_sd", sample=str(row["sample"])).frame
        if len(same) and abs(float(same["high"].iloc[0] - same["low"].iloc[0])) > 0:
            return float((row["high"] - row["low"]) / (same["high"].iloc[0] - same["low"].iloc[0]))
    return 0.0


def _verdicts(context: StageContext, parts: list[Estimates], margin: float, comparisons: int = 1) -> list[Estimates]:
    """Give every gap a verdict: different, equivalent within the margin, inconclusive or too few."""
    if not parts:
        return []
    judge = partial(verdicts, Estimates.together(parts), margin=margin, comparisons=max(comparisons, 1))
    return context.attempt("verdicts", judge)


def _discoveries(labels: list[Estimates]) -> list[Estimates]:
    """Correct the decisions on label gaps for the number of labels, sample by sample."""
    found = Estimates.together(labels)
    matched = "adjusted_gap" if len(found.where(stat="adjusted_gap", sample="matched")) else "gap"
    families = (("gap", "all"), (matched, "matched"), ("gap", "counterfactual"))
    return [discoveries(found, stats_of=[stat], sample=sample) for stat, sample in families]


def _standardized(context: StageContext, found: Estimates, genuine: Trials) -> list[Estimates]:
    """Put the gaps of all raters on one scale."""
    sources: list[tuple[Ratings, str | None]] = [(context.ratings(), None)] if context.plan.recognizes else []
    sources += [(context.responses(), "people")] if context.plan.collect else []
    return [standardized_gaps(found, ratings, genuine, panel=panel) for ratings, panel in sources]


def _about(ratings: Ratings, trials: Trials) -> Ratings:
    frame = ratings.frame
    return Ratings(frame[frame["unit"].isin(trials.frame["trial"])])


def _people_gaps(context: StageContext, responses: Ratings, genuine: Trials, pairs: Matches) -> list[Estimates]:
    """Estimate the gap of people's responses about trials, and of their confidence."""
    if not len(responses):
        return []
    found, frame = gap_estimates(context, responses, genuine, pairs, "people"), responses.frame
    if "confidence" not in frame.columns or not frame["confidence"].notna().any():
        return found
    sure = Ratings(frame.assign(value=frame["confidence"], question=frame["question"] + ", confidence"))
    estimate = partial(
        gaps, sure, genuine, context.images(), context.plan.contrast,
        pairs=pairs if len(pairs) > 1 else None, covariates=context.covariates(), panel="people",
        level=context.plan.estimate.level,
    )  # fmt: skip
    return found + context.attempt("confidence gap", estimate)


def _error_rates(context: StageContext, distances: Ratings, trials: Trials, pairs: Matches) -> list[Estimates]:
    """Estimate error rates at the false match rates that the impostor trials support, and at shipped thresholds."""
    impostors = len(trials) - len(trials.genuine())
    if not impostors:
        return []
    rates, note = supported_rates(impostors)
    context.notes += [note] if note else []
    models = [make_rater(context.folder, each) for each in context.plan.recognizers]
    shipped = own_thresholds(models)
    shipped |= precomputed_thresholds(context.plan, recognizes=True)
    about = (distances, trials, context.images(), context.plan.contrast)
    level, matched = context.plan.estimate.level, pairs if len(pairs) > 1 else None
    estimate = partial(
        error_rates, *about,
        pairs=matched, impostor_pairs=context.impostor_matches(), rates=rates, thresholds=shipped, level=level,
    )  # fmt: skip
    found = context.attempt("error rates", estimate)
    if found and matched and context.covariates():
        common: dict[str, Any] = {"pairs": matched, "covariates": context.covariates()}
        adjust = partial(adjusted_fnmr_gap, found[0], *about, **common, level=level)
        if adjusted := context.attempt("adjusted error rates", adjust):
            found = [with_imbalance(found[0], *about, **common), *adjusted]
    return found + context.attempt("DET curves", partial(det, *about, level=level))
