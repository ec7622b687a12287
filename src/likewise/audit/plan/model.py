"""The plan of an audit: everything that its result depends on, besides the images and the table."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, PlainValidator, create_model
from pydantic_core import PydanticCustomError

from likewise.audit.plan.design_sections import (
    DesignRecognizer,
    PrecomputedAnswers,
    PrecomputedDistances,
    ReferenceDifficulty,
    SecondaryDistance,
    UnitsPlan,
    design_recognizers,
)
from likewise.audit.plan.migrations import FORMAT
from likewise.audit.plan.sections import (
    CollectPlan,
    DataPlan,
    EncodePlan,
    EstimatePlan,
    GroupsPlan,
    PrivacyPlan,
    RaterPlan,
    ReportPlan,
    TrialsPlan,
    Variant,
)
from likewise.counterfactuals.sweep_spec import SweepSpec
from likewise.counterfactuals.validation.validity import ValiditySpec
from likewise.data.align import AlignSpec
from likewise.data.describe_spec import DescribeSpec
from likewise.errors import PlanError, some
from likewise.latents.fidelity import FidelitySpec
from likewise.latents.projection import ProjectSpec
from likewise.runtime.executor import Executor
from likewise.tables import Contrast, MatchSpec

_Known = create_model(  # holds the keys of a MatchSpec, whose own constructor checks the values
    "MatchKeys",
    __config__=ConfigDict(extra="forbid"),
    **{entry.name: (Any, None) for entry in dataclasses.fields(MatchSpec)},  # type: ignore[call-overload]
)

COMMERCIAL = "commercial"
_RETIRED = ("remove_contrast",)  # its own error explains why


def _match_spec(plain: object) -> MatchSpec:
    if isinstance(plain, MatchSpec):
        return plain
    if not isinstance(plain, dict):
        raise PydanticCustomError("dict_type", "Input should be a table")
    _Known.model_validate({key: value for key, value in plain.items() if key not in _RETIRED})
    return MatchSpec.from_dict(plain)


def _variant(plain: object) -> Variant:
    if isinstance(plain, Variant):
        return plain
    if not isinstance(plain, dict):
        raise PydanticCustomError("dict_type", "Input should be a table")
    name = plain.get("name")
    if not isinstance(name, str) or not name:
        raise PlanError("A [[variant]] has no name", fix="Add name = '...' to it.")
    return Variant(name=name, match=_match_spec({key: value for key, value in plain.items() if key != "name"}))


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Everything that the result of an audit depends on, besides the images and the table."""

    data: DataPlan
    contrast: Contrast
    format: int = FORMAT
    seed: int = 0
    license: Literal["any", "commercial"] = "any"
    """``commercial`` refuses components with parts for research only."""
    covariates: tuple[str, ...] = ()
    """Columns that are balanced and adjusted for; by default all attributes but the contrast's."""
    vectors: str = ""
    """A file of vectors to use instead of a projection."""
    encode: EncodePlan | None = None
    describe: DescribeSpec | None = None
    align: AlignSpec | None = None
    project: ProjectSpec = field(default_factory=ProjectSpec)
    fidelity: FidelitySpec | None = None
    match: Annotated[MatchSpec, PlainValidator(_match_spec)] = field(default_factory=MatchSpec)
    variant: tuple[Annotated[Variant, PlainValidator(_variant)], ...] = ()
    secondary_distance: tuple[SecondaryDistance, ...] = ()
    reference_difficulty: ReferenceDifficulty | None = None
    precomputed_distances: PrecomputedDistances | None = None
    units: UnitsPlan = field(default_factory=UnitsPlan)
    trials: TrialsPlan = field(default_factory=TrialsPlan)
    rater: tuple[RaterPlan, ...] = ()
    precomputed: tuple[PrecomputedAnswers, ...] = ()
    counterfactual: SweepSpec | None = None
    validity: ValiditySpec | None = None
    collect: CollectPlan | None = None
    estimate: EstimatePlan = field(default_factory=EstimatePlan)
    groups: GroupsPlan | None = None
    report: ReportPlan = field(default_factory=ReportPlan)
    privacy: PrivacyPlan = field(default_factory=PrivacyPlan)
    executor: Executor = field(default_factory=Executor)
    sections: dict[str, Any] = field(default_factory=dict, init=False, compare=False)
    """The sections of further stages, by name."""

    @property
    def validated(self) -> ValiditySpec | None:
        """How edits are validated; None without a sweep, or where the plan disables it."""
        spec = self.validity or ValiditySpec()
        return spec if self.counterfactual is not None and spec.enabled else None

    @property
    def has_space(self) -> bool:
        """Whether images have vectors: precomputed distances alone need none."""
        return bool(self.data.images or self.vectors or self.encode)

    @property
    def projects(self) -> bool:
        """Whether images are projected into a generator's latent space."""
        return bool(self.data.images) and not self.vectors and self.encode is None

    @property
    def recognizes(self) -> bool:
        """Whether a rater gives distances of two images."""
        return bool(self.recognizers) or any(entry.recognizes for entry in self.precomputed)

    @property
    def matches_trials(self) -> bool:
        """Whether trials are matched, not single images."""
        return self.units.kind == "trials"

    @property
    def recognizers(self) -> list[RaterPlan]:
        """The recognizers under audit that run here."""
        return [rater for rater in self.rater if rater.kind == "recognizer"]

    @property
    def classifiers(self) -> list[RaterPlan]:
        """The classifiers under audit that run here."""
        return [rater for rater in self.rater if rater.kind == "classifier"]

    @property
    def sweeps(self) -> bool:
        """Whether a classifier rates counterfactuals."""
        return self.counterfactual is not None and bool(self.classifiers)

    @property
    def design_recognizers(self) -> list[DesignRecognizer]:
        """The recognizers that the matching uses."""
        return design_recognizers(self.secondary_distance, self.reference_difficulty)

    @property
    def embeds(self) -> bool:
        """Whether the matching needs embeddings or perceptual distances that are computed here."""
        difficulty = self.reference_difficulty
        return bool(self.design_recognizers or (difficulty and difficulty.perceptual))

    def __post_init__(self) -> None:
        problems = _problems(self)
        if problems:
            raise PlanError("\n  ".join(problems))


def _problems(plan: Plan) -> list[str]:
    """Return every rule of a plan as a whole that is broken, with what to do."""
    return [*_space(plan), *_pixels(plan), *_measures(plan), *_variants(plan), *_raters(plan)]


def _space(plan: Plan) -> list[str]:
    found = []
    if plan.encode is not None and plan.vectors:
        found.append("The plan has both vectors and [encode]. Remove one of them.")
    for name in ("align", "fidelity"):
        if getattr(plan, name) is not None and (plan.vectors or plan.encode):
            other = "vectors" if plan.vectors else "[encode]"
            found.append(f"[{name}] has no effect: with {other}, images are not projected. Remove one of them.")
    if plan.counterfactual is None and plan.validity is not None:
        found.append("[validity] has no effect without [counterfactual]. Add that section, or remove this one.")
    return found


def _pixels(plan: Plan) -> list[str]:
    """Without images nothing may need them."""
    needing = [what for what, there in _needs_images(plan).items() if there]
    if plan.data.images or not needing:
        return []
    fix = "Add images to [data], or remove these. Answers from files need no images: [[precomputed]]."
    return [f"The plan has no images, but these need them: {some(needing, 9)}. {fix}"]


def _needs_images(plan: Plan) -> dict[str, bool]:
    hard, spaced = plan.reference_difficulty, bool(plan.vectors or plan.encode or plan.precomputed_distances)
    return {
        "[describe]": plan.describe is not None,
        "[align]": plan.align is not None,
        "[fidelity]": plan.fidelity is not None,
        "[project] (use vectors, [encode] columns or [precomputed_distances] instead)": not spaced,
        "[encode]": bool(plan.encode and plan.encode.kind),
        "[[secondary_distance]] recognizer": any(entry.recognizer for entry in plan.secondary_distance),
        "[reference_difficulty]": bool(hard and (hard.recognizer or hard.perceptual)),
        "[[rater]]": bool(plan.rater),
        "[counterfactual]": plan.counterfactual is not None,
        "[collect] of simulated raters": bool(plan.collect and plan.collect.crowd != "file"),
    }


def by_file(match: MatchSpec) -> bool:
    """Whether a design uses a precomputed distance matrix."""
    return match.distance == "precomputed"


def _measures(plan: Plan) -> list[str]:
    """What [match] uses is there, and nothing is there without use."""
    match, given, found = plan.match, plan.precomputed_distances, []
    if plan.matches_trials and match.references:
        found.append("references in [match] choose second images, but [units] kind is 'trials'. Remove one of them.")
    if plan.matches_trials and given:
        found.append("[precomputed_distances] are of images, but [units] kind is 'trials'. Remove one of them.")
    if plan.units.features == "scores" and not plan.projects:
        found.append("features = 'scores' in [units] needs a projection into a generator. Use 'latents'.")
    if match.references and plan.reference_difficulty is None:
        found.append("references = true in [match] needs a section [reference_difficulty].")
    if plan.reference_difficulty is not None and not match.references:
        found.append("[reference_difficulty] has no effect without references = true in [match].")
    if by_file(match) and not (given and given.distances):
        found.append(f"distance = '{match.distance}' in [match] needs distances in [precomputed_distances].")
    if given and given.distances and not by_file(match):
        found.append("distances in [precomputed_distances] have no effect with this distance in [match].")
    if given and given.scores and not match.scored:
        found.append("scores in [precomputed_distances] have no effect without distance = 'propensity' in [match].")
    if given and given.scores and match.score_on:
        found.append("The plan has both scores in [precomputed_distances] and score_on in [match]. Remove one of them.")
    return found


def _variants(plan: Plan) -> list[str]:
    names, given = [variant.name for variant in plan.variant], plan.precomputed_distances
    found = [f"Two [[variant]] have the name {name!r}." for name in sorted({n for n in names if names.count(n) > 1})]
    for variant in plan.variant:
        if variant.match.references and plan.reference_difficulty is None:
            found.append(f"references = true in the variant {variant.name!r} needs a section [reference_difficulty].")
        if by_file(variant.match) and not (given and given.distances):
            found.append(f"The distance of the variant {variant.name!r} needs distances in [precomputed_distances].")
    return found


def _raters(plan: Plan) -> list[str]:
    names = [entry.rater for entry in plan.precomputed]
    twice = sorted({name for name in names if names.count(name) > 1})
    found = [f"Two [[precomputed]] have the rater {name!r}. Give each its own name." for name in twice]
    labels = any(not entry.recognizes for entry in plan.precomputed)
    if plan.estimate.labels and not plan.classifiers and not labels:
        found.append("labels in [estimate] have no effect: the plan has no classifier. Add one, or remove them.")
    return found
