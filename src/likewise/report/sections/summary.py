"""The executive summary: one line per system, with its verdict and what weakens it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

import pandas as pd

from likewise.report.names import (
    Naming,
    bias_left,
    first,
    imbalance,
    is_label,
    measure,
    plain,
    system,
    unbalanced,
    without_simulation,
)
from likewise.report.numbers import interval, number, percent, points, ratio, significant
from likewise.report.operating_points import OperatingPoint, is_operating_point, operating_quantities
from likewise.report.sections.findings.error_rates import remarks
from likewise.report.sections.findings.gaps import plotted_gaps
from likewise.report.sections.findings.labels import many_labels
from likewise.report.sections.sample.validity import Check, dependence, overlap_warning
from likewise.tables import Contrast, Estimates

_LEADS = (("matched", "gap"), ("all", "gap"))
_BESIDE = (("matched", "adjusted_gap"), ("counterfactual", "gap"), ("all", "regression_gap"), ("all", "gap"))
_PARTS = re.compile(r"[;:] ")
_WORSE_WHEN = {"distance": 1, "fnmr": 1, "same": -1}


@dataclass(frozen=True)
class Verdict:
    """A three-way conclusion on one difference: ``different``, ``equivalent`` or ``open`` (inconclusive)."""

    kind: str
    words: str

    @property
    def head(self) -> str:
        """The conclusion in a word or two."""
        return _PARTS.split(self.words, maxsplit=1)[0]

    @property
    def rest(self) -> str:
        """What it adds: the direction, the smallest detectable difference, the reason."""
        return (*_PARTS.split(self.words, maxsplit=1), "")[1]


@dataclass(frozen=True)
class Result:
    """One estimate of a difference: its design, both groups, the difference and the ratio."""

    design: str
    focal: str
    reference: str
    difference: str
    ratio: str


@dataclass(frozen=True)
class Line:
    """The main result of one system."""

    system: str
    measure: str
    quantity: str
    lead: Result
    verdict: Verdict
    beside: Sequence[Result] = ()
    """The other estimates of the same difference: adjusted, edited, unmatched."""
    warnings: Sequence[str] = ()
    """What weakens or voids this finding."""


@dataclass(frozen=True)
class Summary:
    """Builds the lines of the summary from the tables."""

    estimates: Estimates
    balance: Estimates
    contrast: Contrast
    naming: Naming
    notes: Sequence[str] = field(default=())

    def lines(self) -> list[Line]:
        """Return one line per system: recognizers at their first operating point, then other gaps, then labels."""
        frame = without_simulation(self.estimates.frame)
        rated = operating_quantities(self.estimates)
        points_of: dict[str, str] = {}
        for name in frame.loc[frame["stat"] == "fnmr", "quantity"].unique():
            points_of.setdefault(OperatingPoint.of(name).rater, name)
        many = many_labels(frame)
        others = [
            name
            for name in plotted_gaps(frame[~frame["quantity"].isin({*rated, *many})])
            if not (system(name) in points_of and name.endswith(": distance"))
        ]
        found = [self._line(frame, name) for name in (*points_of.values(), *others)]
        return [*found, *(self._labels(frame, rater, many) for rater in dict.fromkeys(map(system, sorted(many))))]

    def _line(self, frame: pd.DataFrame, name: str) -> Line:
        part = frame[frame["quantity"] == name]
        operating = bool(part["stat"].eq("fnmr").any())
        lead = first(part, *_LEADS, group=self.contrast.label)
        assert lead is not None, name  # only quantities with a gap come here
        point = OperatingPoint.of(name) if operating else None
        rows = [first(part, key, group=self.contrast.label) for key in _BESIDE if key != (lead["sample"], lead["stat"])]
        return Line(
            system=point.rater if point else system(name),
            measure=f"genuine pairs rejected (FNMR {point.words})" if point else measure(name),
            quantity=name,
            lead=self._result(part, lead),
            verdict=self._verdict(part, lead),
            beside=[self._result(part, row) for row in rows if row is not None],
            warnings=[*self._warnings(lead, system(name)), *filter(None, [_remarks(part, lead)] if operating else [])],
        )

    def _result(self, part: pd.DataFrame, row: pd.Series) -> Result:
        sample, adjusted = row["sample"], row["stat"] != "gap"
        sides = [
            "" if adjusted else self._side(part, sample, str(level))
            for level in (self.contrast.focal, self.contrast.reference)
        ]
        among = None if adjusted else first(part, (sample, "max_min"), group="FNMR, all groups")
        name = self.naming.sample(sample, row["stat"])
        return Result(name, sides[0], sides[1], _difference(row), _bounded(among))

    def _side(self, part: pd.DataFrame, sample: str, group: str) -> str:
        row = first(part, (sample, "fnmr"), (sample, "mean"), group=group)
        if row is None:
            return ""
        return percent(row).partition(" (")[0] if is_share(row["quantity"]) else number(row["estimate"])

    def _verdict(self, part: pd.DataFrame, lead: pd.Series) -> Verdict:
        key = f"{lead['sample']}: {lead['stat']}"
        stated, smallest = (
            first(part, (key, stat), group=self.contrast.label) for stat in ("verdict", "detectable_gap")
        )
        if stated is not None:
            return _stated(stated, self._direction(lead), smallest)
        if pd.isna(lead["low"]):
            return Verdict("open", "inconclusive: no interval")
        if significant(lead):
            return Verdict("different", f"different: {self._direction(lead)}")
        return Verdict("open", "inconclusive: not statistically significant; no equivalence margin")

    def _direction(self, lead: pd.Series) -> str:
        higher, lower = self.contrast.focal, self.contrast.reference
        up = lead["estimate"] > 0
        question = "fnmr" if is_operating_point(lead["quantity"]) else lead["quantity"].partition(": ")[2]
        sign = _WORSE_WHEN.get(question)
        if sign is None:
            return f"higher for {higher if up else lower}"
        return f"worse for {higher if up == (sign > 0) else lower}"

    def _labels(self, frame: pd.DataFrame, rater: str, many: set[str]) -> Line:
        rows = frame[frame["quantity"].isin([name for name in many if system(name) == rater])]
        sample = "matched" if (rows["stat"].eq("gap") & rows["sample"].eq("matched")).any() else "all"
        gaps = rows[rows["stat"].eq("gap") & rows["sample"].eq(sample)]
        largest = str(gaps["quantity"].iloc[int(gaps["estimate"].abs().to_numpy().argmax())])
        clear = sum(significant(row) for _, row in gaps.iterrows())
        line = self._line(frame, largest)
        if len(gaps) == 1:
            return line
        words = f"{clear} of {len(gaps)} labels differ (simultaneous intervals)"
        kind = "different" if clear else "open"
        name = f"{measure(largest)} (largest difference of {len(gaps)} labels)"
        return Line(
            **{**vars(line), "measure": name, "verdict": Verdict(kind, words if clear else f"inconclusive: {words}")}
        )

    def _warnings(self, lead: pd.Series, rater: str) -> list[str]:
        found = []
        if lead["sample"] == "matched" and (listed := self._left(lead)):
            found.append(
                f"Not balanced: {listed}. The matched difference may be due to this; compare the adjusted one."
            )
        if lead["sample"] == "all":
            found.append("No matched estimate: the difference may be due to covariates.")
        elif warning := overlap_warning(self.balance):
            found.append(warning)
        return [*found, *(note for note in dependence(self.notes) if rater in note)]

    def _left(self, lead: pd.Series) -> str:
        """Name what is unbalanced: in the units of this estimate where that is known, else in the images."""
        added, adds = bias_left(lead["method"]), ""
        if added:
            size = f"{100 * float(added):.2g} points" if is_share(lead["quantity"]) else number(float(added))
            adds = (
                f"by regression, the remaining imbalance adds {size} (over half a standard error; the CI allows for it)"
            )
        if remark := imbalance(lead["method"]):
            listed = f"|SMD| > 0.1 in {plain(remark).replace(' ...', ' and others')}"
            return "; ".join(filter(None, (listed, adds)))
        if adds:
            return adds
        return ", ".join(f"{name} (SMD {number(value)})" for name, value in unbalanced(self.balance)[:3])


def headline(lines: Sequence[Line], checks: Sequence[Check]) -> list[str]:
    """Return the result in two or three short sentences: which systems differ, which do not, and what weakens that."""
    named = {
        "different": "{} between the groups: {}.",
        "equivalent": "Equivalent within the margin: {1}.",
        "open": "Inconclusive, neither a difference nor equivalence is shown: {1}.",
    }
    said = []
    for kind, words in named.items():
        found = [line for line in lines if line.verdict.kind == kind]
        if found:
            count = f"{len(found)} of {len(lines)} systems {'differs' if len(found) == 1 else 'differ'}"
            said.append(words.format(count, ", ".join(_short(line) for line in found)))
    weak = [f"{check.name.lower()}: {check.verdict}" for check in checks if check.mark == "bad"]
    if lines and weak:
        said.append(f"Read with caution ({'; '.join(weak)}): the differences may have other causes than the attribute.")
    return said


def _short(line: Line) -> str:
    """Name a system, and in which direction it differs where the verdict says so."""
    direction = line.verdict.words.partition("different: ")[2]
    return f"{line.system} ({direction})" if direction else line.system


def is_share(quantity: str) -> bool:
    """Whether a quantity is a share of images or answers, which is written in percent."""
    question = quantity.partition(": ")[2]
    return is_operating_point(quantity) or question == "same" or is_label(quantity)


def _remarks(part: pd.DataFrame, lead: pd.Series) -> str:
    """Write the remarks on the rates of this estimate: those of false matches and of other samples stand elsewhere."""
    return remarks(part[part["stat"].eq("fnmr") & part["sample"].eq(lead["sample"])])


def _bounded(row: pd.Series | None) -> str:
    """Write a ratio of rates; few errors bound no ratio."""
    return "" if row is None else "too few errors" if pd.isna(row["low"]) else ratio(row)


def _difference(row: pd.Series) -> str:
    return points(row) if is_share(row["quantity"]) else interval(row)


def _stated(row: pd.Series, direction: str, smallest: pd.Series | None) -> Verdict:
    """Read the verdict that the analysis states at the end of the row's method, after its margin."""
    how, _, word = row["method"].rpartition("; ")
    margin = how.partition("margin ")[2]
    if word == "different":
        return Verdict("different", f"different: {direction}")
    if word == "equivalent":
        unit = f"{100 * float(margin):g} points" if is_share(row["quantity"]) else margin
        return Verdict("equivalent", f"equivalent within ±{unit}")
    if word == "too few":
        return Verdict("open", "inconclusive: too few independent clusters")
    least = "" if smallest is None else f"; smallest detectable difference {_size(smallest)}"
    return Verdict("open", f"inconclusive{least}")


def _size(row: pd.Series) -> str:
    return points(row) if is_share(row["quantity"]) else number(row["estimate"])
