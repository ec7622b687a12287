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

from likewise.cli.answered import AnsweredPlan
from likewise.cli.encoding import EncodePlan
from likewise.cli.measures import DifficultyPlan, GivenPlan, WithinPlan, check_measures, check_variant
from likewise.cli.whole import check_pixels, check_raters, check_space
from likewise.engine import Engine
from likewise.errors import LikewiseError, PlanError, nearest, some
from likewise.make.align import AlignSpec
from likewise.make.certificate import CertificateSpec
from likewise.make.describe_spec import DescribeSpec
from likewise.make.fidelity import FidelitySpec
from likewise.make.layouts import LAYOUTS, Source
from likewise.make.project import ProjectSpec
from likewise.make.sweep_spec import SweepSpec
from likewise.plugins import SLOTS
from likewise.tables import Contrast, MatchSpec

FORMAT = 1


@dataclass(frozen=True, kw_only=True)
class FacesPlan:
    """Where the images and their table are; paths are relative to the audit folder."""

    images: str = ""
    """The folder of the images; empty where only answers about them are at hand."""
    table: str = ""
    layout: str = "table"
    """How table and images are laid out: table, folders, celeba or fairface."""
    image: str = "image"
    identity: str = "identity"
    rename: dict[str, str] = field(default_factory=dict)
    bad_images: str = "drop"
    """What to do with files that do not decode: leave them out and count them by group, or refuse."""
    missing_images: str = "error"
    """What to do with rows whose image is not in the folder: refuse, or drop them and count them."""

    def __post_init__(self) -> None:
        for name in ("bad_images", "missing_images"):
            if getattr(self, name) not in ("error", "drop"):
                raise PlanError(f"{name} is 'error' or 'drop'", got=repr(getattr(self, name)))
        if self.layout not in LAYOUTS:
            fix = nearest(self.layout, LAYOUTS)
            raise PlanError(f"layout is one of {some(LAYOUTS)}", got=repr(self.layout), fix=fix)
        if not self.table and self.layout != "folders":
            raise PlanError("[faces] says table", got="no such line")
        if self.layout == "folders" and not self.images:
            raise PlanError("the layout 'folders' is one of images", got="no images")

    def source(self, root: Path) -> Source:
        """Return where the table is, seen from an audit folder."""
        return Source(
            table=root / self.table if self.table else None, images=root / self.images if self.images else None,
            layout=self.layout, image=self.image, identity=self.identity, rename=self.rename,
        )  # fmt: skip


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
    """The level of the intervals, and what else is to be estimated from columns and files that the audit has."""

    level: float = 0.95
    truth: str = ""
    """A file of known values to set beside the estimates (planted truth)."""
    made_by: str = ""
    """The column that tells generated faces from real ones ..."""
    generated: str = ""
    """... and its level that means generated."""
    features: str = ""
    """A file of vectors of features: distances of generated from real images by group (FID, KID)."""
    logits: str = ""
    """A file of vectors of class scores: the Inception Score by group."""
    measured: tuple[str, ...] = ()
    """Columns with a measured skin tone, to be compared with people's answers in steps."""
    term: str = ""
    """The column of terms (occupations, say) under which the share of the focal group is estimated ..."""
    reference: str = ""
    """... against the shares in this table, with the columns ``term`` and ``share``."""
    labels: tuple[str, ...] = ()
    """Which labels of classifiers are compared between the groups; the commonest, unless named."""

    def __post_init__(self) -> None:
        if not 0 < self.level < 1:
            raise PlanError("level lies between 0 and 1", got=str(self.level))
        if bool(self.made_by) != bool(self.generated):
            raise PlanError("made_by and generated go together in [analyse]", got="one of them", fix="Write both.")
        if (self.features or self.logits) and not self.made_by:
            raise PlanError("features and logits in [analyse] need made_by and generated", got="neither")
        if self.reference and not self.term:
            raise PlanError("reference in [analyse] has an effect only with term", got="no term")

    @property
    def files(self) -> tuple[str, ...]:
        """The files that it names."""
        return self.truth, self.features, self.logits, self.reference


@dataclass(frozen=True, kw_only=True)
class ReportPlan:
    """What the report is called, and whether it shows pictures of the people (never, unless asked)."""

    title: str = "Audit"
    show_images: bool = False


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
    encode: EncodePlan | None = None
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
    answered: tuple[AnsweredPlan, ...] = ()
    counterfactual: SweepSpec | None = None
    certificate: CertificateSpec | None = None
    ask: AskPlan | None = None
    analyse: AnalysePlan = field(default_factory=AnalysePlan)
    report: ReportPlan = field(default_factory=ReportPlan)
    engine: Engine = field(default_factory=Engine)

    @property
    def judged(self) -> CertificateSpec | None:
        """How edits are judged: by default they are; nothing without a sweep, or where the plan says no."""
        spec = self.certificate or CertificateSpec()
        return spec if self.counterfactual is not None and spec.judge else None

    def __post_init__(self) -> None:
        if self.format != FORMAT:
            raise PlanError(f"audit.toml is of format {FORMAT}", got=str(self.format), fix="Update likewise.")
        check_measures(self.match, self.difficulty, self.given)
        for variant in self.variant:
            check_variant(variant.name, variant.match, self.difficulty, self.given)
        if len({variant.name for variant in self.variant}) < len(self.variant):
            raise PlanError("every [[variant]] has a name of its own", got="one name twice")
        if self.counterfactual is None and self.certificate is not None:
            raise PlanError("[certificate] judges a sweep", got="no [counterfactual]", fix="Add that section.")
        check_space(self)
        check_pixels(self)
        check_raters(self)


_SECTIONS: dict[str, type] = {
    "faces": FacesPlan, "contrast": Contrast, "describe": DescribeSpec, "align": AlignSpec, "project": ProjectSpec,
    "encode": EncodePlan, "fidelity": FidelitySpec, "difficulty": DifficultyPlan, "given": GivenPlan,
    "trials": TrialsPlan, "counterfactual": SweepSpec, "certificate": CertificateSpec,
    "ask": AskPlan, "analyse": AnalysePlan, "report": ReportPlan, "engine": Engine,
}  # fmt: skip
_LISTS: dict[str, type] = {"rater": Rater, "within": WithinPlan, "answered": AnsweredPlan}
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
    if "project" in plain and ("encode" in plain or "vectors" in plain):
        other = "[encode]" if "encode" in plain else "vectors"
        raise PlanError("[project] or another space, not both", got=f"[project] and {other}", fix="Leave one out.")
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
