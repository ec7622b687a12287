"""MatchSpec: the rules of a matching, plain and hashable, without any data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Self

from likewise.errors import SpecError, nearest, some

METHODS = ("greedy",)
DISTANCES = ("euclidean", "mean_row")
BOTH_SIDES = ("error", "drop", "majority")


@dataclass(frozen=True, kw_only=True)
class MatchSpec:
    """How look-alikes are chosen. Every rule is hard: what cannot be met ends the matching.

    The field's words are MatchIt's. ``MatchSpec()`` alone means: greedy, closest first, euclidean on the whole
    latent, each identity once.
    """

    method: str = "greedy"
    """Which pairs are taken: greedy takes the closest that is left, until none is."""
    distance: str = "euclidean"
    """On all numbers of a vector (the Frobenius norm of W+), or on the mean over its rows."""
    antiexact: tuple[str, ...] = ("identity",)
    """What may not recur: with 'identity', all images of both people leave when a pair is taken."""
    exact: tuple[str, ...] = ()
    """Columns in which the two of a pair agree."""
    caliper: tuple[tuple[str, float], ...] = ()
    """The largest difference allowed, by column; 'distance' limits the distance itself. Changes the estimand."""
    caliper_in_sd: bool = False
    """Whether calipers on columns count in standard deviations (pooled within the groups) or in the column's unit."""
    max_pairs: int | None = None
    """Stop after so many pairs. Nothing else is changed by it."""
    both_sides: str = "error"
    """What to do with an identity that has images on both sides: refuse, drop it, or keep its majority."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "antiexact", _words(self.antiexact, "antiexact"))
        object.__setattr__(self, "exact", _words(self.exact, "exact"))
        object.__setattr__(self, "caliper", _limits(self.caliper))
        _one_of(self.method, METHODS, "method")
        _one_of(self.distance, DISTANCES, "distance")
        _one_of(self.both_sides, BOTH_SIDES, "both_sides")
        for word in self.antiexact:
            _one_of(word, ("identity",), "antiexact")
        if self.max_pairs is not None and (isinstance(self.max_pairs, bool) or int(self.max_pairs) < 1):
            raise SpecError("max_pairs is a whole number of at least 1", got=repr(self.max_pairs))
        if self.caliper_in_sd and not [name for name, _ in self.caliper if name != "distance"]:
            raise SpecError("caliper_in_sd has an effect only with a caliper on a column", fix="Leave it out.")

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that JSON and TOML can hold."""
        plain = asdict(self)
        return {
            **plain,
            "antiexact": list(self.antiexact),
            "exact": list(self.exact),
            "caliper": dict(self.caliper),
        }

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Self:
        """Make a spec from plain values; a key that is not known is an error."""
        known = [entry.name for entry in fields(cls)]
        unknown = [key for key in plain if key not in known]
        if unknown:
            fix = nearest(unknown[0], known) or f"The options are {some(known, 12)}."
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


def _limits(value: Mapping[str, float] | tuple[tuple[str, float], ...]) -> tuple[tuple[str, float], ...]:
    pairs = value.items() if isinstance(value, Mapping) else value
    limits = tuple(sorted((str(name), float(limit)) for name, limit in pairs))
    wrong = [name for name, limit in limits if not 0 <= limit < float("inf")]
    if wrong:
        raise SpecError("a caliper is a number of at least 0", got=f"another for {some(wrong)}")
    return limits
