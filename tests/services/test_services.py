"""Every service, over real HTTP: what it says, and every way in which it fails."""

from __future__ import annotations

import json

import numpy as np
import pytest

from likewise.errors import CostError, ImageError, ServiceError, SpecError
from tagging_services import KEY, NAMES, brightness

SPOKEN = {name: "" if name == "http" else "en" for name in NAMES}
GOOGLE = ("google-vision",)
every = pytest.mark.parametrize("name", NAMES)


def tape(made) -> list[dict]:
    return [json.loads(line) for line in made._cassette.path.read_text().splitlines()]


@every
def test_a_service_gives_labels_with_their_confidence(service, server, pictures, name):
    scores = service(name).score(pictures)
    expected = [dict(brightness(picture)) for picture in pictures]
    assert sorted(scores) == ["Bright", "Thing"]
    for label, values in scores.items():
        assert values.dtype == np.float32
        assert values == pytest.approx([said.get(label, 0.0) for said in expected], abs=1e-6)
    assert server.calls == len(pictures)


@every
def test_answers_are_kept_and_heard_again_without_the_service(service, server, pictures, name, monkeypatch):
    first = service(name)
    before = first.score(pictures)
    kept = tape(first)
    assert len(kept) == len(pictures)
    assert {entry["model"] for entry in kept} == {"builtin/stable" if name in GOOGLE else "3.0"}
    assert all(entry["date"].startswith("20") and len(entry["request"]) == 64 for entry in kept)
    assert all(entry["answer"] for entry in kept)
    calls = server.calls
    server.shutdown()
    monkeypatch.delenv("AZURE_VISION_KEY")
    again = service(name, most=0.0, replay=True)
    after = again.score(pictures[::-1])
    assert {label: values[::-1].tolist() for label, values in after.items()} == {
        label: values.tolist() for label, values in before.items()
    }
    assert server.calls == calls
    assert again.cost_estimate([again.request(picture) for picture in pictures]).calls == 0


def test_a_replay_never_asks(service, server, pictures):
    with pytest.raises(ServiceError, match="no recorded response for 6 pictures"):
        service(replay=True).score(pictures)
    assert server.calls == 0


@every
def test_equal_pictures_are_asked_about_once(service, server, pictures, name):
    scores = service(name).score(np.concatenate([pictures[:2], pictures[:2]]))
    assert server.calls == 2
    assert scores["Thing"].shape == (4,)


@every
@pytest.mark.parametrize("mood", ["broken", "cut", "half"])
def test_an_accident_is_tried_again(service, server, pictures, name, mood):
    server.moods = [mood, mood]
    assert service(name).score(pictures)["Thing"].min() > 0.9
    assert server.calls == len(pictures) + 2


@every
def test_a_busy_service_is_given_the_time_that_it_asks_for(service, server, pictures, name):
    server.moods = ["busy"]
    service(name, concurrency=1).score(pictures[:1])
    assert server.calls == 2
    assert server.times[1] - server.times[0] >= 1.0


@every
def test_a_service_that_stays_away_loses_nothing(service, server, pictures, name):
    service(name).score(pictures[:3])
    server.moods = ["broken"] * 50
    with pytest.raises(ServiceError, match=r"did not answer in 3 attempts: .* run the same command again"):
        service(name, retries=2, concurrency=1).score(pictures)
    assert server.calls == 3 + 3
    server.moods = []
    service(name).score(pictures)
    assert server.calls == 3 + 3 + 3


@every
def test_an_expired_key_ends_the_run_and_is_not_repeated(service, server, pictures, name):
    server.key = "another"
    with pytest.raises(ServiceError, match="refused the key") as caught:
        service(name, concurrency=1).score(pictures)
    assert KEY not in str(caught.value)
    assert server.calls == 1


@every
def test_a_picture_that_is_refused_has_no_answer(service, server, pictures, name):
    server.moods = ["bad picture"]
    made = service(name, concurrency=1)
    scores = made.score(pictures)
    assert np.isnan(scores["Thing"][0])
    assert np.isfinite(scores["Thing"][1:]).all()
    assert any("1 pictures refused" in line for line in made.remarks())
    again = service(name).score(pictures)  # also from the cassette
    assert np.isnan(again["Bright"][0])
    assert server.calls == len(pictures)


@every
def test_no_label_is_an_answer(service, server, pictures, name):
    server.see = lambda picture: []
    assert service(name).score(pictures) == {}
    assert server.calls == len(pictures)


@every
def test_labels_in_another_language(service, server, pictures, name):
    server.see = lambda picture: [("Krawatte", 0.9), ("眼鏡", 0.8), ("Sto\u0308ckelschuh", 0.7), ("Stöckelschuh", 0.6)]
    made = service(name, rename={"Krawatte": "Necktie", "Hut": "Hat"})
    scores = made.score(pictures)
    assert sorted(scores) == ["Necktie", "Stöckelschuh", "眼鏡"]
    assert scores["Stöckelschuh"] == pytest.approx(0.7)  # two spellings of one word
    assert "no response has: ['Hut']" in made.remarks()[-1]


@every
def test_the_language_of_the_labels_is_kept_with_the_answers(service, server, pictures, name):
    made = service(name)
    made.score(pictures[:1])
    assert [entry["asked"]["language"] for entry in tape(made)] == [SPOKEN[name]]


@pytest.mark.parametrize("name", ["azure", "clarifai"])
def test_a_language_that_can_be_chosen_is_part_of_the_request(service, server, pictures, name):
    english, german = service(name), service(name, language="de")
    assert english.request(pictures[0]) != german.request(pictures[0])
    for wrong in ("", "German", 7):
        with pytest.raises(SpecError, match="Give a language code"):
            service(name, language=wrong)


VERSIONED = [name for name in NAMES if name not in GOOGLE]  # which names no version


@pytest.mark.parametrize("name", VERSIONED)
def test_a_changed_model_is_noticed_at_its_first_answer(service, server, pictures, name):
    made = service(name, concurrency=1)
    made.score(pictures[:3])
    server.model = "3.1"
    with pytest.raises(ServiceError, match=r"answered: '3.0' \(3 pictures\) and '3.1' .*version = '3.1'.*mixed = true"):
        made.score(pictures[3:])
    assert server.calls == 4
    with pytest.raises(ServiceError, match="Several model versions"):  # and again, from the cassette alone
        service(name, concurrency=1).score(pictures)


@pytest.mark.parametrize("name", VERSIONED)
def test_a_model_that_changes_among_the_first_pictures_is_noticed_before_more_are_paid(service, server, pictures, name):
    server.models = ["3.0", "3.1", "3.1", "3.1", "3.1", "3.1"]
    with pytest.raises(ServiceError, match=r"answered: '3.0' \(1 pictures\) and '3.1'"):
        service(name, concurrency=1).score(pictures)
    assert server.calls == 2
    server.models, server.model = [], "3.1"
    with pytest.raises(ServiceError, match="Several model versions"):  # a new run, which knows it from the cassette
        service(name, concurrency=1).score(pictures[[0, 2, 3, 4]])
    assert server.calls == 3


def test_a_key_that_a_service_repeats_is_not_shown_in_part(service, server, pictures, monkeypatch):
    """The message is cut after 200 characters; the key would be cut in two there."""
    key = "sk-" + "0123456789" * 4
    monkeypatch.setenv("AZURE_VISION_KEY", key)
    monkeypatch.setattr("likewise.services.http.message_of", lambda answer: "x" * 185 + key)
    server.key = "another"
    with pytest.raises(ServiceError, match="refused the key") as caught:
        service("azure").score(pictures[:1])
    assert key[:8] not in str(caught.value)


@pytest.mark.parametrize("name", VERSIONED)
def test_a_changed_model_can_be_pinned_or_let_in(service, server, pictures, name):
    service(name).score(pictures)
    server.model = "3.1"
    pinned = service(name, version="3.1")
    assert pinned.cost_estimate([pinned.request(picture) for picture in pictures]).calls == len(pictures)
    pinned.score(pictures)
    assert {entry["model"] for entry in tape(pinned)} == {"3.0", "3.1"}  # nothing is thrown away
    brighter = np.clip(pictures.astype(int) + 3, 0, 255).astype(np.uint8)
    old = service(name, version="3.0")
    old.score(pictures)
    with pytest.raises(ServiceError, match=r"answered with model '3.1', not '3.0'"):
        old.score(brighter)


def test_mixed_versions_are_said(service, server, pictures):
    server.models = ["3.0", "3.1"] * 3
    made = service(mixed=True)
    made.score(pictures)
    assert "3.0 (3), 3.1 (3)" in made.remarks()[0]
    assert "mixed" in made.remarks()[1]


def test_only_so_many_at_once(service, server, pictures):
    server.pause = 0.05
    service(concurrency=2).score(pictures)
    assert server.most_at_once == 2


def test_an_answer_that_was_cut_off_is_paid_for_twice(service, server, pictures):
    server.moods = ["cut"]
    with pytest.raises(CostError, match="larger --max-cost continues"):
        service(most=0.006, concurrency=1).score(pictures)  # 6 pictures, 0.001 each
    service(most=0.002, concurrency=1).score(pictures)
    assert server.calls == 7


def test_a_busy_answer_costs_nothing(service, server, pictures):
    server.moods = ["broken", "busy"]
    service(most=0.006).score(pictures)


def test_a_picture_too_large_for_the_service(service):
    noise = np.random.default_rng(0).integers(0, 256, (1400, 1400, 3), dtype=np.uint8)
    with pytest.raises(ImageError, match=r"as png exceeds the 5,000,000 .* Set encoding = 'jpeg'"):
        service("rekognition").score(noise[None])
    assert service("rekognition", encoding="jpeg").score(noise[None])


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"threshold": 0}, "threshold is 0. Give a number above 0"),
        ({"concurrency": 0}, "concurrency is 0. Give a whole number"),
        ({"retries": -1}, "retries is -1. Give a whole number"),
        ({"price": -1}, "price is -1. Give an amount"),
        ({"price": "free"}, "price is 'free'. Give an amount"),
        ({"encoding": "gif"}, "Give 'png' or 'jpeg'"),
        ({"mixed": True, "version": "3"}, "mixed and version contradict"),
        ({"endpoint": "ftp://x"}, "starts with https"),
        ({"endpoint": "http://example.org"}, "is not encrypted"),
        ({"endpoint": "https://me:pw@example.org"}, "holds a password"),
        ({"endpoint": "ftp://me:sk-live@example.org:66000"}, "holds a password"),
        ({"endpoint": "https://example.org:66000"}, "is not a number from 1 to 65535"),
        ({"key_env": "sk-live-abcdef"}, "not the name of an environment variable"),
    ],
)
def test_wrong_options_of_a_service(service, options, says):
    with pytest.raises(SpecError, match=says) as caught:
        service("azure", **options)
    assert "sk-live" not in str(caught.value)


@every
def test_what_is_on_this_machine_is_reached_without_a_proxy(service, server, pictures, monkeypatch, name):
    for variable in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.setenv(variable, "http://127.0.0.1:9")
        monkeypatch.setenv(variable.upper(), "http://127.0.0.1:9")
    for variable in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(variable, raising=False)
    assert service(name, retries=0).score(pictures[:1])["Thing"] == pytest.approx(0.98)


def test_without_a_key_nothing_is_sent(service, server, pictures, monkeypatch):
    monkeypatch.delenv("AZURE_VISION_KEY")
    with pytest.raises(SpecError, match="environment variable AZURE_VISION_KEY is not set"):
        service().score(pictures)
    assert server.calls == 0
