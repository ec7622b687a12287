"""The sections of audit.toml with further inputs: second distances, difficulties, precomputed numbers and answers."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Literal

from likewise.data.precomputed_labels import LABEL_COLUMNS
from likewise.data.precomputed_scores import SCORE_COLUMNS
from likewise.errors import PlanError, nearest

_MEASURES = {"scores": ("distance", "similarity"), "embeddings": ("cosine", "euclidean"), "labels": ()}
_COLUMNS: dict[str, dict[str, str]] = {"scores": SCORE_COLUMNS, "embeddings": {}, "labels": LABEL_COLUMNS}
_PRESENT = 0.5  # the confidence from which a label counts as given, unless the plan sets another


@dataclass(frozen=True, kw_only=True)
class SecondaryDistance:
    """``[[secondary_distance]]``: a caliper on a second distance, of a recognizer or of vectors from a file."""

    recognizer: str = ""
    options: dict[str, Any] = field(default_factory=dict)
    vectors: str = ""
    limit: float = 0.0
    """In the recognizer's own distance, where 0 is its threshold; the euclidean distance of vectors from a file."""

    def __post_init__(self) -> None:
        _need_one("[[secondary_distance]]", recognizer=self.recognizer, vectors=self.vectors)
        _need_owner("[[secondary_distance]]", self.options, self.recognizer)
        if self.limit < 0 or (self.vectors and not self.limit):
            raise PlanError(f"limit is {self.limit:g} in [[secondary_distance]]", fix="Use a number above 0.")


@dataclass(frozen=True, kw_only=True)
class ReferenceDifficulty:
    """``[reference_difficulty]``: the difficulty of second images: perceptual, a recognizer's, or from files."""

    perceptual: str = ""
    recognizer: str = ""
    options: dict[str, Any] = field(default_factory=dict)
    vectors: str = ""
    pairs: str = ""
    """A table of pairs of images with their distance."""

    def __post_init__(self) -> None:
        _need_one(
            "[reference_difficulty]",
            perceptual=self.perceptual, recognizer=self.recognizer, vectors=self.vectors, pairs=self.pairs,
        )  # fmt: skip
        _need_owner("[reference_difficulty]", self.options, self.recognizer or self.perceptual)

    @property
    def files(self) -> tuple[str, ...]:
        """The files that it names."""
        return tuple(path for path in (self.vectors, self.pairs) if path)


@dataclass(frozen=True, kw_only=True)
class PrecomputedDistances:
    """``[precomputed_distances]``: a distance matrix (a row a focal image) or propensity scores (image, score)."""

    distances: str = ""
    scores: str = ""

    def __post_init__(self) -> None:
        _need_one("[precomputed_distances]", distances=self.distances, scores=self.scores)

    @property
    def files(self) -> tuple[str, ...]:
        """The files that it names."""
        return tuple(path for path in (self.distances, self.scores) if path)


@dataclass(frozen=True)
class DesignRecognizer:
    """A recognizer that the matching uses; its embeddings are an artifact."""

    name: str
    options: dict[str, Any]

    @property
    def folder(self) -> str:
        """The folder of its embeddings, inside the artifact."""
        plain = sha256(json.dumps([self.name, self.options], sort_keys=True, default=str).encode()).hexdigest()
        return f"{re.sub(r'[^A-Za-z0-9._-]', '-', self.name).strip('.') or 'recognizer'}-{plain[:8]}"


def design_recognizers(
    distances: tuple[SecondaryDistance, ...], difficulty: ReferenceDifficulty | None
) -> list[DesignRecognizer]:
    """Return the recognizers that the matching uses, each once."""
    every: list[SecondaryDistance | ReferenceDifficulty] = [*distances, *([difficulty] if difficulty else [])]
    found = [DesignRecognizer(entry.recognizer, entry.options) for entry in every if entry.recognizer]
    return list({entry.folder: entry for entry in found}.values())


@dataclass(frozen=True, kw_only=True)
class PrecomputedAnswers:
    """``[[precomputed]]``: answers that a rater gave elsewhere: scores of pairs, embeddings or labels, in a file."""

    rater: str
    """The rater's name in the report."""
    scores: str = ""
    embeddings: str = ""
    labels: str = ""
    measure: str = ""
    """Of scores: distance (the default) or similarity. Of embeddings: cosine (the default) or euclidean."""
    threshold: float | None = None
    """Of scores, as they are in the file: the recognizer's threshold. Of labels: the confidence from which one
    counts as given."""
    scale: float = 1.0
    """The largest similarity or confidence: 100 for percent."""
    columns: dict[str, str] = field(default_factory=dict)
    """The names of the file's columns: a, b, score; or image, label, confidence."""
    where: dict[str, str] = field(default_factory=dict)
    """Of scores: only the rows with these values, e.g. {system = "A"} in a file of several systems."""

    def __post_init__(self) -> None:
        _need_one("[[precomputed]]", scores=self.scores, embeddings=self.embeddings, labels=self.labels)
        if not self.rater:
            raise PlanError("A [[precomputed]] has an empty rater", fix="Name the rater, as in the report.")
        if not self.scale > 0:
            raise PlanError(f"scale is {self.scale:g} in [[precomputed]]", fix="Use a number above 0.")
        known = _MEASURES[self.kind]
        if self.measure and self.measure not in known:
            fix = nearest(self.measure, known) or (f"Use {' or '.join(known)}." if known else "Remove it.")
            raise PlanError(f"Unknown measure {self.measure!r} of {self.kind} in [[precomputed]]", fix=fix)
        if self.scale != 1 and not (self.kind == "labels" or self.measure == "similarity"):
            raise PlanError(f"scale has no effect on {self.how or self.kind} in [[precomputed]]", fix="Remove it.")
        if self.where and not self.scores:
            raise PlanError(f"where has no effect on {self.kind} in [[precomputed]]", fix="Remove it.")
        if unknown := [name for name in self.columns if name not in _COLUMNS[self.kind]]:
            names = ", ".join(_COLUMNS[self.kind]) or "none"
            raise PlanError(f"{self.kind.capitalize()} have no column {unknown[0]!r}", fix=f"Known columns: {names}.")

    @property
    def kind(self) -> str:
        """scores, embeddings or labels."""
        return next(name for name in _MEASURES if getattr(self, name))

    @property
    def path(self) -> str:
        """The file."""
        return str(getattr(self, self.kind))

    @property
    def recognizes(self) -> bool:
        """Whether the answers are distances of two images."""
        return self.kind != "labels"

    @property
    def how(self) -> str:
        """The measure, or the default one."""
        return self.measure or next(iter(_MEASURES[self.kind]), "")

    @property
    def rating_threshold(self) -> float | None:
        """The threshold on the scale of the ratings."""
        if self.kind == "labels":
            return (self.threshold if self.threshold is not None else _PRESENT * self.scale) / self.scale
        if self.threshold is not None and self.how == "similarity":
            return 1 - self.threshold / self.scale
        return self.threshold


def _need_one(where: str, **choices: str) -> None:
    chosen = [name for name, value in choices.items() if value]
    if len(chosen) != 1:
        named = " and ".join(chosen) or "no source"
        raise PlanError(f"{where} names {named}", fix=f"Name exactly one of {', '.join(choices)}.")


def _need_owner(where: str, options: dict[str, Any], component: str) -> None:
    if options and not component:
        raise PlanError(f"options have no effect in {where} without a component", fix="Remove them.")


@dataclass(frozen=True, kw_only=True)
class UnitsPlan:
    """``[units]``: what is matched (single images, or the trials that recognizers rate) and on which numbers."""

    kind: Literal["images", "trials"] = "images"
    """trials: all genuine trials within identities; images: each is compared with a random second one."""
    features: Literal["auto", "latents", "scores", "components"] = "latents"
    """latents: the vectors themselves. scores: along the directions shipped for the generator, without the one of the
    contrast. components: leading principal components, each of unit variance, without the contrast's own direction
    where one is shipped. auto: components, one for five identities of the smaller group at most (described columns
    count); vectors of no more numbers than ``components`` are used as they are."""
    components: int = 40
    """The number of principal components, at most."""
    own: str = ""
    """The direction of the contrast's own attribute, which is left out; empty: that of the same name."""
    own_step: str = ""
    """A file of vectors with one row: how the vectors change with the attribute alone. What a unit owes to the
    attribute is removed along it before scores or components are taken."""

    described: bool = False
    """Whether the columns that [describe] adds are balanced as well, without those about the contrast's attribute."""

    def __post_init__(self) -> None:
        if self.components < 1:
            raise PlanError(f"components is {self.components} in [units]", fix="Use 1 or more.")
        for name in ("own", "own_step"):
            if getattr(self, name) and self.features == "latents":
                raise PlanError(f"{name} has no effect in [units] with features = 'latents'", fix="Remove it.")
