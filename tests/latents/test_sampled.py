from __future__ import annotations

import numpy as np
import pytest

from likewise.data.describe_spec import DescribeSpec
from likewise.errors import SpecError
from likewise.latents.directions import fit
from likewise.latents.sampled import BLOCK, SampleSpec, drawn, sample
from likewise.latents.traverse import moved, traversal
from likewise.runtime.registry import create, register
from tiny import Tiny

BRIGHT = DescribeSpec(columns=("measured_brightness",))


@pytest.fixture(autouse=True)
def tiny():
    register("generator", "tiny", Tiny)


def test_more_faces_later_leave_the_first_ones_as_they_were(tmp_path):
    few = sample(SampleSpec(generator="tiny", faces=BLOCK, describe=BRIGHT), folder=tmp_path)
    many = sample(SampleSpec(generator="tiny", faces=2 * BLOCK, describe=BRIGHT), folder=tmp_path)
    assert many.vectors.keys[:BLOCK] == few.vectors.keys
    np.testing.assert_array_equal(many.vectors.values[:BLOCK], few.vectors.values)
    assert not np.array_equal(many.vectors.values[BLOCK:], few.vectors.values)
    assert len(many.pictures) == len(few.pictures) == 40


def test_another_seed_draws_other_faces():
    one, two = (sample(SampleSpec(generator="tiny", faces=BLOCK, seed=seed, describe=BRIGHT)) for seed in (0, 1))
    assert not np.array_equal(one.vectors.values, two.vectors.values)


def test_faces_are_drawn_at_an_exit_where_there_is_one():
    generator = Tiny()
    w = generator.sample_w(2, 0)
    assert drawn(generator, w, 16).shape == (2, 16, 16, 3)
    assert drawn(generator, w, 20).shape == (2, 32, 32, 3)


def test_a_direction_fitted_on_drawn_faces_moves_what_it_says():
    made = sample(SampleSpec(generator="tiny", faces=4 * BLOCK, describe=BRIGHT))
    found = fit(made.faces, made.vectors, ["measured_brightness"], labels="pixels", made_by=made.made_by)
    assert found.skills[0].value > 0.8
    assert found.skills[0].label == "pixels"
    generator = create("generator", "tiny")
    w = np.repeat(generator.sample_w(20, 9)[:, None], generator.rows, axis=1)
    step = found.step("measured_brightness")
    dark, plain, bright = (drawn(generator, part, 32).mean() for part in moved(w, step, (-2, 0, 2)))
    assert dark < plain < bright
    sheet = traversal(generator, w[:2], step, (-2, 0, 2), size=32, names=["one", "two"])
    assert (sheet == drawn(generator, w[:1], 32)[0].reshape(1, -1, 3)[:, :1]).all(axis=-1).any()
    assert sheet.shape[0] > 2 * 32 and sheet.shape[1] > 3 * 32


def test_all_rows_are_moved_alike():
    w = np.random.default_rng(0).normal(size=(2, 4, 8)).astype(np.float32)
    step = np.arange(8.0)
    np.testing.assert_allclose(moved(w, step, (0, 2))[1] - w, np.broadcast_to(2 * step, w.shape), atol=1e-6)


@pytest.mark.parametrize("options", [{"faces": 50}, {"faces": 150}, {"seed": -1}])
def test_what_cannot_be_drawn_is_refused(options):
    with pytest.raises(SpecError):
        SampleSpec(**options)
