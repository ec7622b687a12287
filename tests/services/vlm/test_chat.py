"""The vision-language rater against a stand-in server that looks at the pictures it is sent."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from benchmarks.stand_ins.chat import KEY, ChatServer, answers, bright, chatting

from likewise.errors import CostError, ServiceError, SpecError
from likewise.runtime.registry import create
from likewise.services.budget import Budget
from likewise.services.vlm.chat import VisionLanguageModel

HIRE = {"name": "hire", "text": "Would you hire this person?"}
LIGHT = np.full((2, 8, 8, 3), 230, np.uint8)
DARK = np.full((1, 8, 8, 3), 20, np.uint8)
PICTURES = np.concatenate([LIGHT[:1], DARK])


def by_light(prompt: str, pictures: list[np.ndarray]) -> str:
    if len(pictures) == 2:
        return answers("first" if bright(pictures[0]) > bright(pictures[1]) else "second")
    if "number" in prompt:
        return answers(round(10 * bright(pictures[0]), 2))
    if "sentences" in prompt:
        return answers("A cheerful, competent person" if bright(pictures[0]) > 0.5 else "A gloomy person")
    if "nurse" in prompt:
        return answers("nurse" if bright(pictures[0]) > 0.5 else "engineer")
    return answers("yes" if bright(pictures[0]) > 0.5 else "no")


def model(server: ChatServer, *questions: dict[str, object], **options: object) -> VisionLanguageModel:
    given = {"endpoint": server.url, "model": "m", "questions": list(questions) or [HIRE], "wait": 0.01, **options}
    made = create("classifier", "vlm", given)
    assert isinstance(made, VisionLanguageModel)
    return made


def cost_of(made: VisionLanguageModel) -> float:
    return made.cost_estimate([request for picture in PICTURES for request in made.requests_of(picture)]).cost


def test_every_kind_of_question_is_answered_from_the_pixels():
    questions = [
        HIRE,
        {"name": "job", "text": ["nurse or engineer?"], "kind": "choice", "options": ["nurse", "engineer", "other"]},
        {"name": "pay", "text": "What pay?", "kind": "number", "low": 0, "high": 10},
        {
            "name": "words",
            "text": "Describe.",
            "kind": "text",
            "coding": {"warm": ["cheerful", "kind"], "able": "competent"},
        },
    ]
    with chatting(by_light) as server:
        found = model(server, *questions).score(PICTURES)
    assert found["hire"].tolist() == [1.0, 0.0]
    assert found["job: nurse"].tolist() == [1.0, 0.0]
    assert found["job: engineer"].tolist() == [0.0, 1.0]
    assert found["job: other"].tolist() == [0.0, 0.0]
    np.testing.assert_allclose(found["pay"], [230 / 255, 20 / 255], atol=1e-3)
    assert found["words: warm"].tolist() == found["words: able"].tolist() == [1.0, 0.0]
    assert found["hire: refused"].tolist() == [0.0, 0.0]


def test_orders_are_counterbalanced_and_an_order_bias_cancels():
    """A model that always takes the first option gives 0.5 for everything, not a preference."""

    def first(prompt: str, pictures: list[np.ndarray]) -> str:
        return answers("yes" if prompt.index('"yes"') < prompt.index('"no"') else "no")

    with chatting(first) as server:
        found = model(server).score(PICTURES)
        one_order = model(server, {**HIRE, "orders": 1}).score(PICTURES)
    assert found["hire"].tolist() == [0.5, 0.5]
    assert one_order["hire"].tolist() == [1.0, 1.0]  # what counterbalancing protects against


def test_paraphrases_and_repeats_are_averaged_within_the_picture():
    question = {"name": "hire", "text": ["Would you hire this person?", "Is this person employable?"]}
    with chatting(by_light) as server:
        made = model(server, question, repeats=3, temperature=0.7, seed=5)
        assert made.calls_a_picture == 2 * 2 * 3
        made.score(PICTURES)
        assert server.calls == 2 * made.calls_a_picture
        seeds = {request["seed"] for request in server.requests}
    assert seeds == {5, 6, 7}


def test_a_pair_is_shown_in_both_orders_and_the_value_is_about_the_images():
    pair = {"name": "trust", "text": "Whom would you trust more?", "kind": "pair"}

    def always_first(prompt: str, pictures: list[np.ndarray]) -> str:
        return answers("first")

    with chatting(by_light) as server:
        assert model(server, pair).prefer(LIGHT[:1], DARK)["trust"].tolist() == [1.0]
        assert model(server, pair).prefer(DARK, LIGHT[:1])["trust"].tolist() == [0.0]
    with chatting(always_first) as server:
        assert model(server, pair).prefer(LIGHT[:1], DARK)["trust"].tolist() == [0.5]


def test_logprobs_give_probabilities():
    with chatting(by_light) as server:
        server.logprobs = lambda pictures: 0.25 + 0.5 * bright(pictures[0])
        found = model(server, logprobs=True).score(PICTURES)
    np.testing.assert_allclose(found["hire"], [0.25 + 0.5 * 230 / 255, 0.25 + 0.5 * 20 / 255], atol=1e-5)


@pytest.mark.parametrize("mood", ["refusal", "field", "filter"])
def test_refusals_are_answers(mood):
    with chatting(by_light) as server:
        server.moods = [mood] * 2  # both orders of the first picture
        made = model(server, concurrency=1)
        found = made.score(PICTURES)
    assert np.isnan(found["hire"][0])
    assert found["hire"][1] == 0
    assert found["hire: refused"].tolist() == [1.0, 0.0]
    assert any("2 of 4 requests refused" in line for line in made.remarks())


def test_prose_around_the_json_is_read_and_gibberish_is_kept_in_a_ledger(tmp_path):
    with chatting(by_light) as server:
        server.moods = ["prose", "prose", "gibberish", "length"]
        made = model(server, concurrency=1)
        made.open(tmp_path, Budget())
        found = made.score(PICTURES)
    assert found["hire"][0] == 1
    assert np.isnan(found["hire"][1])
    ledger = list(csv.DictReader(next(tmp_path.rglob("*.unparsed.csv")).read_text().splitlines()))
    assert {row["problem"] for row in ledger} == {"no answer in the expected form", "the message is cut off"}
    assert any("2 not parsed" in line for line in made.remarks())


@pytest.mark.parametrize("mood", ["throttled", "html", "cut"])
def test_accidents_are_tried_again(mood):
    with chatting(by_light) as server:
        server.moods = [mood]
        assert model(server, concurrency=1).score(PICTURES)["hire"].tolist() == [1.0, 0.0]
        assert server.calls == 5


def test_another_model_version_stops_the_run_and_what_was_answered_is_kept(tmp_path):
    with chatting(by_light) as server:
        server.moods = ["", "", "changed"]
        made = model(server, concurrency=1)
        made.open(tmp_path, Budget())
        with pytest.raises(ServiceError, match="stand-in-2"):
            made.score(PICTURES)
        recorded = next(tmp_path.rglob("*.jsonl")).read_text().splitlines()
    assert len(recorded) == 3
    assert json.loads(recorded[0])["model"] == "stand-in-1 fp_1"


def test_recorded_responses_are_replayed_without_a_server(tmp_path):
    with chatting(by_light) as server:
        made = model(server)
        made.open(tmp_path, Budget())
        first = made.score(PICTURES)
        url = server.url
    again = VisionLanguageModel(endpoint=url, model="m", questions=(HIRE,), replay=True)
    again.open(tmp_path, Budget())
    for label, values in again.score(PICTURES).items():
        np.testing.assert_array_equal(values, first[label])
    with pytest.raises(ServiceError, match="no recorded response"):
        again.score(LIGHT + 1)


def test_nothing_is_sent_before_the_cost_is_approved(tmp_path):
    with chatting(by_light) as server:
        made = model(server, price=0.01)
        made.open(tmp_path, Budget())
        assert cost_of(made) == pytest.approx(0.04)
        with pytest.raises(CostError, match=r"0\.04"):
            made.score(PICTURES)
        assert server.calls == 0
        made.open(tmp_path, Budget(most=0.04))
        made.score(PICTURES)
        assert cost_of(made) == 0


def test_no_key_reaches_a_file(tmp_path, monkeypatch):
    monkeypatch.setenv("VLM_KEY", KEY)
    with chatting(by_light) as server:
        made = model(server, key_env="VLM_KEY")
        made.open(tmp_path, Budget())
        made.score(PICTURES)
        assert {request["auth"] for request in server.requests} == {f"Bearer {KEY}"}
    assert all(KEY not in path.read_text() for path in Path(tmp_path).rglob("*") if path.is_file())


def test_the_request_is_in_the_published_form():
    with chatting(by_light) as server:
        model(server, system="You are a recruiter.", concurrency=1).score(DARK)
        request = server.requests[0]
    assert request["path"] == "/v1/chat/completions"
    assert [message["role"] for message in request["messages"]] == ["system", "user"]
    assert request["response_format"]["json_schema"]["schema"]["properties"]["answer"]["enum"] == ["yes", "no"]
    assert request["messages"][1]["content"][1]["image_url"]["url"].startswith("data:image/png;base64,")


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"questions": []}, "at least one question"),
        ({"questions": [HIRE, HIRE]}, "Two questions have the name 'hire'"),
        ({"questions": [{"name": "q", "text": "x", "kind": "choice"}]}, "needs the key 'options'"),
        ({"questions": [{"name": "q", "text": "x", "options": ["a", "b"]}]}, "does not use the key 'options'"),
        ({"questions": [{"name": "q", "text": "x", "kind": "nmber"}]}, "Did you mean 'number'"),
        ({"questions": [{"name": "q", "txt": "x"}]}, "Did you mean 'text'"),
        ({"questions": [{"name": "q", "text": "x", "kind": "number", "low": 2, "high": 1}]}, "low must be below high"),
        ({"repeats": 3}, "no effect at temperature 0"),
        ({"response_format": "xml"}, "response_format is 'xml'"),
    ],
)
def test_bad_options_are_explained(options, problem):
    given = {"endpoint": "http://127.0.0.1:9/v1", "model": "m", "questions": [HIRE], **options}
    with pytest.raises(SpecError, match=problem):
        VisionLanguageModel(**given)
