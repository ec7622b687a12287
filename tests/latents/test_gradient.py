from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from likewise.errors import PluginError
from likewise.latents.encoder import eyes_in
from likewise.latents.gradient import (
    REFINE,
    SINGH2021,
    Descent,
    Objective,
    Phase,
    cloud_of,
    descend,
    rows_apart,
    shrunk,
    solver_of,
)
from likewise.models.generators.curvature import Curvature
from likewise.simulation.components import Pixels, WorldGenerator
from tiny import Squares, Tiny


def targets(n=2, seed=1):
    tiny = Tiny()
    return tiny.synthesize(np.repeat(tiny.sample_w(n, seed)[:, None], tiny.rows, axis=1))


def test_the_objective_is_the_papers_with_r_as_a_mean():
    tiny, rng = Tiny(), np.random.default_rng(0)
    w = torch.from_numpy(rng.normal(size=(2, 4, 8)).astype(np.float32))
    x = torch.from_numpy(targets())
    loss = Objective(tiny, Squares(), weight=0.7).toward(x, 32)(w)
    z = w.numpy()
    apart = np.square(z - z.mean(axis=1, keepdims=True)).sum(axis=(1, 2)) / (4 * 8)
    distance = np.square(tiny.draw(w).numpy() - x.numpy()).mean(axis=(1, 2, 3))
    np.testing.assert_allclose(loss, distance + 0.7 * apart, rtol=1e-5)


def test_the_eyes_count_by_themselves_where_they_are_weighed():
    tiny, x = Tiny(), torch.from_numpy(targets())
    w = torch.from_numpy(np.random.default_rng(0).normal(size=(2, 4, 8)).astype(np.float32))
    plain, weighed = (Objective(tiny, Squares(), weight=0.7, eyes=eyes).toward(x, 32) for eyes in (0.0, 0.4))
    more = (eyes_in(tiny.draw(w)), eyes_in(x))
    assert more[0].shape == (2, x.shape[1], 7, 19)
    pair = (torch.nn.functional.interpolate(part, scale_factor=2.0, mode="bilinear") for part in more)
    np.testing.assert_allclose(weighed(w), plain(w) + 0.4 * Squares().compare(*pair), rtol=1e-5)
    np.testing.assert_allclose(weighed.parts(w)[0], plain.parts(w)[0])  # what is reported as left is the whole image


def test_drafts_are_drawn_where_they_are_wanted_and_offered():
    class Drafting(Tiny):
        def draft(self, w, *, size=None):
            return self.draw(w, size=size) / 2

    tiny, w = Drafting(), torch.from_numpy(Tiny().sample_w(2, 0))
    drawn = tiny.draw(w, size=32)
    exact, half = (Objective(tiny, Squares(), weight=0.1, drafts=drafts) for drafts in (False, True))
    assert torch.equal(exact.draw(w, 32), drawn)
    assert torch.equal(half.draw(w, 32), drawn / 2)
    assert torch.equal(Objective(Tiny(), Squares(), weight=0.1, drafts=True).draw(w, 32), drawn)


@pytest.mark.parametrize("method", ["refine", "singh2021"])
def test_a_face_is_found_again(method):
    x = targets()
    w, left = solver_of(Tiny(), Squares(), method, weight=1e-3, seed=0)(x)
    mean = Tiny().synthesize(np.tile(Tiny().mean_w(), (2, 4, 1)))
    assert w.shape == (2, 4, 8)
    assert (left < 0.02 * Squares().distance(mean, x)).all()


def test_images_of_a_batch_do_not_see_each_other():
    x = targets(3)
    phases = (Phase(steps=20, lr=0.05, size=16), Phase(steps=10, lr=0.02))
    start = torch.from_numpy(Tiny().mean_w()).expand(3, 4, -1)
    objective, cloud = Objective(Tiny(), Squares(), weight=0.1), cloud_of(Tiny(), 0)
    together, _ = descend(objective, start, torch.from_numpy(x), phases, cloud=cloud, seed=0)
    for row in range(3):
        alone, _ = descend(objective, start[:1], torch.from_numpy(x[row : row + 1]), phases, cloud=cloud, seed=0)
        np.testing.assert_allclose(together[row], alone[0], atol=1e-5)


@pytest.mark.parametrize("method", ["refine", "singh2021"])
def test_a_batch_gives_what_each_image_gives_alone(method, monkeypatch):
    """On a card several go down together: with the same noise on the way, and to the same end but for rounding."""
    x = targets(3)
    if method == "singh2021":
        monkeypatch.setattr("likewise.latents.gradient.SINGH2021", (replace(SINGH2021[0], steps=60),))
    alone = solver_of(Tiny(), Squares(), method, weight=0.1, seed=0)
    assert alone.batch == 1
    monkeypatch.setattr(Descent, "batch", 2)
    together = solver_of(Tiny(), Squares(), method, weight=0.1, seed=0)
    assert together.batch == 2
    for ours, theirs in zip(together.traced(x), alone.traced(x), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-4)


def test_the_losses_on_the_way_are_kept():
    solve = solver_of(Tiny(), Squares(), "refine", weight=0.0, seed=0)
    _, left, losses = solve.traced(targets(2))
    assert losses.shape == (2, solve.steps) == (2, sum(phase.steps for phase in REFINE))
    assert losses.dtype == np.float32
    assert (losses[:, -1] < 0.1 * losses[:, 0]).all()
    np.testing.assert_allclose(losses[:, -1], left, rtol=0.2)  # the last step goes a little further


def test_most_steps_are_cheap_and_the_last_are_exact(monkeypatch):
    small = tuple(replace(phase, size=phase.size and 16) for phase in REFINE)  # the toy has no exit of 128 px
    monkeypatch.setattr("likewise.latents.gradient.REFINE", small)
    tiny = Tiny()
    solver_of(tiny, Squares(), "refine", weight=0.1, seed=0)(targets(1))
    steps = tiny.drawn[-1 - sum(phase.steps for phase in REFINE) : -1]  # the last drawing only measures what is left
    assert steps == [16] * REFINE[0].steps + [tiny.resolution] * REFINE[1].steps


def test_effort_is_a_multiple_of_the_steps_and_comes_nearer():
    ways = [solver_of(Tiny(), Squares(), "refine", weight=1e-3, seed=0, effort=effort) for effort in (0.001, 0.1, 1.0)]
    assert [way.steps for way in ways] == [len(REFINE), 8 + 2, 80 + 20]  # a phase has a step at least
    left = [way(targets())[1] for way in ways]
    assert (left[0] > left[1]).all()
    assert (left[1] > left[2]).all()


def test_lambda_draws_the_rows_together_and_infinity_ties_them():
    x = targets()
    apart = []
    for weight in (0.0, 0.1, math.inf):
        w, _ = solver_of(Tiny(), Squares(), "refine", weight=weight, seed=0)(x)
        apart.append(float(rows_apart(torch.from_numpy(w)).mean()))
    assert apart[0] > apart[1] > apart[2]
    assert apart[2] == pytest.approx(0, abs=1e-10)


def test_the_preset_goes_the_published_way():
    """1000 steps; the rate rises over 5 %, stays, and falls by a cosine over the last 25 %; the loss is kept."""
    from likewise.latents.gradient import _pace

    (phase,) = SINGH2021
    assert (phase.steps, phase.lr, phase.size) == (1000, 0.1, None)
    assert [_pace(share, phase) for share in (0.0, 0.025, 0.05, 0.5, 0.75)] == pytest.approx([0, 0.5, 1, 1, 1])
    assert _pace(0.875, phase) == pytest.approx(0.5)
    assert _pace(0.999, phase) < 0.001


def test_a_last_step_that_raises_the_loss_is_taken_back_for_that_image_alone():
    """A curvature that knows nothing suggests a step of a thousand slopes: too far for the second image only."""
    tiny, x = Tiny(), targets()
    cloud = replace(cloud_of(tiny, 0), curvature=Curvature(4, 8, 1))
    objective = Objective(tiny, Squares(), weight=0.0)
    loss = objective.toward(torch.from_numpy(x), 32)

    def solved(rate):
        way = Descent(objective, (Phase(steps=1, lr=rate, size=32, newton=True),), cloud, seed=0)
        w, left, losses = way.solve(x)
        np.testing.assert_allclose(left, loss(torch.from_numpy(w)), rtol=1e-5)
        return w, left, losses[:, 0]

    w, left, first = solved(1.0)
    assert left[0] < first[0]
    np.testing.assert_allclose(w[1], cloud.mean.expand(4, -1), atol=1e-6)
    assert left[1] == pytest.approx(first[1])
    _, nearer, _ = solved(0.1)
    assert (nearer < left).all()


class Suspicion:
    """Suspects the first two of three images; its start is right for the first and wrong for the second."""

    def __init__(self, truth):
        self.truth = truth

    def suspected(self, w):
        return torch.tensor([True, True, False])

    def put_on(self, w):
        assert len(w) == 2
        return torch.stack([self.truth[0], w[1] + 5])

    def band(self, images):
        return images[..., 8:16, :]


def test_a_second_start_is_taken_where_the_eyes_then_come_nearer():
    tiny, x = Tiny(), torch.from_numpy(targets(3))
    truth = torch.from_numpy(np.repeat(tiny.sample_w(3, 1)[:, None], tiny.rows, axis=1))
    cloud = replace(cloud_of(tiny, 0), curvature=Curvature(4, 8, 1))
    objective = Objective(tiny, Squares(), weight=0.0)
    start = cloud.mean.expand(3, 4, -1)
    for steps in (1, 3):  # a single step is too few to compare
        way = Descent(objective, (Phase(steps=steps, lr=1e-3, size=32, newton=True),), cloud, 0, None, Suspicion(truth))
        found = way._with_eyeglasses(start, x)
        assert torch.equal(found[1:], start[1:])
        assert torch.equal(found[0], truth[0] if steps == 3 else start[0])


def test_shrinking_averages():
    x = torch.arange(16.0).reshape(1, 1, 4, 4)
    assert shrunk(x, 2).flatten().tolist() == [2.5, 4.5, 10.5, 12.5]
    assert shrunk(x, 8) is x


def test_a_component_without_gradients_is_refused():
    with pytest.raises(PluginError, match="is not differentiable: it has no 'device', 'draw', 'sizes'"):
        solver_of(WorldGenerator(), Pixels(), "refine", weight=0.1, seed=0)


def test_a_whitened_step_is_a_standard_deviation_of_sampled_latents():
    cloud = cloud_of(Tiny(), seed=0)
    w = Tiny().sample_w(10_000, 0)
    np.testing.assert_allclose(cloud.axes.T @ cloud.axes, np.cov(w.T, bias=True), atol=1e-4)
    assert cloud.spread == pytest.approx(np.sqrt(np.square(w - w.mean(axis=0)).sum(axis=1).mean()), rel=1e-4)


def test_without_an_encoder_nobody_has_a_part_in_it():
    solve = solver_of(Tiny(), Squares(), "refine", weight=0.1, seed=0)
    assert (solve.words, solve.families) == ("", ())


def test_a_recognizer_without_gradients_cannot_keep_the_person():
    with pytest.raises(PluginError, match="is not differentiable"):
        solver_of(Tiny(), Squares(), "refine", weight=0.1, seed=0, identity="world")
