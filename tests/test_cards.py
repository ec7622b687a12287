"""Work on graphics cards is shared out: each worker sees one. No card is needed to see that."""

from __future__ import annotations

import stat
from pathlib import Path

import numpy as np
import pytest

import workers
from likewise.cards import VISIBLE, asks_for_card, visible_cards
from likewise.engine import Engine
from likewise.errors import SpecError

ITEMS = ["a", "b", "c", "d"]
CUDA, CPU = {"device": "cuda"}, {"device": "cpu"}


@pytest.fixture(scope="module")
def cluster():
    """A real Ray cluster with two cards in its books."""
    import ray

    here = {"PYTHONPATH": str(Path(__file__).parent)}
    quiet = {"include_dashboard": False, "log_to_driver": False, "logging_level": "ERROR"}
    ray.init(num_cpus=4, num_gpus=2, runtime_env={"env_vars": here}, **quiet)
    yield
    ray.shutdown()


def shown(engine: Engine, folder: Path, options: dict[str, str]) -> list[str]:
    folder.mkdir()
    results = engine.map(workers.SeesCards(folder, options), ITEMS)
    return np.concatenate([result["shown"] for result in results]).tolist()


def test_ray_gives_each_chunk_a_card_of_its_own(cluster, tmp_path):
    found = shown(Engine(kind="ray", workers=2, chunk=1), tmp_path / "seen", CUDA)
    assert set(found) == {"0", "1"}


def test_two_chunks_can_share_a_card(cluster, tmp_path):
    found = shown(Engine(kind="ray", workers=4, chunk=1, cards=0.5), tmp_path / "seen", CUDA)
    assert all(card in {"0", "1"} for card in found)


def test_work_on_the_cpu_asks_for_none(cluster, tmp_path):
    assert not {"0", "1"} & set(shown(Engine(kind="ray", workers=2, chunk=1), tmp_path / "seen", CPU))


def test_a_cluster_with_too_few_cards_is_said_and_not_waited_for(cluster, tmp_path):
    with pytest.raises(SpecError, match=r"has 3 graphics cards for a chunk; got 2\..*device = 'cpu'"):
        shown(Engine(kind="ray", workers=2, chunk=1, cards=3), tmp_path / "seen", CUDA)


def test_processes_take_the_cards_in_turn(tmp_path, monkeypatch):
    monkeypatch.setenv(VISIBLE, "3,5")
    assert set(shown(Engine(kind="processes", workers=2, chunk=1), tmp_path / "seen", CUDA)) == {"3", "5"}
    assert set(shown(Engine(kind="processes", workers=2, chunk=1), tmp_path / "cpu", CPU)) == {"3,5"}


def test_the_driver_says_which_cards_there_are(tmp_path, monkeypatch):
    monkeypatch.delenv(VISIBLE, raising=False)
    tool = tmp_path / "nvidia-smi"
    tool.write_text("#!/bin/sh\necho 0\necho 1\n")
    tool.chmod(stat.S_IRWXU)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert visible_cards() == ["0", "1"]
    tool.write_text("#!/bin/sh\necho 'no driver'\nexit 9\n")
    assert visible_cards() == []
    monkeypatch.setenv("PATH", "")
    assert visible_cards() == []
    monkeypatch.setenv(VISIBLE, "")
    assert visible_cards() == []


def test_the_option_is_found_in_specs_and_a_number_is_for_one_worker(tmp_path):
    first = workers.SeesCards(tmp_path, {"device": "cuda:1"})
    assert asks_for_card(workers.Nested(first), several=False)
    assert not asks_for_card(workers.Nested(workers.SeesCards(tmp_path, CPU)), several=True)
    assert not asks_for_card(workers.lengths, several=True)
    with pytest.raises(
        SpecError, match=r"with several workers a device has no number; got cuda:1\. Say device = 'cuda'"
    ):
        list(Engine(kind="processes", workers=2).map(first, ITEMS))


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"cards": 0.5}, "only with kind = 'ray'"),
        ({"kind": "ray", "cards": 0.0}, "a share of a card up to 1, or a whole number"),
        ({"kind": "ray", "cards": 1.5}, "a share of a card up to 1, or a whole number"),
    ],
)
def test_cards_without_meaning_are_refused(options, says):
    with pytest.raises(SpecError, match=says):
        Engine(**options)
