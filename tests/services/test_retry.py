from __future__ import annotations

import threading
import time
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from likewise.errors import ServiceError
from likewise.services import retry
from likewise.services.retry import Transient, call_with_retry, retry_after


class Waits(threading.Event):
    """Notes how long it is waited for, and does not wait."""

    def __init__(self) -> None:
        super().__init__()
        self.pauses: list[float] = []

    def wait(self, timeout: float | None = None) -> bool:
        self.pauses.append(timeout or 0.0)
        return False


def failing(times: int, **later):
    left = [times]

    def call() -> str:
        if left[0]:
            left[0] -= 1
            raise Transient("busy", **later)
        return "done"

    return call


def test_pauses_double_with_jitter_up_to_a_bound():
    longest = [0.0] * 9
    for _ in range(300):
        stop = Waits()
        assert call_with_retry(failing(9), name="x", retries=9, wait=0.5, stop=stop) == "done"
        longest = [max(pair) for pair in zip(longest, stop.pauses, strict=True)]
    bounds = [min(0.5 * 2**attempt, 60.0) for attempt in range(9)]
    assert all(0.9 * bound < most <= bound for most, bound in zip(longest, bounds, strict=True))


def test_a_requested_pause_has_priority():
    stop = Waits()
    call_with_retry(failing(2, wait=7.0), name="x", retries=2, wait=0.5, stop=stop)
    assert stop.pauses == [7.0, 7.0]


def test_too_long_a_requested_pause_ends_the_run():
    with pytest.raises(ServiceError, match=r"wait 4000 seconds. Run the same command again"):
        call_with_retry(failing(1, wait=4000.0), name="x", retries=5, wait=0.5, stop=Waits())


def test_who_is_waiting_stops_at_once():
    stop = threading.Event()
    threading.Timer(0.05, stop.set).start()
    started = time.monotonic()
    with pytest.raises(retry.Stopped):
        call_with_retry(failing(1, wait=30.0), name="x", retries=5, wait=0.5, stop=stop)
    assert time.monotonic() - started < 10


def test_retry_after_is_seconds_or_a_date():
    date = format_datetime(datetime.now(UTC) + timedelta(seconds=90), usegmt=True)
    assert retry_after({"retry-after": "3"}) == 3.0
    assert 80 < (retry_after({"Retry-After": date}) or 0) <= 90
    assert retry_after({"retry-after": "soon"}) is None
    assert retry_after({}) is None
