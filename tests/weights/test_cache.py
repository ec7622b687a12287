from __future__ import annotations

import dataclasses
import hashlib
from pathlib import Path

import pytest

from likewise.errors import WeightsError
from likewise.weights import CATALOG, content_of, home, record, where
from likewise.weights.cache import entries, entry, keep, locked, scratch


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LIKEWISE_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def put(name: str, content: bytes = b"bytes") -> Path:
    weight = CATALOG[name]
    with locked(name), scratch(name) as folder:
        (folder / "made").write_bytes(content)
        return keep(weight, folder / "made").path


def test_home_is_what_the_variable_says(own_home):
    assert home() == own_home


def test_without_the_variable_home_is_the_users_cache(monkeypatch):
    monkeypatch.delenv("LIKEWISE_HOME")
    assert home().name == "likewise"
    assert home().is_absolute()


def test_a_path_on_disk_is_taken_as_it_is(tmp_path):
    path = tmp_path / "own.onnx"
    path.write_bytes(b"x")
    assert where(path) == where(str(path)) == path


@pytest.mark.parametrize("missing", ["folder/own.onnx", "./own.onnx", Path("own.onnx")])
def test_a_path_that_is_not_there_is_said_to_be_a_path(missing):
    with pytest.raises(WeightsError, match="File not found"):
        where(missing)


def test_a_weight_that_was_not_fetched_says_how_to_fetch_it():
    with pytest.raises(WeightsError, match=r"likewise weights fetch gender-v1$"):
        where("gender-v1")
    with pytest.raises(WeightsError, match="likewise weights fetch mobilestylegan-ffhq --allow research-only"):
        where("mobilestylegan-ffhq")


def test_an_unknown_name_offers_the_nearest():
    with pytest.raises(WeightsError, match="Did you mean 'lpips-vgg16'"):
        where("lpips-vg16")
    with pytest.raises(WeightsError, match="likewise weights list"):
        record("zzz")


def test_what_is_kept_is_found_and_replaces_what_was_there(own_home):
    assert put("gender-v1", b"one") == where("gender-v1")
    assert put("gender-v1", b"two").read_bytes() == b"two"
    assert [held.weight.name for held in entries()] == ["gender-v1"]
    assert not list((own_home / "work").iterdir())


def test_changed_bytes_are_broken():
    path = put("gender-v1", b"one")
    held = entry("gender-v1")
    assert held is not None
    assert held.broken() == ""
    path.write_bytes(b"two")
    assert held.broken() == "other bytes than were written"
    path.write_bytes(b"longer")
    assert held.broken() == "6 bytes instead of 3"


def test_the_content_of_a_name_a_path_and_nothing(tmp_path):
    (tmp_path / "own").write_bytes(b"one")
    assert content_of(tmp_path / "own") == content_of(str(tmp_path / "own")) == hashlib.sha256(b"one").hexdigest()
    assert content_of("gender-v1") == "missing"
    put("gender-v1", b"one")
    assert content_of("gender-v1") == content_of(tmp_path / "own")
    assert content_of("../elsewhere") == "missing"


def test_a_result_of_another_converter_has_to_be_made_again(monkeypatch):
    put("gender-v1")
    monkeypatch.setitem(CATALOG, "gender-v1", dataclasses.replace(CATALOG["gender-v1"], revision=2))
    with pytest.raises(WeightsError, match="'gender-v1' in the cache was converted by another version"):
        where("gender-v1")


@pytest.mark.parametrize("degraded", ["", "[]", "{}", "nonsense"])
def test_a_note_that_is_no_note_counts_as_not_there(degraded):
    (put("gender-v1").parent / "weight.json").write_text(degraded)
    assert entry("gender-v1") is None


@pytest.mark.parametrize("weight", CATALOG.values(), ids=lambda weight: weight.name)
def test_every_record_is_well_formed(weight):
    assert weight.name == weight.name.lower()
    assert weight.registry in {"pypi", "npm"}
    assert weight.members
    assert all(len(sha) == 64 and not path.startswith("/") for path, sha in weight.members.items())
    assert callable(weight.load_converter())
    assert weight.version in weight.archive
    assert weight.license
    assert weight.caution or weight.terms == "open"
    assert weight.notice.startswith(weight.license)
