"""Display names: quantities, samples and groups as the tables store them, and as the report writes them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from likewise.tables import Contrast, Estimates

BALANCED = 0.1
"""The usual limit of an absolute standardized mean difference after matching."""
LABELED, ANSWERED = "Share labeled ", "Mean of "
"""How the analysis starts the names of a label's share and of a mean answer; the report may not import the analysis."""
UNMATCHED, EDITED = "unmatched, unadjusted", "counterfactual edits"
REGRESSION = "unmatched, regression-adjusted"
_AT_FMR = re.compile(r"(F\w*MR.*) at FMR ([\d.e-]+)")
_AT_THRESHOLD = re.compile(r"(F\w*MR.*) at its threshold ([-\d.e]+)")
_QUESTIONS = {
    "FNMR at its threshold": "FNMR at the vendor's threshold",
    "failure to acquire": "Failure to acquire",
    "distance": "Mean genuine (mated) distance",
    "Mean of face detected": "Recall (share of images with a detected face)",
    "Mean of several faces": "Share of images with several detected faces",
    "Mean of detection confidence": "Mean detection confidence",
    "same": "Share of genuine pairs answered 'same person'",
    "same, confidence": "Mean confidence of answers to genuine pairs",
}


@dataclass(frozen=True)
class Naming:
    """How matched samples are called: an unbalanced design is named as such wherever its estimates stand.

    Examples
    --------
    >>> Naming(balanced=False).pairs
    'matched pairs (not balanced)'
    """

    balanced: bool = True

    @classmethod
    def of(cls, balance: Estimates | None, estimates: Estimates | None = None) -> Naming:
        """Read from the balance table, and from remarks on matched gaps, whether the design is balanced.

        Other designs of the specification curve have remarks of their own, which say nothing about the plan's.
        """
        if balance is not None and unbalanced(balance):
            return cls(balanced=False)
        if estimates is None:
            return cls()
        frame = estimates.frame
        return cls(balanced=not frame.loc[frame["sample"] == "matched", "method"].map(imbalance).any())

    @property
    def matched(self) -> str:
        """The matched, unadjusted sample."""
        return "matched" if self.balanced else "matched (not balanced)"

    @property
    def adjusted(self) -> str:
        """The matched sample with regression adjustment."""
        return "matched, adjusted" if self.balanced else "matched, adjusted (not balanced)"

    @property
    def pairs(self) -> str:
        """The pairs of the design."""
        return "matched pairs" if self.balanced else "matched pairs (not balanced)"

    def sample(self, sample: str, stat: str = "gap") -> str:
        """Name a sample and how it was estimated."""
        if stat.startswith("regression"):
            return REGRESSION
        if sample == "matched":
            return self.adjusted if stat.startswith("adjusted") else self.matched
        known = {"all": UNMATCHED, "counterfactual": EDITED, "weighted": "overlap-weighted", "left out": "excluded"}
        return known.get(sample, sample)


def truth_of(sample: str, known: Iterable[str]) -> str:
    """Return which of the known samples has the ground truth of an estimate's sample; nothing where none has.

    The unmatched gap has its own: the effect and the confounding together. Other samples have the effect on their own
    units where it is known, else the effect on everyone, else that of the matched sample.

    Examples
    --------
    >>> truth_of("overlap-weighted", ["truth: everyone", "truth: matched"])
    'truth: everyone'
    """
    wanted = [f"truth: {sample}", *([] if sample == "all" else ["truth: everyone", "truth: matched"])]
    there = set(known)
    return next((name for name in wanted if name in there), "")


def imbalance(method: str) -> str:
    """Return the covariates that a matched gap leaves unbalanced, as the analysis remarks them; else nothing.

    Examples
    --------
    >>> imbalance("jackknife by pair; |SMD| > 0.1 left in age, light")
    'age, light'
    """
    return next((word.partition(" left in ")[2] for word in method.split("; ") if word.startswith("|SMD| > ")), "")


def bias_left(method: str) -> str:
    """Return what imbalance adds to a matched gap, as the analysis remarks it; else nothing.

    Examples
    --------
    >>> bias_left("jackknife by pair; imbalance left adds 0.0078")
    '0.0078'
    """
    start = "imbalance left adds "
    words = method.replace(", imbalance", "; imbalance").split("; ")
    return next((word.removeprefix(start) for word in words if word.startswith(start)), "")


def unbalanced(balance: Estimates) -> list[tuple[str, float]]:
    """Return the covariates whose standardized mean difference stays above the limit after matching."""
    frame = balance.frame
    rows = frame[(frame["stat"] == "smd") & (frame["sample"] == "matched") & (frame["estimate"].abs() > BALANCED)]
    rows = rows.reindex(rows["estimate"].abs().sort_values(ascending=False, kind="stable").index)
    return [(plain(name), float(value)) for name, value in zip(rows["quantity"], rows["estimate"], strict=True)]


def quantity(name: str) -> str:
    """Write ``system: question`` for a reader.

    Examples
    --------
    >>> quantity("arcface: distance")
    'Mean genuine (mated) distance (arcface)'
    """
    rater, _, question = name.partition(": ")
    return f"{measure(name)} ({rater})" if question else plain(name)


def measure(name: str) -> str:
    """Write the question of a quantity without the system.

    Examples
    --------
    >>> measure("arcface: FNMR at FMR 0.001")
    'FNMR at FMR 0.1 %'
    """
    question = name.partition(": ")[2]
    if point := _AT_FMR.fullmatch(question):
        return f"{point[1]} at FMR {round(100 * float(point[2]), 6):g} %"
    if point := _AT_THRESHOLD.fullmatch(question):
        return f"{point[1]} at the vendor's threshold ({point[2]})"
    return _QUESTIONS.get(question, plain(question)) if question else plain(name)


def in_short(name: str) -> str:
    """Write ``system: question`` as the heading of a figure.

    Examples
    --------
    >>> in_short("arcface: distance"), in_short("people: same"), in_short("arcface: distance at FMR 0.01")
    ('arcface: genuine distance', "people: answered 'same person'", 'arcface: FNMR at FMR 1 %')
    """
    rater, _, question = name.partition(": ")
    question = re.sub(r"^.* at (FMR|its threshold) (\S+)$", _at_point, question)
    known = {"distance": "genuine distance", "same": "answered 'same person'"}
    written = known.get(question) or plain(question).replace(LABELED, "labeled ").replace(ANSWERED, "mean of ")
    return f"{rater}: {written}" if question else plain(name)


def _at_point(found: re.Match[str]) -> str:
    return f"FNMR at FMR {100 * float(found[2]):g} %" if found[1] == "FMR" else "FNMR at its threshold"


def system(name: str) -> str:
    """Return the system of a quantity."""
    return name.partition(": ")[0]


def label(name: str) -> str:
    """Return the label of a quantity of a classifier."""
    return plain(name.partition(": ")[2].removeprefix(LABELED).removeprefix(ANSWERED))


def is_label(name: str) -> bool:
    """Return whether a quantity is a label of a classifier, or an answer of one that is averaged."""
    return name.partition(": ")[2].startswith((LABELED, ANSWERED))


def difference(contrast: Contrast) -> str:
    """Write the difference with a typographic minus sign, not to be broken across lines."""
    return f"{contrast.focal}\u00a0−\u00a0{contrast.reference}"


def plain(name: object) -> str:
    """Make a column's name readable."""
    return str(name).replace("_", " ")


def without_simulation(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the estimated rows, without the ground truth of a simulation."""
    return frame[~frame["sample"].str.startswith("truth: ")]


def first(frame: pd.DataFrame, *wanted: tuple[str, str], group: str | None = None) -> pd.Series | None:
    """Return the first row of one of the (sample, stat) pairs, in their order."""
    samples, stats = frame["sample"].to_numpy(), frame["stat"].to_numpy()
    right = True if group is None else frame["group"].to_numpy() == group
    for sample, stat in wanted:
        rows = np.flatnonzero((samples == sample) & (stats == stat) & right)
        if len(rows):
            found: pd.Series = frame.iloc[int(rows[0])]
            return found
    return None
