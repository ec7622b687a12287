"""Means over generated images, clustered by prompt and by seed.

Images of one prompt are more similar than images of different prompts. Where prompts of a term are drawn with the same
seeds, images of one seed start from the same noise and are similar, too. The two clusterings are crossed: their
variance is V = V_prompt + max(V_seed - V_image, 0), with Satterthwaite's degrees of freedom. With one prompt, each seed
is an independent draw, and the mean describes that prompt only.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd

from likewise.stats.intervals import Interval, share_interval

Floats = npt.NDArray[np.float64]


def clustered_share(part: pd.DataFrame, level: float) -> tuple[Interval, str]:
    """Return the mean of ``hit``, a share, with Wilson's interval for its effective sample size, and the method.

    Parameters
    ----------
    part
        Columns ``prompt``, ``hit`` and optionally ``seed``.
    level
        Confidence level.
    """
    share, n = float(part["hit"].mean()), len(part)
    variance, clusters, dof, by = clustered_variance(part)
    inside = float(np.clip(share, 0.0, 1.0))
    low, high, word = share_interval(inside, variance, n=n, clusters=clusters, level=level, dof=dof)
    return Interval(inside, low, high, clusters), f"Wilson {by}" + (f"; {word}" if word else "")


def clustered_variance(part: pd.DataFrame) -> tuple[float, int, float, str]:
    """Return the variance of the mean of ``hit``, its clusters, its degrees of freedom, and what is clustered."""
    away, n = part["hit"] - part["hit"].mean(), len(part)
    prompts = part["prompt"]
    count = int(prompts.nunique())
    seeds = part["seed"] if "seed" in part.columns and part["seed"].notna().all() else None
    if count < 2:
        alone = prompts.index.to_series() if seeds is None else seeds
        return _between(away, alone, n), int(alone.nunique()), float(max(alone.nunique() - 1, 1)), "by image"
    own = _between(away, prompts, n)
    if seeds is None or seeds.nunique() < 2 or seeds.nunique() == n:
        return own, count, float(count - 1), "by prompt"
    shared = max(_between(away, seeds, n) - _between(away, part.groupby(["prompt", "seed"]).ngroup(), n), 0.0)
    parts = own**2 / (count - 1) + shared**2 / (int(seeds.nunique()) - 1)
    dof = (own + shared) ** 2 / parts if parts > 0 else float(count - 1)
    return own + shared, count, float(dof), "by prompt and seed"


def _between(away: pd.Series, codes: pd.Series, n: int) -> float:
    """Return the variance of a mean of ``n`` values whose clusters are independent."""
    sums = away.groupby(codes.to_numpy()).sum()
    groups = len(sums)
    return float((sums**2).sum()) / n**2 * groups / max(groups - 1, 1)


def joined(variances: Floats, dofs: Floats) -> tuple[float, float]:
    """Return variance and degrees of freedom of the mean of independent means (Satterthwaite)."""
    total = float(variances.sum()) / len(variances) ** 2
    below = float((variances**2 / np.maximum(dofs, 1)).sum()) / len(variances) ** 4
    return total, (total**2 / below if below > 0 else float(np.maximum(dofs, 1).sum()))
