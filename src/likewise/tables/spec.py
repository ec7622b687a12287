"""MatchSpec: the rules of a matching, plain and hashable, without any data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Self

from likewise.errors import SpecError, nearest, some
from likewise.tables.caliper import Limit, calipers
from likewise.tables.contrast import written

METHODS = ("greedy", "optimal", "propensity")
DISTANCES = ("euclidean", "mean_row", "mahalanobis", "mahalanobis_mean_row", "given")
ORDERS = {
    "greedy": ("closest", "key", "random"),
    "optimal": ("closest",),
    "propensity": ("closest", "key", "random", "largest", "smallest", "optimal"),
}
SCORES = ("logit", "probability")
SEARCHES = ("exact", "approximate")
BOTH_SIDES = ("error", "drop", "majority")
PRESETS: dict[str, dict[str, Any]] = {
    "singh2021-distance": {"method": "greedy", "references": True},
    "singh2021-propensity": {
        "method": "propensity",
        "antiexact": (),
        "caliper": (("score", 0.1),),
        "order": "random",
        "score": "probability",
        "folds": 0,
    },
}
SCORE_CALIPER = "0.2sd"  # of the logit (Austin 2011), unless the spec says otherwise

SEPARATED = 0.95  # an AUC of the score above this leaves little common ground


@dataclass(frozen=True, kw_only=True)
class MatchSpec:
    """How look-alikes are chosen. Every rule is hard: what cannot be met ends the matching.

    The field's words are MatchIt's. ``MatchSpec()`` alone means: greedy, closest first, euclidean on the whole
    latent, each identity once. Data (vectors, difficulties, scores) comes beside the spec, never inside it.
    """

    preset: str = ""
    """A published way of matching, by name; options that contradict it are refused."""
    method: str = "greedy"
    """greedy takes the closest pair that is left; optimal has the least total; propensity is greedy on the score."""
    distance: str = "euclidean"
    """On all numbers of a vector (the Frobenius norm of W+), on the mean over its rows, either one whitened by the
    spread within the groups (mahalanobis), or given beside the spec."""
    row_weights: tuple[float, ...] = ()
    """How much each row of W+ counts in the squared euclidean distance; empty means all the same."""
    remove_contrast: bool = False
    """Whether the direction between the two groups' means is taken out before distances are measured."""
    antiexact: tuple[str, ...] = ("identity",)
    """What may not recur: with 'identity', all images of both people leave when a pair is taken."""
    exact: tuple[str, ...] = ()
    """Columns in which the two of a pair agree."""
    caliper: tuple[tuple[str, Limit], ...] = ()
    """The largest difference allowed, by column; 'distance' limits the distance itself, 'score' the propensity score.
    A number is in their own unit; '0.2sd' counts in standard deviations, pooled within the groups (of a distance: the
    root of the variances of all numbers together). Changes the estimand."""
    references: bool = False
    """Whether both images need a reference: another image of the same identity, the two equally difficult."""
    reference_where: tuple[tuple[str, str], ...] = ()
    """What a valid reference has in the table, e.g. {eyeglasses = 0}."""
    difficulty_ratio: float | None = None
    """How many times as difficult the one reference may be as the other."""
    difficulty_at_least: float | None = None
    """References that are nearer than this to their test image are near-duplicates and not valid."""
    ratio: int = 1
    """How many reference images a focal image gets: everybody the first, then everybody the second, and so on."""
    order: str = "closest"
    """Who chooses first: the closest pair of all; or one by one, by key, at random, from the largest or the smallest
    score (then the smaller group chooses); or nobody (optimal: the least total difference of scores)."""
    max_pairs: int | None = None
    """Stop after so many pairs. Greedy: nothing else is changed by it; optimal: the cheapest so many."""
    search: str = "exact"
    """approximate asks an index (faiss) for the first lists; the result says how much of the true nearest it found."""
    both_sides: str = "error"
    """What to do with an identity that has images on both sides: refuse, drop it, or keep its majority."""
    score_on: tuple[str, ...] = ()
    """Columns that the propensity score is fitted on; empty means the mean latent."""
    score: str = "logit"
    """The scale of the propensity score on which images are compared."""
    folds: int = 5
    """Cross-fitting: a score comes from a model that has not seen the identity. 0 scores by the training fit."""
    seed: int = 0
    """For random orders and for dealing identities into folds."""

    def __post_init__(self) -> None:
        for name in ("antiexact", "exact", "score_on"):
            object.__setattr__(self, name, _words(getattr(self, name), name))
        object.__setattr__(self, "caliper", calipers(self.caliper))
        object.__setattr__(self, "reference_where", _conditions(self.reference_where))
        object.__setattr__(self, "row_weights", _weights(self.row_weights))
        if self.preset:
            self._follow_preset()
        self._check_words()
        self._check_numbers()
        self._check_effects()

    def _follow_preset(self) -> None:
        _one_of(self.preset, tuple(PRESETS), "preset")
        defaults = {entry.name: entry.default for entry in fields(self)}
        for name, value in PRESETS[self.preset].items():
            if getattr(self, name) not in (defaults[name], value):
                fix = "Leave the option out, or leave the preset out and say all options."
                raise SpecError(f"the preset {self.preset!r} fixes {name}", got=repr(getattr(self, name)), fix=fix)
            object.__setattr__(self, name, value)

    def _check_words(self) -> None:
        _one_of(self.method, METHODS, "method")
        _one_of(self.distance, DISTANCES, "distance")
        _one_of(self.order, ORDERS[self.method], f"with method {self.method!r}, order")
        _one_of(self.search, SEARCHES, "search")
        _one_of(self.both_sides, BOTH_SIDES, "both_sides")
        _one_of(self.score, SCORES, "score")
        for word in self.antiexact:
            _one_of(word, ("identity",), "antiexact")

    def _check_numbers(self) -> None:
        for entry in fields(self):
            value = getattr(self, entry.name)
            if isinstance(entry.default, bool) and not isinstance(value, bool):
                raise SpecError(f"{entry.name} is true or false", got=repr(value))
        for name in ("difficulty_ratio", "difficulty_at_least"):
            value = getattr(self, name)
            if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
                raise SpecError(f"{name} is a number", got=repr(value))
        for name, least in (("max_pairs", 1), ("ratio", 1), ("folds", 0), ("seed", 0)):
            value = getattr(self, name)
            if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < least):
                raise SpecError(f"{name} is a whole number of at least {least}", got=repr(value))
        if self.folds == 1:
            raise SpecError("cross-fitting has at least 2 folds", got="1", fix="Set folds to 0 for none.")
        if self.difficulty_ratio is not None and not 1 <= self.difficulty_ratio < float("inf"):
            raise SpecError("difficulty_ratio is a number of at least 1", got=repr(self.difficulty_ratio))
        if self.difficulty_at_least is not None and not 0 < self.difficulty_at_least < float("inf"):
            raise SpecError("difficulty_at_least is a number above 0", got=repr(self.difficulty_at_least))

    def _check_effects(self) -> None:
        """Refuse what has no effect: an option that is silently ignored misleads whoever reads the spec."""
        limits, scored = dict(self.caliper), self.method == "propensity"
        for idle, rule in (
            (
                self.distance == "given" and isinstance(limits.get("distance"), str),
                "given distances have no standard deviation of their own: their caliper is a plain number",
            ),
            (self.row_weights and self.distance != "euclidean", "row_weights need the distance 'euclidean'"),
            (self.remove_contrast and self.distance == "given", "remove_contrast needs vectors"),
            (self._reference_options() and not self.references, "options of references need references = true"),
            (self.ratio > 1 and "optimal" in (self.method, self.order), "a ratio above 1 needs a greedy method"),
            ("score" in limits and not scored, "a caliper on the score needs the method 'propensity'"),
            ("distance" in limits and scored, "with 'propensity' the caliper is on the 'score'"),
            (scored and (self.distance != "euclidean" or self.row_weights), "'propensity' measures no distance"),
            (scored and self.remove_contrast, "remove_contrast would leave the score nothing"),
            (
                self.search != "exact" and (self.method != "greedy" or self.distance == "given"),
                "approximate search is for the greedy method on vectors",
            ),
            (not scored and self.score_on, "score_on needs the method 'propensity'"),
            (not scored and self.score != "logit", "score needs the method 'propensity'"),
            (not scored and self.folds != 5, "folds need the method 'propensity'"),
            (self.seed and self.order != "random" and not scored, "a seed needs a random order or folds"),
        ):
            if idle:
                raise SpecError(rule, fix="Leave the option out.")

    def _reference_options(self) -> bool:
        return bool(self.reference_where or self.difficulty_ratio or self.difficulty_at_least)

    def __str__(self) -> str:
        """Say the method, and what is not as usual."""
        usual = {entry.name: entry.default for entry in fields(self)}
        plain = {name: value for name, value in self.to_dict().items() if getattr(self, name) != usual[name]}
        plain.pop("method", None)
        return ", ".join([self.method, *(f"{name} = {value}" for name, value in plain.items())])

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that JSON and TOML can hold."""
        plain = asdict(self)
        lists = {name: list(plain[name]) for name in ("antiexact", "exact", "score_on", "row_weights")}
        return {**plain, **lists, "caliper": dict(self.caliper), "reference_where": dict(self.reference_where)}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Self:
        """Make a spec from plain values; a key that is not known is an error."""
        known = [entry.name for entry in fields(cls)]
        unknown = [key for key in plain if key not in known]
        if unknown:
            fix = nearest(unknown[0], known) or f"The options are {some(known, 24)}."
            raise SpecError(f"MatchSpec has no option {unknown[0]!r}", fix=fix)
        return cls(**plain)


def _one_of(value: object, known: tuple[str, ...], option: str) -> None:
    if value not in known:
        raise SpecError(f"{option} is one of {some(known)}", got=repr(value), fix=nearest(str(value), known))


def _words(value: object, option: str) -> tuple[str, ...]:
    words = (value,) if isinstance(value, str) else tuple(value)  # type: ignore[arg-type]
    if not all(isinstance(word, str) for word in words):
        raise SpecError(f"{option} holds column names", got=repr(value))
    return tuple(dict.fromkeys(words))


def _conditions(value: Mapping[str, object] | tuple[tuple[str, object], ...]) -> tuple[tuple[str, str], ...]:
    pairs = value.items() if isinstance(value, Mapping) else value
    return tuple(sorted((str(column), written(level)) for column, level in pairs))


def _weights(value: object) -> tuple[float, ...]:
    weights = tuple(float(weight) for weight in value)  # type: ignore[attr-defined]
    if any(not 0 <= weight < float("inf") for weight in weights) or (weights and not any(weights)):
        raise SpecError("row_weights are numbers of at least 0, not all 0", got=str(weights))
    return weights
