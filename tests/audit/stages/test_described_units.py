"""Described attributes are balanced beside the vectors where [units] says so."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import likewise as lw
from likewise.audit.described import OwnPart, described_numbers, measured_response
from likewise.audit.needs import _described
from likewise.audit.stages import enabled_stages, plan_of
from likewise.data.describe_spec import DescribeSpec
from likewise.errors import PlanError
from likewise.simulation.scene import FACTORS, see

GROUPS = ("perceived_gender", "female", "male")
PLAN = """
[data]
table = "t.csv"
images = "i"
[contrast]
column = "perceived_gender"
focal = "female"
reference = "male"
[units]
features = "auto"
described = true
"""
DESCRIBED = PLAN + '[describe]\ncolumns = ["predicted_gender", "predicted_age", "predicted_eyeglasses"]\n'


@pytest.fixture
def audited(tmp_path):
    """An audit of a world by vectors that say nothing about its light."""
    world = lw.World(identities=60, seed=3)
    images, factors = world.draw()
    pictures, table = world.write(tmp_path / "world")
    lw.Vectors(images.keys, factors[:, 6:9].astype(np.float32), source="shapes").write(tmp_path / "own.npz")
    lw.audit(table, pictures, out=tmp_path / "audit", vectors=tmp_path / "own.npz", contrast=GROUPS,
             raters=[], progress=False)  # fmt: skip
    return tmp_path / "audit" / "audit.toml"


def brightness(path) -> pd.Series:
    audit = lw.Audit(path.parent)
    names = [stage.name for stage in enabled_stages(audit.plan)]
    for name in names[: names.index("balance") + 1]:
        audit.run(only=name, progress=False)
    rows = audit.balance.where(stat="smd", sample="matched").frame
    return rows[rows["quantity"].str.startswith("measured_brightness")].set_index("quantity")["estimate"].abs()


def test_described_columns_are_balanced(audited, monkeypatch):
    light = FACTORS.index("light")
    monkeypatch.setattr("likewise.data.describe.brightness", lambda pictures: see(pictures)[:, light])
    text = audited.read_text() + '\n[describe]\ncolumns = ["measured_brightness"]\n'
    audited.write_text(text)
    before = brightness(audited)
    audited.write_text(text.replace("[units]", "[units]\ndescribed = true", 1))
    after = brightness(audited)
    assert after.max() <= 0.1 < before.max()


def test_described_needs_the_section(audited):
    audited.write_text(audited.read_text().replace("[units]", "[units]\ndescribed = true", 1))
    checked = lw.Audit(audited.parent).check()
    assert "described = true in [units] needs described columns" in str([*checked.problems, *checked.notes])
    with pytest.raises(PlanError, match=r"Add \[describe\], or remove it"):
        described_numbers(lw.Images(pd.DataFrame({"image": ["1"], "identity": ["a"]})), plan_of(PLAN))


def test_images_without_a_face_are_kept_and_the_own_attribute_is_left_out():
    frame = pd.DataFrame({"image": list("1234"), "identity": list("abcd"), "predicted_age": [20.0, np.nan, 40, 60]})
    frame["predicted_gender"] = ["female", None, "male", "male"]
    frame["predicted_eyeglasses"] = ["yes", None, "no", "no"]
    found = described_numbers(lw.Images(frame), plan_of(DESCRIBED))
    assert found.keys == list("1234")
    assert found.values.shape == (4, 5)  # age, three levels of eyeglasses, missing
    assert np.isfinite(found.values).all()
    assert abs(found.values[1, 0]) < 1e-6  # the mean in place of the age


def test_what_a_column_owes_to_the_attribute_itself_is_removed():
    frame = pd.DataFrame({"image": list("1234"), "identity": list("abcd"), "predicted_age": [30.0, 34, 40, 44]})
    plan = plan_of(PLAN + '[describe]\ncolumns = ["predicted_age"]\n')
    own = OwnPart(pd.Series([0.0, 2.0, 0.0, 2.0], index=list("1234")), {"predicted_age": 2.0})
    freed = described_numbers(lw.Images(frame), plan, own).values[:, 0]
    np.testing.assert_allclose(freed, [-1, -1, 1, 1], atol=1e-6)
    plain = described_numbers(lw.Images(frame), plan).values[:, 0]
    assert len(set(plain.round(4))) == 4


class Drawn:
    """A generator of flat gray pictures whose brightness is the first number of the latent; it has no encoder."""

    rows, resolution = 1, 256

    def mean_w(self):
        return np.zeros(2, np.float32)

    def sample_w(self, count, seed):
        return np.random.default_rng(seed).normal(0, 0.1, (count, 2)).astype(np.float32)

    def synthesize(self, w, size):
        return np.broadcast_to(0.2 * w[:, 0, 0, None, None, None], (len(w), 3, size, size)).astype(np.float32)


def test_the_response_is_measured_on_drawn_faces():
    spec = DescribeSpec(columns=("measured_brightness",))
    along = measured_response(Drawn(), [1.0, 0.0], [2.0, 0.0], spec, faces=4)["measured_brightness"]
    twice = measured_response(Drawn(), [1.0, 0.0], [1.0, 0.0], spec, faces=4)["measured_brightness"]
    assert along > 1
    assert twice == pytest.approx(2 * along)
    aside = measured_response(Drawn(), [0.0, 1.0], [0.0, 1.0], spec, faces=4)["measured_brightness"]
    assert aside == pytest.approx(0, abs=1e-6)


def test_shapes_need_the_mesh():
    assert "face-mesh" in _described(DescribeSpec(columns=("measured_jaw_width",), pose="points")).weights
    assert "face-mesh" not in _described(DescribeSpec(columns=("predicted_yaw",), pose="points")).weights


def test_headwear_needs_the_segmenter_and_is_balanced_as_it_is(weights):
    for name in ("dlib-landmarks-5", "selfie-multiclass"):
        weights(name)
    spec = DescribeSpec(columns=("measured_headwear", "measured_brightness"))
    assert "selfie-multiclass" in _described(spec).weights
    assert set(measured_response(Drawn(), [1.0, 0.0], [1.0, 0.0], spec, faces=2)) == {"measured_brightness"}
