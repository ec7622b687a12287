from __future__ import annotations

from pathlib import Path

import pytest

from likewise.errors import SpecError
from likewise.runtime.registry import create
from likewise.services.http_service import read_description
from likewise.services.jsonpath import follow
from tagging_services import OWN

TEXT = OWN.format(url="https://tagger.example")


def described(folder: Path, text: str):
    (folder / "s.toml").write_text(text)
    return read_description(folder / "s.toml")


def test_a_description_is_read(tmp_path):
    reported = described(tmp_path, TEXT)
    assert (reported.name, reported.price, reported.scale) == ("own-tagger", 0.002, 100)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("price = 0.002", "", "Missing key 'price'"),
        ("price = 0.002", "prise = 0.002", r"Unknown key 'prise' \(s.toml, line \d+\). Did you mean 'price'"),
        ("price = 0.002", "price = 'cheap'", "price must be a number, not 'cheap'"),
        ("$.tags[*].word", "tags.word", "Cannot read the path"),
        ("$.tags[*].word", "$.tags[?].word", "Cannot read the path"),
        ('"Bearer {key}"', '"Bearer sk-live-1234"', "seems to hold a key"),
        ("/tag", "/tag?api_key=sk-live-1234", "seems to hold a key"),
        ("/tag", "/tag?api_key={key}", "seems to hold a key"),
        ('key_env = "TAGGER_KEY"', "", "need each other"),
        ("https://tagger", "http://tagger", "is not encrypted"),
        ("{image}", "image", "no place for the picture"),
        ("name =", "name = = ", "is not valid TOML"),
    ],
)
def test_what_a_description_may_not_say(tmp_path, old, new, says):
    assert old in TEXT
    with pytest.raises(SpecError, match=says) as caught:
        described(tmp_path, TEXT.replace(old, new))
    assert "sk-live" not in str(caught.value)


def test_a_description_says_its_language(tmp_path):
    (tmp_path / "s.toml").write_text('language = "de"\n' + TEXT)
    assert create("classifier", "http", {"path": str(tmp_path / "s.toml")}).language == "de"
    (tmp_path / "s.toml").write_text('language = "German, mostly"\n' + TEXT)
    with pytest.raises(SpecError, match="Give a language code"):
        create("classifier", "http", {"path": str(tmp_path / "s.toml")})


def test_a_description_has_to_be_there(tmp_path):
    with pytest.raises(SpecError, match=r"File not found: .*none.toml"):
        read_description(tmp_path / "none.toml")


def test_paths_lead_into_answers():
    answer = {"a": [{"b": 1, "x y": 2}, {"b": 3}], "c": {"d": 4, "e": 5}}
    assert follow("$", answer) == [answer]
    assert follow("$.a[*].b", answer) == [1, 3]
    assert follow("$.a[1].b", answer) == [3]
    assert follow("$.a[0]['x y']", answer) == [2]
    assert follow("$.c.*", answer) == [4, 5]
    for lost in ("$.z", "$.a[7]", "$.a.b", "$.c[0]", "$.a[0].b.c"):
        with pytest.raises(KeyError):
            follow(lost, answer)


PLAIN = 'name = "n"\nurl = "https://x.example"\nprice = 0\n'


@pytest.mark.parametrize(
    ("lines", "answer", "said"),
    [
        ('labels = "$.scores"', {"scores": {"Hat": 0.5, "Tie": 1}}, {"Hat": 0.5, "Tie": 1.0}),
        ('labels = "$.words[*]"', {"words": ["Hat"]}, {"Hat": 1.0}),
        ('labels = "$.w[*]"\nconfidences = "$.c[*]"', {"w": ["Hat"], "c": [0.25]}, {"Hat": 0.25}),
    ],
)
def test_labels_come_in_several_shapes(tmp_path, lines, answer, said):
    (tmp_path / "s.toml").write_text(PLAIN + lines)
    made = create("classifier", "http", {"path": str(tmp_path / "s.toml")})
    assert made._read(answer).labels == said
    assert made._post(b"png").headers["Content-Type"] == "image/png"


@pytest.mark.parametrize("answer", [{"w": ["Hat"], "c": []}, {"w": [1], "c": [1]}, {"w": ["Hat"], "c": [3]}, {}])
def test_an_answer_of_another_shape_is_not_taken(tmp_path, answer):
    (tmp_path / "s.toml").write_text(PLAIN + 'labels = "$.w[*]"\nconfidences = "$.c[*]"')
    made = create("classifier", "http", {"path": str(tmp_path / "s.toml")})
    with pytest.raises((KeyError, ValueError)):
        made._read(answer)
