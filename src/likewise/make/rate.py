"""rate: a recogniser or a classifier looks at pictures, and what it says becomes Ratings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from likewise.engine import Result
from likewise.errors import PluginError, some
from likewise.images import Album
from likewise.plugins import Classifier, Pictures, Recogniser, create
from likewise.tables import Pairs, Ratings, Vectors


@dataclass(frozen=True)
class Embedding:
    """The work of one chunk: a recogniser's embeddings; a face that was not found is a row of NaN."""

    name: str
    options: Mapping[str, Any]
    album: Album

    def __call__(self, images: list[str]) -> Result:
        """Embed these images."""
        recogniser: Recogniser = create("recogniser", self.name, self.options)
        parts = [self._embedded(recogniser, pictures) for _, pictures in self.album.stacks(images)]
        return {"e": np.concatenate(parts)}

    def _embedded(self, recogniser: Recogniser, pictures: Pictures) -> npt.NDArray[np.float32]:
        embedded = np.asarray(recogniser.embed(pictures), dtype=np.float32)
        if embedded.ndim != 2 or len(embedded) != len(pictures):
            raise PluginError(
                f"the recogniser {self.name!r} embeds as [n, d]", got=f"{embedded.shape} for {len(pictures)}"
            )
        return embedded


@dataclass(frozen=True)
class Scoring:
    """The work of one chunk: a classifier's scores, one column a label."""

    name: str
    options: Mapping[str, Any]
    album: Album

    def __call__(self, images: list[str]) -> Result:
        """Score these images."""
        classifier: Classifier = create("classifier", self.name, self.options)
        parts = [self._scored(classifier, pictures) for _, pictures in self.album.stacks(images)]
        labels = sorted({label for part in parts for label in part["labels"].tolist()})
        if len(parts) == 1 or not labels:
            return columns({}, len(images)) if not labels else parts[0]
        return {"labels": np.array(labels, dtype=str), "scores": np.concatenate([_spread(p, labels) for p in parts])}

    def _scored(self, classifier: Classifier, pictures: Pictures) -> Result:
        scores = {label: np.asarray(values) for label, values in classifier.score(pictures).items()}
        wrong = [label for label, values in scores.items() if values.shape != (len(pictures),)]
        if wrong:
            raise PluginError(f"the classifier {self.name!r} gives a score an image", got=f"another shape for {wrong}")
        return columns(scores, len(pictures))


def columns(scores: Mapping[str, npt.NDArray[np.float32]], n: int) -> Result:
    """Lay scores out as one column a label; there may be no label at all."""
    values = np.stack(list(scores.values()), axis=1) if scores else np.zeros((n, 0), dtype=np.float32)
    return {"labels": np.array(list(scores), dtype=str), "scores": values}


def side_by_side(parts: list[Result], name: str) -> tuple[list[str], npt.NDArray[np.float32]]:
    """Put chunks together; a label that is not named in a chunk has confidence 0 there.

    A picture without any answer (a row of NaN in its own chunk) has none for the labels of other chunks either.
    """
    labels = sorted({label for part in parts for label in part["labels"].tolist()})
    if not labels:
        fix = "Does it know faces? Is its threshold too high, or are the pictures too small for it?"
        raise PluginError(f"the classifier {name!r} gives at least one label", got="none for any picture", fix=fix)
    return labels, np.concatenate([_spread(part, labels) for part in parts])


def said_nothing(name: str, scores: npt.NDArray[np.float32], threshold: float) -> list[str]:
    """Count the pictures without any answer or without any label."""
    silent = np.isnan(scores).all(axis=1)
    bare = ~silent & ~(scores >= threshold).any(axis=1)
    told = []
    if silent.any():
        told.append(f"{name}: {int(silent.sum())} of {len(scores)} pictures have no answer; slopes leave them out.")
    if bare.any():
        told.append(f"{name}: {int(bare.sum())} of {len(scores)} pictures carry no label at its threshold.")
    return told


def said_foreign(name: str, labels: list[str], language: str | None) -> list[str]:
    """Count the labels in another language than English: by what was asked for, and else by their letters.

    ``language`` is None of a model whose words are its own, and empty of a service of which nobody says it.
    """
    fix = "They are taken as they are; rename gives them other words."
    if language and language.lower().partition("-")[0] != "en":
        return [f"{name}: its {len(labels)} labels are in the language {language!r}, e.g. {some(labels, 3)}. {fix}"]
    told = []
    if language == "":
        told = [f"{name}: nobody says in which language its {len(labels)} labels are; say it as language."]
    foreign = [label for label in labels if not label.isascii()]
    if foreign:
        told.append(f"{name}: {len(foreign)} labels are not in plain Latin letters, e.g. {some(foreign, 3)}. {fix}")
    return told


def _spread(part: Result, labels: list[str]) -> npt.NDArray[np.float32]:
    spread = np.zeros((len(part["scores"]), len(labels)), dtype=np.float32)
    spread[:, [labels.index(label) for label in part["labels"].tolist()]] = part["scores"]
    if part["scores"].shape[1]:
        spread[np.isnan(part["scores"]).all(axis=1)] = np.nan
    return spread


def rate_trials(
    trials: Pairs, embeddings: npt.NDArray[np.float32], images: list[str], recogniser: Recogniser
) -> Ratings:
    """Turn embeddings (rows are ``images``) into the distance of every trial; no face, no answer."""
    frame = trials.frame
    found = _found(embeddings)
    row = pd.Series(range(len(images)), index=images)
    a, b = row.loc[frame["a"]].to_numpy(), row.loc[frame["b"]].to_numpy()
    value = np.full(len(frame), np.nan)
    both = found[a] & found[b]
    if both.any():
        value[both] = recogniser.distance(embeddings[a[both]], embeddings[b[both]])
    return Ratings(
        pd.DataFrame({"unit": frame["pair"], "rater": recogniser.name, "question": "distance", "value": value})
    )


def _found(embeddings: npt.NDArray[np.float32]) -> npt.NDArray[np.bool_]:
    """Say of which rows a face was found."""
    return np.asarray(np.isfinite(embeddings).all(axis=1))


def rate_images(
    images: list[str], labels: list[str], scores: npt.NDArray[np.float32], classifier: Classifier
) -> Ratings:
    """Turn scores ``[n, labels]`` into ratings, one question a label."""
    wide = pd.DataFrame(scores, columns=labels).assign(unit=images)
    long = wide.melt(id_vars="unit", var_name="question", value_name="value")
    return Ratings(long.assign(rater=classifier.name)[["unit", "rater", "question", "value"]])


def embeddings_as_vectors(images: list[str], embeddings: npt.NDArray[np.float32], recogniser: Recogniser) -> Vectors:
    """Return the embeddings of the faces that were found, as Vectors."""
    found = _found(embeddings)
    kept = [image for image, there in zip(images, found, strict=True) if there]
    return Vectors(kept, embeddings[found], source=f"recogniser {recogniser.name}, family {recogniser.family}")
