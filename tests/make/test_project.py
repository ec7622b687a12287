from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

import tiny
from likewise.errors import SpecError
from likewise.images import Album, save
from likewise.make.project import PROJECTED, Projection, ProjectSpec, solver
from likewise.plugins import register, to_pictures, to_signals
from likewise.world.occupants import WorldGenerator


def test_auto_takes_the_method_that_fits(world):
    _, _, solve = solver(ProjectSpec())
    w, left = solve(to_signals(world.pictures[:2]))
    assert w.shape == (2, WorldGenerator.rows, WorldGenerator.dim)
    assert (left < 1e-5).all()


def test_a_bad_file_is_a_failure_and_the_rest_goes_on(world, tmp_path):
    names = ["a.png", "bad.png", "b.png"]
    for name, picture in zip(names, world.pictures, strict=False):
        save(tmp_path / name, picture)
    (tmp_path / "bad.png").write_bytes(b"no picture")
    result = Projection(ProjectSpec(), Album(tmp_path, {name: name for name in names}))(names)
    assert (result["state"] == PROJECTED).tolist() == [True, False, True]
    assert np.isnan(result["distance"]).tolist() == [False, True, False]
    assert (result["distance"][[0, 2]] < result["baseline"][[0, 2]]).all()


def test_a_differentiable_generator_goes_down_by_gradients(tmp_path):
    register("generator", "tiny", tiny.Tiny)
    register("perceptual", "squares", tiny.Squares)
    drawn = tiny.Tiny().synthesise(tiny.Tiny().sample_w(1, 3))
    Image.fromarray(to_pictures(drawn)[0]).save(tmp_path / "a.png")
    spec = ProjectSpec(generator="tiny", perceptual="squares", lambda_=0.001)
    result = Projection(spec, Album(tmp_path, {"a": "a.png"}))(["a"])
    assert result["distance"][0] < 0.05 * result["baseline"][0]


@pytest.mark.parametrize(
    ("options", "words"), [({"lambda_": -1.0}, "at least 0"), ({"method": "refined"}, "Did you mean 'refine'")]
)
def test_options_without_meaning_are_refused(options, words):
    with pytest.raises(SpecError, match=words):
        ProjectSpec(**options)
