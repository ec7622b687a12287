from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from likewise.errors import SpecError, TableError, VectorError
from likewise.latents.directions import Directions, fit, mean_rows, summary
from likewise.tables import Images, Vectors

D = 12


@pytest.fixture(scope="module")
def cloud():
    """Latents in which smile and age are mixed: both are read off the same, unevenly spread coordinates."""
    rng = np.random.default_rng(0)
    n = 600
    rows = rng.normal(size=(n, D)) * np.linspace(3, 0.3, D)
    values = rows[:, None] + rng.normal(0, 0.05, size=(n, 4, D))
    smile = rows[:, 0] + 0.8 * rows[:, 1] + rng.normal(0, 0.3, n) > 0
    age = rows[:, 1] + rng.normal(0, 0.3, n)
    faces = Images(
        pd.DataFrame(
            {
                "image": [f"i{k}" for k in range(n)],
                "identity": [f"p{k // 2}" for k in range(n)],
                "perceived_smile": np.where(smile, "yes", "no"),
                "predicted_age": age,
                "noise": np.where(rng.random(n) < 0.5, "yes", "no"),
            }
        )
    )
    return faces, Vectors(faces.keys, values.astype(np.float32), source="test")


@pytest.fixture(scope="module")
def directions(cloud):
    return fit(*cloud, ["perceived_smile", "predicted_age", "noise"], labels="drawn")


def test_skill_is_measured_on_other_identities(directions):
    skill = dict(zip(directions.names, directions.skills, strict=True))
    assert skill["perceived_smile"].value > 0.97
    assert skill["predicted_age"].value > 0.95
    assert skill["predicted_age"].measure == "r"
    assert abs(skill["noise"].value - 0.5) < 0.08  # what cannot be read is not read
    assert skill["perceived_smile"].positive == "yes"


def test_a_label_that_only_names_people_cannot_be_read(cloud):
    """Two nearly equal images a person: folds that split a person would read even a random label."""
    _, vectors = cloud
    rng = np.random.default_rng(1)
    values = np.repeat(vectors.values[:300], 2, axis=0) + rng.normal(0, 1e-3, (600, 4, D)).astype(np.float32)
    label = np.repeat(rng.random(300) < 0.5, 2)
    frame = pd.DataFrame(
        {"image": vectors.keys, "identity": [f"p{k // 2}" for k in range(600)], "label": label.astype(int)}
    )
    found = fit(Images(frame), Vectors(vectors.keys, values, source="test"), ["label"], labels="drawn")
    assert found.skills[0].value < 0.6


def test_a_step_moves_its_own_score_and_holds_the_others(directions):
    step = directions.step("perceived_smile", hold=["predicted_age"])
    moved = directions.gradients @ step
    assert moved[:2] == pytest.approx([1, 0], abs=1e-9)
    free = directions.gradients @ directions.step("perceived_smile")
    assert free[0] == pytest.approx(1)
    assert abs(free[1]) > 0.2  # not held, age goes along


def test_no_admissible_step_is_smaller_in_the_latents_own_metric(directions):
    step = directions.step("perceived_smile", hold=["predicted_age"])
    inverse = np.linalg.inv(directions.covariance)
    held = directions.gradients[:2]
    free = np.linalg.svd(held)[2][2:]  # what changes neither score
    rng = np.random.default_rng(2)
    for _ in range(50):
        other = step + 0.2 * rng.normal(size=len(free)) @ free
        assert other @ inverse @ other >= step @ inverse @ step - 1e-9


def test_scores_have_spread_one(cloud, directions):
    assert directions.scores(cloud[1]).std(ddof=0).to_numpy() == pytest.approx(np.ones(3), rel=1e-6)


def test_directions_come_back_from_disk(directions, tmp_path):
    again = Directions.read(directions.write(tmp_path / "d.npz"))
    assert again.names == directions.names
    assert again.skills == directions.skills
    np.testing.assert_allclose(again.step("noise"), directions.step("noise"), rtol=1e-4)


def test_the_summary_says_what_goes_along(directions):
    table = summary(directions).set_index("attribute")
    assert table.loc["perceived_smile", "associated with"] == "predicted_age"
    assert table.loc["perceived_smile", "correlation"] > 0.2


def test_mean_rows_take_both_forms(cloud):
    vectors = cloud[1]
    flat = Vectors(vectors.keys, vectors.values[:, 0], source="flat")
    assert mean_rows(flat).shape == mean_rows(vectors).shape


@pytest.mark.parametrize(
    ("main", "hold", "words"),
    [
        ("smile", (), "Did you mean 'perceived_smile'"),
        ("noise", ("noise",), "listed twice"),
    ],
)
def test_a_step_that_means_nothing_is_refused(directions, main, hold, words):
    with pytest.raises(SpecError, match=words):
        directions.step(main, hold=hold)


def test_an_attribute_of_three_levels_is_refused(cloud):
    faces, vectors = cloud
    tone = dict(zip(faces.keys, "abc" * 200, strict=True))
    with pytest.raises(TableError, match="two levels"):
        fit(faces.with_attribute("tone", tone), vectors, ["tone"], labels="drawn")


def test_too_few_images_are_refused(cloud):
    faces, vectors = cloud
    with pytest.raises(TableError, match="at least 40"):
        fit(faces.subset(faces.keys[:20]), vectors, ["noise"], labels="drawn")


def test_a_file_that_holds_no_directions_is_refused(tmp_path):
    (tmp_path / "x.npz").write_bytes(b"no")
    with pytest.raises(VectorError, match="Cannot read directions"):
        Directions.read(tmp_path / "x.npz")
