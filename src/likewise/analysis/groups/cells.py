"""Cells: the groups that one or several columns define, and which of them are large enough to be shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from likewise.errors import SpecError, TableError, nearest, some
from likewise.tables import Images

OVERALL = "overall"
JOIN = ", "
MOST = 100  # groups; more are a column of numbers, named by mistake
FEWEST = 2  # identities that an interval needs


def cell_names(images: Images, by: Sequence[str]) -> pd.Series:
    """Return the cell of each image, ``Black, Female``, indexed by image; empty where a column is empty.

    Numbers are named by their column, ``glasses 1``.

    Examples
    --------
    >>> frame = pd.DataFrame({"image": ["1", "2"], "identity": ["a", "b"], "sex": ["F", "M"], "tone": ["dark", None]})
    >>> cell_names(Images(frame), ["sex", "tone"]).tolist()
    ['F, dark', nan]
    """
    if not by:
        raise SpecError("No column to group by", fix='Name one or more columns, e.g. by=["perceived_gender"].')
    if len(set(by)) < len(by):
        raise SpecError(f"A column is named twice in by: {some(by)}", fix="Name each column once.")
    columns = [images.attribute(name) for name in by]
    known = ~pd.concat(columns, axis=1).isna().any(axis=1)
    names = _levels(columns[0])
    for column in columns[1:]:
        names = names + JOIN + _levels(column)
    names = names.where(known)
    if names.nunique() > MOST:
        fix = "Group numbers into ranges first (an age into 0-19, 20-39, ...), or name fewer columns."
        raise SpecError(f"{some(by)} make {names.nunique()} groups, more than {MOST}", fix=fix)
    return names


def _levels(column: pd.Series) -> pd.Series:
    if not pd.api.types.is_numeric_dtype(column.dtype) or pd.api.types.is_bool_dtype(column.dtype):
        return column.astype(str)
    what = str(column.name).replace("_", " ")
    return column.map(lambda value: f"{what} {value:g}")


@dataclass(frozen=True)
class Shown:
    """The cells that are shown, in order, and those that are left out for their size."""

    names: tuple[str, ...]
    suppressed: tuple[str, ...]
    below: int

    @classmethod
    def of(cls, cell: pd.Series, identity: pd.Series, below: int) -> Shown:
        """Choose the cells with at least ``below`` rated identities (two, at the least)."""
        least = max(below, FEWEST)
        people = identity.groupby(cell).nunique()
        shown = cls(
            tuple(map(str, people.index[people >= least])), tuple(map(str, people.index[people < least])), least
        )
        if len(shown.names) < 2:
            fix = "Group by fewer columns, or lower suppress_below."
            raise TableError(f"Fewer than two groups have {least} rated identities ({some(people.index)})", fix=fix)
        return shown

    def place(self, reference: str) -> int:
        """Return the place of the reference cell; -1 for the overall value."""
        if reference == OVERALL:
            return -1
        if reference in self.suppressed:
            fix = "Choose a larger reference group, or lower suppress_below."
            raise SpecError(f"The reference group {reference!r} has fewer than {self.below} identities", fix=fix)
        if reference not in self.names:
            problem = f"Unknown reference group {reference!r} (groups: {some(self.names)}, or {OVERALL!r})"
            raise SpecError(problem, fix=nearest(reference, self.names))
        return self.names.index(reference)
