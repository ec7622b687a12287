"""Gates: conditions under which a run fails, such as ``upper(abs(fnmr_gap(dlib))) > 0.05``.

    CONDITION := VALUE (> | >= | < | <=) NUMBER [%]
    VALUE     := METRIC "(" SYSTEM [, LABEL] [, KEY = WORD ...] ")" | (abs | upper | lower | point) "(" VALUE ")"

The text is read by a grammar of its own: nothing of it is ever evaluated as code. Without ``upper`` or ``lower`` the
estimate itself is compared. A gap is focal - reference; ``abs`` takes its size, and its interval with it (the lower end
of the size of a gap whose interval contains zero is 0).
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import pandas as pd

from likewise.errors import SpecError, nearest, some
from likewise.tables import Estimates

_TOKEN = re.compile(r"\s*(?:(?P<number>[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)(?![\w.-])|(?P<sign>>=|<=|>|<|[(),=%])"
                    r"|'(?P<single>[^']*)'|\"(?P<double>[^\"]*)\"|(?P<word>[A-Za-z0-9_][\w.:/-]*))")  # fmt: skip
_COMPARE: dict[str, Callable[[float, float], bool]] = {
    ">": operator.gt, ">=": operator.ge, "<": operator.lt, "<=": operator.le,
}  # fmt: skip
_BOUNDS = ("point", "upper", "lower")
_LONGEST = 500  # characters of a condition
METRICS: dict[str, tuple[str, tuple[str, ...]]] = {
    "fnmr_gap": ("recognizer", ("gap",)),
    "fnmr_adjusted_gap": ("recognizer", ("adjusted_gap",)),
    "fnmr": ("recognizer", ("fnmr",)),
    "fnmr_ratio": ("recognizer", ("max_min",)),
    "distance_gap": ("means", ("gap",)),
    "distance_adjusted_gap": ("means", ("adjusted_gap",)),
    "label_gap": ("label", ("gap",)),
    "label_adjusted_gap": ("label", ("adjusted_gap",)),
    "label_slope": ("slope", ("slope",)),
}
"""For each metric what kind of quantity it is about, and its statistic."""
_KEYS = {
    "recognizer": ("sample", "fmr", "group"), "means": ("sample",), "label": ("sample",), "slope": (),
}  # fmt: skip
_SAMPLES = ("matched", "all")


@dataclass(frozen=True)
class Gate:
    """One condition under which a run fails."""

    text: str
    metric: str
    system: str
    label: str
    sign: str
    limit: float
    bound: str = "point"
    size: bool = False
    keys: dict[str, str] = field(default_factory=dict)

    @classmethod
    def parse(cls, text: str) -> Gate:
        """Read a condition.

        Examples
        --------
        >>> gate = Gate.parse("upper(abs(fnmr_gap(dlib, fmr=0.01))) > 5 %")
        >>> gate.metric, gate.system, gate.bound, gate.size, gate.limit
        ('fnmr_gap', 'dlib', 'upper', True, 0.05)
        """
        if len(text) > _LONGEST:
            raise SpecError(f"A condition of --fail-if has {len(text)} characters", fix=f"Use at most {_LONGEST}.")
        return _Parser(text).gate()

    def row(self, estimates: Estimates) -> pd.Series | None:
        """Return the estimate that the condition is about; None if the audit has none."""
        kind, stats = METRICS[self.metric]
        frame = estimates.frame
        frame = frame[frame["stat"].isin(stats) & frame["quantity"].str.startswith(f"{self.system}: ")]
        question = frame["quantity"].str.slice(len(self.system) + 2)
        frame = frame[self._asked(kind, question)]
        if self.metric == "fnmr":
            frame = frame[frame["group"] == self.keys.get("group", "")]
        if self.metric == "fnmr_ratio":
            frame = frame[frame["group"] == "FNMR, all groups"]
        samples = [self.keys["sample"]] if "sample" in self.keys else _SAMPLES
        for sample in ("counterfactual",) if kind == "slope" else samples:
            here = frame[frame["sample"] == sample]
            if len(here):
                return here.iloc[0]
        return None

    def _asked(self, kind: str, question: pd.Series) -> pd.Series:
        if kind == "recognizer":
            at = f"distance at FMR {float(self.keys['fmr']):g}" if "fmr" in self.keys else "distance at FMR "
            return question == at if "fmr" in self.keys else question.str.startswith(at)
        if kind == "means":
            return question.isin(["distance", "same"])
        return question == (self.label if kind == "slope" else f"Share labeled {self.label}")

    def value(self, row: pd.Series) -> float:
        """Return the estimate or the end of its interval that is compared; NaN without an interval."""
        ends = {"point": float(row["estimate"]), "lower": float(row["low"]), "upper": float(row["high"])}
        if not self.size:
            return ends[self.bound]
        low, high = ends["lower"], ends["upper"]
        least = 0.0 if low <= 0 <= high else min(abs(low), abs(high))
        return {"point": abs(ends["point"]), "lower": least, "upper": max(abs(low), abs(high))}[self.bound]


@dataclass(frozen=True)
class GateOutcome:
    """Whether a condition holds, in one line."""

    gate: Gate
    failed: bool
    line: str


def check_gates(texts: Sequence[str], systems: Sequence[str]) -> list[Gate]:
    """Read the conditions, and check their systems, before any work."""
    gates = [Gate.parse(text) for text in texts]
    for gate in gates:
        if systems and gate.system not in systems:
            problem = f"--fail-if {gate.text!r}: unknown system {gate.system!r} (systems: {some(systems)})"
            raise SpecError(problem, fix=nearest(gate.system, systems))
    return gates


def decide(gate: Gate, estimates: Estimates) -> GateOutcome:
    """Compare the estimate with the limit; a condition that cannot be decided fails, too."""
    row = gate.row(estimates)
    if row is None:
        return GateOutcome(gate, True, f"gate failed: {gate.text}: cannot be decided, the audit has no such estimate")
    value = gate.value(row)
    if pd.isna(value):
        return GateOutcome(gate, True, f"gate failed: {gate.text}: cannot be decided, the estimate has no interval")
    failed = _COMPARE[gate.sign](value, gate.limit)
    ends = "" if pd.isna(row["low"]) else f" ({row['low']:.4g} to {row['high']:.4g})"
    word = "failed" if failed else "not triggered"
    unbalanced = ", not balanced" if "|SMD| > " in str(row["method"]) else ""
    about = f"{row['quantity']}, {row['stat']}, {row['sample']}{unbalanced}: {row['estimate']:.4g}{ends}"
    return GateOutcome(gate, failed, f"gate {word}: {gate.text}: {about}")


class _Parser:
    """Reads one condition from left to right."""

    def __init__(self, text: str) -> None:
        self.text, self.tokens, self.at = text, list(_tokens(text)), 0

    def gate(self) -> Gate:
        found = self._value()
        sign = self._next("sign", tuple(_COMPARE))
        limit = float(self._next("number"))
        if self._peek() == ("sign", "%"):
            self.at += 1
            limit = round(limit / 100, 12)
        if self._peek()[0]:
            raise self._error(f"unexpected {self._peek()[1]!r} after the limit")
        return Gate(text=self.text, sign=sign, limit=limit, **found)  # type: ignore[arg-type]

    def _value(self) -> dict[str, object]:
        name = self._next("word")
        self._next("sign", ("(",))
        if name in (*_BOUNDS, "abs"):
            found = self._wrapped(name)
        elif name in METRICS:
            return {"metric": name, **self._arguments(name)}
        else:
            known = [*METRICS, "abs", *_BOUNDS]
            raise SpecError(
                f"{self._where()}unknown metric {name!r} (known: {some(known, 20)})", fix=nearest(name, known)
            )
        self._next("sign", (")",))
        return found

    def _wrapped(self, name: str) -> dict[str, object]:
        found = self._value()
        key = "size" if name == "abs" else "bound"
        if key in found or (name == "abs" and "bound" in found):
            raise self._error("write upper(abs(...)), each of them once")
        return {**found, key: True if name == "abs" else name}

    def _arguments(self, metric: str) -> dict[str, object]:
        kind = METRICS[metric][0]
        plain, keys = [self._word()], dict[str, str]()
        while self._peek() == ("sign", ","):
            self.at += 1
            word = self._word()
            if self._peek() == ("sign", "="):
                self.at += 1
                keys[word] = self._word()
            else:
                plain.append(word)
        self._next("sign", (")",))
        wanted = 2 if kind in ("label", "slope") else 1
        if len(plain) != wanted:
            form = f'{metric}(SYSTEM, "LABEL")' if wanted == 2 else f"{metric}(SYSTEM)"
            raise self._error(f"{metric} takes {wanted} names", fix=f"Write {form}.")
        self._check_keys(metric, kind, keys)
        return {"system": plain[0], "label": plain[1] if wanted == 2 else "", "keys": keys}

    def _check_keys(self, metric: str, kind: str, keys: dict[str, str]) -> None:
        unknown = [key for key in keys if key not in _KEYS[kind] or (key == "group" and metric != "fnmr")]
        if unknown:
            raise self._error(f"unknown option {unknown[0]!r} of {metric} (known: {some(_KEYS[kind]) or 'none'})")
        if keys.get("sample", "all") not in _SAMPLES:
            raise self._error(f"unknown sample {keys['sample']!r} (known: {some(_SAMPLES)})")
        if metric == "fnmr" and "group" not in keys:
            raise self._error("fnmr is of a group", fix="Write fnmr(SYSTEM, group=NAME).")
        if "fmr" in keys:
            try:
                float(keys["fmr"])
            except ValueError:
                raise self._error(f"fmr is {keys['fmr']!r}, not a number") from None

    def _word(self) -> str:
        kind, value = self._peek()
        if kind not in ("word", "string", "number"):
            raise self._error(f"a name is missing before {value or 'the end'!r}")
        self.at += 1
        return value

    def _peek(self) -> tuple[str, str]:
        return self.tokens[self.at] if self.at < len(self.tokens) else ("", "")

    def _next(self, kind: str, values: tuple[str, ...] = ()) -> str:
        found, value = self._peek()
        if found != kind or (values and value not in values):
            wanted = " or ".join(values) or {"number": "a number", "word": "a metric"}[kind]
            raise self._error(f"{wanted} is missing before {value or 'the end'!r}")
        self.at += 1
        return value

    def _where(self) -> str:
        return f"--fail-if {self.text!r}: "

    def _error(self, problem: str, fix: str = "") -> SpecError:
        return SpecError(f"{self._where()}{problem}", fix=fix or 'Write e.g. "upper(abs(fnmr_gap(dlib))) > 0.05".')


def _tokens(text: str) -> Iterator[tuple[str, str]]:
    at, end = 0, len(text.rstrip())
    while at < end:
        found = _TOKEN.match(text, at)
        if found is None:
            fix = 'Write e.g. "upper(abs(fnmr_gap(dlib))) > 0.05"; put names with spaces into quotes.'
            raise SpecError(f"--fail-if {text!r}: unexpected {text[at:].lstrip()[:1]!r}", fix=fix)
        at = found.end()
        kind = str(found.lastgroup)
        yield ("string" if kind in ("single", "double") else kind), found[kind]
