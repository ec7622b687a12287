"""The two sides of a matching: which units are eligible, and why the others are not."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass

import numpy as np
import pandas as pd

from likewise.errors import TableError, VectorError, some
from likewise.tables import Contrast, Images, MatchSpec, Vectors

ESTIMANDS = {(True, True): "ATE", (True, False): "ATT", (False, True): "ATC"}
"""By whether every focal and every reference identity is matched; ATM where neither is."""


@dataclass(frozen=True)
class Eligible:
    """The units of both sides that may be matched, sorted by key, and why the others may not."""

    focal: list[str]
    reference: list[str]
    offered: dict[str, int]
    gone: list[tuple[str, str, int]]
    """(side, reason, images)"""


def offer(faces: Images, contrast: Contrast, spec: MatchSpec, needed: list[tuple[str, Container[str]]]) -> Eligible:
    """Split the units by the contrast. ``needed`` names what every unit must be in, e.g. ("no vector", vectors).

    Identities on both sides are treated as the spec says.
    """
    side = contrast.side(faces)
    side = side[side != 0]
    names = {1: str(contrast.focal), -1: str(contrast.reference)}
    images = side.index.tolist()
    reasons = pd.Series("", index=side.index)
    for reason, there in needed:
        missing = np.array([image not in there for image in images], dtype=bool)
        reasons[missing & (reasons == "")] = reason
    reasons[on_the_wrong_side(side, faces, spec).to_numpy() & (reasons == "")] = "identity on both sides"
    counts = pd.DataFrame({"side": side.map(names), "reason": reasons})
    gone = counts[counts["reason"] != ""].groupby(["side", "reason"]).size().reset_index(name="images")
    stay = side[reasons == ""]
    return Eligible(
        focal=sorted(stay.index[stay == 1].tolist()),
        reference=sorted(stay.index[stay == -1].tolist()),
        offered={names[sign]: int((side == sign).sum()) for sign in (1, -1)},
        gone=list(zip(gone["side"], gone["reason"], gone["images"].tolist(), strict=True)),
    )


def check_keys(faces: Images, vectors: Vectors) -> None:
    """Refuse vectors of images that are not in the table."""
    strange = sorted(set(vectors.keys) - set(faces.keys))
    if strange:
        fix = "Vectors are aligned by image key; take those of this table's images."
        raise VectorError(f"Vectors of {len(strange)} images that Images does not have: {some(strange)}", fix=fix)


def on_the_wrong_side(side: pd.Series, faces: Images, spec: MatchSpec) -> pd.Series:
    """Mark the images that an identity with images on both sides loses."""
    identity = faces.identities.loc[side.index]
    balance = side.groupby(identity.to_numpy()).agg(["min", "max", "sum"])
    both = balance.index[balance["min"] != balance["max"]]
    if len(both) == 0:
        return pd.Series(False, index=side.index)
    if spec.both_sides == "error":
        fix = "Correct the labels, or set both_sides to 'drop' or 'majority'."
        raise TableError(f"{len(both)} identities are on both sides of the contrast: {some(sorted(both))}", fix=fix)
    affected = identity.isin(both)
    if spec.both_sides == "drop":
        return affected
    majority = identity.map(balance["sum"])  # a tie (sum 0) keeps no image
    return affected & (side * majority <= 0)


def estimand(frame: pd.DataFrame, images: Images, contrast: Contrast) -> str:
    """Name the units that a matched estimate averages over, by which identities were left out.

    ATT: every focal identity is in the matching; ATC: every reference identity; ATE: both; ATM: neither, so that the
    estimate is about the identities that could be matched.
    """
    side, whose = contrast.side(images), images.identities
    whole = [
        set(whose[side == sign]) <= set(whose.loc[frame[end]])
        for sign, end in ((1, "a"), (-1, "b"))
    ]  # fmt: skip
    return ESTIMANDS.get((whole[0], whole[1]), "ATM")


def unwanted(found: str, spec: MatchSpec) -> str:
    """Report an estimand that is not the wanted one."""
    if not spec.estimand or found in (spec.estimand, "ATE") or spec.estimand == "ATM":
        return ""
    left = {"ATT": "focal", "ATC": "reference", "ATE": "some"}[spec.estimand]
    return f"The estimand is {found}, not {spec.estimand}: {left} identities were left out"
