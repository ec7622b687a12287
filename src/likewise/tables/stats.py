"""What each kind of number means: the registry of statistics that Estimates may hold."""

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
    """Where it is estimated, as ``module:name``; this room knows no other, so it is looked up only when asked for."""

    def load(self) -> Callable[..., Any]:
        """Return the function that estimates it."""
        module, _, name = self.function.partition(":")
        if not name:
            raise TableError(f"the statistic {self.name!r} says where it is estimated", got=repr(self.function))
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
        raise TableError(
            f"the statistic {stat.name!r} has one meaning",
            got=f"{STATS[stat.name].label!r} and {stat.label!r}",
        )
    return stat


_OURS: dict[str, tuple[Stat, ...]] = {
    "likewise.analyse.gaps:gaps": (
        Stat("mean", "mean", None, "mean"),
        Stat("gap", "gap (focal - reference)", 0.0, "difference", "none"),
        Stat("adjusted_gap", "gap (focal - reference), adjusted for what is left", 0.0, "difference", "none"),
        Stat("share_gone", "share of the crude gap that goes away with matching", 0.0, "index"),
    ),
    "likewise.analyse.legs:agreement_of_legs": (
        Stat("leg_difference", "matched gap less the change in edited pictures", 0.0, "difference", "none"),
        Stat("agreement_p", "p of both legs being equal", None, "index"),
    ),
    "likewise.analyse.legs:on_one_scale": (
        Stat("gap_in_sd", "gap in standard deviations of the answers", 0.0, "difference", "none"),
        Stat("adjusted_gap_in_sd", "adjusted gap in standard deviations of the answers", 0.0, "difference", "none"),
    ),
    "likewise.analyse.panel:panel": (Stat("share", "share", None, "proportion"),),
    "likewise.analyse.slopes:slopes": (
        Stat("slope", "slope of the relative label rate", 0.0, "difference", "none"),
        Stat("rate_slope", "slope of the label rate", 0.0, "difference", "none"),
        Stat("rate", "label rate", None, "proportion"),
    ),
    "likewise.analyse.slope_tests:slope_tests": (
        Stat("log_odds_slope", "slope of the label's log odds", 0.0, "difference", "none"),
        Stat("ols_p", "p of the least-squares line through the rates (as in the paper)", None, "index"),
        Stat("linearity_p", "p of the rates lying on a straight line", None, "index"),
        Stat("p_value", "p-value", None, "index"),
        Stat("q_bh", "false discovery rate (Benjamini-Hochberg)", None, "index"),
        Stat("q_by", "false discovery rate (Benjamini-Yekutieli, any dependence)", None, "index"),
    ),
    "likewise.analyse.slope_tests:beyond_placebo": (
        Stat("slope_excess", "slope beyond the placebo's", 0.0, "difference", "none"),
    ),
    "likewise.analyse.placebo:rate_shifts": (
        Stat("rate_shift", "label rate less that of the untouched pictures", 0.0, "difference", "none"),
    ),
    "likewise.design.balance:balance": (
        Stat("smd", "standardised mean difference", 0.0, "difference", "none"),
        Stat("variance_ratio", "variance ratio", 1.0, "ratio", "none"),
        Stat("ks", "largest distance of the distributions (KS)", 0.0, "index", "lower"),
        Stat("ecdf_mean", "mean distance of the distributions", 0.0, "index", "lower"),
        Stat("pair_distance", "mean distance within pairs, standardised", 0.0, "index", "lower"),
    ),
    "likewise.analyse.left_out:left_out": (
        Stat("left_out", "share of images left out at the gate", None, "proportion", "lower"),
    ),
    "likewise.make.directions:skills": (
        Stat("skill", "how well a label is read from latents of unseen identities", None, "index", "higher"),
    ),
    "likewise.design.beyond:joint": (
        Stat("joint_share", "share of images with two covariates together", None, "proportion"),
    ),
    "likewise.design.beyond:dropped_profile": (
        Stat("left_out_smd", "standardised mean difference, left out less matched of the group", 0.0, "index"),
    ),
    "likewise.design.beyond:energy": (
        Stat("energy_distance", "energy distance of the two groups", 0.0, "index", "lower"),
    ),
    "likewise.design.propensity:overlap": (
        Stat("auc", "how well the score tells the sides apart (AUC)", 0.5, "index", "none"),
        Stat("score_accuracy", "share of images whose side the score guesses", None, "proportion"),
        Stat("score_share", "share of a group's images in a bin of the score", None, "proportion"),
        Stat("overlap", "common area of the two distributions", 1.0, "proportion", "higher"),
        Stat("effective_size", "effective sample size under overlap weights", None, "mean", "higher"),
    ),
    "likewise.design.retrieval:retrieval": (
        Stat("neighbour_error", "mean absolute difference to the nearest neighbours", 0.0, "mean", "lower"),
        Stat("neighbour_disagreement", "share of nearest neighbours of another level", 0.0, "proportion", "lower"),
        Stat("identity_error", "share of queries whose nearest neighbour is somebody else", 0.0, "proportion", "lower"),
    ),
    "likewise.analyse.verification:verification": (
        Stat("threshold", "distance from which two images are not taken for one person", None, "mean"),
        Stat("fnmr", "false non-match rate", None, "proportion", "lower"),
        Stat("fmr", "false match rate", None, "proportion", "lower"),
        Stat("enrolment_failure", "share of trials without a distance", None, "proportion", "lower"),
        Stat("max_min", "largest over smallest error rate", 1.0, "ratio", "lower"),
        Stat("max_geometric_mean", "largest error rate over the geometric mean", 1.0, "ratio", "lower"),
        Stat("gini", "Gini coefficient of the error rates", 0.0, "index", "lower"),
    ),
    "likewise.analyse.verification:det": (
        Stat("det", "false non-match rate at the group's own false match rate", None, "proportion", "lower"),
    ),
    "likewise.analyse.sensitivity:sensitivity": (
        Stat("gamma", "hidden bias (odds) at which significance is lost", 1.0, "ratio", "higher"),
        Stat("e_value", "strength of a hidden factor that would explain the gap", 1.0, "ratio", "higher"),
        Stat(
            "e_value_limit",
            "strength of a hidden factor that would move the interval to no gap",
            1.0,
            "ratio",
            "higher",
        ),
        Stat("odds_ratio", "odds of the focal group, a standard deviation of the covariate higher", 1.0, "ratio"),
        Stat("answer_ratio", "answers, a standard deviation of the covariate higher (as a risk ratio)", 1.0, "ratio"),
    ),
    "likewise.analyse.quality:quality": (
        Stat("pass_rate", "generated faces judged real", None, "proportion", "higher"),
        Stat("base_failure", "real faces judged generated", None, "proportion", "lower"),
        Stat("quality", "pass rate over (1 - base failure rate)", 1.0, "ratio", "higher"),
        Stat("accuracy", "right answers", None, "proportion", "higher"),
        Stat("d_prime", "sensitivity d'", 0.0, "index"),
        Stat("criterion", "criterion c (above 0: slow to say generated)", 0.0, "index"),
        Stat("sd_over_images", "standard deviation of the images' own rates", None, "mean"),
        Stat("log_odds_gap", "gap of the log odds (focal - reference)", 0.0, "difference", "none"),
    ),
    "likewise.analyse.quality:mixed_quality": (
        Stat("mixed_log_odds_gap", "gap of the log odds for one image and one rater", 0.0, "difference", "none"),
        Stat("lean_sd", "spread of leanings (log odds)", None, "mean"),
    ),
    "likewise.analyse.scales:scales": (
        Stat("superiority", "chance that a focal answer is higher than a reference one", 0.5, "proportion", "none"),
    ),
    "likewise.analyse.power:power": (Stat("power", "chance to find the gap", None, "proportion", "higher"),),
    "likewise.analyse.agreement:agreement": (
        Stat("alpha", "Krippendorff's alpha", 0.0, "index", "higher"),
        Stat("pairwise_agreement", "chance that two raters of a unit agree", None, "proportion", "higher"),
    ),
    "likewise.analyse.agreement:rater_quality": (
        Stat("rater_accuracy", "agreement with the consensus", None, "proportion", "higher"),
    ),
    "likewise.analyse.representation:representation": (
        Stat("shrunk_share", "share, small samples drawn towards the others", None, "proportion"),
        Stat("reference_gap", "share less the reference share", 0.0, "difference", "none"),
    ),
    "likewise.analyse.image_quality:inception_scores": (
        Stat("inception_score", "Inception Score, corrected for small samples", None, "mean", "higher"),
    ),
    "likewise.analyse.image_quality:feature_distances": (
        Stat("fid", "Frechet distance of features, small-sample bias taken off", 0.0, "index", "lower"),
        Stat("kid", "kernel distance of features (KID, no small-sample bias)", 0.0, "index", "lower"),
    ),
    "likewise.analyse.skin_tone:tone_agreement": (
        Stat("rank_correlation", "rank correlation of measured and answered", 0.0, "index"),
    ),
}
for _function, _stats in _OURS.items():
    for _stat in _stats:
        register_stat(replace(_stat, function=_function))
