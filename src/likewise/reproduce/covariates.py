"""Figure 5 of the matched-samples paper: covariates of both groups, before and after matching."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from likewise.design.balance.table import balance
from likewise.reproduce.common import (
    BENCHMARKED,
    GENDER,
    LEVEL,
    PENALTY,
    Reproduction,
    celebahq,
    consistent_labels,
    matched_pairs,
)
from likewise.tables import Estimates, Images, Matches

_IMBALANCED = 0.1  # absolute standardized mean difference, the usual threshold


def covariates(data: Path) -> Reproduction:
    """Compute the balance of all labels in the full data and in the authors' matched samples."""
    images = celebahq(data)
    distance, propensity = matched_pairs(data, "distance_recogniser_0.6"), matched_pairs(data, "propensity")
    names = [name for name in images.attributes if name != GENDER.column]
    samples = {
        f"{BENCHMARKED} pairs": distance.head(BENCHMARKED),
        "pairs that satisfy the constraint": distance[distance["dist"] < PENALTY],
        "propensity pairs": propensity,
    }
    parts = [balance(images, GENDER, covariates=names, level=LEVEL).frame]
    for sample, frame in samples.items():
        found = balance(images, GENDER, Matches(frame[["pair", "a", "b"]]), covariates=names, level=LEVEL).frame
        parts.append(found[found["sample"] == "matched"].assign(sample=sample))
    frame = pd.concat(parts, ignore_index=True)
    frame = frame[frame["stat"].isin(["share", "smd"])]
    labels = {"group": {"0": "female", "1": "male", "0 - 1": "female - male"}}
    return Reproduction(Estimates(frame.replace(labels)), _notes(frame, samples, images, len(names)))


def _notes(frame: pd.DataFrame, samples: dict[str, pd.DataFrame], images: Images, covariates: int) -> list[str]:
    smd = frame[frame["stat"] == "smd"]
    imbalanced = {sample: int((part["estimate"].abs() > _IMBALANCED).sum()) for sample, part in smd.groupby("sample")}
    counts = "; ".join(f"{sample}: {imbalanced[sample]} of {covariates}" for sample in ["all", *samples])
    consistent = "; ".join(
        f"{int(consistent_labels(part, images).sum())} of the {len(part)} in '{sample}'"
        for sample, part in samples.items()
    )
    return [
        f"Covariates with |SMD| > {_IMBALANCED}: {counts}.",
        f"Pairs with consistent labels (a female, b male): {consistent}. In the others CelebA's label "
        "disagrees with the authors' assignment.",
        "Wilson intervals, images clustered by identity.",
    ]
