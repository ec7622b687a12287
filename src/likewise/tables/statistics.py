"""The registry of statistics that Estimates may contain."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

from likewise.errors import TableError


@dataclass(frozen=True)
class Stat:
    """What a kind of number means: how it is called and written, what means 'no difference', which way is good."""

    name: str
    label: str
    null: float | None
    scale: Literal["difference", "ratio", "proportion", "mean", "index"]
    direction: Literal["lower", "higher", "none", ""] = ""
    """Which value is better: a lower or higher one, the one that means none, or neither (a mean, a threshold)."""
    function: str = ""
    """Where it is estimated, as ``module:name``; tables import nothing above them, so it is looked up on request."""

    def load(self) -> Callable[..., Any]:
        """Return the function that estimates it."""
        module, _, name = self.function.partition(":")
        if not name:
            raise TableError(
                f"Statistic {self.name!r} names no function ({self.function!r})", fix="Register it with function=."
            )
        function: Callable[..., Any] = getattr(importlib.import_module(module), name)
        return function

    def worse(self, one: float, other: float) -> bool:
        """Whether the first value is worse than the second; never, where no direction is better."""
        if self.direction == "none" and self.null is not None:
            return abs(one - self.null) > abs(other - self.null)
        return one > other if self.direction == "lower" else one < other if self.direction == "higher" else False


STATS: dict[str, Stat] = {}


def register_stat(stat: Stat) -> Stat:
    """Make a statistic known; registering another meaning under the same name is refused."""
    if STATS.setdefault(stat.name, stat) != stat:
        labels = f"{STATS[stat.name].label!r} and {stat.label!r}"
        raise TableError(
            f"Statistic {stat.name!r} is registered twice with different meanings, {labels}", fix="Choose another name."
        )
    return stat


_OURS: dict[str, tuple[Stat, ...]] = {
    "likewise.analysis.gaps.estimate:gaps": (
        Stat("mean", "mean", None, "mean"),
        Stat("gap", "gap (focal - reference)", 0.0, "difference", "none"),
        Stat("adjusted_gap", "matched gap, regression-adjusted", 0.0, "difference", "none"),
        Stat("regression_gap", "gap adjusted by regression, without matching", 0.0, "difference", "none"),
        Stat("explained_share", "share of the unmatched gap that matching removes", 0.0, "index"),
    ),
    "likewise.analysis.triangulation:compare_approaches": (
        Stat("design_difference", "matched gap less the change under edits", 0.0, "difference", "none"),
        Stat("agreement_p", "p of both approaches being equal", None, "index"),
    ),
    "likewise.analysis.triangulation:standardized_gaps": (
        Stat("gap_in_sd", "gap in standard deviations of the answers", 0.0, "difference", "none"),
        Stat("adjusted_gap_in_sd", "adjusted gap in standard deviations of the answers", 0.0, "difference", "none"),
    ),
    "likewise.analysis.crowd.panel:panel": (Stat("share", "share", None, "proportion"),),
    "likewise.analysis.preferences:preferences": (
        Stat("preference", "share that chooses the focal image, or the edit", 0.5, "proportion", "none"),
        Stat("first_shown", "share that chooses the image shown first", 0.5, "proportion", "none"),
        Stat("pairs_refused", "share of requests about pairs that are refused", None, "proportion", "lower"),
    ),
    "likewise.analysis.slopes.estimate:slopes": (
        Stat("slope", "slope of the relative label rate", 0.0, "difference", "none"),
        Stat("rate_slope", "slope of the label rate", 0.0, "difference", "none"),
        Stat("rate", "label rate", None, "proportion"),
    ),
    "likewise.analysis.slopes.tests:slope_tests": (
        Stat("log_odds_slope", "slope of the label's log odds", 0.0, "difference", "none"),
        Stat("ols_p", "p of the least-squares line through the rates (as in the paper)", None, "index"),
        Stat("linearity_p", "p of the rates lying on a straight line", None, "index"),
        Stat("p_value", "p-value", None, "index"),
        Stat("q_bh", "false discovery rate (Benjamini-Hochberg)", None, "index"),
        Stat("q_by", "false discovery rate (Benjamini-Yekutieli, any dependence)", None, "index"),
    ),
    "likewise.analysis.slopes.tests:excess_over_placebo": (
        Stat("slope_excess", "slope in excess of the placebo's", 0.0, "difference", "none"),
    ),
    "likewise.analysis.slopes.placebo:rate_shifts": (
        Stat("rate_shift", "label rate less that of the unedited images", 0.0, "difference", "none"),
    ),
    "likewise.design.balance.table:balance": (
        Stat("smd", "standardized mean difference", 0.0, "difference", "none"),
        Stat("variance_ratio", "variance ratio", 1.0, "ratio", "none"),
        Stat("ks", "largest distance of the distributions (KS)", 0.0, "index", "lower"),
        Stat("ecdf_mean", "mean distance of the distributions", 0.0, "index", "lower"),
        Stat("pair_distance", "mean distance within pairs, standardized", 0.0, "index", "lower"),
    ),
    "likewise.analysis.exclusion:exclusion_rates": (
        Stat("left_out", "share of images that the gate excludes", None, "proportion", "lower"),
    ),
    "likewise.latents.directions:skills": (
        Stat("skill", "how well a label is predicted from latents of unseen identities", None, "index", "higher"),
    ),
    "likewise.design.balance.multivariate:joint": (
        Stat("joint_share", "share of images with two covariates together", None, "proportion"),
    ),
    "likewise.design.balance.frontier:frontier": (
        Stat("pairs_kept", "pairs of the largest balanced sample", None, "index"),
        Stat("imbalance_left", "mean absolute standardized mean difference", 0.0, "index", "lower"),
        Stat("imbalance_by_chance", "the same, expected of a randomized experiment with as many pairs", None, "index"),
    ),
    "likewise.design.balance.multivariate:dropped_profile": (
        Stat("excluded_smd", "standardized mean difference, unmatched less matched units of the group", 0.0, "index"),
    ),
    "likewise.design.balance.multivariate:energy": (
        Stat("energy_distance", "energy distance of the two groups", 0.0, "index", "lower"),
    ),
    "likewise.design.propensity.scores:overlap": (
        Stat("auc", "how well the score separates the groups (AUC)", 0.5, "index", "none"),
        Stat("score_accuracy", "share of images whose group the score predicts", None, "proportion"),
        Stat("score_share", "share of a group's images in a bin of the score", None, "proportion"),
        Stat("overlap", "common area of the two distributions", 1.0, "proportion", "higher"),
        Stat("effective_size", "effective sample size under overlap weights", None, "mean", "higher"),
    ),
    "likewise.design.retrieval:retrieval": (
        Stat("neighbor_error", "mean absolute difference to the nearest neighbors", 0.0, "mean", "lower"),
        Stat("neighbor_disagreement", "share of nearest neighbors of another level", 0.0, "proportion", "lower"),
        Stat(
            "identity_error", "share of queries with a nearest neighbor of another identity", 0.0, "proportion", "lower"
        ),
    ),
    "likewise.analysis.verification.error_rates:error_rates": (
        Stat("threshold", "distance below which two images are accepted as one person", None, "mean"),
        Stat("gap_simultaneous", "gap (focal - reference), simultaneous interval", 0.0, "difference", "none"),
        Stat("fnmr", "false non-match rate", None, "proportion", "lower"),
        Stat("fmr", "false match rate", None, "proportion", "lower"),
        Stat("fmr_gap", "gap of the false match rate within groups (focal - reference)", 0.0, "difference", "none"),
        Stat("enrolment_failure", "share of trials without a distance", None, "proportion", "lower"),
        Stat("max_min", "largest over smallest error rate", 1.0, "ratio", "lower"),
        Stat("max_geometric_mean", "largest error rate over the geometric mean", 1.0, "ratio", "lower"),
        Stat("gini", "Gini coefficient of the error rates", 0.0, "index", "lower"),
    ),
    "likewise.analysis.comparison.paired:paired_changes": (
        Stat("old_value", "value in the old audit", None, "mean"),
        Stat("new_value", "value in the new audit", None, "mean"),
        Stat("change", "change (new - old)", 0.0, "difference", "none"),
    ),
    "likewise.analysis.groups.estimate:by_group": (
        Stat("group_mean", "mean of a group", None, "mean"),
        Stat("group_rate", "share or rate of a group", None, "proportion"),
        Stat("group_difference", "group less the reference group", 0.0, "difference", "none"),
        Stat("max_difference", "largest less smallest value of all groups", 0.0, "index", "lower"),
        Stat("suppressed_groups", "groups that are left out for their size", None, "index"),
    ),
    "likewise.analysis.verification.error_rates:det": (
        Stat("det", "false non-match rate at the group's own false match rate", None, "proportion", "lower"),
        Stat("det_band", "the same, band simultaneous over the curve", None, "proportion", "lower"),
    ),
    "likewise.analysis.sensitivity.matched_gaps:sensitivity": (
        Stat("gamma", "unmeasured confounding (odds) at which significance is lost", 1.0, "ratio", "higher"),
        Stat("e_value", "strength of an unmeasured confounder that would explain the gap", 1.0, "ratio", "higher"),
        Stat(
            "e_value_limit",
            "strength of an unmeasured confounder that would move the interval to no gap",
            1.0,
            "ratio",
            "higher",
        ),
        Stat("robustness_value", "partial R2 of a confounder that would explain the gap", 0.0, "index", "higher"),
        Stat("robustness_value_limit", "partial R2 that would move its interval to no gap", 0.0, "index", "higher"),
        Stat("partial_r2_attribute", "partial R2 of the covariate with the attribute", None, "proportion"),
        Stat("partial_r2_answer", "partial R2 of the covariate with the answer", None, "proportion"),
        Stat("gap_with_confounder", "adjusted gap left by a confounder as strong", 0.0, "difference", "none"),
        Stat("odds_ratio", "odds of the focal group, a standard deviation of the covariate higher", 1.0, "ratio"),
        Stat("answer_ratio", "answers, a standard deviation of the covariate higher (as a risk ratio)", 1.0, "ratio"),
    ),
    "likewise.analysis.crowd.quality:quality": (
        Stat("pass_rate", "share of generated images judged real", None, "proportion", "higher"),
        Stat("base_failure", "share of real images judged generated", None, "proportion", "lower"),
        Stat("quality", "pass rate over (1 - base failure rate)", 1.0, "ratio", "higher"),
        Stat("accuracy", "share of right answers", None, "proportion", "higher"),
        Stat("d_prime", "sensitivity d'", 0.0, "index"),
        Stat("criterion", "criterion c (above 0: slow to say generated)", 0.0, "index"),
        Stat("sd_over_images", "standard deviation of the images' own rates", None, "mean"),
        Stat("log_odds_gap", "gap of the log odds (focal - reference)", 0.0, "difference", "none"),
    ),
    "likewise.analysis.crowd.quality:mixed_quality": (
        Stat("mixed_log_odds_gap", "gap of the log odds for one image and one rater", 0.0, "difference", "none"),
        Stat("random_effect_sd", "standard deviation of random effects (log odds)", None, "mean"),
    ),
    "likewise.analysis.crowd.scales:scales": (
        Stat("superiority", "chance that a focal answer is higher than a reference one", 0.5, "proportion", "none"),
    ),
    "likewise.analysis.verdict:verdicts": (
        Stat("verdict", "verdict (0 different, 1 equivalent, 2 inconclusive, 3 too few)", None, "index"),
        Stat("detectable_gap", "smallest gap found with a power of 80 %", None, "mean", "lower"),
        Stat("equivalence_p", "p of a gap beyond the margin (TOST)", None, "index"),
    ),
    "likewise.analysis.label_noise:corrected_gaps": (
        Stat("label_accuracy", "share of predicted labels that people confirm", None, "proportion", "higher"),
    ),
    "likewise.analysis.multiplicity:discoveries": (
        Stat("q_value", "p corrected for multiple comparisons", None, "index"),
    ),
    "likewise.analysis.power:power": (Stat("power", "power: chance to find the gap", None, "proportion", "higher"),),
    "likewise.analysis.crowd.agreement:agreement": (
        Stat("alpha", "Krippendorff's alpha", 0.0, "index", "higher"),
        Stat("pairwise_agreement", "chance that two raters of a unit agree", None, "proportion", "higher"),
    ),
    "likewise.analysis.crowd.agreement:rater_quality": (
        Stat("rater_accuracy", "agreement with the consensus", None, "proportion", "higher"),
    ),
    "likewise.analysis.generated.shares:generated_shares": (
        Stat("amplification", "mean distance of shares beyond the benchmark, away from one half", 0.0, "difference"),
    ),
    "likewise.analysis.representation:representation": (
        Stat("shrunk_share", "share, shrunk toward those of the other terms", None, "proportion"),
        Stat("reference_gap", "share less the benchmark share", 0.0, "difference", "none"),
    ),
    "likewise.analysis.images.quality:inception_scores": (
        Stat("inception_score", "Inception Score, corrected for small samples", None, "mean", "higher"),
    ),
    "likewise.analysis.images.quality:feature_distances": (
        Stat("fid", "Frechet distance of features, bias-corrected", 0.0, "index", "lower"),
        Stat("kid", "kernel distance of features (KID, no small-sample bias)", 0.0, "index", "lower"),
    ),
    "likewise.analysis.images.manifold:manifold_estimates": (
        Stat("manifold_precision", "precision: generated images among real ones", None, "proportion", "higher"),
        Stat("manifold_recall", "recall: real images among generated ones", None, "proportion", "higher"),
        Stat("manifold_density", "density of real images around generated ones", None, "mean", "higher"),
        Stat("manifold_coverage", "coverage: real images near a generated one", None, "proportion", "higher"),
    ),
    "likewise.analysis.crowd.skin_tone:tone_agreement": (
        Stat("rank_correlation", "rank correlation of measured and answered", 0.0, "index"),
    ),
}
for _function, _stats in _OURS.items():
    for _stat in _stats:
        register_stat(replace(_stat, function=_function))
