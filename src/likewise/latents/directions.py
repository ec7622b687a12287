"""directions: which way to move a latent so that one attribute changes and named others stay.

A direction is fitted in W on the mean row of the latents: a linear score ``s(w) = n'w + c`` for each attribute, by
least squares (ridge), with its skill measured on identities that the fit has not seen. Two levels are 0 and 1 in it. A
label y = f(w) of elliptically spread latents has cov(w, y) = S E[grad f] (Stein), so the least-squares coefficient
S^-1 cov(w, y) *is* the label's mean gradient, whatever f: a step that leaves the score of a held label where it is
leaves the label itself, on average. A logistic score reads a little better near the border, but its coefficient is
no mean gradient: it is biased toward associated attributes, and what it holds is held less.

The score's gradient ``n`` is not the way to move. Latents do not vary alike in all directions, and a step along ``n``
leaves the cloud of faces. Of all steps that raise the main score by one standard deviation and leave the held scores
where they are, ``step`` takes the one that is smallest in the latents' own metric:

    minimize d' S^-1 d   subject to   N'd = e      =>      d = S N (N' S N)^-1 e

with ``S`` the covariance of the mean rows and ``N`` the gradients of the main and the held attributes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.linear_model import LogisticRegressionCV, RidgeCV
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GroupKFold

from likewise.errors import LikewiseError, SpecError, TableError, VectorError, nearest, some
from likewise.tables import Estimates, Images, Vectors
from likewise.tables.estimates import row
from likewise.tables.io import parse_json, replacing

Floats = npt.NDArray[np.float64]
FOLDS = 5
LEAST_SQUARES, LOGISTIC = RULES = ("least squares", "logistic")
USUAL = LEAST_SQUARES
"""The default rule for two levels; the module's docstring gives the reason."""
SHIPPED = Path(__file__).parent / "shipped"
FEWEST = 40  # images with a label; below that a direction in hundreds of dimensions is noise


@dataclass(frozen=True, kw_only=True)
class Skill:
    """How well a score reads its attribute from latents of identities it was not fitted on."""

    measure: str
    """``AUC`` for two levels, ``r`` (correlation) for numbers."""
    value: float
    images: int
    identities: int
    positive: str = ""
    """For two levels: which of them has the higher score."""
    label: str = ""
    """The source of the labels."""


@dataclass(frozen=True)
class Directions:
    """Linear scores of attributes in one generator's W, and the steps that follow from them."""

    source: str
    """The generator that the latents are of."""
    labels: str
    """What was labeled, and by whom; ``Skill.label`` says it of each attribute."""
    names: tuple[str, ...]
    gradients: Floats
    """``[k, D]``: of each score, scaled so that it has standard deviation one."""
    covariance: Floats
    """``[D, D]``: of the mean rows."""
    skills: tuple[Skill, ...]
    ends: Floats | None = None
    """``[k, 2]``: the mean score of each side (of numbers: a standard deviation to each side of the mean)."""
    rule: str = USUAL
    """The rule for two levels."""

    def scores(self, vectors: Vectors) -> pd.DataFrame:
        """Return each image's scores in standard deviations (up to a constant), indexed by image."""
        return pd.DataFrame(mean_rows(vectors) @ self.gradients.T, index=vectors.keys, columns=list(self.names))

    def step(self, main: str, *, hold: Sequence[str] = ()) -> Floats:
        """Return ``[D]``: raises the main score by one standard deviation and leaves the held ones."""
        wanted = [main, *hold]
        unknown = [name for name in wanted if name not in self.names]
        if unknown:
            fix = nearest(unknown[0], self.names) or f"Fitted: {some(self.names, 12)}."
            raise SpecError(f"No direction was fitted for {some(unknown)}", fix=fix)
        if len(set(wanted)) < len(wanted):
            raise SpecError(f"An attribute is listed twice: {some(wanted)}", fix="Move it or hold it, not both.")
        gradients = self.gradients[[self.names.index(name) for name in wanted]]  # [h, D]
        spread = self.covariance @ gradients.T  # [D, h]
        within = gradients @ spread
        if np.linalg.cond(within) > 1e8:
            problem = f"The direction of {main!r} is collinear with the held attributes {some(hold)}"
            raise SpecError(problem, fix="Hold fewer attributes.")
        return spread @ np.linalg.solve(within, np.eye(len(wanted))[:, 0])

    def write(self, path: str | Path) -> Path:
        """Write to one ``.npz``; nothing in it is ever executed on reading."""
        skills = [vars(skill) for skill in self.skills]
        about = {"source": self.source, "labels": self.labels, "rule": self.rule, "skills": skills}
        parts: dict[str, Any] = {
            "names": np.array(self.names, dtype=str),
            "gradients": self.gradients.astype(np.float32),
            "covariance": self.covariance.astype(np.float32),
            "about": np.array(json.dumps(about)),
        }
        if self.ends is not None:
            parts["ends"] = self.ends.astype(np.float32)
        with replacing(Path(path)) as temporary, temporary.open("wb") as handle:
            np.savez_compressed(handle, **parts)
        return Path(path)

    @classmethod
    def read(cls, path: str | Path) -> Directions:
        """Read what ``write`` wrote."""
        try:
            with np.load(path, allow_pickle=False) as stored:
                about: dict[str, Any] = parse_json(str(stored["about"]))
                return cls(
                    source=about["source"],
                    labels=about["labels"],
                    names=tuple(map(str, stored["names"])),
                    gradients=stored["gradients"].astype(np.float64),
                    covariance=stored["covariance"].astype(np.float64),
                    skills=tuple(Skill(**skill) for skill in about["skills"]),
                    ends=stored["ends"].astype(np.float64) if "ends" in stored.files else None,
                    rule=about["rule"],
                )
        except (OSError, ValueError, KeyError, TypeError, EOFError) as error:
            raise VectorError(
                f"Cannot read directions from {path}: {type(error).__name__}: {str(error)[:200]}",
                fix="Fit them again with: likewise directions fit.",
            ) from error


def shipped_names() -> list[str]:
    """Return the generators for which directions come with likewise."""
    return sorted(path.stem for path in SHIPPED.glob("*.npz"))


def shipped(generator: str) -> Directions:
    """Return the directions that come with likewise for this generator, by its component name."""
    known = shipped_names()
    if generator not in known:
        fix = nearest(generator, known) or "Fit your own: likewise directions sample, then likewise directions fit."
        raise SpecError(f"No directions are shipped for the generator {generator!r} (shipped: {some(known)})", fix=fix)
    return Directions.read(SHIPPED / f"{generator}.npz")


def mean_rows(vectors: Vectors) -> Floats:
    """Return the mean over the rows of each latent, ``[n, D]``; an embedding is its own mean."""
    values = np.asarray(vectors.values, dtype=np.float64)
    return values.mean(axis=1) if values.ndim == 3 else values


def fit(
    faces: Images, vectors: Vectors, attributes: Sequence[str], *,
    labels: str, made_by: Mapping[str, str] | None = None, shrink: float = 0.01, rule: str = USUAL,
) -> Directions:  # fmt: skip
    """Fit a score for each attribute column; images without a label or without a latent have no part in it.

    ``labels`` says what was labeled and by whom, ``made_by`` who made each column where that is known. ``rule`` is how
    the rule for two levels: "least squares", whose held scores hold the labels themselves, or "logistic", which reads
    them best but is biased toward associated attributes.
    """
    if rule not in RULES:
        raise SpecError(f"rule is {rule!r}", fix=f"Choose '{LEAST_SQUARES}' or '{LOGISTIC}'.")
    known = faces.subset([image for image in faces.keys if image in vectors])
    if len(known) < FEWEST:
        raise TableError(
            f"Only {len(known)} images have a latent; directions need at least {FEWEST}", fix="Project more images."
        )
    rows = mean_rows(Vectors(known.keys, vectors.take(known.keys), source=vectors.source))
    covariance = _shrunk(np.cov(rows, rowvar=False), shrink)
    identity = known.frame["identity"].to_numpy()
    fitted = [_fitted(rows, known.attribute(name), identity, name, rule == LOGISTIC) for name in attributes]
    named = dict(zip(attributes, fitted, strict=True))
    return Directions(
        source=vectors.source,
        labels=labels,
        names=tuple(attributes),
        gradients=np.stack([gradient for gradient, _ in fitted]),
        covariance=covariance,
        skills=tuple(
            replace(skill, label=(made_by or {}).get(name, ""))
            for name, (_, skill) in zip(attributes, fitted, strict=True)
        ),
        ends=np.stack([_ends(rows @ g, known.attribute(name), skill) for name, (g, skill) in named.items()]),
        rule=rule,
    )


def _ends(scores: Floats, column: pd.Series[Any], skill: Skill) -> Floats:
    """Return where the two sides' scores lie on average."""
    if not skill.positive:
        return np.array([scores.mean() - scores.std(), scores.mean() + scores.std()])
    there, high = column.notna().to_numpy(), (column.astype(str) == skill.positive).to_numpy()
    return np.array([scores[there & ~high].mean(), scores[there & high].mean()])


def _shrunk(covariance: Floats, share: float) -> Floats:
    """Mix in a little of the round covariance, so that a metric exists also with fewer images than dimensions."""
    size = len(covariance)
    return np.asarray((1 - share) * covariance + share * np.trace(covariance) / size * np.eye(size))


def _fitted(
    rows: Floats, column: pd.Series[Any], identity: npt.NDArray[np.object_], name: str, logistic: bool
) -> tuple[Floats, Skill]:
    there = column.notna().to_numpy()
    if there.sum() < FEWEST:
        raise TableError(
            f"Only {int(there.sum())} images have a value of {name!r}; a direction needs at least {FEWEST}",
            fix="Label more images.",
        )
    x, groups = rows[there], identity[there]
    if len(set(groups)) < 2 * FOLDS:
        raise TableError(
            f"Only {len(set(groups))} identities; cross-validation needs at least {2 * FOLDS}",
            fix="Add images of more identities, or set the identity column.",
        )
    center, spread = x.mean(axis=0), x.std(axis=0) + 1e-12
    y, positive = _target(column[there], name)
    z = (x - center) / spread
    unseen = np.empty(len(y))
    for seen, left in GroupKFold(FOLDS).split(z, groups=groups):
        unseen[left] = _score(_model(z[seen], y[seen], groups[seen], bool(positive) and logistic), z[left])
    gradient = np.ravel(_model(z, y, groups, bool(positive) and logistic).coef_) / spread
    skill = Skill(
        measure="AUC" if positive else "r",
        value=float(roc_auc_score(y, unseen) if positive else np.corrcoef(y, unseen)[0, 1]),
        images=len(y),
        identities=len(set(groups)),
        positive=positive,
    )
    return gradient / (x @ gradient).std(), skill


def _target(column: pd.Series[Any], name: str) -> tuple[Floats, str]:
    """Return the label as numbers, and for two levels the one that counts as 1; more levels are refused."""
    levels = sorted(column.unique(), key=str)
    if len(levels) == 2:
        return (column == levels[1]).to_numpy(float), str(levels[1])
    if not pd.api.types.is_numeric_dtype(column) or len(levels) < 2:
        fix = "Add a column with two levels for each level of interest."
        raise TableError(f"{name!r} is neither numeric nor has two levels: {some(levels)}", fix=fix)
    return column.to_numpy(float), ""


def _model(z: Floats, y: Floats, groups: npt.NDArray[np.object_], two_levels: bool) -> Any:
    """Fit with the penalty that predicts other identities best."""
    folds = list(GroupKFold(FOLDS).split(z, groups=groups))
    if two_levels:
        return LogisticRegressionCV(
            Cs=np.logspace(-4, 0, 5), cv=folds, l1_ratios=(0.0,), use_legacy_attributes=False,
            scoring="neg_log_loss", max_iter=500,
        ).fit(z, y)  # fmt: skip
    return RidgeCV(alphas=np.logspace(0, 5, 11), cv=folds).fit(z, y)


def _score(model: Any, z: Floats) -> Floats:
    return np.asarray(model.decision_function(z) if hasattr(model, "decision_function") else model.predict(z))


def summary(directions: Directions) -> pd.DataFrame:
    """Return one row an attribute: its skill, its sample size, and its largest correlation with another."""
    gradients, covariance = directions.gradients, directions.covariance
    shared = gradients @ covariance @ gradients.T
    spread = np.sqrt(np.diag(shared))
    correlation = shared / np.outer(spread, spread)
    rows: list[Mapping[str, object]] = []
    for index, (name, skill) in enumerate(zip(directions.names, directions.skills, strict=True)):
        others = np.where(np.arange(len(directions.names)) == index, 0, np.abs(correlation[index]))
        closest = directions.names[int(others.argmax())] if len(others) > 1 else ""
        rows.append({"attribute": name, **vars(skill), "associated with": closest, "correlation": others.max()})
    return pd.DataFrame(rows)


def skills(faces: Images, vectors: Vectors, labels: list[str], name: str) -> Estimates:
    """Say how well each label is read from mean rows of unseen identities; what cannot be fitted is left out."""
    rows = []
    for label in labels:
        try:
            (skill,) = fit(faces, vectors, [label], labels="the table").skills
        except LikewiseError:
            continue
        rows.append(
            row(
                f"{label} ({skill.measure})",
                "skill",
                name,
                "all",
                skill.value,
                n=skill.images,
                clusters=skill.identities,
                method="five folds by identity",
            )
        )
    return Estimates.of(rows)
