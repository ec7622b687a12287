from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

import tiny
from likewise.errors import PluginError, SpecError
from likewise.latents.gradient import Descent
from likewise.latents.projection import (
    _KEPT,
    EVERY,
    MANY,
    PROJECTED,
    UNREADABLE,
    Projection,
    ProjectSpec,
    compared_every,
    not_projected,
    solver,
)
from likewise.runtime.executor import Executor
from likewise.runtime.pixels import ImageFolder, save
from likewise.runtime.registry import register, to_pictures, to_signals
from likewise.simulation.components import WorldGenerator


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
    result = Projection(ProjectSpec(), ImageFolder(tmp_path, {name: name for name in names}))(names)
    assert (result["state"] == PROJECTED).tolist() == [True, False, True]
    assert np.isnan(result["distance"]).tolist() == [False, True, False]
    assert (result["distance"][[0, 2]] < result["baseline"][[0, 2]]).all()


def test_each_file_is_decoded_once(world, tmp_path, monkeypatch):
    decoded = []
    monkeypatch.setattr("likewise.runtime.pixels.decode", lambda path: decoded.append(path.name) or world.pictures[0])
    Projection(ProjectSpec(), ImageFolder(tmp_path, {name: name for name in ("a.png", "b.png")}))(["a.png", "b.png"])
    assert sorted(decoded) == ["a.png", "b.png"]


def test_of_many_encoded_images_a_part_is_compared_and_of_a_few_all():
    encoder, descent = ProjectSpec(generator="mobilestylegan", method="encoder"), ProjectSpec(method="refine")
    assert [compared_every(encoder, images) for images in (1, MANY - 1, MANY)] == [1, 1, EVERY]
    assert compared_every(descent, 10 * MANY) == 1
    assert compared_every(ProjectSpec(method="quick"), MANY) == EVERY


def test_a_differentiable_generator_goes_down_by_gradients(tmp_path):
    register("generator", "tiny", tiny.Tiny)
    register("perceptual", "squares", tiny.Squares)
    drawn = tiny.Tiny().synthesize(tiny.Tiny().sample_w(1, 3))
    Image.fromarray(to_pictures(drawn)[0]).save(tmp_path / "a.png")
    spec = ProjectSpec(generator="tiny", perceptual="squares", lambda_=0.001)
    result = Projection(spec, ImageFolder(tmp_path, {"a": "a.png"}))(["a"])
    assert result["distance"][0] < 0.05 * result["baseline"][0]


def test_a_stopped_run_goes_on_with_the_images_that_are_left(tmp_path):
    register("generator", "tiny", tiny.Tiny)
    register("perceptual", "squares", tiny.Squares)
    drawn = to_pictures(tiny.Tiny().synthesize(tiny.Tiny().sample_w(2, 3)))
    for name, picture in zip("ab", drawn, strict=True):
        save(tmp_path / f"{name}.png", picture)
    spec = ProjectSpec(generator="tiny", perceptual="squares", lambda_=0.001)
    work, engine = Projection(spec, ImageFolder(tmp_path, {"a": "a.png", "b": "b.png"})), Executor(chunk=1)
    stopped = engine.map(work, ["a", "b"], folder=tmp_path / "work")
    first = next(stopped)
    stopped.close()
    (tmp_path / "a.png").unlink()  # so it could not be projected again
    again = list(engine.map(work, ["a", "b"], folder=tmp_path / "work"))
    np.testing.assert_array_equal(again[0]["w"], first["w"])
    assert (again[1]["state"] == PROJECTED).all()
    assert np.isfinite(again[1]["distance"]).all()
    np.testing.assert_array_equal(again[1]["w"], work(["b"])["w"])  # and the same image gives the same latent


@pytest.fixture
def three(tmp_path, monkeypatch):
    """Three pictures, the second of which is none, projected two at a time."""
    register("generator", "tiny", tiny.Tiny)
    register("perceptual", "squares", tiny.Squares)
    for name, picture in zip("abc", to_pictures(tiny.Tiny().synthesize(tiny.Tiny().sample_w(3, 3))), strict=True):
        save(tmp_path / f"{name}.png", picture)
    (tmp_path / "b.png").write_bytes(b"no picture")
    monkeypatch.setattr(Descent, "batch", 2)
    _KEPT.clear()
    yield Projection(
        ProjectSpec(generator="tiny", perceptual="squares", lambda_=0.001),
        ImageFolder(tmp_path, {k: f"{k}.png" for k in "abc"}),
    )
    _KEPT.clear()


def test_in_a_batch_a_bad_file_is_a_failure_and_nobody_takes_its_place(three):
    result = three(["a", "b", "c"])
    assert result["state"].tolist() == [PROJECTED, UNREADABLE, PROJECTED]
    assert not_projected(result) == 1
    assert result["losses"].shape[0] == 3
    assert np.isnan(result["losses"]).all(axis=1).tolist() == [False, True, False]
    for row, image in ((0, "a"), (2, "c")):
        np.testing.assert_allclose(result["w"][row], three([image])["w"][0], atol=1e-4)


def test_a_batch_that_is_too_large_goes_one_by_one(three, monkeypatch):
    descend = Descent._down

    def cramped(self, target):
        if len(target) > 1:
            raise RuntimeError("CUDA out of memory")
        return descend(self, target)

    monkeypatch.setattr(Descent, "_down", cramped)
    assert three(["a", "c"])["state"].tolist() == [PROJECTED, PROJECTED]


def test_effort_is_only_for_a_descent():
    with pytest.raises(SpecError, match=r"world has no gradients.*Leave effort out"):
        solver(ProjectSpec(effort=2.0))


def test_effort_is_reported():
    assert ProjectSpec(method="refine").words == "refine"
    assert ProjectSpec(method="refine", effort=0.5, lambda_=1.0).words == "refine, effort 0.5, lambda 1"


def test_presets_are_names_for_a_method_and_an_effort():
    assert ProjectSpec(method="quick") == ProjectSpec(method="refine", effort=0.1)
    assert ProjectSpec(method="standard") == ProjectSpec()
    assert ProjectSpec(method="thorough") == ProjectSpec(method="refine", effort=6.0)


def test_an_encoder_is_only_for_the_embedded_generator():
    register("generator", "tiny", tiny.Tiny)
    with pytest.raises(PluginError, match=r"no encoder for 'tiny', only for mobilestylegan.*refine"):
        solver(ProjectSpec(generator="tiny", method="encoder"))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"lambda_": -1.0}, "lambda is -1.0"),
        ({"method": "refined"}, "Did you mean 'refine'"),
        ({"method": "singh2021", "identity": "mobilefacenet"}, "no effect with method = 'singh2021'"),
        ({"method": "encoder", "lambda_": 0.1}, "lambda has no effect"),
        ({"effort": 0.0}, "effort is 0.0"),
        ({"effort": float("nan")}, "effort is nan"),
        ({"method": "encoder", "effort": 2.0}, "effort has no effect with method = 'encoder'"),
        ({"method": "thorough", "effort": 2.0}, "has an effort of its own"),
        ({"method": "thorogh"}, "Did you mean 'thorough'"),
    ],
)
def test_options_without_meaning_are_refused(options, words):
    with pytest.raises(SpecError, match=words):
        ProjectSpec(**options)
