"""Precision, recall, density and coverage are those of their definitions, with intervals by identity."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from benchmarks.checks.manifold_gaps import held

from likewise.analysis.images.manifold import STATS, manifold_estimates, manifold_scores
from likewise.errors import VectorError
from likewise.tables import Contrast, Images, Vectors


def by_definition(real, fake, k):
    """Written out with loops, image by image."""

    def radius(x, i):
        others = sorted(np.linalg.norm(x[i] - x[j]) for j in range(len(x)) if j != i)
        return others[k - 1]

    of_real = [radius(real, i) for i in range(len(real))]
    of_fake = [radius(fake, i) for i in range(len(fake))]
    inside = np.array([[np.linalg.norm(r - f) <= of_real[i] for f in fake] for i, r in enumerate(real)])
    reached = np.array([[np.linalg.norm(r - f) <= of_fake[j] for j, f in enumerate(fake)] for r in real])
    return {
        "precision": inside.any(axis=0),
        "recall": reached.any(axis=1),
        "density": inside.sum(axis=0) / k,
        "coverage": inside.any(axis=1),
    }


@pytest.mark.parametrize("k", [1, 3, 5])
def test_the_scores_are_those_of_the_definitions(k):
    rng = np.random.default_rng(k)
    real, fake = rng.normal(size=(40, 6)), rng.normal(0.5, 0.7, size=(30, 6))
    found, expected = manifold_scores(real, fake, k=k), by_definition(real, fake, k)
    for stat in STATS:
        np.testing.assert_allclose(getattr(found, stat), expected[stat], err_msg=stat)


def test_chunks_change_nothing(monkeypatch):
    rng = np.random.default_rng(1)
    real, fake = rng.normal(size=(50, 4)), rng.normal(size=(33, 4))
    whole = manifold_scores(real, fake)
    monkeypatch.setattr("likewise.analysis.images.manifold._CHUNK", 7)
    for stat in STATS:
        np.testing.assert_array_equal(getattr(manifold_scores(real, fake), stat), getattr(whole, stat))


def test_variety_and_realism_are_distinguished():
    rng = np.random.default_rng(2)
    real = rng.normal(size=(300, 4))
    same, narrow, far = rng.normal(size=(300, 4)), 0.2 * rng.normal(size=(300, 4)), rng.normal(size=(300, 4)) + 9
    means = {name: manifold_scores(real, x) for name, x in (("same", same), ("narrow", narrow), ("far", far))}
    assert means["narrow"].precision.mean() > means["same"].precision.mean() - 0.05
    assert means["narrow"].recall.mean() < 0.3 < means["same"].recall.mean()
    assert means["narrow"].coverage.mean() < means["same"].coverage.mean() - 0.2
    assert means["far"].precision.mean() == means["far"].coverage.mean() == 0
    assert means["same"].density.mean() == pytest.approx(1, abs=0.15)


def table(seed: int = 0, people: int = 30) -> tuple[Vectors, Images]:
    """Women's generated images are less varied than men's; two images an identity."""
    rng = np.random.default_rng(seed)
    rows, values = [], []
    for gender, spread in (("female", 0.1), ("male", 1.0)):
        for source in ("real", "drawn"):
            for person in range(people):
                middle = rng.normal(size=3) * (spread if source == "drawn" else 1)
                for number in range(2):
                    key = f"{gender}-{source}-{person}-{number}"
                    rows.append((key, f"{gender}-{source}-{person}", gender, source))
                    values.append(middle + 0.1 * rng.normal(size=3))
    frame = pd.DataFrame(rows, columns=["image", "identity", "self_gender", "source"])
    return Vectors(list(frame["image"]), np.array(values, np.float32), source="toy"), Images(frame)


def test_estimates_by_group_with_gaps():
    features, images = table()
    contrast = Contrast("self_gender", "female", "male")
    frame = manifold_estimates(features, images, contrast, made_by="source", generated="drawn").frame
    assert set(frame["stat"]) == {"gap", *(f"manifold_{stat}" for stat in STATS)}
    assert len(frame) == 12
    assert (frame["low"] <= frame["estimate"]).all()
    assert (frame["estimate"] <= frame["high"]).all()
    shares = frame[frame["stat"].isin(["manifold_precision", "manifold_recall", "manifold_coverage"])]
    assert shares["high"].max() <= 1
    assert shares["low"].min() >= 0
    gap = frame[(frame["stat"] == "gap") & frame["quantity"].str.endswith("coverage")].iloc[0]
    assert gap["high"] < 0  # the less varied group is covered less
    assert (frame["clusters"] == 30).all()


def width_of_density(features: Vectors, images: Images) -> float:
    contrast = Contrast("self_gender", "female", "male")
    frame = manifold_estimates(features, images, contrast, made_by="source", generated="drawn").frame
    return float((frame["high"] - frame["low"])[frame["stat"] == "manifold_density"].mean())


def test_clusters_widen_the_intervals():
    clustered, apart = 0.0, 0.0
    for seed in range(8):
        features, images = table(seed, people=40)
        clustered += width_of_density(features, images)
        apart += width_of_density(features, Images(images.frame.assign(identity=images.frame["image"])))
    assert clustered > 1.15 * apart


def test_two_samples_of_the_same_images_do_not_differ():
    assert min(held(60, 40, 8).values()) >= 0.93  # 79 % for density if the balls are taken as given


def test_too_few_identities_have_no_interval():
    features, images = table(people=2)
    contrast = Contrast("self_gender", "female", "male")
    frame = manifold_estimates(features, images, contrast, made_by="source", generated="drawn", k=2).frame
    assert frame["low"].isna().all() and frame["estimate"].notna().all()


def test_what_cannot_be_scored_says_why():
    with pytest.raises(VectorError, match="k is 5"):
        manifold_scores(np.zeros((5, 2)), np.zeros((9, 2)))
    with pytest.raises(VectorError, match="shapes"):
        manifold_scores(np.zeros((9, 2)), np.zeros((9, 3)))
