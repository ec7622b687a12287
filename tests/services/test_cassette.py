from __future__ import annotations

import pytest

from likewise.errors import StoreError
from likewise.services.cassette import Cassette, Recorded


def answer(request: str = "a", model: str = "1", said: object = "Hut") -> Recorded:
    return Recorded(request=request, date="2026-01-01T00:00:00+00:00", model=model, answer=said, asked={"most": 3})


def test_the_latest_answer_of_a_version_is_found(tmp_path):
    cassette = Cassette(tmp_path / "deep" / "c.jsonl")
    for model, said in (("1", "old"), ("2", "new"), ("1", "later")):
        cassette.add(answer(model=model, said=said))
    for heard in (cassette, Cassette(tmp_path / "deep" / "c.jsonl")):
        assert len(heard) == 3
        assert [heard.find("a", model=model).answer for model in ("1", "2", "")] == ["later", "new", "later"]
        assert heard.find("b") is None
        assert heard.find("a", model="3") is None


@pytest.mark.parametrize("keep", [1, 20, -2])
def test_a_line_that_a_killed_run_left_is_passed_over(tmp_path, keep):
    path = tmp_path / "c.jsonl"
    Cassette(path).add(answer("a"))
    whole = path.read_bytes()
    Cassette(path).add(answer("b"))
    path.write_bytes(path.read_bytes()[: len(whole) + keep] if keep > 0 else path.read_bytes()[:keep])
    again = Cassette(path)
    assert (again.find("a") is None, again.find("b") is None) == (False, True)
    again.add(answer("c"))
    assert [Cassette(path).find(name) is None for name in "abc"] == [False, True, False]


def test_what_is_not_an_answer_is_pointed_out(tmp_path):
    (tmp_path / "c.jsonl").write_text('{"format": 9}\n')
    with pytest.raises(StoreError, match="Line 1 of"):
        Cassette(tmp_path / "c.jsonl")


def test_without_a_file_answers_are_kept_in_memory():
    cassette = Cassette()
    cassette.add(answer())
    assert cassette.find("a").answer == "Hut"
