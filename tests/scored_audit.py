"""A small scores-only audit: recognizers with known error rates, no images; it runs in seconds."""

from __future__ import annotations

from pathlib import Path

import likewise as lw
from likewise.simulation.system_ratings import VerificationTrials


def scored_audit(
    folder: Path,
    *,
    identities: int = 80,
    seed: int = 1,
    shift: float = 0.0,
    name: str = "vendor",
    groups: str = "",
    people: str = "",
) -> lw.Audit:
    """Write and run an audit; ``shift`` is added to genuine distances of the focal group, ``people`` to all names."""
    ratings, trials, images, _ = VerificationTrials(identities, seed=seed).tables()
    frame = trials.frame.merge(ratings.frame, left_on="trial", right_on="unit")
    focal = frame["a"].map(images.attribute("perceived_gender")).eq("female") & frame["same"].astype(bool)
    frame["score"] = frame["value"] + shift * focal
    table = images.frame
    for column in ("image", "identity"):
        table[column] = people + table[column].astype(str)
    folder.mkdir(parents=True, exist_ok=True)
    frame.assign(a=people + frame["a"], b=people + frame["b"])[["a", "b", "score"]].to_csv(
        folder / "scores.csv", index=False
    )
    table.to_csv(folder / "people.csv", index=False)
    extra = {"groups": {"by": groups.split("+")}} if groups else {}
    return lw.audit(
        folder / "people.csv", out=folder / "audit", contrast=("perceived_gender", "female", "male"),
        scores={name: folder / "scores.csv"}, encoder="columns", covariates=["eyeglasses"], progress=False, **extra,
    )  # fmt: skip
