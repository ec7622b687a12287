"""HTTP exchanges with a limit on the size of a response and on the time of the whole call.

A read timeout alone does not end a response that arrives one byte at a time, and a compressed response of a few
kilobytes can expand to gigabytes. So bodies are read raw, counted, and decompressed up to the limit; and a watchdog
shuts the socket when the deadline of the call has passed, whatever the exchange is waiting for.
"""

from __future__ import annotations

import os
import socket
import threading
import time
import zlib
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from likewise.errors import ServiceError
from likewise.runtime.optional import require
from likewise.services.retry import Transient

LARGEST_RESPONSE = 10_000_000
"""Bytes of a response, after decompression. Labels of one picture take a few kilobytes."""


@dataclass(frozen=True)
class Response:
    """A whole response."""

    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True)
class Post:
    """One request, without its key."""

    url: str
    headers: dict[str, str] = field(default_factory=dict)
    plain: Any = None
    """What is sent as JSON."""
    content: bytes | None = None


class Connections:
    """HTTP clients for several threads: one for each, so that a watchdog knows which socket a call uses."""

    def __init__(self, name: str, *, timeout: float, direct: bool) -> None:
        """``direct`` reaches a service on this machine without a proxy."""
        self._name, self._timeout, self._direct = name, timeout, direct
        self._local, self._all = threading.local(), ExitStack()
        self._lock = threading.Lock()

    def __enter__(self) -> Connections:
        return self

    def __exit__(self, *_: object) -> None:
        self._all.close()

    def post(self, post: Post, headers: Mapping[str, str]) -> Response:
        """Send one request and read the whole response; redirects are not followed, since they would carry the key."""
        httpx2 = http_library()
        begun = time.monotonic()
        with self._watched() as trace:
            try:
                with self._client().stream(
                    "POST", post.url, headers={**headers, "Accept-Encoding": "gzip"}, json=post.plain,
                    content=post.content, extensions={"trace": trace},
                ) as response:  # fmt: skip
                    body = self._body(response, begun)
                    return Response(response.status_code, response.headers, body)
            except httpx2.TransportError as error:
                if time.monotonic() - begun >= self._timeout or isinstance(error, httpx2.ReadTimeout):
                    raise self._late() from None
                if isinstance(error, httpx2.RemoteProtocolError | httpx2.ReadError):
                    raise Transient("the response was cut off", charged=True) from None
                raise Transient(f"no connection ({type(error).__name__})") from None

    def _client(self) -> Any:
        if not hasattr(self._local, "client"):
            made = http_library().Client(timeout=self._timeout, follow_redirects=False, trust_env=not self._direct)
            self._local.client, self._local.stream = made, None
            with self._lock:
                self._all.enter_context(made)
        return self._local.client

    def _body(self, response: Any, begun: float) -> bytes:
        parts, size = [], 0
        for part in response.iter_raw():
            size += len(part)
            if size > LARGEST_RESPONSE:
                raise self._too_large()
            if time.monotonic() - begun > self._timeout:
                raise self._late()
            parts.append(part)
        return self._decompressed(b"".join(parts), response.headers.get("content-encoding", "").strip().lower())

    def _decompressed(self, body: bytes, encoding: str) -> bytes:
        if encoding in ("", "identity"):
            return body
        if encoding not in ("gzip", "x-gzip", "deflate"):
            raise ServiceError(
                f"{self._name} sent a response with the unsupported encoding {encoding[:20]!r}",
                fix="Check the address; the service must send gzip, deflate or plain text.",
            )
        unpack = zlib.decompressobj(wbits=47 if encoding != "deflate" else zlib.MAX_WBITS)  # 47: gzip or zlib
        try:
            plain = unpack.decompress(body, LARGEST_RESPONSE + 1)
        except zlib.error:
            raise Transient("the response is not valid gzip", charged=True) from None
        if len(plain) > LARGEST_RESPONSE:
            raise self._too_large()
        if not unpack.eof:
            raise Transient("the response was cut off", charged=True)
        return plain

    @contextmanager
    def _watched(self) -> Iterator[Any]:
        """Shut the socket of this thread's call when its deadline has passed."""
        local, over = self._local, threading.Event()
        self._client()
        held: dict[str, Any] = {"stream": local.stream}

        def trace(event: str, info: Mapping[str, Any]) -> None:
            if event.endswith(("connect_tcp.complete", "start_tls.complete")):
                held["stream"] = local.stream = info["return_value"]

        def shut() -> None:
            if not over.is_set() and held["stream"] is not None:
                with suppress(OSError):  # a duplicate, so that the reader's own object is not touched
                    number = held["stream"].get_extra_info("socket").fileno()
                    with socket.socket(fileno=os.dup(number)) as twin:
                        twin.shutdown(socket.SHUT_RDWR)

        timer = threading.Timer(self._timeout, shut)
        timer.daemon = True
        timer.start()
        try:
            yield trace
        finally:
            over.set()
            timer.cancel()

    def _late(self) -> Transient:
        return Transient(f"no complete response within {self._timeout:g} s", charged=True)

    def _too_large(self) -> ServiceError:
        fix = "Check the endpoint; responses that were received are kept."
        return ServiceError(f"{self._name} sent a response of more than {LARGEST_RESPONSE:,} bytes", fix=fix)


def http_library() -> Any:
    """Load httpx2, which belongs to an extra."""
    return require("httpx2", "apis")
