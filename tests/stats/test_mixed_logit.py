"""The mixed logit: against quadrature and a plain Laplace that it does not share a line with; known leanings."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize
from scipy.special import expit

import likewise as lw
from likewise.analysis.crowd.quality import mixed_quality, quality
from likewise.errors import TableError
from likewise.simulation.system_ratings import RealOrGenerated
from likewise.stats.laplace import Laplace
from likewise.stats.logit import fit_logit
from likewise.stats.mixed_logit import fit_mixed_logit
from picked import only


def drawn(seed, images=150, raters=40, each=8, effect=0.8, spreads=(0.8, 0.5)):
    rng = np.random.default_rng(seed)
    image = np.repeat(np.arange(images), each)
    rater = np.concatenate([rng.choice(raters, each, replace=False) for _ in range(images)])
    x = np.column_stack([np.ones(len(image)), (image % 2 == 0).astype(float)])
    eta = x @ [-0.4, effect] + spreads[0] * rng.normal(size=images)[image] + spreads[1] * rng.normal(size=raters)[rater]
    return x, (rng.random(len(eta)) < expit(eta)).astype(float), image, rater.astype(np.int64)


def test_one_clustering_agrees_with_quadrature():
    """With raters that do not lean the likelihood is a product of one-dimensional integrals (40 Hermite points)."""
    x, y, image, _ = drawn(1, spreads=(1.0, 0.0), each=12)
    alone = np.arange(len(y)) % 2  # two raters without a lean
    nodes, weights = np.polynomial.hermite_e.hermegauss(40)

    def loss(theta):
        eta = (x @ theta[:2])[:, None] + np.exp(theta[2]) * nodes
        log = y[:, None] * eta - np.logaddexp(0, eta)
        by_image = np.stack([np.bincount(image, column) for column in log.T], axis=1)
        return -np.log(np.exp(by_image) @ weights).sum()

    other = optimize.minimize(loss, [0.0, 0.0, 0.0], method="BFGS")
    ours = fit_mixed_logit(x, y, image, alone.astype(np.int64))
    assert ours is not None
    assert ours.beta == pytest.approx(other.x[:2], abs=0.03)
    assert ours.spreads[0] == pytest.approx(np.exp(other.x[2]), rel=0.06)
    steps = np.eye(3) * 1e-3
    hessian = [
        [sum(a * b * loss(other.x + a * i + b * j) for a in (1, -1) for b in (1, -1)) / 4e-6 for j in steps]
        for i in steps
    ]
    spread = np.sqrt(np.diag(np.linalg.inv(hessian)))[:2]
    assert np.sqrt(np.diag(ours.covariance)) == pytest.approx(spread, rel=0.15)


def plain_laplace(x, y, image, rater):
    """Return minus the log likelihood as a textbook writes it: dense matrices, modes by Newton, no gradient."""
    z = np.hstack([np.eye(image.max() + 1)[image], np.eye(rater.max() + 1)[rater]])
    split = image.max() + 1

    def loss(theta):
        lean = z * np.r_[np.full(split, np.exp(theta[-2])), np.full(z.shape[1] - split, np.exp(theta[-1]))]
        b = np.zeros(z.shape[1])
        for _ in range(30):
            chance = expit(x @ theta[:-2] + lean @ b)
            hessian = np.eye(len(b)) + lean.T @ (lean * (chance * (1 - chance))[:, None])
            b = b + np.linalg.solve(hessian, lean.T @ (y - chance) - b)
        eta = x @ theta[:-2] + lean @ b
        return np.linalg.slogdet(hessian)[1] / 2 - (y * eta - np.logaddexp(0, eta)).sum() + b @ b / 2

    return loss


@pytest.mark.parametrize("shape", [(30, 12, 8), (12, 30, 9)], ids=["few raters", "few images"])
def test_the_fit_is_that_of_a_plain_laplace(shape):
    images, raters, each = shape
    x, y, image, rater = drawn(3, images=images, raters=raters, each=each, spreads=(0.9, 1.2))
    image, rater = np.r_[image, image[:5]], np.r_[rater, rater[:5]]  # some meet twice
    x, y = np.vstack([x, x[:5]]), np.r_[y, 1 - y[:5]]
    loss, ours = plain_laplace(x, y, image, rater), fit_mixed_logit(x, y, image, rater)
    other = optimize.minimize(loss, [0.0, 0.0, -0.5, -0.5], method="BFGS", options={"gtol": 1e-6}).x
    assert ours is not None
    assert ours.beta == pytest.approx(other[:2], abs=2e-5)
    assert np.log(ours.spreads) == pytest.approx(other[2:], abs=2e-4)
    steps = np.eye(4) * 2e-3
    corners = [[(a, b, a * i + b * j) for a in (1, -1) for b in (1, -1)] for i in steps for j in steps]
    hessian = [sum(a * b * loss(other + move) for a, b, move in four) / 1.6e-5 for four in corners]
    assert ours.covariance == pytest.approx(np.linalg.inv(np.reshape(hessian, (4, 4)))[:2, :2], rel=1e-3)


def test_the_gradient_is_that_of_the_loss(monkeypatch):
    """Also when images are taken in blocks."""
    monkeypatch.setattr("likewise.stats.laplace._BLOCK", 100)
    problem, plain = Laplace(*drawn(4, images=60, raters=15)), plain_laplace(*drawn(4, images=60, raters=15))
    theta = np.array([-0.2, 0.5, -0.4, -1.0])
    value, gradient = problem.loss(theta)
    steps = np.eye(4) * 1e-4
    assert value == pytest.approx(plain(theta), rel=1e-10)
    assert gradient == pytest.approx([(plain(theta + d) - plain(theta - d)) / 2e-4 for d in steps], rel=1e-6, abs=1e-6)


@pytest.mark.slow
def test_known_leanings_are_found_and_intervals_hold():
    held, spreads = [], []
    for seed in range(40):
        fitted = fit_mixed_logit(*drawn(seed))
        assert fitted is not None
        found = fitted.interval(1, level=0.95)
        held.append(found.low <= 0.8 <= found.high)
        spreads.append(fitted.spreads)
    assert np.mean(held) > 0.87
    assert np.mean(spreads, axis=0) == pytest.approx([0.8, 0.5], abs=0.08)


def test_one_person_sees_more_than_the_population():
    x, y, image, rater = drawn(2, spreads=(1.2, 0.8))
    mixed, plain = fit_mixed_logit(x, y, image, rater), fit_logit(x, y, [image, rater])
    assert mixed is not None and plain is not None and mixed.beta[1] > plain.beta[1]


def test_rows_of_a_study():
    tone = lw.Contrast("perceived_skin_tone", focal="darker", reference="lighter")
    ratings, faces = RealOrGenerated(200, 40, 0, passes=(0.3, 0.55)).tables()
    found = mixed_quality(ratings, faces, tone, made_by="made_by", generated="generator")
    gap = only(found, stat="mixed_log_odds_gap")
    plain = only(quality(ratings, faces, tone, made_by="made_by", generated="generator"), stat="log_odds_gap")
    assert gap["high"] < 0 and gap["estimate"] <= plain["estimate"]
    assert only(found, stat="random_effect_sd", group="images")["estimate"] > 0
    never = lw.Ratings(ratings.frame.assign(value=0.0))
    with pytest.raises(TableError, match="no real image of"):
        mixed_quality(never, faces, tone, made_by="made_by", generated="generator")
