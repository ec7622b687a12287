from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

import likewise as lw
from invariants import check_pairs
from likewise.design.search import scan
from likewise.design.search.metric import Euclid
from likewise.design.search.points import Points, points
from likewise.errors import SpecError, TableError, VectorError
from likewise.tables.vectors import write_stream
from matching_problems import CONTRAST, Problem, problems

DATA = Path(os.environ.get("LIKEWISE_DATA", Path(__file__).parents[2] / ".." / "shared" / "data"))


def small(sides: str, numbers: list[float], identity: list[object] | None = None) -> tuple[lw.Images, lw.Vectors]:
    names = {"f": "female", "m": "male"}
    frame = pd.DataFrame({"image": [f"i{k}" for k in range(len(sides))], "perceived_gender": [names[s] for s in sides]})
    faces = lw.Images(frame.assign(identity=identity or list(range(len(sides)))))
    return faces, lw.Vectors(faces.keys, np.array(numbers)[:, None], source="line")


def test_a_plain_matching_keeps_every_promise(world, contrast):
    for spec in (
        lw.MatchSpec(),
        lw.MatchSpec(exact=["smiling"], caliper={"perceived_age": 5, "distance": 3}, max_pairs=9),
        lw.MatchSpec(antiexact=()),
        lw.MatchSpec(method="optimal", caliper={"light": 0.5}),
        lw.MatchSpec(ratio=2, caliper={"perceived_age": "0.5sd", "light": 0.7}),
        lw.MatchSpec(order="random", seed=3, caliper={"distance": "1.2sd"}),
    ):
        check_pairs(lw.match(world.faces, world.vectors, contrast, spec), world.faces, contrast, world.vectors)


def test_a_caliper_is_a_number_or_so_many_standard_deviations(world, contrast):
    """One of each in one spec: the column's in its own unit, the distance's in deviations within the groups."""
    side = contrast.side(world.faces)
    groups = [world.vectors.take(list(side.index[side == sign])).astype(float) for sign in (1, -1)]
    unit = np.sqrt(np.mean([group.reshape(len(group), -1).var(axis=0, ddof=1).sum() for group in groups]))
    mixed = lw.MatchSpec(caliper={"light": 0.7, "perceived_age": "1sd", "distance": "1.5sd"})
    ages = world.faces.attribute("perceived_age").groupby(side.to_numpy()).var(ddof=1).loc[[1, -1]].mean() ** 0.5
    plain = lw.MatchSpec(caliper={"light": 0.7, "perceived_age": ages, "distance": 1.5 * unit})
    found = lw.match(world.faces, world.vectors, contrast, mixed)
    assert 0 < len(found) < len(lw.match(world.faces, world.vectors, contrast))
    assert found.frame.equals(lw.match(world.faces, world.vectors, contrast, plain).frame)
    assert mixed.caliper == (("distance", "1.5sd"), ("light", 0.7), ("perceived_age", "1.0sd"))
    assert lw.MatchSpec(caliper={"light": " 0.50 sd"}) == lw.MatchSpec(caliper={"light": "0.5sd"})
    assert lw.MatchSpec.from_dict(json.loads(json.dumps(mixed.to_dict()))) == mixed


def test_deviations_need_two_on_each_side():
    faces, vectors = small("fmm", [0, 1, 2])
    for name, error in (("distance", VectorError), ("light", TableError)):
        lit = faces.with_attribute("light", {"i0": 1.0, "i1": 2.0, "i2": 3.0})
        with pytest.raises(error, match="in sd needs two"):
            lw.match(lit, vectors, CONTRAST, lw.MatchSpec(caliper={name: "1sd"}))


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 300), st.floats(-3, 3), st.sampled_from([np.float32, np.float64]))
def test_bounds_hold_whatever_the_numbers(seed: int, width: int, shift: float, dtype):
    """Below and above the true distance, in both precisions, also far from the origin."""
    rng = np.random.default_rng(seed)
    values = (rng.normal(size=(30, width)) + 10**shift).astype(np.float32)
    left, right = (Points(values, rows) for rows in (np.arange(10), np.arange(10, 30)))
    metric = Euclid(left, right, keep=int(rng.integers(0, 2)) * 10**9)
    rows, columns = np.arange(10), np.arange(20)
    low = metric.lower(rows, columns, dtype)
    true = cdist(values[:10].astype(float), values[10:].astype(float))
    assert (low <= true).all()
    assert (metric.upper(rows, columns, low) >= true).all()


def test_an_exact_distance_does_not_depend_on_who_is_asked_with_it():
    values = np.random.default_rng(0).normal(size=(60, 9216)).astype(np.float32)
    metric = Euclid(Points(values, np.arange(5)), Points(values, np.arange(5, 60)))
    whole = metric.exact(3, np.arange(55))
    assert [metric.exact(3, np.array([column]))[0] for column in range(55)] == whole.tolist()


def test_mapped_vectors_give_the_same_pairs(world, contrast, tmp_path):
    write_stream(tmp_path, world.vectors.keys, [world.vectors.values], source="w")
    mapped = lw.Vectors.read(tmp_path)
    assert mapped.mapped
    assert lw.match(world.faces, mapped, contrast) == lw.match(world.faces, world.vectors, contrast)


@settings(max_examples=40, deadline=None)
@given(problems())
def test_every_distance_is_what_its_name_says(problem: Problem):
    side = CONTRAST.side(problem.faces)
    there = [image for image in problem.faces.keys if image in problem.vectors]
    focal, reference = (sorted(image for image in there if side[image] == sign) for sign in (1, -1))
    x, y = (problem.vectors.take(images).astype(float) for images in (focal, reference))

    def of(spec: lw.MatchSpec) -> np.ndarray:
        metric = Euclid(*points(problem.vectors, focal, reference, spec))
        return np.array([metric.exact(row, np.arange(len(reference))) for row in range(len(focal))])

    weights = np.repeat([4.0, 0.25], 3)
    flat = x.reshape(len(x), -1), y.reshape(len(y), -1)
    assert np.allclose(of(lw.MatchSpec(row_weights=[4, 0.25])), cdist(*(part * np.sqrt(weights) for part in flat)))
    assert np.allclose(of(lw.MatchSpec(rows="mean")), cdist(x.mean(axis=1), y.mean(axis=1)))


def test_mahalanobis_is_that_of_the_spread_within_the_groups(world, contrast):
    spec = lw.MatchSpec(distance="mahalanobis", caliper={"distance": 4.0})
    found = lw.match(world.faces, world.vectors, contrast, spec).frame
    side = contrast.side(world.faces)
    groups = [world.vectors.take(list(side.index[side == sign])).astype(float) for sign in (1, -1)]
    pooled = sum(np.cov(group.T) * (len(group) - 1) for group in groups) / (sum(map(len, groups)) - 2)
    a, b = (world.vectors.take(found[name].tolist()).astype(float) for name in ("a", "b"))
    wanted = np.sqrt(np.einsum("ij,jk,ik->i", a - b, np.linalg.pinv(pooled, hermitian=True, rcond=1e-10), a - b))
    assert np.allclose(found["distance"], wanted, rtol=1e-4)


def test_given_distances_come_as_a_frame_or_a_function(world, contrast):
    side = contrast.side(world.faces)
    focal, reference = (sorted(side.index[side == sign]) for sign in (1, -1))
    flat = [world.vectors.take(images).astype(float) for images in (focal, reference)]
    frame = pd.DataFrame(cdist(*flat), index=focal, columns=reference)
    spec = lw.MatchSpec(distance="precomputed")
    by_frame = lw.match(world.faces, None, contrast, spec, distances=frame.sample(frac=1, random_state=1))
    by_function = lw.match(world.faces, None, contrast, spec, distances=lambda a, b: frame.loc[a, b])
    plain = lw.match(world.faces, world.vectors, contrast)
    assert by_frame == by_function
    assert by_frame.frame["a"].tolist() == plain.frame["a"].tolist()
    frame.iloc[:, 1:] = np.nan
    assert len(lw.match(world.faces, None, contrast, spec, distances=frame)) == 1
    with pytest.raises(SpecError, match="is negative"):
        lw.match(world.faces, None, contrast, spec, distances=-frame.fillna(1))
    with pytest.raises(SpecError, match="a row for each focal"):
        lw.match(world.faces, None, contrast, spec, distances=frame.iloc[1:])


def test_a_ratio_serves_everybody_first_and_then_everybody_again():
    faces, vectors = small("ffmmmm", [0, 10, 1, 2, 11, 15])
    found = lw.match(faces, vectors, CONTRAST, lw.MatchSpec(ratio=2)).frame
    assert list(zip(found["a"], found["b"], strict=True)) == [("i0", "i2"), ("i1", "i4"), ("i0", "i3"), ("i1", "i5")]
    assert found["set"].tolist() == found["a"].tolist()
    short = lw.match(faces, vectors, CONTRAST, lw.MatchSpec(ratio=3))
    assert "2 of 2 sets have fewer than 3" in str(short).splitlines()[0]


def test_the_second_distance_is_a_hard_rule_and_is_proved():
    faces, vectors = small("ffmm", [0, 5, 0.1, 5.1])
    second = lw.Vectors(faces.keys, [[0.0], [0.0], [0.6], [0.5]], source="recognizer")
    found = lw.match(faces, vectors, CONTRAST, within=[(second, 0.6)])
    assert found.frame[["a", "b"]].to_numpy().tolist() == [["i1", "i3"]]
    assert "recognizer < 0.6" in found.ledger.columns
    assert found.dropped.to_dict("records") == [
        {"side": "female", "reason": "partners used up", "images": 1},
        {"side": "male", "reason": "no partner keeps: recognizer < 0.6", "images": 1},
    ]


def test_a_shortfall_is_said_first_and_dropped_says_why():
    faces, vectors = small("ffmm", [0, 5, 0.1, 9])
    found = lw.match(faces, vectors, CONTRAST, lw.MatchSpec(caliper={"distance": 1}, max_pairs=2))
    assert str(found).splitlines()[0].endswith("Only 1 of the 2 requested pairs exist")
    assert set(found.dropped["reason"]) == {"no partner keeps: caliper distance"}
    nobody = lw.match(faces, vectors, CONTRAST, lw.MatchSpec(caliper={"distance": 0.01}))
    assert (len(nobody), nobody.note) == (0, "No pair satisfies all constraints")


def test_references_that_nobody_has_give_an_explained_empty_result():
    faces, vectors = small("ffmm", [0, 5, 0.1, 9])
    found = lw.match(faces, vectors, CONTRAST, lw.MatchSpec(references=True), difficulty=vectors)
    assert len(found) == 0
    assert found.dropped["reason"].tolist() == ["no valid reference", "no valid reference"]


def test_difficulty_by_pairs_is_difficulty_by_vectors(world, contrast):
    spec = lw.MatchSpec(preset="singh2021-distance", reference_where={"eyeglasses": 0}, difficulty_ratio=1.5)
    by_vectors = lw.match(world.faces, world.vectors, contrast, spec, difficulty=world.vectors)
    rows = [
        (f"{a}|{b}", a, b, float(np.sqrt((np.subtract(*world.vectors.take([a, b]).astype(float)) ** 2).sum())))
        for _, group in world.faces.frame.groupby("identity")["image"]
        for a in group for b in group if a < b
    ]  # fmt: skip
    pairs = lw.Trials(pd.DataFrame(rows, columns=["trial", "a", "b", "distance"]).assign(same=True))
    assert by_vectors == lw.match(world.faces, world.vectors, contrast, spec, difficulty=pairs)
    assert {"reference of a", "reference of b", "equally difficult"} <= set(by_vectors.ledger.columns)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"method": "nearst"}, "Did you mean 'nearest'"),
        ({"distance": "cosine"}, "distance = 'cosine' is unknown"),
        ({"order": "largest"}, "order = 'largest' needs distance = 'propensity'"),
        ({"preset": "singh2021-propensity", "order": "key"}, "order = 'key' contradicts the preset"),
        ({"row_weights": [1, 2], "rows": "mean"}, "row_weights has no effect"),
        ({"difficulty_ratio": 1.1}, "need references"),
        ({"ratio": 2, "method": "optimal"}, "needs method = 'nearest'"),
        ({"caliper": {"score": 0.1}}, "needs distance = 'propensity'"),
        ({"distance": "propensity", "caliper": {"distance": 1}}, "the caliper is on the 'score'"),
        ({"folds": 1, "distance": "propensity"}, "at least 2 folds"),
        ({"max_smd": 0.1}, "needs method = 'cardinality'"),
        ({"method": "cardinality", "caliper": {"light": 1}}, "cannot keep a caliper"),
        ({"discard": "both"}, "needs distance = 'propensity'"),
        ({"estimand": "ATX"}, "estimand = 'ATX' is unknown"),
        ({"seed": 3}, "random order"),
        ({"caliper": {"light": -1}}, "negative or infinite"),
        ({"caliper": {"light": "-1sd"}}, "negative or infinite"),
        ({"caliper": {"light": "1 meter"}}, "such as '0.2sd'"),
        ({"caliper": {"light": True}}, "such as '0.2sd'"),
        ({"caliper": {"distance": "1sd"}, "distance": "precomputed"}, "a plain number"),
    ],
)
def test_unknown_or_meaningless_options_fail(options, says):
    with pytest.raises(SpecError, match=says):
        lw.MatchSpec(**options)


def test_data_that_does_not_fit_the_spec_is_refused(world, contrast):
    for spec, beside, says in (
        (lw.MatchSpec(), {"difficulty": world.vectors}, "without references = true"),
        (lw.MatchSpec(references=True), {}, "needs difficulty="),
        (lw.MatchSpec(distance="precomputed"), {}, "distances="),
        (lw.MatchSpec(), {"scores": {}}, "scores= has no effect"),
        (
            lw.MatchSpec(distance="propensity", score_on=["light"]),
            {"scores": {}},
            "score_on has no effect",
        ),
        (lw.MatchSpec(distance="propensity", folds=3), {"scores": {}}, "folds has no effect"),
        (lw.MatchSpec(distance="propensity", seed=3), {"scores": {}}, "seed has no effect"),
        (lw.MatchSpec(), {"within": [(world.vectors, 0.0)]}, "above 0"),
        (lw.MatchSpec(distance="mahalanobis", row_weights=()), {}, None),
    ):
        if says:
            with pytest.raises(SpecError, match=says):
                lw.match(world.faces, world.vectors, contrast, spec, **beside)
    with pytest.raises(VectorError, match="nothing to match on"):
        lw.match(world.faces, None, contrast)
    with pytest.raises(SpecError, match="too few for a Mahalanobis"):
        wide = lw.Vectors(world.faces.keys, np.random.default_rng(0).normal(size=(len(world.faces), 500)), source="w")
        lw.match(world.faces, wide, contrast, lw.MatchSpec(distance="mahalanobis"))


def test_people_on_both_sides_are_named_and_treated_as_the_spec_says():
    faces, vectors = small("ffmmm", [0, 5, 0.1, 5.1, 7], identity=["x", "x", "x", "y", "z"])
    with pytest.raises(TableError, match="1 identities are on both sides of the contrast: 'x'"):
        lw.match(faces, vectors, CONTRAST)
    kept = lw.match(faces, vectors, CONTRAST, lw.MatchSpec(both_sides="majority"))
    assert kept.frame[["a", "b"]].to_numpy().tolist() == [["i1", "i3"]]
    with pytest.raises(VectorError, match="No unit of 'female' can be matched"):
        lw.match(faces, vectors, CONTRAST, lw.MatchSpec(both_sides="drop"))


def test_constant_vectors_tie_everywhere_and_ties_go_by_key():
    faces, vectors = small("fffmmm", [1, 1, 1, 1, 1, 1])
    found = lw.match(faces, vectors, CONTRAST).frame
    assert list(zip(found["a"], found["b"], strict=True)) == [("i0", "i3"), ("i1", "i4"), ("i2", "i5")]
    with pytest.raises(VectorError, match="constant"):
        lw.match(faces, vectors, CONTRAST, lw.MatchSpec(distance="mahalanobis"))


def test_few_pairs_are_listed_and_many_are_searched_with_the_same_result(world, contrast, monkeypatch):
    spec = lw.MatchSpec(exact=["smiling"], caliper={"perceived_age": 8})
    results = []
    for share in (-1.0, 1.0):
        monkeypatch.setattr(scan, "_FEW", share)
        results.append(lw.match(world.faces, world.vectors, contrast, spec, within=[(world.vectors, 4.0)]))
    assert results[0] == results[1]
    assert results[0].dropped.equals(results[1].dropped)


@pytest.mark.realdata
def test_the_published_matching_breaks_its_own_rule_and_ours_stops():
    """Of the 1,200 published pairs only the first 301 keep the recognizer rule; a matching under it ends by itself."""
    table = DATA / "celebahq" / "faces.parquet"
    if not table.is_file():
        pytest.skip("LIKEWISE_DATA has no celebahq/faces.parquet")
    published = pd.read_csv(DATA / "singh2021" / "matches_distance_recogniser_0.6.csv")
    assert (published["dist"] < 1000).sum() == 301
    real = pd.read_parquet(table)
    real["perceived_gender"] = np.where(real.groupby("identity")["Male"].transform("mean") > 0.5, "male", "female")
    faces = lw.Images(
        real[["celebahq_index", "identity", "perceived_gender"]].rename(columns={"celebahq_index": "image"})
    )
    values = np.load(DATA / "celebahq" / "dlib_embeddings.f16.npy").astype(np.float32)
    there = [image for image in faces.keys if np.isfinite(values[int(image)]).all()]
    dlib = lw.Vectors(there, values[[int(image) for image in there]], source="dlib")
    found = lw.match(faces, dlib, CONTRAST, lw.MatchSpec(max_pairs=1200), within=[(dlib, 0.6)])
    assert 0 < len(found) < 1200
    assert (found.frame["distance"] < 0.6).all()
    assert "Only" in found.note
