"""Batches run on every core, in order, and torch keeps to one thread in each."""

from __future__ import annotations

import threading

import numpy as np
import pytest
import torch

from likewise.models import batches
from likewise.models.batches import cores, in_batches, side_by_side


@pytest.fixture
def two(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "2")


def test_results_come_in_order_and_from_two_threads(two):
    meet = threading.Barrier(2, timeout=20)  # two batches at once, or nobody passes

    def work(part):
        meet.wait()
        return part.sum(), threading.get_ident()

    done = in_batches(work, np.arange(12, dtype=np.uint8), 3)
    assert [total for total, _ in done] == [3, 12, 21, 30]
    assert len({thread for _, thread in done}) == 2


def test_one_thread_works_here(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert set(side_by_side(lambda _: threading.get_ident(), range(4))) == {threading.get_ident()}


def test_work_inside_work_does_not_wait_for_itself(two):
    def outer(number):
        return sum(side_by_side(lambda inner: inner + number, range(3)))

    assert side_by_side(outer, range(6)) == [3 + 3 * number for number in range(6)]


def test_torch_uses_one_thread_in_a_batch_and_as_many_as_before_outside(two):
    before = torch.get_num_threads()
    assert set(side_by_side(lambda _: torch.get_num_threads(), range(8))) == {1}
    assert torch.get_num_threads() == before


def test_an_error_in_a_batch_is_an_error(two):
    with pytest.raises(ZeroDivisionError):
        side_by_side(lambda number: 1 // number, [1, 0])


@pytest.mark.parametrize(("given", "count"), [("3", 3), ("4,2", 4)])
def test_the_user_says_how_many_threads(monkeypatch, given, count):
    monkeypatch.setenv("OMP_NUM_THREADS", given)
    assert cores() == count


@pytest.mark.parametrize("given", ["", "0", "many"])
def test_otherwise_there_is_a_thread_a_core(monkeypatch, given):
    monkeypatch.setenv("OMP_NUM_THREADS", given)
    monkeypatch.setattr(batches.os, "sched_getaffinity", lambda _: {0, 1, 2}, raising=False)
    assert cores() == 3
