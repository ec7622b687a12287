"""One checker a table, independent of the constructors: run it on every result."""

from __future__ import annotations

import json

import numpy as np

import likewise as lw
from likewise.tables import STATS
from likewise.tables.table import FrozenRecord


def check_table(table: FrozenRecord) -> None:
    """The invariants of every table."""
    lines = len(str(table).splitlines())
    assert lines <= 23 if isinstance(table, lw.Estimates) else 2 <= lines <= 6
    assert "<table" in table._repr_html_()
    before = table.frame
    changed = table.frame
    changed.iloc[:, 0] = None
    assert table.frame.equals(before), "frame is a copy"


def check_images(faces: lw.Images) -> None:
    check_table(faces)
    frame = faces.frame
    assert frame["image"].is_unique
    assert frame["identity"].notna().all()
    if "level" in frame:
        assert frame.loc[frame["level"].notna(), "parent"].notna().all()


def check_vectors(vectors: lw.Vectors) -> None:
    check_table(vectors)
    assert len(vectors.keys) == len(vectors.values) == len(set(vectors.keys))
    assert vectors.values.dtype == np.float32
    assert np.isfinite(vectors.values).all()
    assert not vectors.values.flags.writeable


def check_pairs(
    pairs: lw.Matches, faces: lw.Images, contrast: lw.Contrast, vectors: lw.Vectors | None = None, within=()
) -> None:
    """Every constraint of the spec holds in every row, and every image is counted: recomputed row by row.

    With vectors the distances are recomputed; ``within`` are the secondary distances of the matching.
    """
    check_table(pairs)
    frame, spec = pairs.frame, pairs.spec
    assert spec is not None
    table, side = faces.frame.set_index("image"), contrast.side(faces)
    for row in frame.itertuples():
        a, b = table.loc[row.a], table.loc[row.b]
        assert (side[row.a], side[row.b]) == (1, -1)
        for name in spec.exact:
            assert a[name] == b[name]
        for name, width in spec.caliper:
            if isinstance(width, str) and name in ("distance", "score"):
                continue  # their unit is the standard deviation over all eligible images; the ledger proves it
            apart = {"distance": row.distance, "score": row.distance}.get(name)
            apart = abs(a[name] - b[name]) if apart is None else apart
            limit = width if isinstance(width, float) else float(width[:-2]) * _deviation(faces, side, name)
            assert apart <= limit
        for second, limit in within:
            assert measured(second, row.a, row.b) < limit
        if vectors is not None and spec.distance == "euclidean" and not spec.scored:
            assert row.distance == measured(vectors, row.a, row.b)
        if spec.references:
            _check_references(row, table, spec)
    _check_once(frame, faces, spec)
    if spec.order in ("closest", "optimal") and spec.ratio == 1:
        assert frame["distance"].is_monotonic_increasing
    for sign, column in ((1, "a"), (-1, "b")):
        name = str(contrast.focal if sign == 1 else contrast.reference)
        gone = pairs.dropped.loc[pairs.dropped["side"] == name, "images"].sum()
        assert frame[column].nunique() + gone == pairs.offered[name] == (side == sign).sum()
    assert (pairs.dropped["images"] > 0).all()
    assert pairs.ledger.drop(columns="pair").all(axis=None)
    assert lw.MatchSpec.from_dict(json.loads(json.dumps(spec.to_dict()))) == spec
    assert spec.max_pairs is None or len(pairs) <= spec.max_pairs


def measured(vectors: lw.Vectors, a: str, b: str) -> float:
    """The distance of two images, in float64."""
    return float(np.sqrt(((vectors.take([b]).astype(float) - vectors.take([a]).astype(float)) ** 2).sum()))


def _deviation(faces: lw.Images, side, name: str) -> float:
    return float(np.sqrt(faces.attribute(name).groupby(side.to_numpy()).var(ddof=1).loc[[1, -1]].mean()))


def _check_once(frame, faces: lw.Images, spec: lw.MatchSpec) -> None:
    """Every image is used once, except a focal image within its own set."""
    assert (frame.groupby("a").size() <= spec.ratio).all()
    focal, reference = frame["a"].drop_duplicates().tolist(), frame["b"].tolist()
    whose = faces.identities if "identity" in spec.antiexact else {image: image for image in faces.keys}
    seen = [whose[image] for image in focal + reference]
    assert len(seen) == len(set(seen))


def _check_references(row, table, spec: lw.MatchSpec) -> None:
    for image, reference in ((row.a, row.ref_a), (row.b, row.ref_b)):
        assert image != reference
        assert table.loc[image, "identity"] == table.loc[reference, "identity"]
        assert all(str(table.loc[reference, name]) == level for name, level in spec.reference_where)
    hard = sorted([row.difficulty_a, row.difficulty_b])
    assert hard[0] >= (spec.difficulty_at_least or 0)
    assert spec.difficulty_ratio is None or hard[1] <= spec.difficulty_ratio * hard[0]


def check_ratings(ratings: lw.Ratings) -> None:
    check_table(ratings)
    assert not ratings.frame.duplicated(["unit", "rater", "question"]).any()


def check_estimates(estimates: lw.Estimates) -> None:
    check_table(estimates)
    frame = estimates.frame
    there = frame["low"].notna()
    assert (frame.loc[there, "low"] <= frame.loc[there, "estimate"]).all()
    assert (frame.loc[there, "estimate"] <= frame.loc[there, "high"]).all()
    assert np.isfinite(frame["estimate"]).all()
    assert set(frame["stat"]) <= set(STATS)
    assert not frame.duplicated(["quantity", "stat", "sample", "group"]).any()
