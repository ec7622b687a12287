"""CPU settings: the allocator, threads per worker, idle threads, and variables that the user has set."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from likewise.runtime.cpu import _VARIABLES, configure_cpu, let_idle_threads_sleep
from likewise.runtime.executor import Executor

FAULTS = """
import resource, sys
import numpy as np
from likewise.runtime.cpu import keep_freed_memory
if sys.argv[1] == "kept":
    assert keep_freed_memory()
np.ones(2**24)
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(10):
    np.ones(2**24)
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@pytest.fixture(autouse=True)
def clean(monkeypatch):
    for name in (*_VARIABLES, "OMP_NUM_THREADS", "OMP_WAIT_POLICY"):
        monkeypatch.setenv(name, "")  # so that it is restored afterwards, also if it was not set
        monkeypatch.delenv(name)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)), raising=False)


@pytest.mark.skipif(sys.platform != "linux", reason="glibc's switch")
def test_freed_memory_is_kept():
    faults = {}
    for how in ("plain", "kept"):
        shown = subprocess.run([sys.executable, "-c", FAULTS, how], capture_output=True, text=True, check=True)
        faults[how] = int(shown.stdout)
    assert faults["kept"] < faults["plain"] / 5  # pages of 128 MB, asked for ten times or not at all


@pytest.mark.parametrize("given", [None, ""])
def test_workers_share_the_cores(monkeypatch, given):
    if given is not None:
        monkeypatch.setenv("OMP_NUM_THREADS", given)
    assert configure_cpu(Executor(kind="processes", workers=3))["OMP_NUM_THREADS"] == "2"
    assert os.environ["MALLOC_TRIM_THRESHOLD_"] == _VARIABLES["MALLOC_TRIM_THRESHOLD_"]


def test_more_workers_than_cores_have_one_thread_each():
    assert configure_cpu(Executor(kind="processes", workers=20))["OMP_NUM_THREADS"] == "1"


def test_one_process_has_all_threads():
    assert "OMP_NUM_THREADS" not in configure_cpu(Executor())


def test_idle_threads_sleep_where_openmp_is_not_loaded_yet(monkeypatch):
    assert configure_cpu(Executor(kind="processes", workers=2))["OMP_WAIT_POLICY"] == "PASSIVE"
    for loaded, expected in (("torch", None), ("", "PASSIVE")):
        monkeypatch.delenv("OMP_WAIT_POLICY", raising=False)
        monkeypatch.setattr("likewise.runtime.cpu._OPENMP_USERS", ("os",) if loaded else ())
        assert configure_cpu(Executor()).get("OMP_WAIT_POLICY") == expected


STARTED = """
import os, sys
from likewise.cli.main import main
assert "torch" not in sys.modules, "the command line loads torch before it is needed"
try:
    main(["--version"])
except SystemExit:
    pass
print(os.environ.get("OMP_WAIT_POLICY"))
"""


@pytest.mark.parametrize(("given", "expected"), [(None, "PASSIVE"), ("ACTIVE", "ACTIVE")])
def test_the_command_line_lets_threads_sleep_before_torch_is_loaded(given, expected):
    """In a fresh process, as a user starts it: once torch is loaded, it would be too late."""
    chosen = {} if given is None else {"OMP_WAIT_POLICY": given}
    shown = subprocess.run(
        [sys.executable, "-c", STARTED], capture_output=True, text=True, check=True, env={**os.environ, **chosen}
    )
    assert shown.stdout.split()[-1] == expected


def test_it_is_too_late_once_openmp_is_loaded(monkeypatch):
    monkeypatch.setattr("likewise.runtime.cpu._OPENMP_USERS", ("os",))
    assert not let_idle_threads_sleep()
    monkeypatch.setattr("likewise.runtime.cpu._OPENMP_USERS", ())
    assert let_idle_threads_sleep()
    assert not let_idle_threads_sleep()  # now it is the user's choice


def test_user_chooses_how_threads_wait(monkeypatch):
    monkeypatch.setenv("OMP_WAIT_POLICY", "ACTIVE")
    configure_cpu(Executor(kind="processes", workers=2))
    assert os.environ["OMP_WAIT_POLICY"] == "ACTIVE"


def test_variables_of_the_user_are_kept(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "5")
    monkeypatch.setenv("MALLOC_MMAP_THRESHOLD_", "1")
    monkeypatch.setenv("OMP_WAIT_POLICY", "ACTIVE")
    assert configure_cpu(Executor(kind="processes", workers=2)) == {}
    assert (os.environ["OMP_NUM_THREADS"], os.environ["MALLOC_MMAP_THRESHOLD_"]) == ("5", "1")
