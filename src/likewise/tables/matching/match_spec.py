"""MatchSpec: the rules of a matching, plain and hashable, without any data."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, Self, get_args

from likewise.errors import LikewiseWarning, SpecError, nearest, some
from likewise.tables.contrast import written
from likewise.tables.field_docs import documented
from likewise.tables.matching.caliper import Limit, calipers

Method = Literal["nearest", "optimal", "cardinality"]
Distance = Literal["euclidean", "mahalanobis", "propensity", "precomputed"]
Estimand = Literal["ATT", "ATC", "ATE", "ATM"]
Order = Literal["closest", "key", "random", "largest", "smallest"]
Discard = Literal["none", "focal", "reference", "both"]
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
            object.__setattr__(self, name, _words(getattr(self, name), name))
        object.__setattr__(self, "caliper", calipers(self.caliper))
        object.__setattr__(self, "reference_where", _conditions(self.reference_where))
        object.__setattr__(self, "row_weights", _weights(self.row_weights))
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
        _one_of(self.preset, tuple(PRESETS), "preset")
        defaults = {entry.name: entry.default for entry in fields(self)}
        for name, value in PRESETS[self.preset].items():
            if getattr(self, name) not in (defaults[name], value):
                fix = "Remove the option, or remove the preset and set all options."
                raise SpecError(f"{name} = {getattr(self, name)!r} contradicts the preset {self.preset!r}", fix=fix)
            object.__setattr__(self, name, value)

    def _check_choices(self) -> None:
        for name, known in CHOICES.items():
            _one_of(getattr(self, name), known, name)
        for word in self.antiexact:
            _one_of(word, ("identity",), "antiexact")

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
        _check_number("difficulty_ratio", self.difficulty_ratio, 1.0)
        _check_number("difficulty_at_least", self.difficulty_at_least, 0.0, above=True)
        _check_number("max_smd", self.max_smd, 0.0, above=True)
        _check_number("keep", self.keep, 0.0, above=True)
        if self.keep > 1:
            raise SpecError(
                f"keep = {self.keep!r} is not a share of at most 1", fix="Use a number above 0 and up to 1."
            )

    def _check_effects(self) -> None:
        """Refuse options without effect: an option that is silently ignored misleads the reader of the spec."""
        limits, scored, near = dict(self.caliper), self.scored, self.method == "nearest"
        cardinal, by_score = self.method == "cardinality", self.order in ("largest", "smallest")
        for idle, problem in (
            (
                self.distance == "precomputed" and isinstance(limits.get("distance"), str),
                "A caliper in sd cannot be used with precomputed distances: it must be a plain number",
            ),
            (self.row_weights and self.distance != "euclidean", "row_weights needs distance = 'euclidean'"),
            (self.row_weights and self.rows == "mean", "row_weights has no effect with rows = 'mean'"),
            (self.rows == "mean" and self.distance in ("propensity", "precomputed"), "rows needs vectors"),
            (self._reference_options() and not self.references, "Options of references need references = true"),
            (self.ratio > 1 and not near, "ratio above 1 needs method = 'nearest'"),
            (self.replace and not near, "replace needs method = 'nearest'"),
            (self.replace and self.references, "replace cannot be combined with references"),
            (not near and self.order != "closest", f"order has no effect with method = {self.method!r}"),
            (by_score and not scored, f"order = {self.order!r} needs distance = 'propensity'"),
            ("score" in limits and not scored, "A caliper on the score needs distance = 'propensity'"),
            ("distance" in limits and scored, "With distance = 'propensity' the caliper is on the 'score'"),
            (self.discard != "none" and not scored, "discard needs distance = 'propensity'"),
            (self.search != "exact" and (not near or scored or self.distance == "precomputed"),
             "search = 'approximate' needs method = 'nearest' on vectors"),
            (not scored and self.score_on, "score_on needs distance = 'propensity'"),
            (not scored and self.score != "logit", "score needs distance = 'propensity'"),
            (not scored and self.folds != 5, "folds needs distance = 'propensity'"),
            (self.seed and self.order != "random" and not scored, "seed has no effect without a random order or folds"),
            (not cardinal and self.max_smd is not None, "max_smd needs method = 'cardinality'"),
            (not cardinal and self.keep != 0.9, "keep needs method = 'cardinality'"),
            (not cardinal and self.balance, "balance needs method = 'cardinality'"),
            (cardinal and scored, "method = 'cardinality' balances covariates, not a propensity score"),
            (cardinal and self.distance == "precomputed", "method = 'cardinality' needs vectors to balance"),
            (cardinal and limits, "method = 'cardinality' balances groups and cannot keep a caliper on pairs"),
            (cardinal and self.references, "method = 'cardinality' cannot choose references: match trials instead"),
        ):  # fmt: skip
            if idle:
                raise SpecError(problem, fix="Remove the option.")

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
        plain = _current(plain)
        known = [entry.name for entry in fields(cls)]
        unknown = [key for key in plain if key not in known]
        if unknown:
            fix = nearest(unknown[0], known) or f"The options are {some(known, 30)}."
            raise SpecError(f"MatchSpec has no option {unknown[0]!r}", fix=fix)
        return cls(**plain)


_RETIRED = (
    "remove_contrast is retired: the difference of the groups' mean vectors contains the confounders, so that removing "
    "it made the matched groups less comparable"
)


def _current(plain: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options under today's names."""
    new = dict(plain)
    if new.pop("remove_contrast", False):
        raise SpecError(
            _RETIRED, fix="Remove the option; to ignore the attribute itself, match on scores (docs/matching.md)."
        )
    older = {}
    if new.get("method") in ("greedy", "propensity"):
        older["method"] = new.pop("method")
        if older["method"] == "propensity":
            new["distance"] = "propensity"
    if new.get("distance") in ("given", "mean_row", "mahalanobis_mean_row"):
        older["distance"] = word = new.pop("distance")
        new |= {"distance": "precomputed"} if word == "given" else {"rows": "mean"}
        new |= {"distance": "mahalanobis"} if word.startswith("mahalanobis") else {}
    if new.get("order") == "optimal":
        older["order"], new["method"] = new.pop("order"), "optimal"
    if older:
        now = {name: new[name] for name in ("method", "distance", "rows") if name in new}
        today = f"today {now}" if now else "today the default"
        warnings.warn(f"MatchSpec: older names {older}; {today}.", LikewiseWarning, stacklevel=3)
    return new


def _one_of(value: object, known: tuple[str, ...], option: str) -> None:
    if value not in known:
        close = nearest(str(value), known)
        raise SpecError(f"{option} = {value!r} is unknown", fix=f"{close} Known: {some(known, 8)}.".strip())


def _check_number(name: str, value: object, least: float, *, above: bool = False) -> None:
    if value is None:
        return
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not (least < value if above else least <= value) or value == float("inf"):  # type: ignore[operator]
        rule = f"{'above' if above else 'of at least'} {least:g}"
        raise SpecError(f"{name} = {value!r} is not a number {rule}")


def _words(value: object, option: str) -> tuple[str, ...]:
    words = (value,) if isinstance(value, str) else tuple(value)  # type: ignore[arg-type]
    if not all(isinstance(word, str) for word in words):
        raise SpecError(f"{option} = {value!r} does not hold column names", fix='Write a list, e.g. ["age_group"].')
    return tuple(dict.fromkeys(words))


def _conditions(value: Mapping[str, object] | tuple[tuple[str, object], ...]) -> tuple[tuple[str, str], ...]:
    pairs = value.items() if isinstance(value, Mapping) else value
    return tuple(sorted((str(column), written(level)) for column, level in pairs))


def _weights(value: object) -> tuple[float, ...]:
    weights = tuple(float(weight) for weight in value)  # type: ignore[attr-defined]
    if any(not 0 <= weight < float("inf") for weight in weights) or (weights and not any(weights)):
        raise SpecError(
            f"row_weights = {weights} are not numbers of at least 0 with one above 0",
            fix="Give one weight a row of the latents, e.g. [1, 1, 0.5].",
        )
    return weights
