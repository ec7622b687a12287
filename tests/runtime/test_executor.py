from __future__ import annotations

import doctest
import sys
from pathlib import Path

import numpy as np
import pytest

import workers
from likewise.errors import ExecutorError, ImageError, PluginError, SpecError
from likewise.runtime.executor import Executor
from likewise.runtime.optional import require

ITEMS = ["x" * k for k in range(1, 24)]
EXECUTORS = [
    Executor(chunk=5),
    Executor(kind="processes", workers=2, chunk=5),
    Executor(kind="ray", workers=2, chunk=5),
]
NAMES = ["local", "processes", "ray"]


@pytest.fixture(scope="module", autouse=True)
def _cluster():
    """A real Ray cluster on this machine, shared by these tests; its workers find the tests' own modules."""
    import ray

    ray.init(
        num_cpus=2,
        include_dashboard=False,
        log_to_driver=False,
        logging_level="ERROR",
        runtime_env={"env_vars": {"PYTHONPATH": str(Path(__file__).parents[1])}},
    )
    yield
    ray.shutdown()


class Counter:
    done = failed = 0

    def advance(self, items: int, failed: int = 0) -> None:
        self.done += items
        self.failed += failed


@pytest.mark.parametrize("executor", EXECUTORS, ids=NAMES)
def test_results_are_in_order_and_counted(executor, tmp_path):
    progress = Counter()
    results = list(executor.map(workers.lengths, ITEMS, folder=tmp_path / "work", progress=progress))
    assert np.concatenate([r["length"] for r in results]).tolist() == list(range(1, 24))
    assert progress.done == len(ITEMS)


def test_without_a_folder_results_stay_in_memory():
    assert len(list(Executor(chunk=10).map(workers.lengths, ITEMS))) == 3


def test_finished_chunks_are_not_repeated(tmp_path):
    marks = tmp_path / "marks"
    marks.mkdir()
    executor, work = Executor(chunk=5), workers.Counting(marks)
    list(executor.map(work, ITEMS, folder=tmp_path / "work"))
    (tmp_path / "work" / "000002.npz").unlink()
    progress = Counter()
    again = list(executor.map(work, ITEMS, folder=tmp_path / "work", progress=progress))
    assert len(list(marks.iterdir())) == 5 + 1
    assert (len(again), progress.done) == (5, len(ITEMS))


def test_failures_are_counted_also_those_of_an_earlier_run(tmp_path):
    def long(result):
        return int((result["length"] > 20).sum())

    for _ in range(2):
        progress = Counter()
        list(Executor(chunk=5).map(workers.lengths, ITEMS, folder=tmp_path / "w", progress=progress, failures=long))
        assert (progress.done, progress.failed) == (len(ITEMS), 3)


@pytest.mark.parametrize("executor", EXECUTORS[1:], ids=NAMES[1:])
def test_chunk_of_a_killed_worker_is_retried(executor, tmp_path):
    work = workers.DiesOnce(tmp_path, "xxxxxxx")
    results = list(executor.map(work, ITEMS))
    assert (tmp_path / "died").exists()
    assert np.concatenate([r["length"] for r in results]).tolist() == list(range(1, 24))


@pytest.mark.parametrize("executor", EXECUTORS, ids=NAMES)
def test_failures_are_retried(executor, tmp_path):
    assert len(list(executor.map(workers.Fails(tmp_path, "xxx", times=2), ITEMS))) == 5


@pytest.mark.parametrize("executor", EXECUTORS, ids=NAMES)
def test_repeated_failure_is_an_error(executor, tmp_path):
    with pytest.raises(
        ExecutorError,
        match=r"The chunk with 'x', 'xx', 'xxx' and 2 more failed 3 times: OSError: the disk.*are kept",
    ):
        list(executor.map(workers.Fails(tmp_path, "xxx", times=99), ITEMS))


@pytest.mark.parametrize("executor", EXECUTORS, ids=NAMES)
def test_invalid_input_is_not_retried(executor, tmp_path):
    with pytest.raises(ImageError, match="Cannot decode 'xxx'"):
        list(executor.map(workers.Fails(tmp_path, "xxx", times=99, wrong_input=True), ITEMS))
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"kind": "procesess"}, "Did you mean 'processes'"),
        ({"kind": "here", "workers": 2}, "2 workers with kind = 'local'"),
        ({"kind": "processes", "address": "auto"}, "address has no effect with kind = 'processes'"),
        ({"chunk": 0}, "chunk is 0. Use at least 1"),
        ({"retries": -1}, "retries is -1. Use at least 0"),
    ],
)
def test_invalid_options_are_refused(options, says):
    with pytest.raises(SpecError, match=says):
        Executor(**options)


def test_former_name_of_local_is_read():
    assert Executor(kind="here") == Executor(kind="local") == Executor()


def test_out_of_memory_says_what_to_lower():
    def work(items):
        raise MemoryError("no more")

    with pytest.raises(ExecutorError, match="lower workers or chunk"):
        list(Executor(retries=0).map(work, ITEMS))


def test_examples_in_docstrings_run():
    assert doctest.testmod(sys.modules[Executor.__module__]).failed == 0
    assert doctest.testmod(sys.modules[require.__module__]).failed == 0


def test_missing_library_names_the_install_command():
    with pytest.raises(PluginError, match=r"The library not_there is not installed\. .*pip install 'likewise\[onnx\]'"):
        require("not_there", "onnx")
