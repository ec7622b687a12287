"""A projection on a real Ray cluster of two machines (as Ray sees it), one of which is killed in the middle."""

from __future__ import annotations

import shutil
import threading
import time
from pathlib import Path

import pytest

import likewise as lw
from likewise.audit.folder.store import Folder
from shell import run

ENGINE = "\n[executor]\nchunk = 6\n"


@pytest.fixture(scope="module")
def cluster():
    import ray
    from ray.cluster_utils import Cluster

    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
    made.workers = [made.add_node(num_cpus=1) for _ in range(2)]
    yield made
    ray.shutdown()
    made.shutdown()


def kill_one_in_the_middle(cluster, audit: Path, killed: list[int]) -> None:
    """Wait for the first finished chunk, then kill a machine: no goodbye, its chunk is lost with it."""
    for _ in range(1200):
        done = len(list((audit / ".work").glob("*-project-*/*.npz")))
        if done:
            cluster.remove_node(cluster.workers.pop(), allow_graceful=False)
            killed.append(done)
            return
        time.sleep(0.05)


def test_two_workers_one_killed_give_the_result_of_one_machine(cluster, audit, capsys):
    plan = audit / "audit.toml"
    plan.write_text(plan.read_text() + ENGINE)
    assert run(capsys, "read", audit, "--quiet")[0] == 0
    alone = audit.parent / "alone"
    shutil.copytree(audit, alone)
    assert run(capsys, "project", alone, "--quiet")[0] == 0

    killed: list[int] = []
    watcher = threading.Thread(target=kill_one_in_the_middle, args=(cluster, audit, killed))
    watcher.start()
    code, _, err = run(
        capsys, "project", audit, "--quiet", "--executor", "ray", "--workers", 2, "--address", cluster.address
    )
    watcher.join()
    assert code == 0, err
    total = -(-len(lw.Images.read(audit / "images.parquet")) // 6)
    assert killed and killed[0] < total, "the machine died in the middle"
    assert (audit / "latents" / "values.npy").read_bytes() == (alone / "latents" / "values.npy").read_bytes()
    assert Folder(audit).sidecar("latents").digest == Folder(alone).sidecar("latents").digest


def test_the_place_is_no_part_of_the_result(audit, capsys):
    """What was made in one place is fresh in another."""
    for stage in ("read", "project"):
        assert run(capsys, stage, audit, "--quiet")[0] == 0
    code, out, _ = run(capsys, "project", audit, "--dry-run", "--executor", "processes", "--workers", 2)
    assert code == 0
    assert "up to date" in out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--executor", "rays"), "Did you mean 'ray'"),
        (("--workers", "3"), "3 workers with"),
        (("--address", "auto"), "address has no effect"),
    ],
)
def test_a_place_that_makes_no_sense_is_refused(audit, capsys, arguments, said):
    code, _, err = run(capsys, "read", audit, *arguments)
    assert code == 2
    assert said in err
