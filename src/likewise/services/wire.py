"""Plain REST: one POST a picture, and what each kind of refusal means."""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, ClassVar
from urllib.parse import urlsplit

from likewise.errors import PluginError, ServiceError
from likewise.services.retry import Refused, Transient, retry_after
from likewise.services.secret import check_address, check_variable, key_from, scrubbed
from likewise.services.service import Service

LATER = frozenset({408, 425, 429, 500, 502, 503, 504})
KEY = frozenset({401, 403})


@dataclass(frozen=True)
class Post:
    """One request, without its key."""

    url: str
    headers: dict[str, str] = field(default_factory=dict)
    plain: Any = None
    """What is sent as JSON."""
    content: bytes | None = None


@dataclass(kw_only=True)
class Rest(Service):
    """A service that is spoken to in JSON over HTTP."""

    endpoint: str = ""
    """Where the service is."""
    key_env: str = ""
    """The environment variable that holds the key."""

    bad_picture: ClassVar[frozenset[int]] = frozenset({413, 415, 422})
    """The statuses that blame the picture and not the request."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.endpoint = check_address(self.endpoint)
        if self.key_env:
            check_variable(self.key_env)
        self._client: Any = None
        _httpx()

    @property
    def where(self) -> str:
        """The host that the pictures go to."""
        return urlsplit(self.endpoint).netloc

    def _post(self, image: bytes) -> Post:
        """Say what is sent about one picture."""
        raise NotImplementedError

    def _key_headers(self, key: str) -> dict[str, str]:
        """Say in which header the key goes."""
        raise NotImplementedError

    def _blames_picture(self, status: int, answer: Any) -> str:
        """Return why the service will not look at this picture; empty when the request itself is wrong."""
        return f"status {status}" if status in self.bad_picture else ""

    def _secrets(self) -> list[str]:
        return [self._key()] if self.key_env else []

    def _key(self) -> str:
        return key_from(self.key_env, self.name)

    @contextmanager
    def _connected(self) -> Iterator[None]:
        with _httpx().Client(timeout=self.timeout, follow_redirects=False) as self._client:  # it would carry the key on
            yield

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

    def _understood(self, status: int, headers: Any, body: bytes) -> Any:
        answer = _parsed(body)
        if status in LATER:
            raise Transient(f"status {status}: {self._words_of(answer)}", wait=retry_after(headers))
        if 200 <= status < 300:
            if answer is None:
                raise Transient("an answer that is cut off or not JSON", charged=True)
            return answer
        reason = self._blames_picture(status, answer)
        if reason:
            raise Refused(reason, answer)
        told = f"status {status}: {self._words_of(answer)}"
        if status in KEY or "api key" in told.lower():
            fix = f"Set {self.key_env} to a key that is valid; what was answered is kept."
            raise ServiceError(f"{self.name} accepts the key", got=told, fix=fix)
        raise ServiceError(f"{self.name} understands the request", got=told)

    def _words_of(self, answer: Any) -> str:
        """Find the service's own message in its error; the key is taken out before it is cut, or a part might stay."""
        return scrubbed(_message(answer), self._secrets())[:200]


def _httpx() -> Any:
    """Load the client, which is an extra."""
    try:
        return importlib.import_module("httpx2")
    except ImportError as error:
        fix = "pip install 'likewise[apis]'"
        raise PluginError("a service is spoken to through httpx2", got="no such package", fix=fix) from error


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
