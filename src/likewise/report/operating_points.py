"""Operating points of recognizers, as the names of quantities state them."""

from __future__ import annotations

import re
from dataclasses import dataclass

import pandas as pd

from likewise.errors import TableError
from likewise.tables import Estimates

_POINT = re.compile(r"^(?P<rater>.*): (?P<question>.*?) at (?P<at>FMR|its threshold|own FMR) (?P<value>\S+)$")


@dataclass(frozen=True)
class OperatingPoint:
    """Where a recognizer's threshold is set: at a false match rate, or at the vendor's default."""

    rater: str
    at: str
    value: str

    @classmethod
    def of(cls, quantity: str) -> OperatingPoint:
        """Read the operating point from a quantity, e.g. ``arcface: distance at FMR 0.01``."""
        found = _POINT.match(quantity)
        if found is None:
            raise TableError(
                f"Quantity {quantity[:80]!r} names no operating point", fix="Write 'rater: distance at FMR 0.01'."
            )
        return cls(found["rater"], found["at"], found["value"])

    @property
    def words(self) -> str:
        """Where the threshold is, in words."""
        if self.at == "its threshold":
            return f"at the vendor's default threshold ({self.value})"
        return f"at FMR {100 * float(self.value):g} %"


def is_operating_point(quantity: str) -> bool:
    """Whether a quantity names an operating point.

    Examples
    --------
    >>> is_operating_point("arcface: distance at FMR 0.01"), is_operating_point("look at me: distance")
    (True, False)
    """
    return _POINT.match(quantity) is not None


def operating_quantities(estimates: Estimates) -> list[str]:
    """Name the quantities that are operating points of a recognizer."""
    frame = estimates.frame
    return frame.loc[frame["stat"].isin(["fnmr", "det"]), "quantity"].drop_duplicates().tolist()


def det_points(estimates: Estimates, rater: str) -> pd.DataFrame:
    """Return a recognizer's DET points: group, FMR, FNMR and its band, simultaneous where the table has one."""
    frame = estimates.where(stat="det_band" if simultaneous(estimates) else "det").frame
    known = [OperatingPoint.of(name) for name in frame["quantity"]]
    frame = frame.assign(rater=[point.rater for point in known], fmr=[float(point.value) for point in known])
    return frame[frame["rater"] == rater].sort_values("fmr")


def simultaneous(estimates: Estimates) -> bool:
    """Whether the DET points have simultaneous bands."""
    return bool((estimates.frame["stat"] == "det_band").any())
