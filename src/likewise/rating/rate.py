"""rate: a recognizer's distances of trials, or a classifier's labels of images, as Ratings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from likewise.data.pictures import PictureSource, picture_source
from likewise.errors import PluginError, TableError, some
from likewise.rating.models import CLASSIFIER, RECOGNIZER, resolve_model
from likewise.runtime.executor import Executor, Progress, Result
from likewise.runtime.registry import Classifier, Pictures, Recognizer
from likewise.tables import Images, Ratings, Trials, Vectors


def rate(
    images: Images | Trials,
    pictures: PictureSource | Pictures | str | Path,
    *,
    model: Any,
    options: Mapping[str, Any] | None = None,
    threshold: float | None = None,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> Ratings:
    """Rate images with a classifier, or trials with a recognizer.

    Parameters
    ----------
    images : Images or Trials
        Images are rated by a classifier, one question per label. Trials are rated by a recognizer: their distance.
    pictures : ImageFolder, path or array
        Where the pictures are: a folder, or an array ``[n, H, W, 3]`` in the order of the images (of trials: in the
        order of ``trials.images``).
    model : object, callable, str or Path
        The model under audit, in any form that ``rating.models.resolve_model`` takes.
    options : mapping, optional
        Options of a model that is given by name.
    threshold : float, optional
        Return decisions instead of scores: ``same`` is 1 where the distance of a trial is below the threshold, a label
        is 1 where its confidence reaches it. By default distances and confidences are returned.
    executor : Executor, optional
        Where the work is done; by default in this process.
    progress : Progress, optional
        Is called as images are done.

    Returns
    -------
    Ratings
        One row for each unit and question. A unit without an answer (no face detected) has an empty value.

    Examples
    --------
    >>> import likewise as lw
    >>> import numpy as np
    >>> import pandas as pd
    >>> faces = lw.Images(pd.DataFrame({"image": ["a", "b"], "identity": ["x", "y"]}))
    >>> bright = np.stack([np.zeros((8, 8, 3), np.uint8), np.full((8, 8, 3), 200, np.uint8)])
    >>> ratings = rate(faces, bright, model=lambda p: {"bright": p.mean(axis=(1, 2, 3)) / 255})
    >>> ratings.frame["value"].round(2).tolist()
    [0.0, 0.78]
    """
    if isinstance(images, Images):
        return _classified(images, pictures, model, options, threshold, executor, progress)
    recognizer: Recognizer = resolve_model(RECOGNIZER, model, options)
    keys = list(images.images)
    work = Embedding(recognizer, {}, picture_source(keys, pictures))
    parts = [part["e"] for part in (executor or Executor()).map(work, keys, progress=progress)]
    if not parts:
        raise TableError("No trials to rate", fix="Check the identity column: a genuine trial needs two images.")
    found = rate_trials(images, np.concatenate(parts), keys, recognizer)
    if threshold is None:
        return found
    frame = found.frame
    same = (frame["value"] < threshold).astype(float).where(frame["value"].notna())
    return Ratings(frame.assign(question="same", value=same))


def _classified(
    images: Images, pictures: Any, model: Any, options: Any, threshold: float | None, executor: Any, progress: Any
) -> Ratings:
    classifier: Classifier = resolve_model(CLASSIFIER, model, options)
    work = Scoring(classifier, {}, picture_source(images, pictures))
    parts = list((executor or Executor()).map(work, images.keys, progress=progress))
    labels, scores = side_by_side(parts, classifier.name)
    if threshold is not None:
        scores = np.where(np.isnan(scores), np.nan, scores >= np.float32(threshold)).astype(np.float32)
    return rate_images(images.keys, labels, scores, classifier)


@dataclass(frozen=True)
class Embedding:
    """The work of one chunk: a recognizer's embeddings; an image without a detected face is a row of NaN."""

    model: Any
    options: Mapping[str, Any]
    album: PictureSource

    def __call__(self, images: list[str]) -> Result:
        """Embed these images."""
        recognizer: Recognizer = resolve_model(RECOGNIZER, self.model, self.options)
        parts = [_embedded(recognizer, pictures) for _, pictures in self.album.stacks(images)]
        return {"e": np.concatenate(parts)}


def _embedded(recognizer: Recognizer, pictures: Pictures) -> npt.NDArray[np.float32]:
    embedded = np.asarray(recognizer.embed(pictures), dtype=np.float32)
    if embedded.ndim != 2 or len(embedded) != len(pictures):
        problem = f"The recognizer {recognizer.name!r} returned shape {embedded.shape} for {len(pictures)} pictures"
        raise PluginError(problem, fix="embed returns one row a picture, [n, d].")
    return embedded


@dataclass(frozen=True)
class Scoring:
    """The work of one chunk: a classifier's scores, one column a label."""

    model: Any
    options: Mapping[str, Any]
    album: PictureSource

    def __call__(self, images: list[str]) -> Result:
        """Score these images."""
        classifier: Classifier = resolve_model(CLASSIFIER, self.model, self.options)
        parts = [_scored(classifier, pictures) for _, pictures in self.album.stacks(images)]
        labels = sorted({label for part in parts for label in part["labels"].tolist()})
        if len(parts) == 1 or not labels:
            return columns({}, len(images)) if not labels else parts[0]
        return {"labels": np.array(labels, dtype=str), "scores": np.concatenate([_spread(p, labels) for p in parts])}


def _scored(classifier: Classifier, pictures: Pictures) -> Result:
    scores = {label: np.asarray(values) for label, values in classifier.score(pictures).items()}
    wrong = [label for label, values in scores.items() if values.shape != (len(pictures),)]
    if wrong:
        problem = f"The classifier {classifier.name!r} did not return one score a picture for {some(wrong)}"
        raise PluginError(problem, fix="score returns {label: scores [n]}.")
    return columns(scores, len(pictures))


def columns(scores: Mapping[str, npt.NDArray[np.float32]], n: int) -> Result:
    """Return scores as one column a label; there may be no label at all."""
    values = np.stack(list(scores.values()), axis=1) if scores else np.zeros((n, 0), dtype=np.float32)
    return {"labels": np.array(list(scores), dtype=str), "scores": values}


def side_by_side(parts: list[Result], name: str) -> tuple[list[str], npt.NDArray[np.float32]]:
    """Combine chunks; a label that a chunk lacks has confidence 0 there.

    A picture without any response (a row of NaN in its own chunk) has none for the labels of other chunks either.
    """
    labels = sorted({label for part in parts for label in part["labels"].tolist()})
    if not labels:
        fix = "Check its threshold, the size of the pictures, and whether it is trained on such pictures."
        raise PluginError(f"The classifier {name!r} returned no label for any picture", fix=fix)
    return labels, np.concatenate([_spread(part, labels) for part in parts])


def said_nothing(name: str, scores: npt.NDArray[np.float32], threshold: float) -> list[str]:
    """Count the pictures without any response or without any label."""
    silent = np.isnan(scores).all(axis=1)
    bare = ~silent & ~(scores >= threshold).any(axis=1) & (not np.isnan(threshold))
    message = []
    if silent.any():
        message.append(f"{name}: {int(silent.sum())} of {len(scores)} pictures have no response; slopes exclude them.")
    if bare.any():
        message.append(f"{name}: {int(bare.sum())} of {len(scores)} pictures have no label at its threshold.")
    return message


def said_foreign(name: str, labels: list[str], language: str | None) -> list[str]:
    """Count the labels in another language than English: by the requested language, or else by their letters.

    ``language`` is None for a model with labels of its own, and empty for a service whose language is not known.
    """
    fix = "They are used as they are; rename gives them other names."
    if language and language.lower().partition("-")[0] != "en":
        return [f"{name}: its {len(labels)} labels are in the language {language!r}, e.g. {some(labels, 3)}. {fix}"]
    message = []
    if language == "":
        message = [f"{name}: the language of its {len(labels)} labels is not known; set language."]
    foreign = [label for label in labels if not label.isascii()]
    if foreign:
        message.append(f"{name}: {len(foreign)} labels are not in plain Latin letters, e.g. {some(foreign, 3)}. {fix}")
    return message


def _spread(part: Result, labels: list[str]) -> npt.NDArray[np.float32]:
    spread = np.zeros((len(part["scores"]), len(labels)), dtype=np.float32)
    spread[:, [labels.index(label) for label in part["labels"].tolist()]] = part["scores"]
    if part["scores"].shape[1]:
        spread[np.isnan(part["scores"]).all(axis=1)] = np.nan
    return spread


def rate_trials(
    trials: Trials, embeddings: npt.NDArray[np.float32], images: list[str], recognizer: Recognizer
) -> Ratings:
    """Turn embeddings (rows are ``images``) into the distance of every trial; NaN where no face was detected."""
    frame = trials.frame
    found = _found(embeddings)
    row = pd.Series(range(len(images)), index=images)
    a, b = row.loc[frame["a"]].to_numpy(), row.loc[frame["b"]].to_numpy()
    value = np.full(len(frame), np.nan)
    both = found[a] & found[b]
    if both.any():
        value[both] = recognizer.distance(embeddings[a[both]], embeddings[b[both]])
    return Ratings(
        pd.DataFrame({"unit": frame["trial"], "rater": recognizer.name, "question": "distance", "value": value})
    )


def _found(embeddings: npt.NDArray[np.float32]) -> npt.NDArray[np.bool_]:
    """Return in which rows a face was detected."""
    return np.asarray(np.isfinite(embeddings).all(axis=1))


def rate_images(
    images: list[str], labels: list[str], scores: npt.NDArray[np.float32], classifier: Classifier
) -> Ratings:
    """Turn scores ``[n, labels]`` into ratings, one question per label."""
    wide = pd.DataFrame(scores, columns=labels).assign(unit=images)
    long = wide.melt(id_vars="unit", var_name="question", value_name="value")
    return Ratings(long.assign(rater=classifier.name)[["unit", "rater", "question", "value"]])


def embeddings_as_vectors(images: list[str], embeddings: npt.NDArray[np.float32], recognizer: Recognizer) -> Vectors:
    """Return the embeddings of the images with a detected face, as Vectors."""
    found = _found(embeddings)
    kept = [image for image, there in zip(images, found, strict=True) if there]
    return Vectors(kept, embeddings[found], source=f"recognizer {recognizer.name}, family {recognizer.family}")
