"""Cross-fitted propensity scores from a logistic regression on the mean latent.

Scores are cross-fitted by default: an identity's score comes from a model that has not seen it, because a model that
has seen it separates the groups better than they are apart. Numbers are standardized, the penalty is scikit-learn's
default (L2, C = 1), and the fit runs to convergence, so that scores do not depend on rows' order. They are rounded to
nine decimals, below which the number of threads could show.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.special import expit, logit
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from likewise.design.search.points import Floats, Points, mean_rows
from likewise.errors import SpecError, VectorError, some
from likewise.tables import Contrast, Estimates, Images, Vectors
from likewise.tables.estimates import row
from likewise.tables.matching.match_spec import SEPARATED

_BINS = 20


@dataclass(frozen=True)
class Fit:
    """Scores by image, on the logit scale, and what they were fitted with."""

    logit: pd.Series
    trained: pd.Series | None
    """The same from one model that was fitted to all units; nothing of given scores."""
    side: pd.Series

    @property
    def probability(self) -> pd.Series:
        """The scores as probabilities of the focal side."""
        return pd.Series(expit(self.logit.to_numpy()), index=self.logit.index)

    def on(self, scale: str) -> pd.Series:
        """Return the scores on the logit or the probability scale."""
        return (self.logit if scale == "logit" else self.probability).round(9)

    @property
    def auc(self) -> float:
        """How well the scores separate the groups (AUC)."""
        return float(roc_auc_score(self.side == 1, self.logit))


def propensity(faces: Images, vectors: Vectors, contrast: Contrast, *, folds: int = 5, seed: int = 0) -> Fit:
    """Fit the side on the mean row of the vectors; with ``folds``, score each identity by models of the others."""
    side = contrast.side(faces)
    images = sorted(image for image in side.index[side != 0] if image in vectors)
    side = side.loc[images]
    if side.nunique() < 2:
        raise VectorError(f"The {len(images)} units with vectors are not of both groups", fix="A score needs both.")
    values = _standardized(mean_rows(Points(vectors.values, vectors.rows(images))))
    focal = (side == 1).to_numpy()
    whole = _model(values, focal).decision_function(values)
    if not folds:
        return Fit(pd.Series(whole, index=side.index), pd.Series(whole, index=side.index), side)
    crossed = np.empty(len(images))
    for fold, out in enumerate(_dealt(faces.identities.loc[images].to_numpy(), focal, folds, seed)):
        if len(np.unique(focal[~out])) < 2:
            raise SpecError(f"Without fold {fold + 1} one group is empty", fix="Use fewer folds.")
        crossed[out] = _model(values[~out], focal[~out]).decision_function(values[out])
    return Fit(pd.Series(crossed, index=side.index), pd.Series(whole, index=side.index), side)


def given_fit(faces: Images, contrast: Contrast, scores: pd.Series, scale: str) -> Fit:
    """Return given scores as a fit without a model."""
    side = contrast.side(faces).loc[scores.index]
    side = side[side != 0]
    own = scores.loc[side.index]
    return Fit(own if scale == "logit" else pd.Series(logit(own.clip(1e-12, 1 - 1e-12)), own.index), None, side)


def overlap(fit: Fit, contrast: Contrast) -> Estimates:
    """Diagnose the common ground: AUC, accuracies, score histograms, common area, effective sizes."""
    focal = (fit.side == 1).to_numpy()
    p, n = fit.probability.to_numpy(), len(fit.side)
    edges = np.linspace(0, 1, _BINS + 1)
    shares = [np.histogram(p[mask], edges)[0] / mask.sum() for mask in (focal, ~focal)]
    guessed = {"as scored": float(((fit.logit > 0) == focal).mean())}
    if fit.trained is not None:
        guessed["training fit"] = float(((fit.trained > 0) == focal).mean())
    rows = [_row("propensity", "auc", contrast.label, fit.auc, n)]
    rows += [_row(f"propensity, {name}", "score_accuracy", contrast.label, value, n) for name, value in guessed.items()]
    rows.append(_row("propensity", "overlap", contrast.label, float(np.minimum(*shares).sum()), n))
    for level, mask, share, weight in zip(
        (contrast.focal, contrast.reference), (focal, ~focal), shares, (1 - p, p), strict=True
    ):
        kept = weight[mask].sum() ** 2 / max((weight[mask] ** 2).sum(), np.finfo(float).tiny)
        rows.append(_row("propensity", "effective_size", str(level), float(kept), int(mask.sum())))
        rows += [
            _row(f"propensity {low:.2f} to {high:.2f}", "score_share", str(level), float(value), int(mask.sum()))
            for low, high, value in zip(edges[:-1], edges[1:], share, strict=True)
        ]
    return Estimates.of(rows)


def overlap_note(auc: float) -> str:
    """Say when the groups separate so well that matching on the score has little to stand on."""
    if auc < SEPARATED:
        return ""
    return f"The score separates the groups almost perfectly (AUC {auc:.3f}): there is little overlap to match in"


def score_weights(fit: Fit, *, kind: str = "overlap") -> pd.Series:
    """Return weights by image: 'overlap', 'ipw' (all units) or 'focal' (the focal group)."""
    p = fit.probability.clip(1e-12, 1 - 1e-12)
    focal = fit.side == 1
    known = {"overlap": (1 - p, p), "ipw": (1 / p, 1 / (1 - p)), "focal": (p / p, p / (1 - p))}
    if kind not in known:
        raise SpecError(f"Weights of the kind {kind!r} are unknown", fix=f"Known: {some(known)}.")
    own, other = known[kind]
    return own.where(focal, other).rename("weight")


def _standardized(points: Points) -> Floats:
    values = points.at(np.arange(len(points), dtype=np.intp))
    values -= values.mean(axis=0)
    scale = values.std(axis=0)
    if not (scale > 0).any():
        raise VectorError("The vectors are constant: no score can be fitted", fix="Check how they were computed.")
    standardized: Floats = values[:, scale > 0] / scale[scale > 0]
    return standardized


def _model(values: Floats, focal: npt.NDArray[np.bool_]) -> LogisticRegression:
    few = values.shape[1] <= len(values)
    solver = "newton-cholesky" if few else "lbfgs"
    return LogisticRegression(solver=solver, tol=1e-9, max_iter=2000).fit(values, focal)


def _dealt(
    identities: npt.NDArray[np.object_], focal: npt.NDArray[np.bool_], folds: int, seed: int
) -> list[npt.NDArray[np.bool_]]:
    """Deal whole identities into folds, each side by itself, so that every fold has both."""
    rng = np.random.default_rng(seed)
    fold = np.empty(len(identities), dtype=np.int64)
    for mask in (focal, ~focal):
        codes = pd.factorize(identities[mask], sort=True)[0]
        people = rng.permutation(codes.max() + 1) % folds
        fold[mask] = people[codes]
    return [fold == index for index in range(folds) if (fold == index).any()]


def _row(quantity: str, stat: str, group: str, estimate: float, n: int) -> dict[str, object]:
    return row(quantity, stat, "all", group, estimate, n=n, method="logistic regression")
