"""MatchSpec: the rules of a matching, plain and hashable, without any data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, Self, get_args

from likewise.errors import SpecError, nearest, some
from likewise.tables.field_docs import documented
from likewise.tables.matching.caliper import Limit, calipers
from likewise.tables.matching.older_options import current_options
from likewise.tables.matching.option_values import check_number, conditions, one_of, weights_of, words_of

Method = Literal["nearest", "optimal", "cardinality"]
Distance = Literal["euclidean", "mahalanobis", "propensity", "precomputed"]
Estimand = Literal["ATT", "ATC", "ATE", "ATM"]
Order = Literal["closest", "key", "random", "largest", "smallest"]
Discard = Literal["none", "focal", "reference", "both"]
_Rules = Iterator[tuple[object, str]]
CHOICES: dict[str, tuple[str, ...]] = {
    "method": get_args(Method),
    "distance": get_args(Distance),
    "rows": ("all", "mean"),
    "estimand": ("", *get_args(Estimand)),
    "order": get_args(Order),
    "discard": get_args(Discard),
    "search": ("exact", "approximate"),
    "both_sides": ("error", "drop", "majority"),
    "score": ("logit", "probability"),
}
PRESETS: dict[str, dict[str, Any]] = {
    "singh2021-distance": {"method": "nearest", "references": True},
    "singh2021-propensity": {
        "distance": "propensity",
        "antiexact": (),
        "caliper": (("score", 0.1),),
        "order": "random",
        "score": "probability",
        "folds": 0,
    },
}
SCORE_CALIPER = "0.2sd"  # of the logit (Austin 2011), unless the spec names another
MAX_SMD = 0.1  # what cardinality matching keeps unless the spec names another
SEPARATED = 0.95  # an AUC of the score above this leaves little overlap


@documented
@dataclass(frozen=True, kw_only=True)
class MatchSpec:
    """How units are matched across a contrast, in MatchIt's vocabulary. Every rule is a hard constraint.

    ``MatchSpec()`` alone means: nearest neighbor, closest pair first, euclidean distance on all numbers of a vector,
    each identity once. Data (vectors, difficulties, scores) are arguments of ``match``, never part of the spec.

    Examples
    --------
    >>> from likewise.tables import MatchSpec
    >>> print(MatchSpec(exact="eyeglasses", caliper={"age": 5}))
    nearest, exact = ['eyeglasses'], caliper = {'age': 5.0}
    >>> print(MatchSpec(method="cardinality", max_smd=0.05))
    cardinality, max_smd = 0.05
    """

    preset: str = ""
    """A published way of matching, by name; options that contradict it are refused."""
    method: Method = "nearest"
    """nearest: repeatedly take the closest admissible pair (greedy). optimal: as many pairs as possible with the least
    total distance. cardinality: the largest sample whose covariates are balanced within ``max_smd``, then paired."""
    distance: Distance = "euclidean"
    """euclidean: on all numbers of a vector (the Frobenius norm of W+). mahalanobis: the same, whitened by the
    covariance within the groups. propensity: the difference of propensity scores. precomputed: an argument of match."""
    rows: Literal["all", "mean"] = "all"
    """Of W+ vectors: all rows, or the mean over them. Trials of a wide W+ need the mean."""
    row_weights: tuple[float, ...] = ()
    """The weight of each row of W+ in the squared euclidean distance; empty means equal weights."""
    antiexact: tuple[str, ...] = ("identity",)
    """What may not recur: with 'identity', all units of both people leave when a pair is taken."""
    exact: tuple[str, ...] = ()
    """Columns in which the two units of a pair agree. Of a trial: both the mean and the difference of its images."""
    caliper: tuple[tuple[str, Limit], ...] = ()
    """The largest difference allowed, by column; 'distance' limits the distance itself, 'score' the propensity score.
    A number is in the column's own unit; '0.2sd' counts standard deviations, pooled within the groups (of a distance:
    the root of the total variance). A caliper drops units and so changes the estimand."""
    max_smd: float | None = None
    """cardinality only: the largest absolute standardized mean difference of anything balanced (default 0.1)."""
    keep: float = 0.9
    """cardinality only: the share of the largest balanced sample that is kept. The rest is given up for closer balance:
    in the largest sample every confounder sits at ``max_smd``, which leaves bias. 1 keeps the largest."""
    balance: tuple[str, ...] = ()
    """cardinality only: columns that are balanced besides the numbers of the vectors. Of a trial: mean, difference."""
    estimand: Literal["", "ATT", "ATC", "ATE", "ATM"] = ""
    """The wanted estimand: ATT (all focal identities), ATC (all reference identities), ATE (both), ATM (those that can
    be matched). Empty: whatever results. The result names its own, and notes when it is not the wanted one."""
    discard: Discard = "none"
    """propensity only: drop units whose score lies outside the range of the other group (of which side)."""
    replace: bool = False
    """Whether a reference unit may be matched several times (nearest only)."""
    references: bool = False
    """Single images only: each gets a reference (another image of the identity), the two equally difficult."""
    reference_where: tuple[tuple[str, str], ...] = ()
    """Conditions on a reference, by column, e.g. {eyeglasses = 0}."""
    difficulty_ratio: float | None = None
    """The largest ratio of the difficulties of the two references."""
    difficulty_at_least: float | None = None
    """References nearer than this to their test image are near-duplicates and not valid."""
    ratio: int = 1
    """Reference units per focal unit: all first ones are matched before any second one."""
    order: Order = "closest"
    """Which unit is matched first: that of the closest pair; or one by one by key, at random, or from the largest or
    smallest propensity score (then the smaller group chooses)."""
    max_pairs: int | None = None
    """Stop after so many pairs. nearest: the first ones; optimal: the cheapest; cardinality: if more are
    possible, those nearest to the other group."""
    search: Literal["exact", "approximate"] = "exact"
    """approximate: first lists come from an index (faiss); the result reports the measured recall."""
    both_sides: Literal["error", "drop", "majority"] = "error"
    """An identity with units on both sides: refuse, drop it, or keep the side with more of its units."""
    score_on: tuple[str, ...] = ()
    """Columns that the propensity score is fitted on; empty means the mean latent."""
    score: Literal["logit", "probability"] = "logit"
    """The scale of the propensity score on which units are compared."""
    folds: int = 5
    """Cross-fitting: a score comes from a model that was not fitted on the identity. 0: in-sample scores."""
    seed: int = 0
    """For random orders and for assigning identities to folds."""

    def __post_init__(self) -> None:
        for name in ("antiexact", "exact", "score_on", "balance"):
            object.__setattr__(self, name, words_of(getattr(self, name), name))
        object.__setattr__(self, "caliper", calipers(self.caliper))
        object.__setattr__(self, "reference_where", conditions(self.reference_where))
        object.__setattr__(self, "row_weights", weights_of(self.row_weights))
        if self.preset:
            self._follow_preset()
        self._check_choices()
        self._check_numbers()
        self._check_effects()

    @property
    def scored(self) -> bool:
        """Whether units are compared by a propensity score."""
        return self.distance == "propensity"

    @property
    def tolerance(self) -> float:
        """The largest absolute SMD that cardinality matching keeps."""
        return MAX_SMD if self.max_smd is None else self.max_smd

    def _follow_preset(self) -> None:
        one_of(self.preset, tuple(PRESETS), "preset")
        defaults = {entry.name: entry.default for entry in fields(self)}
        for name, value in PRESETS[self.preset].items():
            if getattr(self, name) not in (defaults[name], value):
                fix = "Remove the option, or remove the preset and set all options."
                raise SpecError(f"{name} = {getattr(self, name)!r} contradicts the preset {self.preset!r}", fix=fix)
            object.__setattr__(self, name, value)

    def _check_choices(self) -> None:
        for name, known in CHOICES.items():
            one_of(getattr(self, name), known, name)
        for word in self.antiexact:
            one_of(word, ("identity",), "antiexact")

    def _check_numbers(self) -> None:
        for entry in fields(self):
            value = getattr(self, entry.name)
            if isinstance(entry.default, bool) and not isinstance(value, bool):
                raise SpecError(f"{entry.name} = {value!r} is neither true nor false", fix="Write true or false.")
        for name, least in (("max_pairs", 1), ("ratio", 1), ("folds", 0), ("seed", 0)):
            value = getattr(self, name)
            if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < least):
                raise SpecError(f"{name} = {value!r} is not a whole number of at least {least}")
        if self.folds == 1:
            raise SpecError("folds = 1 cannot cross-fit", fix="Use at least 2 folds, or 0 for none.")
        check_number("difficulty_ratio", self.difficulty_ratio, 1.0)
        check_number("difficulty_at_least", self.difficulty_at_least, 0.0, above=True)
        check_number("max_smd", self.max_smd, 0.0, above=True)
        check_number("keep", self.keep, 0.0, above=True)
        if self.keep > 1:
            raise SpecError(
                f"keep = {self.keep!r} is not a share of at most 1", fix="Use a number above 0 and up to 1."
            )

    def _check_effects(self) -> None:
        """Refuse options without effect: an option that is silently ignored misleads the reader of the spec."""
        for idle, problem in (
            *self._vector_rules(),
            *self._method_rules(),
            *self._score_rules(),
            *self._balance_rules(),
        ):
            if idle:
                raise SpecError(problem, fix="Remove the option.")

    def _vector_rules(self) -> _Rules:
        given = self.distance == "precomputed"
        near = self.method == "nearest"
        yield (
            given and isinstance(dict(self.caliper).get("distance"), str),
            "A caliper in sd cannot be used with precomputed distances: it must be a plain number",
        )
        yield self.row_weights and self.distance != "euclidean", "row_weights needs distance = 'euclidean'"
        yield self.row_weights and self.rows == "mean", "row_weights has no effect with rows = 'mean'"
        yield self.rows == "mean" and self.distance in ("propensity", "precomputed"), "rows needs vectors"
        yield (
            self.search != "exact" and (not near or self.scored or given),
            "search = 'approximate' needs method = 'nearest' on vectors",
        )

    def _method_rules(self) -> _Rules:
        near, fixed = self.method == "nearest", self.order != "random"
        yield self._reference_options() and not self.references, "Options of references need references = true"
        yield self.ratio > 1 and not near, "ratio above 1 needs method = 'nearest'"
        yield self.replace and not near, "replace needs method = 'nearest'"
        yield self.replace and self.references, "replace cannot be combined with references"
        yield not near and self.order != "closest", f"order has no effect with method = {self.method!r}"
        yield self.seed and fixed and not self.scored, "seed has no effect without a random order or folds"

    def _score_rules(self) -> _Rules:
        yield (
            self.scored and "distance" in dict(self.caliper),
            "With distance = 'propensity' the caliper is on the 'score'",
        )
        needs = "needs distance = 'propensity'"
        if not self.scored:
            yield self.order in ("largest", "smallest"), f"order = {self.order!r} {needs}"
            yield "score" in dict(self.caliper), f"A caliper on the score {needs}"
            yield self.discard != "none", f"discard {needs}"
            yield self.score_on, f"score_on {needs}"
            yield self.score != "logit", f"score {needs}"
            yield self.folds != 5, f"folds {needs}"

    def _balance_rules(self) -> _Rules:
        this = "method = 'cardinality'"
        if self.method != "cardinality":
            yield self.max_smd is not None, f"max_smd needs {this}"
            yield self.keep != 0.9, f"keep needs {this}"
            yield self.balance, f"balance needs {this}"
            return
        yield self.scored, f"{this} balances covariates, not a propensity score"
        yield self.distance == "precomputed", f"{this} needs vectors to balance"
        yield self.caliper, f"{this} balances groups and cannot keep a caliper on pairs"
        yield self.references, f"{this} cannot choose references: match trials instead"

    def _reference_options(self) -> bool:
        return bool(self.reference_where or self.difficulty_ratio or self.difficulty_at_least)

    def __str__(self) -> str:
        """Name the method, and every option that differs from its default."""
        usual = {entry.name: entry.default for entry in fields(self)}
        plain = {name: value for name, value in self.to_dict().items() if getattr(self, name) != usual[name]}
        plain.pop("method", None)
        return ", ".join([self.method, *(f"{name} = {value}" for name, value in plain.items())])

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that JSON and TOML can hold."""
        plain = asdict(self)
        lists = {name: list(plain[name]) for name in ("antiexact", "exact", "score_on", "row_weights", "balance")}
        return {**plain, **lists, "caliper": dict(self.caliper), "reference_where": dict(self.reference_where)}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Self:
        """Make a spec from plain values. Older names are read with a warning; an unknown key is an error."""
        plain = current_options(plain)
        known = [entry.name for entry in fields(cls)]
        unknown = [key for key in plain if key not in known]
        if unknown:
            fix = nearest(unknown[0], known) or f"The options are {some(known, 30)}."
            raise SpecError(f"MatchSpec has no option {unknown[0]!r}", fix=fix)
        return cls(**plain)
