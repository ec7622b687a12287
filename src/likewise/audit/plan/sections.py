"""The sections of audit.toml that no other package defines: data, raters, trials, responses, estimates, report."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any, Literal

from likewise.data.layouts import Source
from likewise.errors import PlanError
from likewise.tables import MatchSpec

ENCODERS = ("recognizer", "perceptual", "classifier")
"""The kinds of component that can encode an image."""


@dataclass(frozen=True, kw_only=True)
class DataPlan:
    """``[data]``: where the images and their table are; paths are relative to the plan."""

    images: str = ""
    """The folder of the images; empty where only answers about them are available."""
    table: str = ""
    layout: Literal["table", "folders", "celeba", "fairface"] = "table"
    """How table and images are laid out."""
    image: str = "image"
    """The column with the file name or key."""
    identity: str = "identity"
    """The column with the identity."""
    rename: dict[str, str] = field(default_factory=dict)
    """New names of columns."""
    bad_images: Literal["drop", "error"] = "drop"
    """What to do with files that do not decode: drop and list them, or stop."""
    missing_images: Literal["error", "drop"] = "error"
    """What to do with rows whose image is not in the folder: stop, or drop and count them."""

    def __post_init__(self) -> None:
        if not self.table and self.layout != "folders":
            raise PlanError("[data] has no table", fix='Add: table = "people.csv"')
        if self.layout == "folders" and not self.images:
            raise PlanError("The layout 'folders' has no images", fix='Add: images = "FOLDER"')

    def source(self, root: Path) -> Source:
        """Return the source of the table, relative to an audit folder."""
        return Source(
            table=root / self.table if self.table else None, images=root / self.images if self.images else None,
            layout=self.layout, image=self.image, identity=self.identity, rename=self.rename,
        )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class RaterPlan:
    """``[[rater]]``: a model under audit: a component's name, ``module:Class`` or an ONNX file, and its options."""

    kind: Literal["recognizer", "classifier"]
    name: str
    options: dict[str, Any] = field(default_factory=dict)
    unedited: bool | None = None
    """Whether a classifier also rates the unedited images beside [counterfactual], so that unmatched, matched and
    edited images can be compared. By default every classifier does, except services, which may cost money."""

    def __post_init__(self) -> None:
        if not self.name:
            raise PlanError(
                "A [[rater]] has an empty name", fix="Give the name of a component, an import path or a file."
            )
        if self.unedited is not None and self.kind == "recognizer":
            raise PlanError("unedited has no effect on a recognizer", fix="Remove it: trials are always rated.")


@dataclass(frozen=True, kw_only=True)
class EncodePlan:
    """``[encode]``: the feature space without a generator: a component of one of three kinds, or columns."""

    recognizer: str = ""
    perceptual: str = ""
    classifier: str = ""
    """A classifier with ``features(pictures)``, such as efficientnet-lite."""
    options: dict[str, Any] = field(default_factory=dict)
    columns: tuple[str, ...] = ()
    size: int = 0
    """The size to which pictures are scaled; 0 keeps their own."""

    def __post_init__(self) -> None:
        named = [*self._named, *(["columns"] if self.columns else [])]
        if len(named) != 1:
            names = ", ".join(named) or "none"
            fix = "Name exactly one of recognizer, perceptual, classifier, columns."
            raise PlanError(f"[encode] names {names} of its four sources", fix=fix)
        if self.size < 0:
            raise PlanError(f"size is {self.size} in [encode]", fix="Use 0 (no scaling) or a number of pixels.")
        if (self.columns and self.options) or (self.size and (self.columns or self.recognizer)):
            raise PlanError(f"size or options have no effect on {named[0]} in [encode]", fix="Remove them.")

    @property
    def _named(self) -> list[str]:
        return [kind for kind in ENCODERS if getattr(self, kind)]

    @property
    def kind(self) -> str:
        """The kind of the encoder; empty where columns are used."""
        return next(iter(self._named), "")

    @property
    def name(self) -> str:
        """The name of the encoder; empty where columns are used."""
        return str(getattr(self, self.kind)) if self.kind else ""


@dataclass(frozen=True, kw_only=True)
class Variant:
    """``[[variant]]``: an alternative to [match]: its name and the options of a MatchSpec."""

    name: str
    match: MatchSpec


@dataclass(frozen=True, kw_only=True)
class TrialsPlan:
    """``[trials]``: the number of impostor trials of each image."""

    impostors: int = 10

    def __post_init__(self) -> None:
        if self.impostors < 0:
            raise PlanError(f"impostors is {self.impostors}", fix="Use 0 (no impostor trials) or more.")


@dataclass(frozen=True, kw_only=True)
class CollectPlan:
    """``[collect]``: the source of people's responses: a crowd component and its options."""

    crowd: str
    options: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class EstimatePlan:
    """``[estimate]``: the confidence level, and what else is estimated from columns and files."""

    level: float = 0.95
    """The confidence level of the intervals."""
    margin: float = 0.0
    """The largest gap in a rate or share (0.01: one point) that counts as equivalent to none; 0: no such test."""
    margin_sd: float = 0.0
    """The same for mean answers, in standard deviations of the answers."""
    truth: str = ""
    """A file of known values to show beside the estimates (ground truth of a simulation)."""
    effects: str = ""
    """A table of known effects by trial (``a``, ``b``, ``quantity``, ``effect``): their mean over each sample's own
    units is shown beside its estimate (ground truth of a simulation)."""
    made_by: str = ""
    """The column that separates generated images from real ones ..."""
    generated: str = ""
    """... and its level that means generated."""
    features: str = ""
    """A file of feature vectors: distances of generated from real images by group (FID, KID)."""
    logits: str = ""
    """A file of class scores: the Inception Score by group."""
    measured: tuple[str, ...] = ()
    """Columns with a measured skin tone, to be compared with people's ordinal responses."""
    term: str = ""
    """The column of terms (occupations, say) under which the share of the focal group is estimated ..."""
    reference: str = ""
    """... against the benchmark shares in this table, with the columns ``term`` and ``share``."""
    labels: tuple[str, ...] = ()
    """The labels of classifiers that are compared between the groups; by default the most common ones."""
    true_labels: str = ""
    """Where the contrast's column is a prediction: a table with what people said about a *random* part of the images
    (columns ``image`` and ``label``). Gaps are then also given corrected for label noise."""

    def __post_init__(self) -> None:
        if not 0 < self.level < 1:
            raise PlanError(f"level is {self.level:g} in [estimate]", fix="Use a number between 0 and 1, e.g. 0.95.")
        for name in ("margin", "margin_sd"):
            if not getattr(self, name) >= 0:
                fix = "Use the largest gap that does not matter, e.g. 0.01; 0 for none."
                raise PlanError(f"{name} is {getattr(self, name):g} in [estimate]", fix=fix)
        if bool(self.made_by) != bool(self.generated):
            there, other = ("made_by", "generated") if self.made_by else ("generated", "made_by")
            raise PlanError(f"[estimate] has {there} without {other}", fix="Add both.")
        if (self.features or self.logits) and not self.made_by:
            raise PlanError("[estimate] has features or logits without made_by", fix="Add made_by and generated.")
        if self.reference and not self.term:
            raise PlanError("[estimate] has reference without term", fix="Add term, or remove reference.")

    @property
    def files(self) -> tuple[str, ...]:
        """The files that it names."""
        return tuple(
            path
            for path in (self.truth, self.effects, self.features, self.logits, self.reference, self.true_labels)
            if path
        )


@dataclass(frozen=True, kw_only=True)
class GroupsPlan:
    """``[groups]``: the columns whose groups, and intersections of groups, are reported one by one."""

    by: tuple[str, ...]
    """One or more columns, e.g. ``["perceived_race", "perceived_gender"]``."""
    reference: str = ""
    """The group that the others are compared with, e.g. ``"White, Male"``; by default the overall value."""
    suppress_below: int = 0
    """Groups with fewer identities are not reported; 0 reports all."""

    def __post_init__(self) -> None:
        if not self.by:
            raise PlanError("[groups] has no columns", fix='Add: by = ["perceived_race", "perceived_gender"]')
        if len(set(self.by)) < len(self.by):
            raise PlanError("[groups] names a column twice in by", fix="Name each column once.")
        if self.suppress_below < 0:
            raise PlanError(f"suppress_below is {self.suppress_below} in [groups]", fix="Use 0 or more.")


@dataclass(frozen=True, kw_only=True)
class PrivacyPlan:
    """``[privacy]``: until when the data may be kept; afterwards a run is refused."""

    retain_until: str = ""
    """The last day, as in 2027-01-31; empty: no date is set."""

    def __post_init__(self) -> None:
        if self.retain_until:
            try:
                date.fromisoformat(self.retain_until)
            except ValueError as error:
                problem = f"retain_until is {self.retain_until!r} in [privacy]"
                raise PlanError(problem, fix='Write a date: "2027-01-31".') from error

    def days_left(self, today: date) -> int | None:
        """Return the days until the data have to be deleted; negative afterwards, None without a date."""
        return (date.fromisoformat(self.retain_until) - today).days if self.retain_until else None


@dataclass(frozen=True, kw_only=True)
class ReportPlan:
    """``[report]``: the title, what stands in the front matter, and whether people are shown (only if set)."""

    title: str = "Audit"
    show_images: bool = False
    """Show pictures of people in the gallery; synthetic identities of the toy simulation are always shown."""
    blur_images: bool = False
    """Pixelate the pictures of the gallery."""
    date: str = ""
    """The date of the report; by default the day it is written."""
    auditor: str = ""
    organization: str = ""
    system: str = ""
    """The system under audit, as its vendor calls it."""
    system_version: str = ""
    system_hash: str = ""
    """A hash of the system's weights or binary."""
    data_source: str = ""
    """Where the images come from."""
    data_license: str = ""
    consent: str = ""
    """What the people in the images agreed to."""
