"""match: Faces and Vectors and a Contrast become Pairs."""

from __future__ import annotations

from collections import Counter

import numpy as np
import numpy.typing as npt
import pandas as pd

from likewise.design.greedy import Greedy
from likewise.design.rules import ledger, rules
from likewise.design.sides import Offer, offer
from likewise.engine import Progress, Silent
from likewise.tables import Contrast, Faces, MatchSpec, Pairs, Vectors


def match(
    faces: Faces,
    vectors: Vectors,
    contrast: Contrast,
    spec: MatchSpec | None = None,
    *,
    progress: Progress | None = None,
) -> Pairs:
    """Find look-alikes across the contrast: ``a`` is focal, ``b`` reference, closest pairs first.

    Every rule of the spec is hard. What could not be matched is counted by reason in ``dropped``.
    """
    spec = spec or MatchSpec()
    offered = offer(faces, vectors, contrast, spec)
    own, other = _codes(faces, offered, spec)
    search = Greedy(
        x=_points(vectors, offered.focal, spec),
        y=_points(vectors, offered.reference, spec),
        rules=rules(faces, contrast, spec, offered.focal, offered.reference),
        own=own,
        other=other,
    )
    taken = search.pairs(spec.max_pairs, progress or Silent())
    frame = pd.DataFrame(
        {
            "pair": [f"p{rank:05d}" for rank in range(1, len(taken) + 1)],
            "a": [offered.focal[row] for _, row, _ in taken],
            "b": [offered.reference[column] for _, _, column in taken],
            "distance": [distance for distance, _, _ in taken],
        }
    ).astype({"pair": "str", "a": "str", "b": "str", "distance": "float64"})
    return Pairs(
        frame,
        spec=spec,
        ledger=ledger(frame, faces, contrast, spec),
        dropped=_dropped(offered, search, taken, contrast, spec),
        offered=offered.offered,
        note=_note(len(taken), spec),
    )


def _points(vectors: Vectors, images: list[str], spec: MatchSpec) -> npt.NDArray[np.float64]:
    values = vectors.take(images).astype(np.float64)  # [n, ..., D]
    if spec.distance == "mean_row" and values.ndim > 2:
        values = values.mean(axis=tuple(range(1, values.ndim - 1)))
    return values.reshape(len(images), -1)


def _codes(faces: Faces, offered: Offer, spec: MatchSpec) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Number what may not recur: identities over both sides, or else every image on its own."""
    images = offered.focal + offered.reference
    names = faces.identities.loc[images] if "identity" in spec.antiexact else pd.Series(images)
    codes = pd.factorize(names)[0].astype(np.int64)
    return codes[: len(offered.focal)], codes[len(offered.focal) :]


def _dropped(
    offered: Offer, search: Greedy, taken: list[tuple[float, int, int]], contrast: Contrast, spec: MatchSpec
) -> pd.DataFrame:
    full = spec.max_pairs is not None and len(taken) >= spec.max_pairs
    matched = {1: {row for _, row, _ in taken}, -1: {column for _, _, column in taken}}
    sides = (
        (1, str(contrast.focal), search.own, search.admitted_focal),
        (-1, str(contrast.reference), search.other, search.admitted_reference),
    )
    rows = list(offered.gone)
    for sign, name, codes, admitted in sides:
        reasons: Counter[str] = Counter()
        for index in set(range(len(codes))) - matched[sign]:
            if int(codes[index]) in search.used:
                reasons["identity already matched"] += 1
            elif not admitted[index]:
                reasons["no admissible partner"] += 1
            else:
                reasons["beyond max_pairs" if full else "partners used up"] += 1
        rows += [(name, reason, count) for reason, count in sorted(reasons.items())]
    return pd.DataFrame(rows, columns=["side", "reason", "images"])


def _note(found: int, spec: MatchSpec) -> str:
    if found == 0:
        return "No pair keeps all the rules"
    if spec.max_pairs is not None and found < spec.max_pairs:
        return f"Only {found} of the {spec.max_pairs} pairs asked for could be had"
    return ""
