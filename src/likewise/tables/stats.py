"""What each kind of number means: the registry of statistics that Estimates may hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from likewise.errors import TableError


@dataclass(frozen=True)
class Stat:
    """What a kind of number means: how it is called, which value means 'no difference', how it is written."""

    name: str
    label: str
    null: float | None
    scale: Literal["difference", "ratio", "proportion", "mean", "index"]


STATS: dict[str, Stat] = {}


def register_stat(stat: Stat) -> Stat:
    """Make a statistic known; registering another meaning under the same name is refused."""
    if STATS.setdefault(stat.name, stat) != stat:
        raise TableError(
            f"the statistic {stat.name!r} has one meaning",
            got=f"{STATS[stat.name].label!r} and {stat.label!r}",
        )
    return stat


for _stat in (
    # means, gaps and slopes
    Stat("mean", "mean", None, "mean"),
    Stat("share", "share", None, "proportion"),
    Stat("gap", "gap (focal - reference)", 0.0, "difference"),
    Stat("adjusted_gap", "gap (focal - reference), adjusted for what is left", 0.0, "difference"),
    Stat("share_gone", "share of the crude gap that goes away with matching", 0.0, "index"),
    Stat("slope", "slope of the relative label rate", 0.0, "difference"),
    Stat("rate_slope", "slope of the label rate", 0.0, "difference"),
    Stat("rate", "label rate", None, "proportion"),
    Stat("log_odds_slope", "slope of the label's log odds", 0.0, "difference"),
    Stat("ols_p", "p of the least-squares line through the rates (as in the paper)", None, "index"),
    Stat("linearity_p", "p of the rates lying on a straight line", None, "index"),
    Stat("slope_excess", "slope beyond the placebo's", 0.0, "difference"),
    Stat("p_value", "p-value", None, "index"),
    Stat("q_bh", "false discovery rate (Benjamini-Hochberg)", None, "index"),
    Stat("q_by", "false discovery rate (Benjamini-Yekutieli, any dependence)", None, "index"),
    # balance, propensity and neighbours
    Stat("smd", "standardised mean difference", 0.0, "difference"),
    Stat("variance_ratio", "variance ratio", 1.0, "ratio"),
    Stat("ks", "largest distance of the distributions (KS)", 0.0, "index"),
    Stat("ecdf_mean", "mean distance of the distributions", 0.0, "index"),
    Stat("pair_distance", "mean distance within pairs, standardised", 0.0, "index"),
    Stat("energy_distance", "energy distance of the two groups", 0.0, "index"),
    Stat("auc", "how well the score tells the sides apart (AUC)", 0.5, "index"),
    Stat("score_accuracy", "share of images whose side the score guesses", None, "proportion"),
    Stat("overlap", "common area of the two score distributions", 1.0, "proportion"),
    Stat("effective_size", "effective sample size under overlap weights", None, "mean"),
    Stat("neighbour_error", "mean absolute difference to the nearest neighbours", 0.0, "mean"),
    Stat("neighbour_disagreement", "share of nearest neighbours of another level", 0.0, "proportion"),
    Stat("identity_error", "share of queries whose nearest neighbour is somebody else", 0.0, "proportion"),
    # recognition
    Stat("threshold", "distance from which two images are not taken for one person", None, "mean"),
    Stat("fnmr", "false non-match rate", None, "proportion"),
    Stat("fmr", "false match rate", None, "proportion"),
    Stat("det", "false non-match rate at the group's own false match rate", None, "proportion"),
    Stat("enrolment_failure", "share of trials without a distance", None, "proportion"),
    Stat("max_min", "largest over smallest error rate", 1.0, "ratio"),
    Stat("max_geometric_mean", "largest error rate over the geometric mean", 1.0, "ratio"),
    Stat("gini", "Gini coefficient of the error rates", 0.0, "index"),
    # sensitivity
    Stat("gamma", "hidden bias (odds) at which significance is lost", 1.0, "ratio"),
    Stat("e_value", "strength of a hidden factor that would explain the gap", 1.0, "ratio"),
    Stat("e_value_limit", "strength of a hidden factor that would move the interval to no gap", 1.0, "ratio"),
    Stat("odds_ratio", "odds of the focal group, a standard deviation of the covariate higher", 1.0, "ratio"),
    Stat("answer_ratio", "answers, a standard deviation of the covariate higher (as a risk ratio)", 1.0, "ratio"),
    # people
    Stat("pass_rate", "generated faces judged real", None, "proportion"),
    Stat("base_failure", "real faces judged generated", None, "proportion"),
    Stat("quality", "pass rate over (1 - base failure rate)", 1.0, "ratio"),
    Stat("accuracy", "right answers", None, "proportion"),
    Stat("d_prime", "sensitivity d'", 0.0, "index"),
    Stat("criterion", "criterion c (above 0: slow to say generated)", 0.0, "index"),
    Stat("sd_over_images", "standard deviation of the images' own rates", None, "mean"),
    Stat("log_odds_gap", "gap of the log odds (focal - reference)", 0.0, "difference"),
    Stat("mixed_log_odds_gap", "gap of the log odds for one image and one rater", 0.0, "difference"),
    Stat("lean_sd", "spread of leanings (log odds)", None, "mean"),
    Stat("superiority", "chance that a focal answer is higher than a reference one", 0.5, "proportion"),
    Stat("power", "chance to find the gap", None, "proportion"),
    Stat("alpha", "Krippendorff's alpha", 0.0, "index"),
    Stat("pairwise_agreement", "chance that two raters of a unit agree", None, "proportion"),
    Stat("rater_accuracy", "agreement with the consensus", None, "proportion"),
    # images and representation
    Stat("shrunk_share", "share, small samples drawn towards the others", None, "proportion"),
    Stat("reference_gap", "share less the reference share", 0.0, "difference"),
    Stat("inception_score", "Inception Score, corrected for small samples", None, "mean"),
    Stat("fid", "Frechet distance of features, carried on to many images", 0.0, "index"),
    Stat("kid", "kernel distance of features (KID, no small-sample bias)", 0.0, "index"),
    Stat("rank_correlation", "rank correlation of measured and answered", 0.0, "index"),
):
    register_stat(_stat)
