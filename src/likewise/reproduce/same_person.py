"""Table 1 of the matched-samples paper: how often raters answer "same person" to two photographs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from likewise.analysis.crowd.agreement import agreement
from likewise.analysis.crowd.panel import panel
from likewise.reproduce.common import LEVEL, Reproduction, read
from likewise.stats.intervals import Interval, wilson
from likewise.tables import Estimates, Ratings
from likewise.tables.estimates import row

ONE_SIGMA = float(stats.norm.cdf(1) - stats.norm.cdf(-1))
TABLE_1 = {
    ("fake", "all"): (66.7, 64.14, 69.10), ("real", "all"): (68.3, 65.83, 70.73),
    ("fake", "well"): (86.4, 82.17, 89.78), ("real", "well"): (90.5, 86.58, 93.42),
    ("fake", "moderately"): (68.7, 62.75, 74.01), ("real", "moderately"): (65.8, 60.02, 71.06),
    ("fake", "not at all"): (49.0, 41.93, 56.07), ("real", "not at all"): (46.9, 39.94, 54.06),
}  # fmt: skip
"""Table 1 as printed: per cent, and the limits of what the caption calls a 95 % interval."""
AGREEMENT = 0.737
"""The agreement of two raters as published."""


def same_person(data: Path) -> Reproduction:
    """Recompute Table 1 and the agreement of raters, as published and corrected."""
    everything = read(data, "singh2021/same_person.csv", text=("unit", "kind", "rater", "same", "knows"))
    frame = everything[everything["kind"].isin(["fake", "real"])]
    published, exact = _published(frame)
    corrected = [
        _corrected(frame[_knows(frame, knows)], knows) for knows in ("all", "well", "moderately", "not at all")
    ]
    shares = {
        "as published: with duplicate checks, blank = same": _agreement(everything, blank="same"),
        "as published: without duplicate checks, blank = same": _agreement(frame, blank="same"),
        "all": _agreement(frame, blank=""),
    }
    estimates = [Estimates.of(published), *corrected, *(_sampled(found, name) for name, found in shares.items())]
    found = [_pairwise(estimate) for estimate in shares.values()]
    return Reproduction(Estimates.together(estimates), _notes(frame, exact, found))


def _notes(frame: pd.DataFrame, exact: int, found: list[float]) -> list[str]:
    agreed = "" if round(found[0], 3) == AGREEMENT else " not"
    return [
        f"{exact} of {len(TABLE_1)} printed cells are reproduced to the last digit with a Wilson interval at z = 1 "
        "(68 %, not the 95 % of the caption) and blank answers counted as 'same'.",
        f"Corrected: {int(frame['same'].isna().sum())} blank answers about these pairs are excluded; intervals are "
        "95 % and account for the sampling of both raters and pairs.",
        f"The published agreement of {AGREEMENT} is{agreed} reproduced with the duplicate checks (one photograph shown "
        f"twice) included and blanks counted as 'same': {found[0]:.3f}. Without the duplicates it is {found[1]:.3f}; "
        f"with blanks excluded as well, {found[2]:.3f}.",
    ]


def _knows(frame: pd.DataFrame, knows: str) -> pd.Series:
    return (frame["knows"] == knows) | (knows == "all")


def _published(frame: pd.DataFrame) -> tuple[list[dict[str, Any]], int]:
    """Return the cells computed as the authors did, and how many equal the printed ones."""
    rows, exact = [], 0
    for (kind, knows), printed in TABLE_1.items():
        part = frame[(frame["kind"] == kind) & _knows(frame, knows)]
        hits, n = int((part["same"] != "not same").sum()), len(part)  # the authors' count: blank answers are "same"
        low, high = wilson(hits / n, n, level=ONE_SIGMA)
        found = Interval(hits / n, low, high, n)
        exact += bool(np.allclose(np.array([hits / n, low, high]) * 100, printed, atol=(0.051, 0.0051, 0.0051)))
        group, method = f"{kind}, knows: {knows}", "Wilson at z = 1; blank counted as same"
        rows.append(row("people: same", "share", "as published", group, found, level=ONE_SIGMA, n=n, method=method))
    return rows, exact


def _responses(frame: pd.DataFrame, blank: str = "") -> Ratings:
    """Return the responses; blank ones are missing unless they count as an answer."""
    answers = frame["same"].fillna(blank) if blank else frame["same"]
    value = answers.map({"same": 1.0, "not same": 0.0})
    return Ratings(pd.DataFrame({"unit": frame["unit"], "rater": frame["rater"], "question": "same", "value": value}))


def _corrected(frame: pd.DataFrame, knows: str) -> Estimates:
    kinds = {unit: f"{kind}, knows: {knows}" for unit, kind in zip(frame["unit"], frame["kind"], strict=True)}
    compare = (f"fake, knows: {knows}", f"real, knows: {knows}")
    return panel(_responses(frame), kinds, question="same", compare=compare, sample="corrected", level=LEVEL)


def _agreement(frame: pd.DataFrame, *, blank: str) -> Estimates:
    return agreement(_responses(frame, blank), question="same", level=LEVEL)


def _sampled(found: Estimates, sample: str) -> Estimates:
    return Estimates(found.frame.assign(sample=sample))


def _pairwise(found: Estimates) -> float:
    return float(found.where(stat="pairwise_agreement").frame["estimate"].iloc[0])
