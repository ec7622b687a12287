"""Retries: exponential backoff with jitter, or the pause that the service asks for."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TypeVar

from likewise.errors import ServiceError

T = TypeVar("T")
LONGEST = 60.0  # seconds: the longest pause of our own
LONGEST_REQUESTED = 600.0  # seconds: a longer Retry-After ends the run
_JITTER = random.Random()  # noqa: S311  # only spreads the calls of many threads; no result depends on it


class Transient(Exception):  # noqa: N818  # not an error of ours: try again
    """The same request may succeed later."""

    def __init__(self, said: str, *, wait: float | None = None, charged: bool = False) -> None:
        super().__init__(said)
        self.wait, self.charged = wait, charged


class Stopped(Exception):  # noqa: N818  # nothing went wrong here
    """Another request failed for good, so this one is not tried again."""


class Refused(Exception):  # noqa: N818  # a response, too
    """The service refuses this picture for good; that is a response."""

    def __init__(self, reason: str, answer: object = None) -> None:
        super().__init__(reason)
        self.answer = answer


def call_with_retry(call: Callable[[], T], *, name: str, retries: int, wait: float, stop: threading.Event) -> T:
    """Call until it succeeds; full jitter keeps many threads from returning at the same moment."""
    for attempt in range(retries + 1):
        try:
            return call()
        except Transient as later:
            if attempt == retries:
                fix = "Responses that were received are kept; run the same command again to continue."
                problem = f"{name} did not answer in {retries + 1} attempts: {later}"
                raise ServiceError(problem, fix=fix) from None
            pause = min(wait * 2**attempt, LONGEST) * _JITTER.random()
            if stop.wait(max(pause, _requested(later, name))):
                raise Stopped from None
    raise AssertionError("unreachable")


def _requested(later: Transient, name: str) -> float:
    if later.wait is not None and later.wait > LONGEST_REQUESTED:
        fix = "Run the same command again then; responses that were received are kept."
        raise ServiceError(f"{name} asks to wait {later.wait:.0f} seconds", fix=fix)
    return later.wait or 0.0


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Read the header Retry-After: seconds, or a date."""
    said = headers.get("retry-after", headers.get("Retry-After", ""))
    try:
        return max(float(said), 0.0)
    except ValueError:
        pass
    try:
        return max((parsedate_to_datetime(said) - datetime.now(UTC)).total_seconds(), 0.0)
    except (ValueError, TypeError):
        return None
