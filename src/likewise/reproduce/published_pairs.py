"""Constraints of the authors' published pairs: which of the stated ones hold."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

from likewise.reproduce.common import (
    BENCHMARKED,
    LEVEL,
    PENALTY,
    Reproduction,
    celebahq,
    consistent_labels,
    matched_pairs,
)
from likewise.stats.intervals import Interval, wilson
from likewise.tables import Estimates, Images
from likewise.tables.estimates import row

Flags = npt.NDArray[np.bool_]
FILES = ("distance_recogniser_0.6", "distance_recogniser_none", "propensity")
REPEATED = "no identity in another pair"


def published_pairs(data: Path) -> Reproduction:
    """Compute the share of the published pairs that satisfy each stated constraint."""
    images = celebahq(data)
    embeddings = np.load(data / "celebahq" / "dlib_embeddings.f16.npy").astype(np.float32)
    rows = []
    for name in FILES:
        frame = matched_pairs(data, name)
        for sample, part in (("all", frame), (f"first {BENCHMARKED}", frame.head(BENCHMARKED))):
            holds = _constraints(part, images, embeddings, recognizer=name.endswith("0.6"))
            rows += [_share(f"{name}: {constraint}", sample, kept) for constraint, kept in holds.items()]
    return Reproduction(Estimates.of(rows), _notes(data, images))


def _share(quantity: str, sample: str, kept: Flags) -> dict[str, object]:
    share, n = float(kept.mean()), len(kept)
    found = Interval(share, *wilson(share, n, level=LEVEL), n)
    return row(quantity, "share", sample, "pairs", found, level=LEVEL, n=n, method="Wilson")


def _notes(data: Path, images: Images) -> list[str]:
    recorded = matched_pairs(data, FILES[0])["dist"].to_numpy() < PENALTY
    propensity = matched_pairs(data, "propensity")
    seen = _identities(propensity, images)
    first = ~np.asarray(pd.Series(seen.ravel()).duplicated()).reshape(-1, 2).any(axis=1)
    return [
        f"The recognizer's constraint is a penalty of 1e6 in the release: {int(recorded.sum())} of {len(recorded)} "
        f"pairs satisfy it; {int((~recorded[:BENCHMARKED]).sum())} of the {BENCHMARKED} benchmarked pairs violate it.",
        f"Propensity pairs: in {_unrepeated(seen).mean():.3f} of them neither identity is in another pair; "
        f"{first.mean():.3f} are left when only the second and later pairs of an identity are removed.",
        "Distances measured here are dlib's on the 256-pixel images; the authors' images were larger.",
    ]


def _identities(frame: pd.DataFrame, images: Images) -> npt.NDArray[np.object_]:
    return np.stack([frame[key].map(images.identities).to_numpy(dtype=object) for key in ("a", "b")], axis=1)  # [n, 2]


def _unrepeated(identities: npt.NDArray[np.object_]) -> Flags:
    """Return which pairs have two identities that occur nowhere else, also not in an earlier or later pair."""
    flat = pd.Series(identities.ravel())
    counts = flat.map(flat.value_counts()).to_numpy().reshape(-1, 2)
    once: Flags = (counts == 1).all(axis=1)
    return once


def _constraints(
    frame: pd.DataFrame, images: Images, embeddings: npt.NDArray[np.float32], *, recognizer: bool
) -> dict[str, Flags]:
    """Return for each stated constraint which pairs satisfy it."""
    holds: dict[str, Flags] = {
        "labeled female and male": consistent_labels(frame, images).to_numpy(),
        REPEATED: _unrepeated(_identities(frame, images)),
    }
    if "ref_a" in frame.columns:
        holds |= _reference_constraints(frame, images)
    if recognizer:
        difference = embeddings[frame["a"].astype(int)] - embeddings[frame["b"].astype(int)]
        holds["recognizer distance below 0.6, as recorded"] = frame["dist"].to_numpy() < PENALTY
        # NaN (no face detected) satisfies no constraint
        holds["recognizer distance below 0.6, measured here"] = np.linalg.norm(difference, axis=1) < 0.6
    return holds


def _reference_constraints(frame: pd.DataFrame, images: Images) -> dict[str, Flags]:
    whose, glasses = images.identities, images.attribute("Eyeglasses")
    same = [(frame[key].map(whose) == frame[f"ref_{key}"].map(whose)).to_numpy() for key in ("a", "b")]
    bare = [(frame[f"ref_{key}"].map(glasses) == 0).to_numpy() for key in ("a", "b")]
    return {"references show the same person": same[0] & same[1], "references wear no glasses": bare[0] & bare[1]}
