"""quality: how often people take generated images for real, by group and arm of a study.

    pass rate = generated and judged real / generated        base failure = real and judged generated / real
    quality = pass rate / (1 - base failure)                 d', criterion: generated images are the signal

Answers are crossed: a person sees many images, a face is seen by several people. Both are samples, so intervals leave
out identities and raters (V_1 + V_2 - V_12). Everything is a function of counts by arm and group.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.special import ndtri

from likewise.errors import SpecError, TableError, some
from likewise.stats.dof import cluster_dof
from likewise.stats.intervals import Interval, bare, share_interval
from likewise.stats.jackknife import Statistic, covariance, jackknife
from likewise.stats.logit import coefficient
from likewise.stats.mixed_logit import fit_mixed_logit
from likewise.tables import Contrast, Estimates, Images, Ratings
from likewise.tables.estimates import remarked, row

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]
_BY = "jackknife by image and rater"


def quality(
    ratings: Ratings,
    images: Images,
    by: Contrast,
    *,
    made_by: str,
    generated: str | Sequence[str],
    question: str = "judged_real",
    arms: Sequence[str] | None = None,
    base: str = "group",
    level: float = 0.95,
) -> Estimates:
    """Estimate pass rate, base failure, quality, accuracy, d' and criterion by group, and the gaps between groups.

    Parameters
    ----------
    ratings, images, by
        Answers about single images (1: judged real, 0: judged generated), the images, and the groups.
    made_by
        The column that separates generated from real images ...
    generated
        ... and its level for generated ones. Several levels are several generators: each is compared with the same real
        images (``sample`` is its name), and with the first one.
    question
        Which question.
    arms
        The arm of each answer, in the order of the table (attention checks or not, with or without feedback).
    base
        Base failure rate that quality is measured against: the ``group``'s own, or ``pooled`` over the groups.
    level
        Confidence level.

    Returns
    -------
    Estimates
        By group, arm and generator, and the gaps between groups.

    Examples
    --------
    >>> from likewise.simulation.system_ratings import RealOrGenerated
    >>> answers, shown = RealOrGenerated(80, 20, seed=3).tables()
    >>> tone = Contrast("perceived_skin_tone", "darker", "lighter")
    >>> found = quality(answers, shown, tone, made_by="made_by", generated="generator")
    >>> len(found.where(stat="pass_rate"))
    2
    """
    if base not in ("group", "pooled"):
        raise SpecError(f"Unknown base {base!r} (known: 'group', 'pooled')")
    if isinstance(generated, str):
        arrays = _sheets(ratings, images, by, made_by, generated, question, arms)
    else:
        arrays = _generators(ratings, images, by, made_by, generated, question, arms)
    rows: list[dict[str, object]] = []
    for sheet in arrays:
        rows += sheet.rows(base, level)
    if len(arrays) > 1:
        rows += [line for other in arrays[1:] for line in _between(arrays[0], other, base, level)]
    return Estimates.of(rows)


def mixed_quality(
    ratings: Ratings,
    images: Images,
    by: Contrast,
    *,
    made_by: str,
    generated: str,
    question: str = "judged_real",
    arms: Sequence[str] | None = None,
    level: float = 0.95,
) -> Estimates:
    """Estimate the gap in log odds of passing between groups by a mixed logit, and its random-effect sds.

    Its gap is for one image and one rater (``quality`` has the population's, which is closer to zero).
    """
    rows: list[dict[str, object]] = []
    for sheet in _sheets(ratings, images, by, made_by, generated, question, arms):
        x, y, codes = sheet.generated_only()
        fitted = fit_mixed_logit(x, y, *codes)
        if fitted is None:
            fix = "A group's generated images are all taken for real, or none is: read the pass rates instead."
            raise TableError(f"Arm {sheet.arm!r}: the mixed logit has no finite fit", fix=fix)
        quantity, method = f"{sheet.quantity}, generated images", "mixed logit, Laplace"
        write = partial(row, quantity, sample=sheet.arm, n=len(y), method=method)
        gap = fitted.interval(1, level=level)
        rows.append(write("mixed_log_odds_gap", group=by.label, found=gap, level=level))
        for name, spread, code in zip(("images", "raters"), fitted.spreads, codes, strict=True):
            rows.append(write("random_effect_sd", group=name, found=bare(spread, int(code.max()) + 1), level=np.nan))
    return Estimates.of(rows)


def _generators(
    ratings: Ratings,
    images: Images,
    by: Contrast,
    made_by: str,
    generated: Sequence[str],
    question: str,
    arms: Sequence[str] | None,
) -> list[_Sheet]:
    """Return one sheet a generator, each with its own images and the real ones that all share."""
    if arms is not None:
        raise SpecError("arms and several generators cannot be compared at once", fix="Give one of them.")
    made = images.attribute(made_by).astype(str)
    sheets = []
    for name in generated:
        others = set(generated) - {name}
        kept = Ratings(ratings.frame[~ratings.frame["unit"].map(made).isin(others)])
        (sheet,) = _sheets(kept, images, by, made_by, name, question, None)
        sheets.append(replace(sheet, arm=name))
    return sheets


def _sheets(
    ratings: Ratings,
    images: Images,
    by: Contrast,
    made_by: str,
    generated: str,
    question: str,
    arms: Sequence[str] | None,
) -> list[_Sheet]:
    ratings.check_units(images.keys)
    frame = ratings.frame
    if arms is not None and len(arms) != len(frame):
        raise SpecError(f"arms has {len(arms)} entries for {len(frame)} answers", fix="Give one arm for each answer.")
    frame["arm"] = "all" if arms is None else list(arms)
    frame = frame[(frame["question"] == question) & frame["value"].notna()]
    if not frame["value"].isin([0.0, 1.0]).all():
        raise TableError(
            f"Answers to {question!r} other than 0 and 1: {some(frame['value'].unique())}", fix="Use scales."
        )
    frame["side"] = frame["unit"].map(by.side(images))
    frame["generated"] = frame["unit"].map(images.attribute(made_by)).astype(str) == generated
    frame["identity"] = frame["unit"].map(images.identities)
    frame = frame[frame["side"] != 0]
    return [_Sheet.of(f"people: {question}", str(arm), part, by) for arm, part in frame.groupby("arm", sort=True)]


@dataclass(frozen=True)
class _Sheet:
    """The answers in one arm."""

    quantity: str
    arm: str
    contrast: Contrast
    columns: Floats
    """Counts, for focal then reference: generated, of them judged real, real, of them judged real ``[n, 8]``."""
    units: npt.NDArray[np.str_]
    clusterings: list[Codes]
    names: tuple[npt.NDArray[np.str_], npt.NDArray[np.str_]]

    @classmethod
    def of(cls, quantity: str, arm: str, frame: pd.DataFrame, contrast: Contrast) -> _Sheet:
        """Count the answers of one arm."""
        value, fake = frame["value"].to_numpy(), frame["generated"].to_numpy(dtype=float)
        columns = []
        for side, name in ((1, contrast.focal), (-1, contrast.reference)):
            own = (frame["side"] == side).to_numpy(dtype=float)
            parts = [own * fake, own * fake * value, own * (1 - fake), own * (1 - fake) * value]
            if not parts[0].any() or not parts[2].any():
                raise TableError(
                    f"Arm {arm!r}: no answers about generated, or about real, images of {name!r}",
                    fix="Both are needed: check the column of the generator, and the responses.",
                )
            if not parts[3].any():
                raise TableError(
                    f"Arm {arm!r}: no real image of {name!r} is judged real, so quality is undefined",
                    fix="Collect more responses, or leave this arm out.",
                )
            columns += parts
        names = (frame["identity"].to_numpy(dtype=str), frame["rater"].to_numpy(dtype=str))
        codes = [pd.factorize(name)[0].astype(np.int64) for name in names]
        return cls(quantity, arm, contrast, np.stack(columns, axis=1), frame["unit"].to_numpy(dtype=str), codes, names)

    def rows(self, base: str, level: float) -> list[dict[str, object]]:
        """Write the numbers of both groups and their gaps."""
        rows = []
        for group, name in enumerate((self.contrast.focal, self.contrast.reference)):
            for stat, function in _statistics(group, base).items():
                rows.append(self._row(stat, str(name), function, group, level))
            rows.append(self._spread(group, str(name)))
        for stat in ("pass_rate", "quality", "d_prime"):
            found = jackknife(self.columns, _gap(stat, base), self.clusterings, level=level, clusters=self._fewest())
            quantity, n = f"{self.quantity}, {stat}", int(self.columns[:, ::2].sum())
            rows.append(row(quantity, "gap", self.arm, self.contrast.label, found, level=level, n=n, method=_BY))
        return rows + self._logit(level)

    def _row(self, stat: str, name: str, function: Statistic, group: int, level: float) -> dict[str, object]:
        own = self.columns[:, 4 * group : 4 * group + 4].sum(axis=0)
        n = int({"pass_rate": own[0], "base_failure": own[2]}.get(stat, own[0] + own[2]))
        if stat not in ("pass_rate", "base_failure", "accuracy"):  # may rest on the other group's real images, too
            fewest = min(int(code.max()) + 1 for code in self._bearing(stat, group)[1])
            found = jackknife(self.columns, function, self.clusterings, level=level, clusters=fewest)
            return row(self.quantity, stat, self.arm, name, found, level=level, n=n, method=_BY)
        columns, codes = self._bearing(stat, group)
        found = jackknife(columns, function, codes, level=level)
        variance = float(covariance(columns, lambda t: function(t)[..., None], codes)[0, 0])
        dof = cluster_dof(codes)
        low, high, word = share_interval(found.estimate, variance, n=n, clusters=found.clusters, level=level, dof=dof)
        found = Interval(found.estimate, low, high, found.clusters)
        return row(self.quantity, stat, self.arm, name, found, level=level, n=n, method=remarked(_BY, word))

    def _bearing(self, stat: str, group: int) -> tuple[Floats, list[Codes]]:
        """Return the rows that bear on a group's statistic: others are no clusters of it."""
        kinds = {"pass_rate": [0], "base_failure": [2]}.get(stat, [0, 2])
        mine = self.columns[:, [4 * group + kind for kind in kinds]].any(axis=1)
        return self.columns[mine], [pd.factorize(code[mine])[0].astype(np.int64) for code in self.clusterings]

    def _fewest(self) -> int:
        """Return the clusters of the smaller group."""
        return min(int(code.max()) + 1 for group in (0, 1) for code in self._bearing("", group)[1])

    def _spread(self, group: int, name: str) -> dict[str, object]:
        """Write the sd of the generated images' own pass rates, which the paper puts behind its means."""
        fake, passed = self.columns[:, 4 * group], self.columns[:, 4 * group + 1]
        rates = pd.DataFrame({"unit": self.units, "n": fake, "k": passed})[fake > 0].groupby("unit").sum()
        found = bare(float((rates["k"] / rates["n"]).std(ddof=1)) if len(rates) > 1 else 0.0, len(rates))
        return row(self.quantity, "sd_over_images", self.arm, name, found, level=np.nan, n=len(rates), method="sd")

    def generated_only(self) -> tuple[Floats, Floats, list[Codes]]:
        """Return ones and focal ``[n, 2]``, judged real, and codes of identity and rater, of generated images."""
        fake = self.columns[:, 0] + self.columns[:, 4] > 0
        x = np.column_stack([np.ones(int(fake.sum())), self.columns[fake, 0]])
        y = self.columns[fake, 1] + self.columns[fake, 5]
        return x, y, [pd.factorize(codes[fake])[0].astype(np.int64) for codes in self.clusterings]

    def _logit(self, level: float) -> list[dict[str, object]]:
        """Write the gap of the log odds among generated images."""
        x, y, codes = self.generated_only()
        (found, word), label = coefficient(x, y, codes, 1, level=level), self.contrast.label
        quantity, method = f"{self.quantity}, generated images", remarked("GEE logit by image and rater", word)
        return [row(quantity, "log_odds_gap", self.arm, label, found, level=level, n=len(y), method=method)]


def _statistics(group: int, base: str) -> dict[str, Statistic]:
    """Return the numbers of one group as functions of the eight counts."""

    def own(total: Floats) -> Floats:
        return total[..., 4 * group : 4 * group + 4]

    def reals(total: Floats) -> Floats:
        return own(total)[..., 2:] if base == "group" else total[..., 2:4] + total[..., 6:8]

    def pair(total: Floats) -> tuple[Floats, Floats]:
        """Hits and false alarms as normal quantiles, half a count added to each (Hautus 1995)."""
        n, k, m, j = np.moveaxis(own(total), -1, 0)
        return ndtri((n - k + 0.5) / (n + 1)), ndtri((m - j + 0.5) / (m + 1))

    return {
        "pass_rate": lambda t: own(t)[..., 1] / own(t)[..., 0],
        "base_failure": lambda t: 1 - own(t)[..., 3] / own(t)[..., 2],
        "quality": lambda t: own(t)[..., 1] / own(t)[..., 0] / (reals(t)[..., 1] / reals(t)[..., 0]),
        "accuracy": lambda t: (own(t)[..., 0] - own(t)[..., 1] + own(t)[..., 3]) / (own(t)[..., 0] + own(t)[..., 2]),
        "d_prime": lambda t: pair(t)[0] - pair(t)[1],
        "criterion": lambda t: -(pair(t)[0] + pair(t)[1]) / 2,
    }


def _gap(stat: str, base: str) -> Statistic:
    focal, reference = (_statistics(group, base)[stat] for group in (0, 1))
    return lambda total: focal(total) - reference(total)


def _between(one: _Sheet, other: _Sheet, base: str, level: float) -> list[dict[str, object]]:
    """Compare two arms: accuracy in one less that in the other, and the gap in quality likewise."""
    columns = np.zeros((len(one.columns) + len(other.columns), 16))
    columns[: len(one.columns), :8], columns[len(one.columns) :, 8:] = one.columns, other.columns
    codes = [pd.factorize(np.r_[one.names[k], other.names[k]])[0].astype(np.int64) for k in (0, 1)]
    write = partial(row, sample=f"{other.arm} - {one.arm}", level=level, n=int(columns[:, ::2].sum()), method=_BY)
    rows = []
    for stat, group, function in (
        ("accuracy", "both groups", _right),
        ("quality", one.contrast.label, _gap("quality", base)),
    ):
        found = jackknife(columns, _apart(function), codes, level=level)
        rows.append(write(f"{one.quantity}, {stat}", "gap", group=group, found=found))
    return rows


def _apart(function: Statistic) -> Statistic:
    return lambda total: function(total[..., 8:]) - function(total[..., :8])


def _right(total: Floats) -> Floats:
    """The share of right answers over both groups."""
    generated, passed, real, kept = (total[..., k] + total[..., k + 4] for k in range(4))
    share: Floats = (generated - passed + kept) / (generated + real)
    return share
