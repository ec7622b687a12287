"""Figure 3 of the matched-samples paper: the effect of regularizing the projection."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import stats

from likewise.reproduce.common import LEVEL, Reproduction, read
from likewise.stats.intervals import Interval
from likewise.tables import Estimates
from likewise.tables.estimates import row

BASELINE = 0.1
"""The authors' choice of lambda, with which the others are compared."""
_RESTRICTED = 10_000  # how the release writes a projection into W instead of W+


def projection_sweep(data: Path) -> Reproduction:
    """Compute perceptual distance, spread and recognizer distance for each lambda."""
    perceptual = read(data, "singh2021/projection_perceptual.csv")
    recognizer = read(data, "singh2021/projection_recogniser.csv")
    wide = {
        "perceptual distance": perceptual.pivot(index="im_num", columns="reg_param", values="perceptual_loss"),
        "spread of the rows (mean R)": perceptual.pivot(index="im_num", columns="reg_param", values="mean_mse_dist"),
        "recognizer distance": recognizer.rename(columns=float),
    }
    rows, notes = [], []
    for quantity, table in wide.items():
        rows += _rows(quantity, table)
        lowest = table.columns.to_numpy(dtype=np.float64)[int(table.mean().to_numpy().argmin())]
        notes.append(f"{quantity}: lowest at {_name(float(lowest))}.")
    unclear = [
        f"{line['quantity']}, {line['group']}"
        for line in rows
        if line["stat"] == "gap" and line["low"] < 0 < line["high"]
    ]
    return Reproduction(Estimates.of(rows), [*notes, f"Not statistically significant: {'; '.join(unclear) or 'none'}."])


def _name(weight: float) -> str:
    return "restricted" if weight == _RESTRICTED else f"lambda {weight:g}"


def _rows(quantity: str, table: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the mean at each lambda, and the paired difference from the baseline."""
    columns = {float(weight): table[weight].to_numpy(dtype=np.float64) for weight in table.columns}
    rows = []
    for weight, values in sorted(columns.items()):
        rows.append(_mean(quantity, "mean", _name(weight), values))
        if weight != BASELINE:
            group = f"{_name(weight)} - {_name(BASELINE)}"
            rows.append(_mean(quantity, "gap", group, values - columns[BASELINE]))
    return rows


def _mean(quantity: str, stat: str, group: str, values: npt.NDArray[np.float64]) -> dict[str, Any]:
    n, mean = len(values), float(values.mean())
    half = float(stats.t.ppf((1 + LEVEL) / 2, n - 1) * values.std(ddof=1) / n**0.5)
    found = Interval(mean, mean - half, mean + half, n)
    return row(quantity, stat, f"{n} images", group, found, level=LEVEL, n=n, method="t over images")
