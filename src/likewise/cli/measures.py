"""What a matching goes by besides the latents, as audit.toml declares it: second distances, difficulty, numbers."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from likewise.errors import PlanError
from likewise.tables import MatchSpec


@dataclass(frozen=True, kw_only=True)
class WithinPlan:
    """A hard limit on a second distance: of a recogniser's embeddings, or of vectors from a file."""

    recogniser: str = ""
    options: dict[str, Any] = field(default_factory=dict)
    vectors: str = ""
    limit: float = 0.0
    """In the recogniser's own distance, where 0 is its threshold; the euclidean distance of vectors from a file."""

    def __post_init__(self) -> None:
        _need_one("within", recogniser=self.recogniser, vectors=self.vectors)
        _need_options(self.options, self.recogniser)
        if self.limit < 0 or (self.vectors and not self.limit):
            raise PlanError("the limit of a second distance is above 0", got=repr(self.limit))


@dataclass(frozen=True, kw_only=True)
class DifficultyPlan:
    """What references are chosen by: a perceptual distance or a recogniser's, vectors, or pairs with a distance."""

    perceptual: str = ""
    recogniser: str = ""
    options: dict[str, Any] = field(default_factory=dict)
    vectors: str = ""
    pairs: str = ""

    def __post_init__(self) -> None:
        _need_one(
            "difficulty",
            perceptual=self.perceptual, recogniser=self.recogniser, vectors=self.vectors, pairs=self.pairs,
        )  # fmt: skip
        _need_options(self.options, self.recogniser or self.perceptual)


@dataclass(frozen=True, kw_only=True)
class GivenPlan:
    """Files of given numbers: distances (a row a focal, a column a reference image) or scores (image, score)."""

    distances: str = ""
    scores: str = ""

    def __post_init__(self) -> None:
        _need_one("given", distances=self.distances, scores=self.scores)


def check_measures(match: MatchSpec, difficulty: DifficultyPlan | None, given: GivenPlan | None) -> None:
    """What the spec asks for is declared, and nothing is declared in vain."""
    if match.references != (difficulty is not None):
        fix = "Write both or neither."
        raise PlanError("references = true in [match] goes with a section [difficulty]", got="one of them", fix=fix)
    if (match.distance == "given") != bool(given and given.distances):
        raise PlanError("distance = 'given' in [match] goes with distances in [given]", got="one of them")
    if given and given.scores and match.method != "propensity":
        raise PlanError("scores in [given] need method = 'propensity' in [match]", got=match.method)
    if given and given.scores and match.score_on:
        fix = "Leave one of them out."
        raise PlanError("scores are given in [given] or fitted on score_on in [match]", got="both", fix=fix)


def check_variant(name: str, match: MatchSpec, difficulty: DifficultyPlan | None, given: GivenPlan | None) -> None:
    """What a variant asks for is declared; it need not use what [match] uses."""
    if match.references and difficulty is None:
        raise PlanError(f"the variant {name!r} with references = true needs a section [difficulty]", got="none")
    if match.distance == "given" and not (given and given.distances):
        raise PlanError(f"the variant {name!r} with distance = 'given' needs distances in [given]", got="none")


@dataclass(frozen=True)
class Declared:
    """A recogniser of the design, whose embeddings are an artefact."""

    name: str
    options: dict[str, Any]

    @property
    def folder(self) -> str:
        """Where its embeddings lie."""
        plain = sha256(json.dumps([self.name, self.options], sort_keys=True, default=str).encode()).hexdigest()
        return f"{re.sub(r'[^A-Za-z0-9._-]', '-', self.name).strip('.') or 'recogniser'}-{plain[:8]}"


def declared(within: tuple[WithinPlan, ...], difficulty: DifficultyPlan | None) -> list[Declared]:
    """Return the recognisers that take part in the design, each once."""
    every: list[WithinPlan | DifficultyPlan] = [*within, *([difficulty] if difficulty else [])]
    found = [Declared(entry.recogniser, entry.options) for entry in every if entry.recogniser]
    return list({entry.folder: entry for entry in found}.values())


def _need_one(where: str, **choices: str) -> None:
    chosen = [name for name, value in choices.items() if value]
    if len(chosen) != 1:
        raise PlanError(f"[{where}] says one of {', '.join(choices)}", got=", ".join(chosen) or "none of them")


def _need_options(options: dict[str, Any], occupant: str) -> None:
    if options and not occupant:
        raise PlanError("options are those of a recogniser or a perceptual distance", got="none named")
