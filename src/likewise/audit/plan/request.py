"""AuditRequest: what is to be audited, as ``likewise init``, ``likewise audit`` and ``lw.audit`` receive it."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from pathlib import Path

from likewise.data.layouts import Source
from likewise.errors import PlanError, PluginError, SpecError, nearest, some
from likewise.runtime.registry import components

COLUMNS = "columns"
"""The encoder that is none: the table's own columns."""
FILES = ("scores", "embeddings", "labels")
"""The kinds of precomputed answers."""
RATERS = ("recognizer", "classifier")
PRESETS = ("quick", "standard", "thorough")
COMMERCIAL = ("sface", "dlib")
"""Recognizers that may be used commercially, whose features can serve as the space."""


@dataclass(frozen=True, kw_only=True)
class AuditRequest:
    """Everything that a plan is made from."""

    protected: str
    focal: str
    reference: str
    images: Path | None = None
    table: Path | None = None
    layout: str = "table"
    identity: str = "identity"
    image_column: str = "image"
    rename: tuple[str, ...] = ()
    skip_missing: bool = False
    covariates: str = ""
    by: tuple[str, ...] = ()
    """Columns whose groups and intersections are reported one by one."""
    vectors: Path | None = None
    generator: str = ""
    encoder: str = ""
    rater: tuple[str, ...] = ()
    editor: str = ""
    scores: tuple[str, ...] = ()
    embeddings: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    similarity: bool = False
    scale: float = 1.0
    people: Path | None = None
    license: str = "any"
    """``commercial``: no part may be for research only."""
    title: str = "Audit"
    seed: int = 0
    preset: str = "standard"
    """quick, standard or thorough: how much work goes into the projection and the designs."""

    def __post_init__(self) -> None:
        missing = [f"--{name}" for name in ("protected", "focal", "reference") if not getattr(self, name)]
        if missing:
            raise PlanError(f"{' and '.join(missing)} missing", fix="Name the column and the two groups to compare.")
        spaces = [name for name in ("vectors", "generator", "encoder") if getattr(self, name)]
        if len(spaces) > 1:
            named = " and ".join(f"--{name}" for name in spaces)
            raise PlanError(f"{named} both define the feature space", fix="Give one of them.")
        if self.similarity and not self.scores:
            raise PlanError("--similarity has no effect without --scores", fix="Remove it.")
        if self.editor and not any(kind_and_name(name)[0] == "classifier" for name in self.rater):
            raise PlanError("--editor has no effect without a classifier", fix="Add one with --rater.")
        if self.preset not in PRESETS:
            fix = nearest(self.preset, PRESETS) or f"Use {', '.join(PRESETS)}."
            raise PlanError(f"Unknown preset {self.preset!r}", fix=fix)
        if self.license not in ("any", "commercial"):
            raise PlanError(f"--license is {self.license!r}", fix="Choose any or commercial.")
        if self.license == "commercial" and self.images and not spaces:  # the default generator is for research only
            audited = {kind_and_name(name)[1] for name in self.rater}  # the space is not that of a system under audit
            object.__setattr__(self, "encoder", next((e for e in COMMERCIAL if e not in audited), COMMERCIAL[0]))
        if not self.table and self.layout != "folders":
            raise PlanError("--table is missing", fix="Only --layout folders works without a table.")

    @property
    def renamed(self) -> dict[str, str]:
        """The columns that get another name."""
        pairs = [entry.partition("=") for entry in self.rename]
        wrong = [entry for entry, parts in zip(self.rename, pairs, strict=True) if not all(parts)]
        if wrong:
            raise SpecError(
                f"--rename {some(wrong)} is not of the form OLD=NEW", fix="Write e.g. --rename sex=perceived_sex."
            )
        return {old: new for old, _, new in pairs}

    @property
    def source(self) -> Source:
        """The source of the table."""
        return Source(
            table=self.table, images=self.images, layout=self.layout,
            image=self.image_column, identity=self.identity, rename=self.renamed,
        )  # fmt: skip


def rates_trials(request: AuditRequest) -> bool:
    """Whether something under audit rates trials, or nothing is named yet; a classifier rates images."""
    if any(kind_and_name(name)[0] == "recognizer" for name in request.rater):
        return True
    if request.scores or request.embeddings or request.people:
        return True
    return not (request.rater or request.labels)


def kind_and_name(given: str, kinds: tuple[str, ...] = RATERS) -> tuple[str, str]:
    """Return the kind of a component and its name, ``module:Class`` or file; KIND:NAME gives the kind.

    >>> kind_and_name("recognizer:world")
    ('recognizer', 'world')
    """
    said, sign, rest = given.partition(":")
    if sign and said in kinds:
        if rest not in components(said) and not is_file(rest) and ":" not in rest:
            fix = nearest(rest, components(said)) or "likewise components lists them."
            raise PluginError(f"Unknown {said} {rest!r}", fix=fix)
        return said, rest
    found = [kind for kind in kinds if given in components(kind)]
    if len(found) == 1:
        return found[0], given
    choices = " or ".join(f"{kind}:{given}" for kind in found or kinds)
    if found:
        raise PluginError(f"{given!r} is the name of a {' and a '.join(found)}", fix=f"Write {choices}.")
    if is_file(given) or (sign and _importable(said)):
        raise PluginError(f"The kind of {given!r} is not known", fix=f"Write {choices}.")
    known = sorted({name for kind in kinds for name in components(kind)})
    fix = nearest(given, known) or "likewise components lists them."
    raise PluginError(f"Unknown {' or '.join(kinds)} {given!r}", fix=fix)


def is_file(name: str) -> bool:
    """Whether a rater is named by its file: an ONNX network, or its card."""
    return name.lower().endswith((".onnx", ".toml"))


def _importable(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except (ImportError, ValueError):
        return False
