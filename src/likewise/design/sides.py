"""The two sides of a matching: who is offered, and who leaves before it begins."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass

import numpy as np
import pandas as pd

from likewise.errors import TableError, VectorError, some
from likewise.tables import Contrast, Faces, MatchSpec, Vectors


@dataclass(frozen=True)
class Offer:
    """The images of both sides that may be matched, sorted by key, and why the others left before."""

    focal: list[str]
    reference: list[str]
    offered: dict[str, int]
    gone: list[tuple[str, str, int]]
    """(side, reason, images)"""


def offer(faces: Faces, contrast: Contrast, spec: MatchSpec, needed: list[tuple[str, Container[str]]]) -> Offer:
    """Split the faces by the contrast. ``needed`` names what every image must be in, e.g. ("no vector", vectors).

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
    reasons[_on_the_wrong_side(side, faces, spec).to_numpy() & (reasons == "")] = "identity on both sides"
    counts = pd.DataFrame({"side": side.map(names), "reason": reasons})
    gone = counts[counts["reason"] != ""].groupby(["side", "reason"]).size().reset_index(name="images")
    stay = side[reasons == ""]
    return Offer(
        focal=sorted(stay.index[stay == 1].tolist()),
        reference=sorted(stay.index[stay == -1].tolist()),
        offered={names[sign]: int((side == sign).sum()) for sign in (1, -1)},
        gone=list(zip(gone["side"], gone["reason"], gone["images"].tolist(), strict=True)),
    )


def check_keys(faces: Faces, vectors: Vectors) -> None:
    """Vectors are those of images of these faces."""
    strange = sorted(set(vectors.images) - set(faces.images))
    if strange:
        fix = "Vectors are aligned by image key; take those of this table's images."
        raise VectorError("vectors belong to images of Faces", got=f"some for {some(strange)}", fix=fix)


def _on_the_wrong_side(side: pd.Series, faces: Faces, spec: MatchSpec) -> pd.Series:
    """Mark the images that an identity with images on both sides loses."""
    identity = faces.identities.loc[side.index]
    balance = side.groupby(identity.to_numpy()).agg(["min", "max", "sum"])
    both = balance.index[balance["min"] != balance["max"]]
    if len(both) == 0:
        return pd.Series(False, index=side.index)
    if spec.both_sides == "error":
        fix = "Mend the labels, or set both_sides to 'drop' or 'majority'."
        raise TableError("an identity is on one side of the contrast", got=f"both for {some(sorted(both))}", fix=fix)
    affected = identity.isin(both)
    if spec.both_sides == "drop":
        return affected
    majority = identity.map(balance["sum"])  # a tie (sum 0) keeps nobody
    return affected & (side * majority <= 0)
