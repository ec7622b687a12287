from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.spatial import cKDTree

import likewise as lw
from invariants import check_estimates
from likewise.design.balance.covariate_summary import Sample, skewed_interval
from likewise.design.retrieval import Limited, retrieval
from likewise.errors import SpecError


def made(people: int = 40, each: int = 3, seed: int = 0) -> tuple[lw.Images, lw.Vectors, lw.Vectors]:
    rng = np.random.default_rng(seed)
    who = np.repeat(np.arange(people), each)
    n = len(who)
    yaw = rng.uniform(-1, 1, size=n)
    frame = pd.DataFrame({"image": [f"i{k}" for k in range(n)], "identity": who, "yaw": yaw})
    frame["perceived_gender"] = np.where(who % 2, "female", "male")
    pose = lw.Vectors(frame["image"], np.c_[yaw, 0.1 * rng.normal(size=n)], source="pose")
    person = rng.normal(size=(people, 6))[who] + 0.05 * rng.normal(size=(n, 6))
    return lw.Images(frame), pose, lw.Vectors(frame["image"], person, source="person")


def test_neighbors_are_the_nearest_and_errors_their_means():
    faces, pose, person = made()
    found = retrieval(faces, {"pose": pose, "person": person}, covariates=["yaw", "perceived_gender"], neighbors=2)
    check_estimates(found)
    values = pose.take(faces.keys).astype(float)
    apart = np.sqrt(((values[:, None] - values[None]) ** 2).sum(axis=2))
    np.fill_diagonal(apart, np.inf)
    nearest = np.argsort(apart, axis=1)[:, :2]
    yaw = faces.attribute("yaw").to_numpy()
    wanted = np.abs(yaw[nearest] - yaw[:, None]).mean()
    assert found.where(quantity="yaw", sample="pose").frame["estimate"].item() == pytest.approx(wanted)
    reported = found.where(stat="identity_error").frame.set_index("sample")["estimate"]
    assert reported["person"] == 0
    assert reported["pose"] > 0.8


def test_a_limit_leaves_only_those_within():
    faces, pose, person = made()
    found = retrieval(faces, {"both": Limited(pose, person, 0.4)}, covariates=["perceived_gender"], neighbors=5)
    assert found.where(stat="neighbor_disagreement").frame["estimate"].item() == 0


def test_intervals_cover_what_all_queries_would_say():
    """The gallery is given; each seed draws its own queries. Truth: every image asked."""
    faces, pose, _ = made(people=400)
    options = {"covariates": ["yaw", "perceived_gender"], "neighbors": 3}
    truth = retrieval(faces, {"pose": pose}, queries=len(faces), **options).frame.set_index("quantity")["estimate"]
    covered = dict.fromkeys(["identity", "yaw", "perceived_gender"], 0)
    for seed in range(200):
        found = retrieval(faces, {"pose": pose}, queries=120, seed=seed, **options).frame.set_index("quantity")
        for name in covered:
            covered[name] += found.loc[name, "low"] <= truth[name] <= found.loc[name, "high"]
    assert all(0.91 <= count / 200 <= 1.0 for count in covered.values()), covered


def tail(seed: int, people: int = 400, each: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """The errors of the three nearest when the covariate is normal: few images at the edge have large ones."""
    rng = np.random.default_rng(seed)
    yaw = rng.normal(size=people * each)
    points = np.c_[yaw, 0.1 * rng.normal(size=len(yaw))]
    nearest = cKDTree(points).query(points, 4)[1][:, 1:]
    return np.abs(yaw[nearest] - yaw[:, None]).mean(axis=1), np.repeat(np.arange(people), each)


@pytest.mark.parametrize(("queries", "least"), [(120, 0.88), (400, 0.93)])
def test_intervals_allow_for_the_long_tail_of_errors(queries: int, least: float):
    """Hall's interval covers more than Student's t, at the level with many queries, and says when there are few."""
    hits = {"t": 0, "hall": 0, "said": 0}
    for world in range(6):
        errors, people = tail(world)
        for draw in range(150):
            at = np.random.default_rng([world, draw]).choice(len(errors), queries, replace=False)
            sample = Sample(errors[at], people[at], np.ones(queries))
            for name, (low, high, method) in (("t", sample.interval(0.95)), ("hall", skewed_interval(sample, 0.95))):
                hits[name] += low <= errors.mean() <= high
                hits["said"] += "too few" in method
    assert hits["hall"] / 900 >= least
    assert hits["hall"] > hits["t"]
    assert hits["said"] > 450


def test_without_skewness_the_interval_is_students():
    sample = Sample(np.tile([-1.0, 1.0, 2.0, -2.0], 20), np.arange(80), np.ones(80))
    assert skewed_interval(sample, 0.95) == sample.interval(0.95)


def test_nonsense_is_refused(world):
    with pytest.raises(SpecError, match="Did you mean"):
        retrieval(world.faces, {"w": world.vectors}, covariates=["smilin"])
    with pytest.raises(SpecError, match="No distances"):
        retrieval(world.faces, {}, covariates=["smiling"])
    with pytest.raises(SpecError, match="do not exist"):
        retrieval(world.faces, {"w": world.vectors}, covariates=["smiling"], neighbors=10_000)
