"""The trials of one recogniser, laid out for counting: genuine ones by group, impostors by the groups that meet."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations_with_replacement

import numpy as np
import numpy.typing as npt
import pandas as pd

from likewise.analyse.operating import Arm, Codes, Point, Replicates, replicates
from likewise.errors import TableError, some
from likewise.tables import Contrast, Faces, Pairs, Ratings


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
    frame["matched"] = False if pairs is None else frame["a"].isin([*pairs.frame["a"], *pairs.frame["b"]])
    _check_same(frame)
    frame = frame.dropna(subset=["group_a", "group_b"])
    found = []
    for (rater, question), part in ratings.frame.groupby(["rater", "question"], sort=True):
        sheet = frame.merge(part[["unit", "value"]], left_on="pair", right_on="unit")
        found.append(Board.of(str(rater), str(question), sheet, by if isinstance(by, Contrast) else None, drop=drop))
    return found


def _check_same(frame: pd.DataFrame) -> None:
    wrong = frame["same"].astype(bool) != (frame["identity_a"] == frame["identity_b"])
    if wrong.any():
        raise TableError("a trial is 'same' where both images show one identity", got=some(frame.loc[wrong, "pair"]))


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
    impostors: Arm
    cells: dict[tuple[int, int], Arm]
    """Impostor trials by the two groups that meet."""
    meetings: int
    failed: list[npt.NDArray[np.bool_]]
    trials: int

    @classmethod
    def of(cls, rater: str, question: str, sheet: pd.DataFrame, contrast: Contrast | None, *, drop: bool) -> Board:
        """Lay out the trials of one recogniser."""
        groups = (
            [str(contrast.focal), str(contrast.reference)] if contrast else sorted(map(str, sheet["group_a"].unique()))
        )
        code, names = pd.factorize(np.r_[sheet["identity_a"], sheet["identity_b"]], sort=True)
        left, right = np.split(code.astype(np.int64), 2)
        sides = [pd.Index(groups).get_indexer(pd.Index(sheet[f"group_{end}"].astype(str))) for end in ("a", "b")]
        home = np.zeros(len(names), dtype=np.int64)
        home[left], home[right] = sides
        same, value = sheet["same"].to_numpy(dtype=bool), sheet["value"].to_numpy()
        kept = ~np.isnan(value) if drop else np.ones(len(value), dtype=bool)
        distance = np.where(np.isnan(value), np.inf, value)
        low, high = np.minimum(left, right), np.maximum(left, right)
        dyad = np.full(len(left), -1)
        dyad[~same], seen = pd.factorize(low[~same] * len(names) + high[~same])

        def arm(rows: npt.NDArray[np.bool_]) -> Arm:
            rows = rows & kept
            return Arm.of(distance[rows], left[rows], right[rows], dyad[rows].astype(np.int64))

        matched, where = sheet["matched"].to_numpy(dtype=bool), np.sort(np.stack(sides), axis=0)
        cells = {
            (g, h): ~same & (where[0] == g) & (where[1] == h)
            for g, h in combinations_with_replacement(range(len(groups)), 2)
        }
        board = cls(
            rater=rater,
            question=question,
            contrast=contrast,
            groups=groups,
            strata=[np.flatnonzero(home == g) for g in range(len(groups))],
            genuine=[arm(same & (sides[0] == g)) for g in range(len(groups))],
            matched=[arm(same & matched & (sides[0] == g)) for g in range(len(groups))] if matched.any() else [],
            impostors=arm(~same),
            cells={key: arm(rows) for key, rows in cells.items() if (rows & kept).any()},
            meetings=len(seen),
            failed=[np.isnan(value)[same & (sides[0] == g)] for g in range(len(groups))],
            trials=len(value),
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

    def resampled(self, point: Point, *, seed: int, resamples: int) -> Replicates:
        """Compute the values of a point over resamples of the identities."""
        return replicates(point, self.strata, self.meetings, rows=self.trials, resamples=resamples, seed=seed)

    def meeting(self, g: int, h: int) -> str:
        """Name two groups that meet in impostor trials."""
        return f"within {self.groups[g]}" if g == h else f"{self.groups[g]} x {self.groups[h]}"

    @property
    def quantity(self) -> str:
        """What was measured, as estimates say it."""
        return f"{self.rater}: {self.question}"

    @property
    def people(self) -> int:
        """How many identities take part."""
        return sum(len(stratum) for stratum in self.strata)
