from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import likewise as lw
from invariants import check_ratings, check_vectors
from likewise.errors import PluginError
from likewise.rating.encode import columns_as_vectors
from likewise.rating.rate import Embedding, Scoring, embeddings_as_vectors, rate_images, rate_trials, said_foreign
from likewise.runtime import registry
from likewise.simulation.components import WorldClassifier, WorldRecognizer


def test_a_face_that_is_not_found_is_no_answer_and_not_an_error(world):
    asked, recognizer = lw.trials(world.faces, seed=0), WorldRecognizer()
    embedded = recognizer.embed(world.pictures)
    embedded[0] = np.nan
    ratings = rate_trials(asked, embedded, world.faces.keys, recognizer)
    check_ratings(ratings)
    frame, lost = ratings.frame.set_index("unit")["value"], world.faces.keys[0]
    concerned = asked.frame.set_index("trial")[["a", "b"]].eq(lost).any(axis=1)
    assert frame.isna().sum() == concerned.sum() == 2
    check_vectors(embeddings_as_vectors(world.faces.keys, embedded, recognizer))


def test_the_distance_does_not_depend_on_the_batch(world):
    asked, recognizer = lw.trials(world.faces, seed=0), WorldRecognizer()
    whole = recognizer.embed(world.pictures)
    parts = np.concatenate([recognizer.embed(world.pictures[i : i + 7]) for i in range(0, len(world.pictures), 7)])
    one, two = (rate_trials(asked, e, world.faces.keys, recognizer).frame["value"] for e in (whole, parts))
    assert np.allclose(one, two, atol=1e-6)


def test_labels_become_questions(world):
    classifier = WorldClassifier()
    scores = classifier.score(world.pictures)
    ratings = rate_images(world.faces.keys, list(scores), np.stack(list(scores.values()), axis=1), classifier)
    check_ratings(ratings)
    assert set(ratings.frame["question"]) == {"Lipstick", "Necktie", "Spectacles", "Grin"}


class Wrong:
    name, license, family, threshold = "wrong", "none", "wrong", 0.5

    def embed(self, pictures):
        return np.zeros(len(pictures))

    def distance(self, a, b):
        return np.zeros(len(a))

    def score(self, pictures):
        return {"Hat": np.zeros(len(pictures) + 1)}


class Looking:
    """An album of the world's pictures."""

    def __init__(self, world):
        self.world = world

    def __call__(self, images):
        return self.world.look(images)

    def stacks(self, images):
        yield slice(0, len(images)), self.world.look(images)


@pytest.mark.parametrize(("slot", "work"), [("recognizer", Embedding), ("classifier", Scoring)])
def test_a_component_that_breaks_its_contract_is_named(world, monkeypatch, slot, work):
    monkeypatch.setattr(registry, "_REGISTERED", {(slot, "wrong"): Wrong})
    with pytest.raises(PluginError, match="wrong"):
        work("wrong", {}, Looking(world))(world.faces.keys[:3])


@pytest.mark.parametrize(
    ("language", "labels", "says"),
    [
        ("en", ["Hat", "Tie"], []),
        ("en-GB", ["Hat"], []),
        (None, ["Hat"], []),
        ("de", ["Hut", "Bart"], ["its 2 labels are in the language 'de'"]),
        ("", ["Hut"], ["the language of its 1 labels is not known"]),
        ("en", ["Hat", "帽子"], ["1 labels are not in plain Latin letters, e.g. '帽子'"]),
        ("", ["帽子"], ["is not known", "1 labels are not in plain Latin letters"]),
    ],
)
def test_labels_in_another_language_are_counted(language, labels, says):
    reported = said_foreign("tagger", labels, language)
    assert len(reported) == len(says)
    assert all(words in note for words, note in zip(says, reported, strict=True))


def test_a_column_of_words_is_spread_over_its_levels() -> None:
    frame = pd.DataFrame({"image": list("abcd"), "identity": list("abcd"), "perceived_race": ["x", "y", "x", None]})
    found = columns_as_vectors(lw.Images(frame), ["perceived_race"])
    assert list(found.keys) == ["a", "b", "c"] and found.values.shape == (3, 2)
