"""Batches run on all cores, in order, with one torch thread each."""

from __future__ import annotations

import threading

import numpy as np
import pytest
import torch

from likewise.runtime import threads
from likewise.runtime.threads import cores, in_batches, parallel_map


@pytest.fixture
def two(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "2")


def test_results_come_in_order_and_from_two_threads(two):
    meet = threading.Barrier(2, timeout=20)  # two batches at once, or the barrier times out

    def work(part):
        meet.wait()
        return part.sum(), threading.get_ident()

    done = in_batches(work, np.arange(12, dtype=np.uint8), 3)
    assert [total for total, _ in done] == [3, 12, 21, 30]
    assert len({thread for _, thread in done}) == 2


def test_one_thread_runs_in_the_caller(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert set(parallel_map(lambda _: threading.get_ident(), range(4))) == {threading.get_ident()}


def test_nested_calls_do_not_deadlock(two):
    def outer(number):
        return sum(parallel_map(lambda inner: inner + number, range(3)))

    assert parallel_map(outer, range(6)) == [3 + 3 * number for number in range(6)]


def test_torch_uses_one_thread_in_a_batch_and_as_many_as_before_outside(two):
    before = torch.get_num_threads()
    assert set(parallel_map(lambda _: torch.get_num_threads(), range(8))) == {1}
    assert torch.get_num_threads() == before


def test_an_error_in_a_batch_is_an_error(two):
    with pytest.raises(ZeroDivisionError):
        parallel_map(lambda number: 1 // number, [1, 0])


@pytest.mark.parametrize(("given", "count"), [("3", 3), ("4,2", 4)])
def test_omp_num_threads_sets_the_number(monkeypatch, given, count):
    monkeypatch.setenv("OMP_NUM_THREADS", given)
    assert cores() == count


@pytest.mark.parametrize("given", ["", "0", "many"])
def test_default_is_a_thread_a_core(monkeypatch, given):
    monkeypatch.setenv("OMP_NUM_THREADS", given)
    monkeypatch.setattr(threads.os, "sched_getaffinity", lambda _: {0, 1, 2}, raising=False)
    assert cores() == 3
