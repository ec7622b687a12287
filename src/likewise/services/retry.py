"""Trying again: with growing, jittered pauses, or with the pause that the service asks for."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TypeVar

from likewise.errors import ServiceError

T = TypeVar("T")
LONGEST = 60.0  # seconds: no pause of our own is longer
LONGEST_ASKED = 600.0  # seconds: a service that asks for more is asked again by another run
_JITTER = random.Random()  # noqa: S311  # only spreads the calls of many threads; no result depends on it


class Transient(Exception):  # noqa: N818  # not an error of ours: it says "later"
    """The service may well answer the same request later."""

    def __init__(self, said: str, *, wait: float | None = None, charged: bool = False) -> None:
        super().__init__(said)
        self.wait, self.charged = wait, charged


class Stopped(Exception):  # noqa: N818  # nothing went wrong here
    """Another request failed for good, so this one is not tried again."""


class Refused(Exception):  # noqa: N818  # an answer, too
    """The service will not look at this picture, now or later; that is an answer."""

    def __init__(self, reason: str, answer: object = None) -> None:
        super().__init__(reason)
        self.answer = answer


def patiently(call: Callable[[], T], *, name: str, retries: int, wait: float, stop: threading.Event) -> T:
    """Call until it works; full jitter keeps many threads from coming back all at once."""
    for attempt in range(retries + 1):
        try:
            return call()
        except Transient as later:
            if attempt == retries:
                fix = "What was answered is kept; the same command goes on from there."
                raise ServiceError(f"{name} answers within {retries + 1} tries", got=str(later), fix=fix) from None
            pause = min(wait * 2**attempt, LONGEST) * _JITTER.random()
            if stop.wait(max(pause, _asked_for(later, name))):
                raise Stopped from None
    raise AssertionError("unreachable")


def _asked_for(later: Transient, name: str) -> float:
    if later.wait is not None and later.wait > LONGEST_ASKED:
        fix = "Run the same command again then; what was answered is kept."
        raise ServiceError(f"{name} is ready to answer", got=f"a request to wait {later.wait:.0f} seconds", fix=fix)
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
