"""How the encoder reads a step: measured on drawn faces, with real weights."""

from __future__ import annotations

import numpy as np
import pytest

from likewise.errors import SpecError
from likewise.latents.directions import mean_rows, shipped
from likewise.latents.encoder import encoded_step
from likewise.runtime.registry import create


def test_the_response_to_a_step_is_mostly_along_the_step_and_not_only(weights):
    weights("mobilestylegan-ffhq")
    directions = shipped("mobilestylegan")
    own = "predicted_gender"
    step = directions.step(own, hold=[name for name in directions.names if name != own])
    generator = create("generator", "mobilestylegan")
    found = encoded_step(generator, step, faces=2, seed=5)
    assert found.values.shape == (1, generator.rows, generator.dim)
    change = dict(zip(directions.names, (mean_rows(found) @ directions.gradients.T)[0], strict=True))
    assert change[own] > 0.3, "the encoder sees most of the step"
    assert max(abs(value) for name, value in change.items() if name != own) < change[own]
    with pytest.raises(SpecError, match="faces is 1"):
        encoded_step(generator, step, faces=1, seed=5)


def test_directions_of_the_world_are_its_factors(world):
    directions = shipped("world")
    generator = create("generator", "world")
    along = directions.gradients @ generator.directions.T  # [k, F]
    assert np.abs(along).argmax(axis=1).tolist() == list(range(len(directions.names)))
    step = directions.step("measured_gender", hold=[n for n in directions.names if n != "measured_gender"])
    np.testing.assert_allclose(directions.gradients @ step, np.eye(len(directions.names))[0], atol=1e-6)
