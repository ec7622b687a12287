"""The shipped curvature: of this generator only, orthonormal, and worth many steps of the plain slope."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file, save_file

from likewise.latents.gradient import Objective, solver_of
from likewise.latents.newton import newton
from likewise.latents.schedules import ENCODED, NEWTON
from likewise.models.generators.curvature import DEPTH, FILE, Curvature, curvature_of
from likewise.models.generators.mobilestylegan import MobileStyleGAN
from likewise.models.perception.lpips import LpipsAlex
from likewise.models.training import curvature as training
from likewise.weights.convert.mobilestylegan import METADATA
from tiny import Tiny


@pytest.fixture(scope="module")
def generator(weights) -> MobileStyleGAN:
    for name in ("mobilestylegan-ffhq", "lpips-alexnet", "mobilefacenet"):
        weights(name)
    return MobileStyleGAN()


@pytest.fixture(scope="module")
def curvature(generator) -> Curvature:
    found = curvature_of(generator)
    assert found is not None
    return found


def test_the_shipped_file_is_small_and_its_directions_orthonormal(curvature):
    assert FILE.stat().st_size < 10e6
    np.testing.assert_allclose(curvature.directions @ curvature.directions.T, np.eye(DEPTH), atol=1e-4)
    assert (curvature.values.diff() <= 0).all()
    assert (curvature.values > 0).all()


def test_other_generators_have_none(weights, tmp_path):
    assert curvature_of(Tiny()) is None
    tensors = load_file(weights("mobilestylegan-ffhq"))
    tensors["input"] = tensors["input"] + 1
    save_file(tensors, tmp_path / "other.safetensors", METADATA)
    assert curvature_of(MobileStyleGAN(str(tmp_path / "other.safetensors"))) is None


def test_six_steps_find_most_of_a_drawn_face(generator, curvature):
    """From the mean face; along the plain slope no length gets as far in one step as one step here."""
    w = torch.from_numpy(generator.mean_w() + 0.7 * (generator.sample_w(1, 3) - generator.mean_w()))[:, None]
    target = generator.draw(w.repeat(1, generator.rows, 1), size=64)
    loss = Objective(generator, LpipsAlex(), weight=0.0).toward(target, 64)
    start = torch.from_numpy(generator.mean_w()).expand(1, generator.rows, -1)
    found, curve = newton(loss, start, curvature, steps=6, rate=0.5)
    assert loss(found)[0] < 0.5 * curve[0, 0]
    plain = start.clone().requires_grad_()
    (slope,) = torch.autograd.grad(loss(plain).sum(), plain)
    with torch.no_grad():
        lengths = [loss(start - rate * slope)[0] for rate in (0.03, 0.1, 0.3, 1.0, 3.0, 10.0)]
    assert curve[1, 0] < min(lengths)


def test_refine_takes_such_steps_unless_rows_are_tied(generator):
    free, tied = (solver_of(generator, LpipsAlex(), "refine", weight=weight, seed=0) for weight in (0.1, np.inf))
    assert free.steps == sum(phase.steps for phase in NEWTON)
    assert tied.steps == sum(phase.steps for phase in ENCODED)


def test_coordinates_of_a_move_along_the_directions_are_found_again(curvature):
    along = torch.randn(2, DEPTH, generator=torch.Generator().manual_seed(1))
    torch.testing.assert_close(curvature.along(curvature.move(along)), along, atol=1e-4, rtol=1e-4)


def test_samples_are_made_again_from_their_number(generator, curvature, tmp_path):
    axes = training.principal_axes(generator)
    np.testing.assert_allclose(axes.T @ axes, curvature.axes.T @ curvature.axes, atol=1e-4)
    one, again = (training.draw_part(generator, axes, 3, n=3)["g"] for _ in range(2))
    np.testing.assert_array_equal(one, again)
    made = training.fit(torch.from_numpy(one).float(), axes, depth=2)
    training.write(made, tmp_path / "c.safetensors", of="nobody")
    stored = load_file(tmp_path / "c.safetensors")
    np.testing.assert_array_equal(stored["values"], made.values)
    assert stored["directions"].dtype == np.float16
