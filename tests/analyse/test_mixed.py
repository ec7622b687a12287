"""The mixed logit: against quadrature that it does not share a line with, and on planted leanings."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize
from scipy.special import expit

import likewise as lw
from likewise.analyse.logit import fit_logit
from likewise.analyse.mixed import fit_mixed_logit
from likewise.analyse.quality import mixed_quality, quality
from likewise.errors import TableError
from likewise.world.planted import Crowd
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
    bent = [
        [sum(a * b * loss(other.x + a * i + b * j) for a in (1, -1) for b in (1, -1)) / 4e-6 for j in steps]
        for i in steps
    ]
    spread = np.sqrt(np.diag(np.linalg.inv(bent)))[:2]
    assert np.sqrt(np.diag(ours.covariance)) == pytest.approx(spread, rel=0.15)


@pytest.mark.slow
def test_planted_leanings_are_found_and_intervals_hold():
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
    ratings, faces = Crowd(200, 40, 0, passes=(0.3, 0.55)).tables()
    found = mixed_quality(ratings, faces, tone, made_by="made_by", generated="generator")
    gap = only(found, stat="mixed_log_odds_gap")
    plain = only(quality(ratings, faces, tone, made_by="made_by", generated="generator"), stat="log_odds_gap")
    assert gap["high"] < 0 and gap["estimate"] <= plain["estimate"]
    assert only(found, stat="lean_sd", group="images")["estimate"] > 0
    never = lw.Ratings(ratings.frame.assign(value=0.0))
    with pytest.raises(TableError, match="always or never"):
        mixed_quality(never, faces, tone, made_by="made_by", generated="generator")
