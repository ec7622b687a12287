"""The result of a search as Matches: rows, proof, and why the other units were left out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pandas as pd

from likewise.design.constraints import Mask, Within, ledger
from likewise.design.eligible import Eligible, estimand, unwanted
from likewise.design.propensity.matching import Scored
from likewise.design.references import References, prove
from likewise.design.search.greedy import Codes, Taken, spent
from likewise.design.search.scan import Partners
from likewise.tables import Contrast, Images, Matches, MatchSpec


@dataclass(frozen=True)
class Side:
    """The outcome for the units of one side."""

    codes: Codes
    matched: Mask
    stages: list[str]
    partners: npt.NDArray[np.bool_]
    """For each rule, which units still had a partner after it and all earlier ones."""


@dataclass(frozen=True)
class Search:
    """The pairs that were taken (distance, focal row, reference row) and the outcome for both sides."""

    taken: list[Taken]
    focal: Side
    reference: Side
    used: Mask
    note: str = ""
    farthest: float = np.inf
    """The caliper on the distance, in its own unit."""
    proof: Mapping[str, bool] = field(default_factory=dict)
    """Constraints on the sample as a whole, and whether they hold."""

    @classmethod
    def nothing(cls, offered: Eligible) -> Search:
        """Return an empty result."""
        sides = [
            Side(np.zeros(len(images), dtype=np.int64), np.zeros(len(images), dtype=bool), ["offered partners"],
                 np.zeros((1, len(images)), dtype=bool))
            for images in (offered.focal, offered.reference)
        ]  # fmt: skip
        return cls([], sides[0], sides[1], np.zeros(1, dtype=bool))

    @classmethod
    def of(
        cls,
        taken: list[Taken],
        own: Codes,
        other: Codes,
        used: Mask,
        partners: Partners,
        flipped: bool,
        note: str = "",
        farthest: float = np.inf,
    ) -> Search:
        """Put a search's own terms (rows, columns) into those of the contrast."""
        sides = []
        rows, columns = [row for _, row, _ in taken], [column for _, _, column in taken]
        for codes, had, at in ((own, partners.rows, rows), (other, partners.columns, columns)):
            matched = np.zeros(len(codes), dtype=bool)
            matched[at] = True
            sides.append(Side(codes, matched, partners.stages, had))
        if flipped:
            turned = [(distance, column, row) for distance, row, column in taken]
            return cls(turned, sides[1], sides[0], used, note, farthest)
        return cls(taken, sides[0], sides[1], used, note, farthest)


def outcome(
    search: Search,
    offered: Eligible,
    faces: Images,
    contrast: Contrast,
    spec: MatchSpec,
    within: Within,
    found: References | None,
    scored: Scored | None,
) -> Matches:
    """Make Matches with their ledger and counts."""
    frame = _frame(search.taken, offered, spec, found, scored)
    proof = ledger(frame, faces, contrast, spec, within, search.farthest)
    for name, holds in prove(frame, faces, spec).items():
        proof[name] = holds
    if scored is not None and np.isfinite(scored.limit):
        proof["caliper score"] = (frame["score_a"] - frame["score_b"]).abs().to_numpy() <= scored.limit
    for name, whole in search.proof.items():
        proof[name] = whole
    over = estimand(frame, faces, contrast)
    notes = (_shortfall(frame, spec), unwanted(over, spec), scored.note if scored else "", search.note)
    return Matches(
        frame,
        spec=spec,
        ledger=proof,
        dropped=_dropped(search, offered, contrast, spec),
        offered=offered.offered,
        note=". ".join(part for part in notes if part),
        estimand=over,
    )


def _frame(
    taken: list[Taken], offered: Eligible, spec: MatchSpec, found: References | None, scored: Scored | None
) -> pd.DataFrame:
    columns: dict[str, object] = {
        "pair": [f"p{rank:05d}" for rank in range(1, len(taken) + 1)],
        "a": [offered.focal[row] for _, row, _ in taken],
        "b": [offered.reference[column] for _, _, column in taken],
        "distance": np.array([distance for distance, _, _ in taken], dtype=np.float64),
    }
    frame = pd.DataFrame(columns).astype({"pair": "str", "a": "str", "b": "str"})
    if spec.ratio > 1:
        frame["set"] = frame["a"]
    if scored is not None:
        for side in ("a", "b"):
            frame[f"score_{side}"] = scored.scores.loc[frame[side]].to_numpy(dtype=np.float64)
    if found is not None:
        chosen = [found.choose(a, b) for a, b in zip(frame["a"], frame["b"], strict=True)]
        for position, name in enumerate(("ref_a", "ref_b", "difficulty_a", "difficulty_b")):
            kind = "str" if name.startswith("ref") else "float64"
            frame[name] = pd.Series([entry[position] for entry in chosen if entry], dtype=kind, index=frame.index)
    return frame


def _dropped(search: Search, offered: Eligible, contrast: Contrast, spec: MatchSpec) -> pd.DataFrame:
    rows = list(offered.gone)
    full = spec.max_pairs is not None and len(search.taken) >= spec.max_pairs
    left = "partners used up" if spec.difficulty_ratio is None else "partners used up or not equally difficult"
    left = "not in the balanced sample" if spec.method == "cardinality" else left
    for name, side in ((str(contrast.focal), search.focal), (str(contrast.reference), search.reference)):
        counted = reasons(side, search.used, "beyond max_pairs" if full else left)
        rows += [(name, reason, count) for reason, count in sorted(counted.items()) if count]
    return pd.DataFrame(rows, columns=["side", "reason", "images"])


def reasons(side: Side, used: Mask, left: str) -> dict[str, int]:
    """Count why units were left out: a used identity first, then the first rule that left no partner."""
    out = np.flatnonzero(~side.matched)
    again = spent(used, side.codes[out])
    open_ = ~again
    counts = {"identity already matched": int(again.sum())}
    for stage, had in zip(side.stages, side.partners[:, out], strict=True):
        counts[f"no partner keeps: {stage}"] = int((open_ & ~had).sum())
        open_ &= had
    return {**counts, left: int(open_.sum())}


def _shortfall(frame: pd.DataFrame, spec: MatchSpec) -> str:
    """Report first what was requested and is not possible."""
    if len(frame) == 0:
        return "No pair satisfies all constraints"
    if spec.max_pairs is not None and len(frame) < spec.max_pairs:
        return f"Only {len(frame)} of the {spec.max_pairs} requested pairs exist"
    if spec.ratio > 1 and spec.max_pairs is None:
        short = int((frame.groupby("set").size() < spec.ratio).sum())
        return f"{short} of {frame['set'].nunique()} sets have fewer than {spec.ratio} references" if short else ""
    return ""
