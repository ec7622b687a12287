"""audit.toml: the plan of an audit, read strictly. A key that is not known, or of the wrong kind, is an error."""

from __future__ import annotations

import re
import tomllib
import types
import typing
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from likewise.cli.measures import DifficultyPlan, GivenPlan, WithinPlan, check_measures, check_variant
from likewise.engine import Engine
from likewise.errors import LikewiseError, PlanError, nearest, some
from likewise.make.align import AlignSpec
from likewise.make.certificate import CertificateSpec
from likewise.make.describe_spec import DescribeSpec
from likewise.make.fidelity import FidelitySpec
from likewise.make.project import ProjectSpec
from likewise.make.sweep_spec import SweepSpec
from likewise.plugins import SLOTS
from likewise.tables import Contrast, MatchSpec

FORMAT = 1


@dataclass(frozen=True, kw_only=True)
class FacesPlan:
    """Where the images and their table are; paths are relative to the audit folder."""

    images: str
    table: str
    image: str = "image"
    identity: str = "identity"
    rename: dict[str, str] = field(default_factory=dict)
    bad_images: str = "error"

    def __post_init__(self) -> None:
        if self.bad_images not in ("error", "drop"):
            raise PlanError("bad_images is 'error' or 'drop'", got=repr(self.bad_images))


@dataclass(frozen=True, kw_only=True)
class Rater:
    """A model under audit: the slot it sits in, its name there, and its options."""

    slot: str
    name: str
    options: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.slot not in ("recogniser", "classifier"):
            raise PlanError(
                "a rater's slot is 'recogniser' or 'classifier'",
                got=repr(self.slot),
                fix=nearest(self.slot, SLOTS),
            )


@dataclass(frozen=True, kw_only=True)
class Variant:
    """A design that might have been chosen instead of [match]: its name, and the options of a MatchSpec."""

    name: str
    match: MatchSpec


@dataclass(frozen=True, kw_only=True)
class TrialsPlan:
    """How many pictures of other people a recogniser compares each picture with, so that its errors can be counted."""

    impostors: int = 10

    def __post_init__(self) -> None:
        if self.impostors < 0:
            raise PlanError("impostors is not negative", got=str(self.impostors))


@dataclass(frozen=True, kw_only=True)
class AskPlan:
    """Whose answers stand for people's: the crowd slot's occupant and its options."""

    crowd: str
    options: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class AnalysePlan:
    """The level of the intervals, and a file of known values to set beside the estimates (planted truth)."""

    level: float = 0.95
    truth: str = ""

    def __post_init__(self) -> None:
        if not 0 < self.level < 1:
            raise PlanError("level lies between 0 and 1", got=str(self.level))


@dataclass(frozen=True, kw_only=True)
class ReportPlan:
    """What the report is called."""

    title: str = "Audit"


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Everything that an audit's result depends on, besides the images and the table."""

    faces: FacesPlan
    contrast: Contrast
    format: int = FORMAT
    seed: int = 0
    covariates: tuple[str, ...] = ()
    vectors: str = ""
    """A file of vectors to use instead of projecting."""
    describe: DescribeSpec | None = None
    align: AlignSpec | None = None
    project: ProjectSpec = field(default_factory=ProjectSpec)
    fidelity: FidelitySpec | None = None
    match: MatchSpec = field(default_factory=MatchSpec)
    variant: tuple[Variant, ...] = ()
    within: tuple[WithinPlan, ...] = ()
    difficulty: DifficultyPlan | None = None
    given: GivenPlan | None = None
    trials: TrialsPlan = field(default_factory=TrialsPlan)
    rater: tuple[Rater, ...] = ()
    counterfactual: SweepSpec | None = None
    certificate: CertificateSpec | None = None
    ask: AskPlan | None = None
    analyse: AnalysePlan = field(default_factory=AnalysePlan)
    report: ReportPlan = field(default_factory=ReportPlan)
    engine: Engine = field(default_factory=Engine)

    def __post_init__(self) -> None:
        if self.format != FORMAT:
            raise PlanError(f"audit.toml is of format {FORMAT}", got=str(self.format), fix="Update likewise.")
        check_measures(self.match, self.difficulty, self.given)
        for variant in self.variant:
            check_variant(variant.name, variant.match, self.difficulty, self.given)
        if len({variant.name for variant in self.variant}) < len(self.variant):
            raise PlanError("every [[variant]] has a name of its own", got="one name twice")
        for name, section in (("align", self.align), ("fidelity", self.fidelity)):
            if section is not None and self.vectors:
                rule = f"[{name}] has an effect only where images are projected"
                raise PlanError(rule, got="vectors", fix="Leave one out.")
        if self.counterfactual is None and self.certificate is not None:
            raise PlanError("[certificate] judges a sweep", got="no [counterfactual]", fix="Add that section.")
        if self.counterfactual is None and any(rater.slot == "classifier" for rater in self.rater):
            raise PlanError("a classifier is audited by a sweep", got="no [counterfactual]", fix="Add that section.")


_SECTIONS: dict[str, type] = {
    "faces": FacesPlan, "contrast": Contrast, "describe": DescribeSpec, "align": AlignSpec, "project": ProjectSpec,
    "fidelity": FidelitySpec, "difficulty": DifficultyPlan, "given": GivenPlan, "trials": TrialsPlan,
    "counterfactual": SweepSpec, "certificate": CertificateSpec,
    "ask": AskPlan, "analyse": AnalysePlan, "report": ReportPlan, "engine": Engine,
}  # fmt: skip
_LISTS: dict[str, type] = {"rater": Rater, "within": WithinPlan}
_PLAIN = {"format": int, "seed": int, "covariates": tuple[str, ...], "vectors": str}
_SPELT = {"lambda": "lambda_"}  # a word that Python keeps for itself


def read_plan(path: Path) -> Plan:
    """Read and check a plan."""
    try:
        text = path.read_text(encoding="utf-8")
        plain = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise PlanError(f"{path.name} is TOML", got=str(error)) from error
    return plan_from(plain, text)


def plan_from(plain: Mapping[str, Any], text: str = "") -> Plan:
    """Make a plan from plain values; ``text`` is only for naming lines."""
    known = [*_PLAIN, *_SECTIONS, "match", "variant", *_LISTS]
    _refuse_unknown(plain, known, "", text)
    parts: dict[str, Any] = {key: _typed(plain[key], hint, key) for key, hint in _PLAIN.items() if key in plain}
    for key in ("faces", "contrast"):
        if key not in plain:
            raise PlanError(f"the plan has a section [{key}]", got="none", fix="See: likewise init --help")
    for key, kind in _SECTIONS.items():
        if key in plain:
            parts[key] = _section(kind, plain[key], key, text)
    if "match" in plain:
        parts["match"] = _match(plain["match"], "match", text)
    if "variant" in plain:
        parts["variant"] = tuple(_variant(entry, text) for entry in plain["variant"])
    for key, kind in _LISTS.items():
        if key in plain:
            parts[key] = tuple(_section(kind, entry, key, text) for entry in plain[key])
    plan: Plan = _made(Plan, parts, "")
    return plan


def _match(plain: Mapping[str, Any], where: str, text: str) -> MatchSpec:
    _refuse_unknown(plain, [entry.name for entry in fields(MatchSpec)], where, text)
    spec: MatchSpec = _made(MatchSpec, dict(plain), where)
    return spec


def _variant(plain: object, text: str) -> Variant:
    if not isinstance(plain, Mapping) or not isinstance(plain.get("name"), str) or not plain["name"]:
        raise PlanError("a [[variant]] has a name", got=repr(plain))
    return Variant(name=plain["name"], match=_match({k: v for k, v in plain.items() if k != "name"}, "variant", text))


def _section(kind: type, plain: object, where: str, text: str) -> Any:
    if not isinstance(plain, Mapping):
        raise PlanError(f"[{where}] is a section", got=repr(plain))
    hints = typing.get_type_hints(kind)
    spelt = {_SPELT.get(str(key), str(key)): value for key, value in plain.items()}
    shown = {value: key for key, value in _SPELT.items()}
    _refuse_unknown(plain, [shown.get(str(name), str(name)) for name in hints], where, text)
    return _made(kind, {key: _typed(value, hints[key], f"{where}.{key}") for key, value in spelt.items()}, where)


def _made(kind: type, values: dict[str, Any], where: str) -> Any:
    try:
        return kind(**values)
    except TypeError as error:
        missing = re.findall(r"'(\w+)'", str(error))
        raise PlanError(f"[{where}] says {some(missing)}", got="no such line") from error
    except LikewiseError as error:
        place = f"in [{where}]: " if where else ""
        raise PlanError(f"{place}{str(error).removesuffix('.')}") from error


def _refuse_unknown(plain: Mapping[str, Any], known: list[str], where: str, text: str) -> None:
    for key in plain:
        if key not in known:
            fix = nearest(key, known) or f"It knows {some(known, 16)}."
            place = f"[{where}]" if where else "the plan"
            raise PlanError(f"{place} has no key {key!r}{_line(text, key, where)}", fix=fix)


def _line(text: str, key: str, where: str) -> str:
    """Say on which line a key stands, if it can be found below its section's header."""
    inside = not where
    for number, line in enumerate(text.splitlines(), 1):
        header = re.match(r"\s*\[+\s*([\w.]+)", line)
        if header:
            inside = header[1].split(".")[0] == where
            if not where and header[1] == key:
                return f" (line {number})"
        elif inside and re.match(rf"\s*\"?{re.escape(key)}\"?\s*=", line):
            return f" (line {number})"
    return ""


def _typed(value: Any, hint: Any, where: str) -> Any:
    """Return the value as the hint wants it (a list for a tuple, 1 for 1.0), or refuse it."""
    origin = typing.get_origin(hint)
    if origin in (typing.Union, types.UnionType):
        options = [option for option in typing.get_args(hint) if option is not type(None)]
        hint = next((option for option in options if _is(value, option)), options[0])
        origin = typing.get_origin(hint)
    if origin is tuple and isinstance(value, list):
        return tuple(_typed(entry, typing.get_args(hint)[0], where) for entry in value)
    if _is(value, hint):
        return float(value) if hint is float else value
    name = getattr(hint, "__name__", str(hint))
    kind = {
        "str": "text",
        "int": "a whole number",
        "float": "a number",
        "tuple": "a list",
        "dict": "a table",
    }.get(name, name)
    raise PlanError(f"{where} is {kind}", got=repr(value))


def _is(value: Any, hint: Any) -> bool:
    kind = typing.get_origin(hint) or hint
    if kind in (int, float):
        return isinstance(value, int if kind is int else (int, float)) and not isinstance(value, bool)
    return isinstance(value, kind)
