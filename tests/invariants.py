"""One checker a noun, written apart from the constructors: run it on every result."""

from __future__ import annotations

import json

import numpy as np

import likewise as lw
from likewise.tables import STATS
from likewise.tables.table import Noun


def check_noun(noun: Noun) -> None:
    """What every table promises."""
    assert len(str(noun).split("\n")) == 6
    assert "<table" in noun._repr_html_()
    before = noun.frame
    changed = noun.frame
    changed.iloc[:, 0] = None
    assert noun.frame.equals(before), "frame is a copy"


def check_faces(faces: lw.Faces) -> None:
    check_noun(faces)
    frame = faces.frame
    assert frame["image"].is_unique
    assert frame["identity"].notna().all()
    if "level" in frame:
        assert frame.loc[frame["level"].notna(), "parent"].notna().all()


def check_vectors(vectors: lw.Vectors) -> None:
    check_noun(vectors)
    assert len(vectors.images) == len(vectors.values) == len(set(vectors.images))
    assert vectors.values.dtype == np.float32
    assert np.isfinite(vectors.values).all()
    assert not vectors.values.flags.writeable


def check_pairs(pairs: lw.Pairs, faces: lw.Faces, contrast: lw.Contrast) -> None:
    """Every rule of the spec holds in every row, and nobody is lost: recomputed from the tables, row by row."""
    check_noun(pairs)
    frame, spec = pairs.frame, pairs.spec
    assert spec is not None
    table = faces.frame.set_index("image")
    seen: list[str] = []
    for row in frame.itertuples():
        a, b = table.loc[row.a], table.loc[row.b]
        assert (str(a[contrast.column]), str(b[contrast.column])) == (str(contrast.focal), str(contrast.reference))
        for name in spec.exact:
            assert a[name] == b[name]
        for name, width in spec.caliper:
            apart = row.distance if name == "distance" else abs(a[name] - b[name])
            assert spec.caliper_in_sd or apart <= width
        seen += [a["identity"], b["identity"]] if "identity" in spec.antiexact else [row.a, row.b]
    assert len(seen) == len(set(seen))
    assert frame["distance"].is_monotonic_increasing
    for side, offered in pairs.offered.items():
        gone = pairs.dropped.loc[pairs.dropped["side"] == side, "images"].sum()
        assert len(pairs) + gone == offered
    assert pairs.ledger.drop(columns="pair").all(axis=None)
    assert lw.MatchSpec.from_dict(json.loads(json.dumps(spec.to_dict()))) == spec
    assert spec.max_pairs is None or len(pairs) <= spec.max_pairs


def check_ratings(ratings: lw.Ratings) -> None:
    check_noun(ratings)
    assert not ratings.frame.duplicated(["unit", "rater", "question"]).any()


def check_estimates(estimates: lw.Estimates) -> None:
    check_noun(estimates)
    frame = estimates.frame
    there = frame["low"].notna()
    assert (frame.loc[there, "low"] <= frame.loc[there, "estimate"]).all()
    assert (frame.loc[there, "estimate"] <= frame.loc[there, "high"]).all()
    assert np.isfinite(frame["estimate"]).all()
    assert set(frame["stat"]) <= set(STATS)
    assert not frame.duplicated(["quantity", "stat", "sample", "group"]).any()
