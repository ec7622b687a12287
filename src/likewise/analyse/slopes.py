"""slopes: how a classifier's labels move while only the attribute of a face is turned."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd

from likewise.analyse.resample import Statistic, jackknife
from likewise.errors import TableError, some
from likewise.tables import Estimates, Faces, Ratings

Floats = npt.NDArray[np.float64]
RARE = 5  # faces that carry the label at the middle step; with fewer, a ratio to it means nothing


def slopes(
    ratings: Ratings,
    counterfactuals: Faces,
    *,
    threshold: float,
    level: float = 0.95,
    sample: str = "counterfactual",
) -> Estimates:
    """Estimate for each rater and label the rate y_k at every level and the slope of z_k = y_k / y_c over it.

    A label is present where its score reaches ``threshold``; c is the middle level. All versions of a face go
    together, and so do faces of one identity: intervals leave out one identity at a time. A label that hardly
    occurs at the middle level gets the slope of its plain rate (``rate_slope``) instead of a ratio's.
    """
    made = counterfactuals.frame.set_index("image")
    if "level" not in made.columns or made["level"].nunique() < 3:
        raise TableError("slopes need counterfactuals at three levels or more")
    ratings.check_units(made.index)
    frame = ratings.frame.dropna(subset=["value"])
    for name in ("parent", "level", "identity"):
        frame[name] = frame["unit"].map(made[name])
    frame["present"] = (frame["value"] >= threshold).astype("float64")
    rows: list[dict[str, object]] = []
    for (rater, label), part in frame.groupby(["rater", "question"], sort=True):
        rows += _label_rows(f"{rater}: {label}", part, level, sample)
    return Estimates.of(rows)


def _label_rows(quantity: str, part: pd.DataFrame, level: float, sample: str) -> list[dict[str, object]]:
    grid = part.pivot(index="parent", columns="level", values="present").dropna()  # faces seen at every level
    identity = part.drop_duplicates("parent").set_index("parent")["identity"].reindex(grid.index)
    if identity.nunique() < 2:
        fix = "An interval needs faces of two identities at least, each rated at every level."
        raise TableError(f"{quantity}: faces were rated at every level", got=some(identity.unique()) or "none", fix=fix)
    codes = pd.factorize(identity)[0].astype(np.int64)
    levels, present = grid.columns.to_numpy(dtype=np.float64), grid.to_numpy()
    columns = np.column_stack([present, np.ones(len(present))])  # [n, K + 1]
    middle = int(np.argmin(np.abs(levels)))
    rare = present[:, middle].sum() < RARE
    wanted: list[tuple[str, str, Statistic]] = [("rate", f"level {step:+g}", _rate(k)) for k, step in enumerate(levels)]
    wanted.append(("rate_slope" if rare else "slope", "attribute", _slope(levels, None if rare else middle)))
    rows: list[dict[str, object]] = []
    for stat, group, statistic in wanted:
        found = jackknife(columns, statistic, [codes], level=level)
        low, high = (max(found.low, 0.0), min(found.high, 1.0)) if stat == "rate" else (found.low, found.high)
        rows.append(
            {
                "quantity": quantity, "stat": stat, "sample": sample, "group": group, "estimate": found.estimate,
                "low": low, "high": high, "level": level, "n": len(grid), "clusters": found.clusters,
                "method": "jackknife by identity",
            }
        )  # fmt: skip
    return rows


def _rate(k: int) -> Statistic:
    return lambda total: total[..., k] / total[..., -1]


def _slope(levels: Floats, middle: int | None) -> Statistic:
    """Return the least-squares slope of z (or of y, without a middle) over the levels."""
    centred = levels - levels.mean()

    def statistic(total: Floats) -> Floats:
        y = total[..., :-1] / total[..., -1:]
        z = y if middle is None else y / y[..., middle : middle + 1]
        slope: Floats = z @ centred / (centred @ centred)
        return slope

    return statistic
