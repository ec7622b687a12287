from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import workers
from likewise.engine import Engine
from likewise.errors import EngineError, ImageError, SpecError

ITEMS = ["x" * k for k in range(1, 24)]
ENGINES = [Engine(chunk=5), Engine(kind="processes", workers=2, chunk=5), Engine(kind="ray", workers=2, chunk=5)]
NAMES = ["here", "processes", "ray"]


@pytest.fixture(scope="module", autouse=True)
def _cluster():
    """A real Ray cluster on this machine, shared by these tests; its workers find the tests' own modules."""
    import ray

    ray.init(
        num_cpus=2,
        include_dashboard=False,
        log_to_driver=False,
        logging_level="ERROR",
        runtime_env={"env_vars": {"PYTHONPATH": str(Path(__file__).parent)}},
    )
    yield
    ray.shutdown()


class Counter:
    done = failed = 0

    def advance(self, items: int, failed: int = 0) -> None:
        self.done += items
        self.failed += failed


@pytest.mark.parametrize("engine", ENGINES, ids=NAMES)
def test_results_come_in_order_and_are_counted(engine, tmp_path):
    progress = Counter()
    results = list(engine.map(workers.lengths, ITEMS, folder=tmp_path / "work", progress=progress))
    assert np.concatenate([r["length"] for r in results]).tolist() == list(range(1, 24))
    assert progress.done == len(ITEMS)


def test_without_a_folder_results_stay_in_memory():
    assert len(list(Engine(chunk=10).map(workers.lengths, ITEMS))) == 3


def test_finished_chunks_are_not_done_again(tmp_path):
    marks = tmp_path / "marks"
    marks.mkdir()
    engine, work = Engine(chunk=5), workers.Counting(marks)
    list(engine.map(work, ITEMS, folder=tmp_path / "work"))
    (tmp_path / "work" / "000002.npz").unlink()
    progress = Counter()
    again = list(engine.map(work, ITEMS, folder=tmp_path / "work", progress=progress))
    assert len(list(marks.iterdir())) == 5 + 1
    assert (len(again), progress.done) == (5, len(ITEMS))


def test_failures_are_told_also_those_of_an_earlier_run(tmp_path):
    def long(result):
        return int((result["length"] > 20).sum())

    for _ in range(2):
        progress = Counter()
        list(Engine(chunk=5).map(workers.lengths, ITEMS, folder=tmp_path / "w", progress=progress, failures=long))
        assert (progress.done, progress.failed) == (len(ITEMS), 3)


@pytest.mark.parametrize("engine", ENGINES[1:], ids=NAMES[1:])
def test_a_worker_that_dies_costs_nothing(engine, tmp_path):
    work = workers.DiesOnce(tmp_path, "xxxxxxx")
    results = list(engine.map(work, ITEMS))
    assert (tmp_path / "died").exists()
    assert np.concatenate([r["length"] for r in results]).tolist() == list(range(1, 24))


@pytest.mark.parametrize("engine", ENGINES, ids=NAMES)
def test_an_accident_is_tried_again(engine, tmp_path):
    assert len(list(engine.map(workers.Fails(tmp_path, "xxx", times=2), ITEMS))) == 5


@pytest.mark.parametrize("engine", ENGINES, ids=NAMES)
def test_what_keeps_failing_is_said(engine, tmp_path):
    with pytest.raises(
        EngineError, match=r"the chunk with 'x', 'xx', 'xxx' and 2 more.*OSError: the disk hiccupped.*is kept"
    ):
        list(engine.map(workers.Fails(tmp_path, "xxx", times=99), ITEMS))


@pytest.mark.parametrize("engine", ENGINES, ids=NAMES)
def test_wrong_input_is_not_tried_again(engine, tmp_path):
    with pytest.raises(ImageError, match="an image can be decoded; got xxx"):
        list(engine.map(workers.Fails(tmp_path, "xxx", times=99, wrong_input=True), ITEMS))
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"kind": "procesess"}, "Did you mean 'processes'"),
        ({"kind": "here", "workers": 2}, "several workers need"),
        ({"kind": "processes", "address": "auto"}, "only with kind = 'ray'"),
        ({"chunk": 0}, "at least 1"),
        ({"retries": -1}, "at least 0"),
    ],
)
def test_an_engine_without_meaning_is_refused(options, says):
    with pytest.raises(SpecError, match=says):
        Engine(**options)
