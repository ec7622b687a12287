"""Workers share the GPUs: each sees one. The tests need no GPU."""

from __future__ import annotations

import stat
from pathlib import Path

import numpy as np
import pytest

import workers
from likewise.errors import SpecError
from likewise.runtime.executor import Executor
from likewise.runtime.gpus import VISIBLE, needs_gpu, visible_gpus

ITEMS = ["a", "b", "c", "d"]
CUDA, CPU = {"device": "cuda"}, {"device": "cpu"}


@pytest.fixture(scope="module")
def cluster():
    """A real Ray cluster that declares two GPUs."""
    import ray

    here = {"PYTHONPATH": str(Path(__file__).parents[1])}
    quiet = {"include_dashboard": False, "log_to_driver": False, "logging_level": "ERROR"}
    ray.init(num_cpus=4, num_gpus=2, runtime_env={"env_vars": here}, **quiet)
    yield
    ray.shutdown()


def shown(engine: Executor, folder: Path, options: dict[str, str]) -> list[str]:
    folder.mkdir()
    results = engine.map(workers.SeesGpus(folder, options), ITEMS)
    return np.concatenate([result["shown"] for result in results]).tolist()


def test_ray_assigns_a_gpu_to_each_chunk(cluster, tmp_path):
    found = shown(Executor(kind="ray", workers=2, chunk=1), tmp_path / "seen", CUDA)
    assert set(found) == {"0", "1"}


def test_two_chunks_can_share_a_gpu(cluster, tmp_path):
    found = shown(Executor(kind="ray", workers=4, chunk=1, gpus=0.5), tmp_path / "seen", CUDA)
    assert all(gpu in {"0", "1"} for gpu in found)


def test_work_on_the_cpu_requests_none(cluster, tmp_path):
    assert not {"0", "1"} & set(shown(Executor(kind="ray", workers=2, chunk=1), tmp_path / "seen", CPU))


def test_too_few_gpus_in_the_cluster_is_an_error(cluster, tmp_path):
    with pytest.raises(SpecError, match=r"needs 3 GPUs, the Ray cluster has 2\..*device = 'cpu'"):
        shown(Executor(kind="ray", workers=2, chunk=1, gpus=3), tmp_path / "seen", CUDA)


def test_processes_take_gpus_in_turn(tmp_path, monkeypatch):
    monkeypatch.setenv(VISIBLE, "3,5")
    assert set(shown(Executor(kind="processes", workers=2, chunk=1), tmp_path / "seen", CUDA)) == {"3", "5"}
    assert set(shown(Executor(kind="processes", workers=2, chunk=1), tmp_path / "cpu", CPU)) == {"3,5"}


def test_gpus_are_listed_by_the_driver(tmp_path, monkeypatch):
    monkeypatch.delenv(VISIBLE, raising=False)
    tool = tmp_path / "nvidia-smi"
    tool.write_text("#!/bin/sh\necho 0\necho 1\n")
    tool.chmod(stat.S_IRWXU)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert visible_gpus() == ["0", "1"]
    tool.write_text("#!/bin/sh\necho 'no driver'\nexit 9\n")
    assert visible_gpus() == []
    monkeypatch.setenv("PATH", "")
    assert visible_gpus() == []
    monkeypatch.setenv(VISIBLE, "")
    assert visible_gpus() == []


def test_device_is_found_in_nested_specs_and_an_index_needs_one_worker(tmp_path):
    first = workers.SeesGpus(tmp_path, {"device": "cuda:1"})
    assert needs_gpu(workers.Nested(first), several=False)
    assert not needs_gpu(workers.Nested(workers.SeesGpus(tmp_path, CPU)), several=True)
    assert not needs_gpu(workers.lengths, several=True)
    with pytest.raises(SpecError, match=r"cuda:1 has an index, but there are several workers\. Set device = 'cuda'"):
        list(Executor(kind="processes", workers=2).map(first, ITEMS))


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"gpus": 0.5}, "gpus has no effect with kind = 'local'"),
        ({"kind": "ray", "gpus": 0.0}, "gpus is 0.0. Use a fraction up to 1"),
        ({"kind": "ray", "gpus": 1.5}, "gpus is 1.5. Use a fraction up to 1"),
    ],
)
def test_invalid_numbers_of_gpus_are_refused(options, says):
    with pytest.raises(SpecError, match=says):
        Executor(**options)
