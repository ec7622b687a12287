"""quality: how often people take generated faces for real, by group and arm of a study.

    pass rate = generated and judged real / generated        base failure = real and judged generated / real
    quality = pass rate / (1 - base failure)                 d', criterion: generated faces are the signal

Answers are crossed: a person sees many faces, a face is seen by several people. Both are samples, so intervals leave
out identities and raters (V_1 + V_2 - V_12). Everything is a function of counts by arm and group.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.special import ndtri

from likewise.analyse.logit import coefficient
from likewise.analyse.mixed import fit_mixed_logit
from likewise.analyse.resample import Interval, Statistic, covariance, jackknife
from likewise.analyse.rows import bare, remarked, row
from likewise.analyse.shares import share_interval
from likewise.errors import SpecError, TableError, some
from likewise.tables import Contrast, Estimates, Faces, Ratings

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]
_BY = "jackknife by image and rater"


def quality(
    ratings: Ratings,
    faces: Faces,
    by: Contrast,
    *,
    made_by: str,
    generated: str,
    question: str = "judged_real",
    arms: Sequence[str] | None = None,
    base: str = "group",
    level: float = 0.95,
) -> Estimates:
    """Estimate pass rate, base failure, quality, accuracy, d' and criterion by group, and the gaps between groups.

    ``made_by`` is the column that tells generated faces (those with the level ``generated``) from real ones; an answer
    of 1 to ``question`` means judged real, 0 judged generated. ``arms`` names the arm of each answer, in the order of
    the table (attention questions or not, with or without a comment). ``base`` says whose base failure quality
    is measured against: the group's own, or ``"pooled"`` over the groups as in the paper.
    """
    if base not in ("group", "pooled"):
        raise SpecError("base is 'group' or 'pooled'", got=repr(base))
    sheets = _sheets(ratings, faces, by, made_by, generated, question, arms)
    rows: list[dict[str, object]] = []
    for sheet in sheets:
        rows += sheet.rows(base, level)
    if len(sheets) > 1:
        rows += [line for other in sheets[1:] for line in _between(sheets[0], other, base, level)]
    return Estimates.of(rows)


def mixed_quality(
    ratings: Ratings,
    faces: Faces,
    by: Contrast,
    *,
    made_by: str,
    generated: str,
    question: str = "judged_real",
    arms: Sequence[str] | None = None,
    level: float = 0.95,
) -> Estimates:
    """Estimate the gap in log odds of passing between groups by a mixed logit, and how far images and raters lean.

    Its gap is for one image and one rater (``quality`` has the population's, which is closer to zero).
    """
    rows: list[dict[str, object]] = []
    for sheet in _sheets(ratings, faces, by, made_by, generated, question, arms):
        x, y, codes = sheet.generated_only()
        fitted = fit_mixed_logit(x, y, *codes)
        if fitted is None:
            raise TableError(f"{sheet.arm}: a mixed logit exists", got="a group that always or never passes")
        quantity, method = f"{sheet.quantity}, generated faces", "mixed logit, Laplace"
        write = partial(row, quantity, sample=sheet.arm, n=len(y), method=method)
        gap = fitted.interval(1, level=level)
        rows.append(write("mixed_log_odds_gap", group=by.label, found=gap, level=level))
        for name, spread, code in zip(("images", "raters"), fitted.spreads, codes, strict=True):
            rows.append(write("lean_sd", group=name, found=bare(spread, int(code.max()) + 1), level=np.nan))
    return Estimates.of(rows)


def _sheets(
    ratings: Ratings,
    faces: Faces,
    by: Contrast,
    made_by: str,
    generated: str,
    question: str,
    arms: Sequence[str] | None,
) -> list[_Sheet]:
    ratings.check_units(faces.images)
    frame = ratings.frame
    if arms is not None and len(arms) != len(frame):
        raise SpecError("arms names the arm of every answer", got=f"{len(arms)} for {len(frame)} answers")
    frame["arm"] = "all" if arms is None else list(arms)
    frame = frame[(frame["question"] == question) & frame["value"].notna()]
    if not frame["value"].isin([0.0, 1.0]).all():
        raise TableError(f"answers to {question!r} are 0 or 1", got=some(frame["value"].unique()))
    frame["side"] = frame["unit"].map(by.side(faces))
    frame["generated"] = frame["unit"].map(faces.attribute(made_by)).astype(str) == generated
    frame["identity"] = frame["unit"].map(faces.identities)
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
                raise TableError(f"{arm}: {name!r} has answers about generated and about real faces")
            if not parts[3].any():
                raise TableError(f"{arm}: real faces of {name!r} are judged real at times", got="never")
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
        if stat not in ("pass_rate", "base_failure", "accuracy"):  # may rest on the other group's real faces, too
            fewest = min(int(code.max()) + 1 for code in self._bearing(stat, group)[1])
            found = jackknife(self.columns, function, self.clusterings, level=level, clusters=fewest)
            return row(self.quantity, stat, self.arm, name, found, level=level, n=n, method=_BY)
        columns, codes = self._bearing(stat, group)
        found = jackknife(columns, function, codes, level=level)
        variance = float(covariance(columns, lambda t: function(t)[..., None], codes)[0, 0])
        low, high, word = share_interval(found.estimate, variance, n=n, clusters=found.clusters, level=level)
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
        """Return ones and focal ``[n, 2]``, judged real, and codes of identity and rater, of generated faces."""
        fake = self.columns[:, 0] + self.columns[:, 4] > 0
        x = np.column_stack([np.ones(int(fake.sum())), self.columns[fake, 0]])
        y = self.columns[fake, 1] + self.columns[fake, 5]
        return x, y, [pd.factorize(codes[fake])[0].astype(np.int64) for codes in self.clusterings]

    def _logit(self, level: float) -> list[dict[str, object]]:
        """Write the gap of the log odds among generated faces."""
        x, y, codes = self.generated_only()
        (found, word), label = coefficient(x, y, codes, 1, level=level), self.contrast.label
        quantity, method = f"{self.quantity}, generated faces", remarked("GEE logit by image and rater", word)
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
