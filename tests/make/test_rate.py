from __future__ import annotations

import numpy as np
import pytest

import likewise as lw
from invariants import check_ratings, check_vectors
from likewise import plugins
from likewise.errors import PluginError
from likewise.make.rate import Embedding, Scoring, embeddings_as_vectors, rate_images, rate_trials, said_foreign
from likewise.world.occupants import WorldClassifier, WorldRecogniser


def test_a_face_that_is_not_found_is_no_answer_and_not_an_error(world):
    asked, recogniser = lw.trials(world.faces, seed=0), WorldRecogniser()
    embedded = recogniser.embed(world.pictures)
    embedded[0] = np.nan
    ratings = rate_trials(asked, embedded, world.faces.images, recogniser)
    check_ratings(ratings)
    frame, lost = ratings.frame.set_index("unit")["value"], world.faces.images[0]
    concerned = asked.frame.set_index("pair")[["a", "b"]].eq(lost).any(axis=1)
    assert frame.isna().sum() == concerned.sum() == 2
    check_vectors(embeddings_as_vectors(world.faces.images, embedded, recogniser))


def test_the_distance_does_not_depend_on_the_batch(world):
    asked, recogniser = lw.trials(world.faces, seed=0), WorldRecogniser()
    whole = recogniser.embed(world.pictures)
    parts = np.concatenate([recogniser.embed(world.pictures[i : i + 7]) for i in range(0, len(world.pictures), 7)])
    one, two = (rate_trials(asked, e, world.faces.images, recogniser).frame["value"] for e in (whole, parts))
    assert np.allclose(one, two, atol=1e-6)


def test_labels_become_questions(world):
    classifier = WorldClassifier()
    scores = classifier.score(world.pictures)
    ratings = rate_images(world.faces.images, list(scores), np.stack(list(scores.values()), axis=1), classifier)
    check_ratings(ratings)
    assert set(ratings.frame["question"]) == {"Lipstick", "Necktie", "Spectacles", "Grin"}


class Wrong:
    name, licence, family, threshold = "wrong", "none", "wrong", 0.5

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


@pytest.mark.parametrize(("slot", "work"), [("recogniser", Embedding), ("classifier", Scoring)])
def test_an_occupant_that_breaks_its_contract_is_named(world, monkeypatch, slot, work):
    monkeypatch.setattr(plugins, "_REGISTERED", {(slot, "wrong"): Wrong})
    with pytest.raises(PluginError, match="'wrong'"):
        work("wrong", {}, Looking(world))(world.faces.images[:3])


@pytest.mark.parametrize(
    ("language", "labels", "says"),
    [
        ("en", ["Hat", "Tie"], []),
        ("en-GB", ["Hat"], []),
        (None, ["Hat"], []),
        ("de", ["Hut", "Bart"], ["its 2 labels are in the language 'de'"]),
        ("", ["Hut"], ["nobody says in which language its 1 labels are"]),
        ("en", ["Hat", "帽子"], ["1 labels are not in plain Latin letters, e.g. '帽子'"]),
        ("", ["帽子"], ["nobody says", "1 labels are not in plain Latin letters"]),
    ],
)
def test_labels_in_another_language_are_counted(language, labels, says):
    told = said_foreign("tagger", labels, language)
    assert len(told) == len(says)
    assert all(words in note for words, note in zip(says, told, strict=True))
