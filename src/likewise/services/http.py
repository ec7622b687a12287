"""Services over HTTP: an address, a key from the environment, one POST a picture, and what each status means."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar
from urllib.parse import urlsplit

from likewise.errors import ServiceError
from likewise.services.base import Service
from likewise.services.connection import Connections, Post, http_library
from likewise.services.retry import Refused, Transient, retry_after
from likewise.services.secret import check_address, check_variable, is_plain, key_from, scrubbed

LATER = frozenset({408, 425, 429, 500, 502, 503, 504})
KEY = frozenset({401, 403})
_DEEPEST = 64  # levels of a response; labels need five


@dataclass(kw_only=True)
class HttpService(Service):
    """A service that takes JSON (or a picture's bytes) over HTTP and returns JSON."""

    endpoint: str = ""
    """The address of the service."""
    key_env: str = ""
    """The environment variable that holds the key."""

    bad_picture: ClassVar[frozenset[int]] = frozenset({413, 415, 422})
    """Statuses that refer to the picture and not to the request."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.endpoint = check_address(self.endpoint)
        if self.key_env:
            check_variable(self.key_env)
        self._connections: Connections | None = None
        http_library()

    # ---- what a subclass defines

    def _post(self, image: bytes) -> Post:
        """Return the request for one picture."""
        raise NotImplementedError

    def _key_headers(self, key: str) -> dict[str, str]:
        """Return the header that carries the key."""
        raise NotImplementedError

    def _refusal(self, status: int, answer: Any) -> str:
        """Return why the service refuses this picture; empty when the request itself is wrong."""
        return f"status {status}" if status in self.bad_picture else ""

    # ---- shared

    @property
    def where(self) -> str:
        """The host that the pictures are sent to."""
        return urlsplit(self.endpoint).netloc

    def _secrets(self) -> list[str]:
        return [self._key()] if self.key_env else []

    def _key(self) -> str:
        return key_from(self.key_env, self.name)

    def _key_refused(self, summary: str) -> ServiceError:
        """Return the error of a refused key; ``summary`` no longer holds it."""
        fix = f"Set {self.key_env} to a valid key; responses that were received are kept."
        return ServiceError(f"{self.name} refused the key: {summary}", fix=fix)

    @contextmanager
    def _connected(self) -> Iterator[None]:
        """Open the connections; a service on this machine is reached without a proxy."""
        with Connections(self.name, timeout=self.timeout, direct=is_plain(self.endpoint)) as self._connections:
            yield

    def _ask(self, image: bytes) -> Any:
        post = self._post(image)
        headers = {**post.headers, **(self._key_headers(self._key()) if self.key_env else {})}
        assert self._connections is not None  # calls are made while connected
        response = self._connections.post(post, headers)
        return self._checked(response.status, response.headers, response.body)

    def _checked(self, status: int, headers: Mapping[str, str], body: bytes) -> Any:
        answer = parsed(body)
        if status in LATER:
            raise Transient(f"status {status}: {self._message(answer)}", wait=retry_after(headers))
        if 200 <= status < 300:
            if answer is None:
                raise Transient("the response is cut off or not JSON", charged=True)
            return answer
        if 300 <= status < 400:
            fix = "Set endpoint to the final address; redirects are not followed, since they would carry the key."
            raise ServiceError(f"{self.name} answered with a redirect (status {status})", fix=fix)
        reason = self._refusal(status, answer)
        if reason:
            raise Refused(reason, answer)
        summary = f"status {status}: {self._message(answer)}"
        if status in KEY or "api key" in summary.lower():
            raise self._key_refused(summary)
        raise ServiceError(
            f"{self.name} rejected the request: {summary}",
            fix="Check the model name and the options of the service in the plan.",
        )

    def _message(self, answer: Any) -> str:
        """Return the service's own message; the key is removed before the text is cut, or a part of it might stay."""
        return scrubbed(message_of(answer), self._secrets())[:200]


def parsed(body: bytes) -> Any:
    """Parse JSON; None for anything else, text that is nested too deeply included."""
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return answer if _is_shallow(answer) else None


def _is_shallow(answer: Any) -> bool:
    """Return whether no value is nested more than ``_DEEPEST`` levels deep; no recursion, which depth would break."""
    level = [answer]
    for _ in range(_DEEPEST):
        level = [
            inner
            for value in level
            if isinstance(value, dict | list)
            for inner in (value.values() if isinstance(value, dict) else value)
        ]
        if not level:
            return True
    return False


def message_of(answer: Any) -> str:
    """Find the message in an error response."""
    inner = answer.get("error", answer.get("status", answer)) if isinstance(answer, dict) else {}
    if isinstance(inner, dict):
        return str(inner.get("message") or inner.get("description") or "no message")
    return str(inner)
