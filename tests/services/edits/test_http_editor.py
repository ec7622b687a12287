"""The editor ``http`` against a stand-in endpoint: what is sent, recorded, tried again, refused and paid."""

from __future__ import annotations

import json

import numpy as np
import pytest
from benchmarks.stand_ins.edits import KEY, EditsServer, editing

from likewise.errors import CostError, ServiceError, SpecError
from likewise.runtime.registry import create
from likewise.services.budget import Budget
from likewise.services.edits.http_editor import FILTERED, RESHAPED, HttpEditor

PROMPTS = {"-1": "darker", "0": "same", "1": "lighter"}
PICTURES = np.full((2, 8, 6, 3), 100, np.uint8) + np.arange(2, dtype=np.uint8)[:, None, None, None]


def by_words(prompt: str, picture: np.ndarray) -> np.ndarray:
    return (picture.astype(int) + {"darker": -50, "lighter": 50}.get(prompt, 0)).astype(np.uint8)


def editor(server: EditsServer, **options: object) -> HttpEditor:
    given = {"endpoint": server.url, "attribute": "light", "prompts": PROMPTS, "wait": 0.01, "concurrency": 1}
    made = create("editor", "http", {**given, **options})
    assert isinstance(made, HttpEditor)
    return made


def test_every_strength_has_its_instruction():
    with editing(by_words) as server:
        made = editor(server, model="drawer", form={"quality": "high"})
        strips = made.sweep(PICTURES, (-1, 0, 1), ["a", "b"])
        np.testing.assert_array_equal(strips[:, :, 0, 0, 0], [[50, 100, 150], [51, 101, 151]])
        np.testing.assert_array_equal(made.redraw(PICTURES, ["a", "b"]), PICTURES)
        assert server.forms[0] == {"prompt": "darker", "n": "1", "quality": "high", "model": "drawer",
                                   "path": "/v1/images/edits"}  # fmt: skip
    assert not made.failures


def test_answers_are_recorded_with_their_pictures_and_replayed(tmp_path):
    with editing(by_words) as server:
        made = editor(server)
        made.open(tmp_path, Budget())
        first = made.sweep(PICTURES, (-1, 1), ["a", "b"])
        url, calls = server.url, server.calls
        again = editor(server)
        again.open(tmp_path, Budget())
        again.sweep(PICTURES, (-1, 1), ["a", "b"])
        assert server.calls == calls
    replayed = HttpEditor(endpoint=url, attribute="light", prompts=PROMPTS, replay=True)
    replayed.open(tmp_path, Budget())
    np.testing.assert_array_equal(replayed.sweep(PICTURES, (-1, 1), ["a", "b"]), first)
    next(tmp_path.rglob("*.image")).write_bytes(b"damaged")
    with pytest.raises(ServiceError, match="no recorded response for 1"):
        replayed.sweep(PICTURES, (-1, 1), ["a", "b"])


@pytest.mark.parametrize("mood", ["throttled", "cut", "text"])
def test_accidents_are_tried_again(mood):
    with editing(by_words) as server:
        server.moods = [mood]
        assert editor(server).sweep(PICTURES[:1], (1,), ["a"])[0, 0, 0, 0, 0] == 150
        assert server.calls == 2


def test_another_media_type_than_stated_is_read():
    with editing(by_words) as server:
        server.moods = ["jpeg"]
        assert abs(int(editor(server).sweep(PICTURES[:1], (1,), ["a"]).mean()) - 150) <= 1


@pytest.mark.parametrize(("mood", "reason"), [("filter", FILTERED), ("wide", RESHAPED)])
def test_refusals_and_other_shapes_are_failures_of_that_image_only(mood, reason):
    with editing(by_words) as server:
        server.moods = [mood]
        made = editor(server)
        strips = made.sweep(PICTURES, (-1, 1), ["a", "b"])
        assert made.failures == {"a": reason}
        assert strips[1, 1, 0, 0, 0] == 151
        assert any(reason in line for line in made.remarks())


def test_another_model_version_stops_the_run():
    with editing(by_words) as server:
        server.moods = ["", "changed"]
        with pytest.raises(ServiceError, match="drawer-2"):
            editor(server).sweep(PICTURES, (-1, 1), ["a", "b"])


def test_nothing_is_sent_before_the_cost_is_approved(tmp_path):
    with editing(by_words) as server:
        made = editor(server, price=0.04)
        made.open(tmp_path, Budget())
        assert made.cost_of(10).cost == pytest.approx(10 * 4 * 0.04)
        with pytest.raises(CostError):
            made.sweep(PICTURES, (-1, 1), ["a", "b"])
        assert server.calls == 0


def test_no_key_reaches_a_file(tmp_path, monkeypatch):
    monkeypatch.setenv("EDITS_KEY", KEY)
    with editing(by_words) as server:
        made = editor(server, key_env="EDITS_KEY")
        made.open(tmp_path, Budget())
        made.sweep(PICTURES, (-1, 1), ["a", "b"])
    found = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    assert len(found) == 5 and not any(KEY.encode() in content for content in found)
    line = json.loads(next(tmp_path.rglob("*.jsonl")).read_text().splitlines()[0])
    assert line["asked"]["prompt"] == "darker" and "b64_json" not in json.dumps(line)


def test_placebo_instructions_make_the_random_arm():
    with editing(by_words) as server:
        made = editor(server, placebo_prompts={"-1": "x", "0": "y", "1": "z"})
        assert made.calls_a_picture == 7
        assert made.random(PICTURES, (-1, 0, 1), ["a", "b"], 0).shape == (2, 3, 8, 6, 3)
        assert editor(server).random is None


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"prompts": {"1": "x"}}, "fewer than two prompts"),
        ({"prompts": {"one": "x", "0": "y"}}, "'one' in prompts is not a strength"),
        ({"prompts": {"0": " ", "1": "y"}}, "has no text"),
        ({"placebo_prompts": {"0": "x"}}, "different strengths"),
        ({"endpoint": "http://far.example/v1"}, "not encrypted"),
    ],
)
def test_bad_options_are_explained(options, problem):
    given = {"endpoint": "http://127.0.0.1:9/v1", "attribute": "light", "prompts": PROMPTS, **options}
    with pytest.raises(SpecError, match=problem):
        HttpEditor(**given)
    with pytest.raises(SpecError, match=r"no prompt for the strength \+2"):
        HttpEditor(endpoint="http://127.0.0.1:9/v1", attribute="light", prompts=PROMPTS).check_strengths((2.0,))
