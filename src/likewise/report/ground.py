"""The ground that the groups have in common by the propensity score: its histograms, and what they mean in words."""

from __future__ import annotations

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from likewise.report.figures import FAINT, FOCAL, OTHER, STYLE, WIDE, legend
from likewise.tables import Contrast, Estimates
from likewise.tables.spec import SEPARATED


def ground_words(balance: Estimates, contrast: Contrast) -> str:
    """Say how well the score tells the groups apart and how much they have in common; nothing without scores."""
    rows = balance.where(quantity="propensity").frame
    auc = rows.loc[rows["stat"] == "auc", "estimate"]
    if auc.empty:
        return ""
    common = rows.loc[rows["stat"] == "overlap", "estimate"].iloc[0]
    worth = rows[rows["stat"] == "effective_size"]
    told = zip(worth["group"], worth["estimate"], worth["n"], strict=True)
    sizes = {str(group): f"{size:.0f} of {n}" for group, size, n in told}
    kept = " and ".join(f"{sizes[str(side)]} {side}" for side in (contrast.focal, contrast.reference))
    return (
        f"The score tells the groups apart with an AUC of {auc.iloc[0]:.3f} (0.5 is chance). {100 * common:.0f} % of "
        f"the two histograms is common ground; weighted by it, the images are worth {kept}."
    )


def ground_warning(balance: Estimates) -> str:
    """Warn when the groups separate so well that matching on the score has little to stand on."""
    auc = balance.where(quantity="propensity", stat="auc").frame["estimate"]
    if auc.empty or auc.iloc[0] < SEPARATED:
        return ""
    return (
        "The score tells the groups apart almost perfectly, so that matching on it has little to stand on: those who "
        "are left are unlike the others of their group."
    )


def score_plot(balance: Estimates, contrast: Contrast, *, width: float = WIDE) -> Figure:
    """Draw the histograms of both groups' scores, one up and one down."""
    rows = balance.where(stat="score_share").frame
    edges = rows["quantity"].str.extract(r"propensity ([\d.]+) to ([\d.]+)").astype(float)
    rows = rows.assign(start=edges[0], size=edges[1] - edges[0])
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(width, 2.6), layout="constrained")
        axes = figure.subplots()
        axes.axhline(0, color=FAINT, linewidth=1)
        for side, colour, sign in ((contrast.focal, FOCAL, 1), (contrast.reference, OTHER, -1)):
            own = rows[rows["group"] == str(side)]
            axes.bar(
                own["start"], sign * own["estimate"], own["size"] * 0.92, align="edge", color=colour, label=str(side)
            )
        axes.yaxis.set_major_formatter(FuncFormatter(lambda share, _: f"{abs(100 * share):.0f} %"))  # down is no less
        axes.set_xlim(0, 1)
        axes.set_xlabel(f"score: how a model would bet on {contrast.focal}")
        axes.set_ylabel("share of the group")
        legend(figure)
    return figure
