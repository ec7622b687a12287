"""The trials of one recogniser, laid out for counting: genuine ones by group, impostors by the groups that meet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement

import numpy as np
import numpy.typing as npt
import pandas as pd

from likewise.analyse.bound import answer_weights, linked, of_both
from likewise.analyse.operating import Arm, Codes, Errors, Floats, errors_at
from likewise.errors import TableError, some
from likewise.tables import Contrast, Faces, Pairs, Ratings

Bools = npt.NDArray[np.bool_]


def boards(
    ratings: Ratings, trials: Pairs, faces: Faces, by: Contrast | str, pairs: Pairs | None, *, drop: bool
) -> list[Board]:
    """Lay out the trials of every recogniser; ``drop`` leaves out those without a distance."""
    ratings.check_units(trials.frame["pair"])
    trials.check_faces(faces)
    frame = trials.frame
    if "same" not in frame.columns:
        raise TableError("trials say whether they show the same person", fix="Give Pairs with the column 'same'.")
    column = by.column if isinstance(by, Contrast) else by
    group = faces.attribute(column)
    if isinstance(by, Contrast):
        side = by.side(faces)
        group = pd.Series(np.where(side == 1, str(by.focal), str(by.reference)), index=side.index).where(side != 0)
    whose = faces.identities
    for end in ("a", "b"):
        frame[f"group_{end}"] = frame[end].map(group)
        frame[f"identity_{end}"] = frame[end].map(whose)
    _check_same(frame)
    frame = frame.dropna(subset=["group_a", "group_b"])
    found = []
    for (rater, question), part in ratings.frame.groupby(["rater", "question"], sort=True):
        sheet = frame.merge(part[["unit", "value"]], left_on="pair", right_on="unit")
        contrast = by if isinstance(by, Contrast) else None
        found.append(Board.of(str(rater), str(question), sheet, contrast, pairs, drop=drop))
    return found


def _check_same(frame: pd.DataFrame) -> None:
    wrong = frame["same"].astype(bool) != (frame["identity_a"] == frame["identity_b"])
    if wrong.any():
        raise TableError("a trial is 'same' where both images show one identity", got=some(frame.loc[wrong, "pair"]))


@dataclass(frozen=True)
class _Layout:
    """The trials of one recogniser as arrays over rows."""

    left: Codes
    right: Codes
    sides: Codes
    """The group of each end, ``[2, n]``."""
    same: Bools
    distance: Floats
    failed: Bools
    kept: Bools
    dyad: Codes
    matched: Floats
    """The weight of a genuine trial in the matched sample, as in ``gaps``."""
    bound: Codes
    """Identities that a pair binds together share a code, ``[I]``."""

    @classmethod
    def of(cls, sheet: pd.DataFrame, groups: list[str], pairs: Pairs | None, *, drop: bool) -> _Layout:
        """Code identities, groups and meetings; ``drop`` leaves out trials without a distance."""
        code, names = pd.factorize(np.r_[sheet["identity_a"], sheet["identity_b"]], sort=True)
        left, right = np.split(code.astype(np.int64), 2)
        sides = [pd.Index(groups).get_indexer(pd.Index(sheet[f"group_{end}"].astype(str))) for end in ("a", "b")]
        same, value = sheet["same"].to_numpy(dtype=bool), sheet["value"].to_numpy()
        failed = np.isnan(value)
        dyad = np.full(len(left), -1, dtype=np.int64)
        dyad[~same] = pd.factorize((np.minimum(left, right) * len(names) + np.maximum(left, right))[~same])[0]
        distance = np.where(failed, np.inf, value)
        kept = ~failed if drop else np.ones(len(value), dtype=bool)
        matched, bound = _matched(sheet, same & kept, pairs, pd.Index(names))
        return cls(left, right, np.stack(sides), same, distance, failed, kept, dyad, matched, bound)

    def arm(self, rows: Bools) -> Arm:
        """Take some of the trials."""
        rows = rows & self.kept
        return Arm.of(self.distance[rows], self.left[rows], self.right[rows], self.dyad[rows])

    def matched_arm(self, rows: Bools) -> Arm:
        """Take those of the trials that are of matched images, each with its weight."""
        rows = rows & (self.matched > 0)
        own = (self.distance[rows], self.left[rows], self.right[rows], self.dyad[rows])
        return Arm.of(*own, self.matched[rows])

    def strata(self, groups: int) -> list[Codes]:
        """Return the identities of each group."""
        home = np.zeros(int(max(self.left.max(), self.right.max())) + 1, dtype=np.int64)
        home[self.left], home[self.right] = self.sides
        return [np.flatnonzero(home == g) for g in range(groups)]


def _matched(sheet: pd.DataFrame, asked: Bools, pairs: Pairs | None, names: pd.Index) -> tuple[Floats, Codes]:
    """Return the weight of each trial in the matched sample and the code that binds each identity to its look-alike."""
    weights = np.zeros(len(sheet))
    if pairs is None:
        return weights, np.arange(len(names))
    tried = sheet[asked]
    there = of_both(pairs, tried["a"])
    weights[asked] = answer_weights(there, tried["a"])
    whose = tried.drop_duplicates("a").set_index("a")["identity_a"]
    ends = np.stack([whose.loc[there[end]].to_numpy() for end in ("a", "b")], axis=1)
    return weights, linked(ends, names)


@dataclass(frozen=True)
class Board:
    """One recogniser's trials, by group, kind and distance."""

    rater: str
    question: str
    contrast: Contrast | None
    groups: list[str]
    strata: list[Codes]
    """Identities of each group."""
    genuine: list[Arm]
    matched: list[Arm]
    """Genuine trials of matched images, by group; empty without pairs."""
    bound: Codes
    """Identities that a pair binds together share a code, ``[I]``."""
    impostors: Arm
    cells: dict[tuple[int, int], Arm]
    """Impostor trials by the two groups that meet."""
    meetings: int
    failed: list[tuple[Bools, Codes]]
    """By group: whether each genuine trial has no distance, and whose it is."""

    @classmethod
    def of(
        cls,
        rater: str,
        question: str,
        sheet: pd.DataFrame,
        contrast: Contrast | None,
        pairs: Pairs | None,
        *,
        drop: bool,
    ) -> Board:
        """Lay out the trials of one recogniser."""
        groups = (
            [str(contrast.focal), str(contrast.reference)] if contrast else sorted(map(str, sheet["group_a"].unique()))
        )
        laid = _Layout.of(sheet, groups, pairs, drop=drop)
        mine, where = [laid.same & (laid.sides[0] == g) for g in range(len(groups))], np.sort(laid.sides, axis=0)
        cells = {
            (g, h): ~laid.same & (where[0] == g) & (where[1] == h)
            for g, h in combinations_with_replacement(range(len(groups)), 2)
        }
        board = cls(
            rater=rater,
            question=question,
            contrast=contrast,
            groups=groups,
            strata=laid.strata(len(groups)),
            genuine=[laid.arm(rows) for rows in mine],
            matched=[laid.matched_arm(rows) for rows in mine] if laid.matched.any() else [],
            bound=laid.bound,
            impostors=laid.arm(~laid.same),
            cells={key: laid.arm(rows) for key, rows in cells.items() if (rows & laid.kept).any()},
            meetings=int(laid.dyad.max()) + 1,
            failed=[(laid.failed[rows], laid.left[rows]) for rows in mine],
        )
        board.check()
        return board

    def check(self) -> None:
        """Every group has genuine trials of two identities, and there are impostors."""
        few = [g for g, a in zip(self.groups, self.genuine, strict=True) if len(np.unique(a.left)) < 2]
        few += [g for g, a in zip(self.groups, self.matched, strict=False) if len(np.unique(a.left)) < 2]
        if few or len(self.groups) < 2:
            fix = "An interval needs genuine trials of two identities at least in each of two groups."
            raise TableError(
                f"{self.quantity}: every group was tried", got=f"too few for {some(few or self.groups)}", fix=fix
            )
        if not len(self.impostors):
            raise TableError(f"{self.quantity}: there are impostor trials", fix="Add Pairs whose 'same' is False.")

    def errors(self, threshold: float, arms: Sequence[Arm], pool: Arm | None) -> Errors:
        """Measure some arms at a threshold, which was found on the pool unless there is none."""
        smallest = min(len(stratum) for stratum in self.strata)
        return errors_at(arms, threshold, bound=self.bound, meetings=self.meetings, smallest=smallest, pool=pool)

    def fmr_variance(self, threshold: float) -> float:
        """Return the variance of the pooled false match rate at a threshold that is given."""
        return float(self.errors(threshold, [self.impostors], None).covariance[0, 0])

    def meeting(self, g: int, h: int) -> str:
        """Name two groups that meet in impostor trials."""
        return f"within {self.groups[g]}" if g == h else f"{self.groups[g]} x {self.groups[h]}"

    @property
    def arms(self) -> list[Arm]:
        """All arms that have an error rate: genuine by group, matched by group, impostors by meeting."""
        return [*self.genuine, *self.matched, *self.cells.values()]

    @property
    def quantity(self) -> str:
        """What was measured, as estimates say it."""
        return f"{self.rater}: {self.question}"

    @property
    def people(self) -> int:
        """How many identities take part."""
        return sum(len(stratum) for stratum in self.strata)
