"""Steps from a known curvature: exact on a quadratic, safe where it is wrong, and each image's own is learned."""

from __future__ import annotations

import pytest
import torch

from likewise.latents.newton import LENGTHS, Memory, newton
from likewise.models.generators.curvature import DAMPING, REACH, Curvature
from likewise.models.training.curvature import fit

ROWS, DIM = 3, 4


@pytest.fixture
def jacobian() -> torch.Tensor:
    """Five features of a latent of twelve numbers, some of which weigh nine times as much as others."""
    torch.manual_seed(0)
    return torch.randn(5, ROWS * DIM) * torch.tensor([0.3, 0.2, 0.2, 0.1, 0.1])[:, None]


def curvature_of_squares(jacobian: torch.Tensor) -> Curvature:
    """The exact curvature 2 J'J of a sum of squares."""
    values, vectors = torch.linalg.eigh(2 * jacobian.T @ jacobian)
    made = Curvature(ROWS, DIM, 5).to(jacobian.dtype)
    made.values.copy_(values.flip(0)[:5])
    made.directions.copy_(vectors.T.flip(0)[:5])
    return made


def squares(jacobian: torch.Tensor, goal: torch.Tensor):
    return lambda w: (w.flatten(1) @ jacobian.T - goal).square().sum(dim=1)


def test_one_full_step_solves_a_quadratic(jacobian):
    start = torch.zeros(1, ROWS, DIM)
    goal = torch.ones(1, ROWS * DIM) @ jacobian.T
    loss = squares(jacobian, goal)
    found, curve = newton(loss, start, curvature_of_squares(jacobian), steps=1, rate=1.0)
    assert curve.shape == (1, 1)
    assert loss(found)[0] < 1e-3 * curve[0, 0]


def test_the_step_is_the_damped_inverse(jacobian):
    made = curvature_of_squares(jacobian.double())
    made.axes.copy_(torch.diag(torch.tensor([1.0, 2.0, 0.5, 1.5])))
    slope = torch.randn(2, ROWS, DIM, dtype=torch.float64)
    axes = torch.block_diag(*[made.axes] * ROWS)
    matrix = made.directions.T @ made.values.diag() @ made.directions + DAMPING * torch.eye(
        ROWS * DIM, dtype=torch.float64
    )
    wanted = slope.flatten(1) @ axes.T @ torch.linalg.inv(matrix).T @ axes
    torch.testing.assert_close(made.step(slope).flatten(1), wanted, rtol=1e-3, atol=1e-3)


def test_a_step_that_raises_the_loss_is_taken_back_for_that_image_alone(jacobian):
    """The curvature of the second image is 50 times what it is taken for, so that full steps overshoot."""
    weight = torch.tensor([1.0, 50.0])
    goal = (torch.ones(1, ROWS * DIM) @ jacobian.T).expand(2, -1)
    plain = squares(jacobian, goal)
    made = curvature_of_squares(jacobian)
    start = torch.zeros(2, ROWS, DIM)
    both, curve = newton(lambda w: weight * plain(w), start, made, steps=12, rate=0.5)
    assert curve[-1, 1] < 0.5 * curve[0, 1]
    assert curve[1:, 1].max() > curve[0, 1]  # it did overshoot
    alone, _ = newton(squares(jacobian, goal[:1]), start[:1], made, steps=12, rate=0.5)
    torch.testing.assert_close(both[:1], alone, rtol=0, atol=1e-3)


def test_a_loss_that_is_not_a_number_leaves_the_start_where_it_is(jacobian):
    start = torch.ones(1, ROWS, DIM)
    found, _ = newton(
        lambda w: w.flatten(1).sum(dim=1) * torch.nan, start, curvature_of_squares(jacobian), steps=3, rate=0.5
    )
    torch.testing.assert_close(found, start)


def test_the_last_move_is_what_the_memory_makes_of_its_change_of_slope(jacobian):
    """The secant condition of every quasi-Newton method, for each image; a move that tells nothing changes nothing."""
    torch.manual_seed(2)
    made, memory = curvature_of_squares(jacobian), Memory()
    for _ in range(3):
        move = torch.randn(2, ROWS, DIM)
        memory.add(move, move * torch.tensor([2.0, -1.0])[:, None, None], made)  # the second curves downward
    torch.testing.assert_close(memory.step(2 * move, made)[0], move[0], rtol=1e-4, atol=1e-4)
    slope = torch.randn(2, ROWS, DIM)
    torch.testing.assert_close(memory.step(slope, made)[1], made.step(slope)[1])


def test_an_image_unlike_the_average_is_learned_on_the_way(jacobian):
    """The average knows the features, not how much each counts for this image; plain steps do not find out."""
    own = torch.tensor([0.2, 3.0, 0.3, 2.0, 1.0])[:, None] * jacobian
    loss, made = squares(own, torch.ones(1, ROWS * DIM) @ own.T), curvature_of_squares(jacobian)
    start = torch.zeros(1, ROWS, DIM)
    found, curve = newton(loss, start, made, steps=8, rate=0.2)
    plain = start
    for _ in range(8):
        at = plain.clone().requires_grad_()
        plain = plain - 0.2 * made.step(torch.autograd.grad(loss(at).sum(), at)[0])
    assert loss(found)[0] < 0.2 * loss(plain)[0]
    assert loss(plain)[0] < curve[0, 0]


def test_what_was_learned_goes_on_in_the_next_phase(jacobian):
    own = torch.tensor([0.2, 3.0, 0.3, 2.0, 1.0])[:, None] * jacobian
    loss, made = squares(own, torch.ones(1, ROWS * DIM) @ own.T), curvature_of_squares(jacobian)
    memory = Memory()
    middle, _ = newton(loss, torch.zeros(1, ROWS, DIM), made, steps=5, rate=0.2, memory=memory)
    assert len(memory.pairs) == 4
    assert LENGTHS[0] <= memory.length[0] <= LENGTHS[1]
    found, _ = newton(loss, middle, made, steps=3, rate=0.2, memory=memory)
    forgetful, _ = newton(loss, middle, made, steps=3, rate=0.2)
    assert loss(found)[0] < loss(forgetful)[0]


def test_the_curvature_of_a_known_jacobian_is_found_from_samples(jacobian):
    """Every third sample is the recognizer's, which sees other features; the loss weighs it by 0.3."""
    torch.manual_seed(1)
    other = 0.3 * torch.randn(2, ROWS * DIM)
    n = 6_000
    by = torch.tensor([(k % 250) % 3 == 2 for k in range(n)])
    samples = torch.where(by[:, None], torch.randn(n, 2) @ other, torch.randn(n, 5) @ jacobian).view(n, ROWS, DIM)
    made = fit(samples, torch.eye(DIM), depth=7)
    wanted = 2 * jacobian.T @ jacobian + 0.3 * other.T @ other
    found = made.directions.T @ made.values.diag() @ made.directions
    assert (found - wanted).norm() < 0.1 * wanted.norm()
    torch.testing.assert_close(made.directions @ made.directions.T, torch.eye(7), rtol=0, atol=1e-3)


def test_a_start_that_is_too_far_is_drawn_back_and_others_stay():
    made = Curvature(ROWS, DIM, 5)
    made.axes.copy_(torch.diag(torch.tensor([1.0, 2.0, 0.5, 4.0])))
    torch.manual_seed(0)
    near, mean = torch.randn(1, ROWS, DIM), torch.randn(1, ROWS, DIM)
    far = mean + 1e3 * (near - mean)
    kept = made.within_reach(torch.cat([near, far]), mean)
    torch.testing.assert_close(kept[:1], near)
    whitened = (kept[1:] - mean) / torch.tensor([1.0, 2.0, 0.5, 4.0])
    assert whitened.norm().item() == pytest.approx(REACH, rel=1e-4)
    torch.testing.assert_close((kept[1:] - mean) / (kept[1:] - mean).norm(), (near - mean) / (near - mean).norm())
