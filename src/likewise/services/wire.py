"""Answers over HTTP, and what each kind of refusal means; plain REST: one POST a picture."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, ClassVar

from likewise.errors import ServiceError
from likewise.services.extras import part_of
from likewise.services.keyed import Keyed
from likewise.services.retry import Refused, Transient, retry_after
from likewise.services.secret import is_plain, scrubbed

LATER = frozenset({408, 425, 429, 500, 502, 503, 504})
KEY = frozenset({401, 403})


@dataclass(kw_only=True)
class Http(Keyed):
    """A service that answers over HTTP, whoever carries the answer here."""

    bad_picture: ClassVar[frozenset[int]] = frozenset({413, 415, 422})
    """The statuses that blame the picture and not the request."""

    def _blames_picture(self, status: int, answer: Any) -> str:
        """Return why the service will not look at this picture; empty when the request itself is wrong."""
        return f"status {status}" if status in self.bad_picture else ""

    def _understood(self, status: int, headers: Any, body: bytes) -> Any:
        answer = _parsed(body)
        if status in LATER:
            raise Transient(f"status {status}: {self._words_of(answer)}", wait=retry_after(headers))
        if 200 <= status < 300:
            if answer is None:
                raise Transient("an answer that is cut off or not JSON", charged=True)
            return answer
        if 300 <= status < 400:
            raise ServiceError(f"{self.name} answers where it was asked", got="a redirect")
        reason = self._blames_picture(status, answer)
        if reason:
            raise Refused(reason, answer)
        told = f"status {status}: {self._words_of(answer)}"
        if status in KEY or "api key" in told.lower():
            raise self._locked_out(told)
        raise ServiceError(f"{self.name} understands the request", got=told)

    def _words_of(self, answer: Any) -> str:
        """Find the service's own message in its error; the key is taken out before it is cut, or a part might stay."""
        return scrubbed(_message(answer), self._secrets())[:200]


@dataclass(frozen=True)
class Post:
    """One request, without its key."""

    url: str
    headers: dict[str, str] = field(default_factory=dict)
    plain: Any = None
    """What is sent as JSON."""
    content: bytes | None = None


@dataclass(kw_only=True)
class Rest(Http):
    """A service that is spoken to in JSON over HTTP."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._client: Any = None
        _httpx()

    def _post(self, image: bytes) -> Post:
        """Say what is sent about one picture."""
        raise NotImplementedError

    def _key_headers(self, key: str) -> dict[str, str]:
        """Say in which header the key goes."""
        raise NotImplementedError

    @contextmanager
    def _connected(self) -> Iterator[None]:
        """Open one line for all threads; what is on this machine is reached without a proxy."""
        env = not is_plain(self.endpoint)
        with _httpx().Client(timeout=self.timeout, follow_redirects=False, trust_env=env) as self._client:
            yield  # a redirect would carry the key on

    def _ask(self, image: bytes) -> Any:
        httpx2 = _httpx()
        post = self._post(image)
        headers = {**post.headers, **(self._key_headers(self._key()) if self.key_env else {})}
        try:
            answer = self._client.post(post.url, headers=headers, json=post.plain, content=post.content)
        except httpx2.ReadTimeout:  # it may have been answered, and charged for
            raise Transient("no answer in time", charged=True) from None
        except httpx2.RemoteProtocolError:
            raise Transient("an answer that was cut off", charged=True) from None
        except httpx2.TransportError as error:
            raise Transient(f"no connection ({type(error).__name__})") from None
        return self._understood(answer.status_code, answer.headers, answer.content)


def _httpx() -> Any:
    """Load the client, which is an extra."""
    return part_of("httpx2", rule="a service is spoken to through httpx2", fix="pip install 'likewise[apis]'")


def _parsed(body: bytes) -> Any:
    try:
        return json.loads(body)
    except ValueError:
        return None


def _message(answer: Any) -> str:
    inner = answer.get("error", answer.get("status", answer)) if isinstance(answer, dict) else {}
    if isinstance(inner, dict):
        return str(inner.get("message") or inner.get("description") or "no message")
    return str(inner)
