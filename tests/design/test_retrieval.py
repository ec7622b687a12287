from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import likewise as lw
from invariants import check_estimates
from likewise.design.retrieval import Limited, retrieval
from likewise.errors import SpecError


def made(people: int = 40, each: int = 3, seed: int = 0) -> tuple[lw.Faces, lw.Vectors, lw.Vectors]:
    rng = np.random.default_rng(seed)
    who = np.repeat(np.arange(people), each)
    n = len(who)
    yaw = rng.uniform(-1, 1, size=n)
    frame = pd.DataFrame({"image": [f"i{k}" for k in range(n)], "identity": who, "yaw": yaw})
    frame["perceived_gender"] = np.where(who % 2, "female", "male")
    pose = lw.Vectors(frame["image"], np.c_[yaw, 0.1 * rng.normal(size=n)], source="pose")
    person = rng.normal(size=(people, 6))[who] + 0.05 * rng.normal(size=(n, 6))
    return lw.Faces(frame), pose, lw.Vectors(frame["image"], person, source="person")


def test_neighbours_are_the_nearest_and_errors_their_means():
    faces, pose, person = made()
    found = retrieval(faces, {"pose": pose, "person": person}, covariates=["yaw", "perceived_gender"], neighbours=2)
    check_estimates(found)
    values = pose.take(faces.images).astype(float)
    apart = np.sqrt(((values[:, None] - values[None]) ** 2).sum(axis=2))
    np.fill_diagonal(apart, np.inf)
    nearest = np.argsort(apart, axis=1)[:, :2]
    yaw = faces.attribute("yaw").to_numpy()
    wanted = np.abs(yaw[nearest] - yaw[:, None]).mean()
    assert found.where(quantity="yaw", sample="pose").frame["estimate"].item() == pytest.approx(wanted)
    told = found.where(stat="identity_error").frame.set_index("sample")["estimate"]
    assert told["person"] == 0
    assert told["pose"] > 0.8


def test_a_limit_leaves_only_those_within():
    faces, pose, person = made()
    found = retrieval(faces, {"both": Limited(pose, person, 0.4)}, covariates=["perceived_gender"], neighbours=5)
    assert found.where(stat="neighbour_disagreement").frame["estimate"].item() == 0


def test_intervals_cover_what_all_queries_would_say():
    """The gallery is given; each seed draws its own queries. Truth: every image asked."""
    faces, pose, _ = made(people=400)
    options = {"covariates": ["yaw", "perceived_gender"], "neighbours": 3}
    truth = retrieval(faces, {"pose": pose}, queries=len(faces), **options).frame.set_index("quantity")["estimate"]
    covered = dict.fromkeys(["identity", "yaw", "perceived_gender"], 0)
    for seed in range(200):
        found = retrieval(faces, {"pose": pose}, queries=120, seed=seed, **options).frame.set_index("quantity")
        for name in covered:
            covered[name] += found.loc[name, "low"] <= truth[name] <= found.loc[name, "high"]
    assert all(0.91 <= count / 200 <= 1.0 for count in covered.values()), covered


def test_nonsense_is_refused(world):
    with pytest.raises(SpecError, match="Did you mean"):
        retrieval(world.faces, {"w": world.vectors}, covariates=["smilin"])
    with pytest.raises(SpecError, match="compares distances"):
        retrieval(world.faces, {}, covariates=["smiling"])
    with pytest.raises(SpecError, match="more images than neighbours"):
        retrieval(world.faces, {"w": world.vectors}, covariates=["smiling"], neighbours=10_000)
