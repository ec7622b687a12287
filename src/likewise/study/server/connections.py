"""Limits on connections: how many, how long a request may take to arrive, how large its head may be.

Without them one client could hold every connection with half-sent requests, or fill the memory with headers. When a
limit is reached, the connection that has been idle longest is closed in favor of the new one.
"""

from __future__ import annotations

import asyncio
import contextlib
import resource
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

LARGEST_HEAD = 16 * 1024
REQUEST_SECONDS = 15.0
_SPARE_FILES = 128  # for the database, images and libraries
_EMPTY = b"\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
TOO_LARGE = b"HTTP/1.1 431 Request Header Fields Too Large" + _EMPTY
TOO_SLOW = b"HTTP/1.1 408 Request Timeout" + _EMPTY
TOO_MANY = b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 5" + _EMPTY


@dataclass
class Connections:
    """The open connections of a process, in all and by address."""

    most: int = 1000
    per_address: int = 250
    proxy: str = ""
    """The address of the reverse proxy; it has no limit of its own."""
    seconds: float = REQUEST_SECONDS
    """Within which a request must arrive in full."""
    open: int = 0
    by_address: dict[str, int] = field(default_factory=dict)
    idle: OrderedDict[LimitedProtocol, str] = field(default_factory=OrderedDict)
    """Connections that wait for a request or for the rest of it, the oldest first."""

    def admit(self, connection: LimitedProtocol, address: str) -> bool:
        """Count a new connection; make room by closing the one that has been idle longest."""
        crowded = address != self.proxy and self.by_address.get(address, 0) >= self.per_address
        if crowded or self.open >= self.most:
            oldest = next((c for c, a in self.idle.items() if not crowded or a == address), None)
            if oldest is None:
                return False
            oldest.drop()
        self.open += 1
        self.by_address[address] = self.by_address.get(address, 0) + 1
        self.idle[connection] = address
        return True

    def leave(self, connection: LimitedProtocol, address: str) -> None:
        """Forget a closed connection."""
        self.idle.pop(connection, None)
        self.open -= 1
        left = self.by_address.get(address, 1) - 1
        if left:
            self.by_address[address] = left
        else:
            self.by_address.pop(address, None)


class LimitedProtocol(HttpToolsProtocol):
    """Uvicorn's HTTP protocol with limits; ``limited`` makes a class of it for one server."""

    limits = Connections()

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._address, self._admitted = "", False
        self._received = self._head = 0
        self._head_complete = self._refused = False
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Admit the connection and start the clock for its first request."""
        super().connection_made(transport)
        peer = transport.get_extra_info("peername")
        self._address = str(peer[0]) if peer else "?"
        self._admitted = self.limits.admit(self, self._address)
        if self._admitted:
            self._await_request()
        else:
            self._refuse(TOO_MANY)

    def connection_lost(self, exc: Exception | None) -> None:
        """Free the connection's place."""
        self._forget()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Pass data on; a head that does not end within the limit is refused."""
        if self._refused:
            return
        if self._timer is None and self in self.limits.idle:
            self._await_request()  # the first bytes of another request on this connection
        self._received += len(data)
        super().data_received(data)
        if not self._head_complete and self._received > LARGEST_HEAD:
            self._refuse(TOO_LARGE)

    def on_url(self, url: bytes) -> None:
        """Count the bytes of the address."""
        self._head += len(url)
        if self._head <= LARGEST_HEAD:
            super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Count the bytes of a header."""
        self._head += len(name) + len(value) + 4
        if self._head <= LARGEST_HEAD:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Start the request unless its head is too large."""
        self._head_complete = True
        if self._head > LARGEST_HEAD:
            self._refuse(TOO_LARGE)
        if not self._refused:
            super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Pass the body on."""
        if not self._refused:
            super().on_body(body)

    def on_message_complete(self) -> None:
        """Stop the clock: the request has arrived."""
        if self._refused:
            return
        self._stop_clock()
        self.limits.idle.pop(self, None)
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Count the connection as idle again."""
        super().on_response_complete()
        if self._admitted and not self.transport.is_closing():
            self.limits.idle[self] = self._address

    def drop(self) -> None:
        """Close the connection at once, in favor of another one."""
        self._forget()
        self._refused = True
        self.transport.abort()

    def _await_request(self) -> None:
        self._received = self._head = 0
        self._head_complete = False
        self._timer = self.loop.call_later(self.limits.seconds, self._refuse, TOO_SLOW)

    def _stop_clock(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _forget(self) -> None:
        self._stop_clock()
        if self._admitted:
            self._admitted = False
            self.limits.leave(self, self._address)

    def _refuse(self, answer: bytes) -> None:
        self._refused = True
        if not self.transport.is_closing():
            if self.cycle is None or self.cycle.response_complete:
                self.transport.write(answer)
            self.transport.close()


def limited(limits: Connections) -> type[LimitedProtocol]:
    """Return the protocol class of a server with these limits."""
    return type("ServerProtocol", (LimitedProtocol,), {"limits": limits})


def open_files(wanted: int) -> int:
    """Raise the limit of open files as far as is allowed; return how many connections that leaves."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < wanted + _SPARE_FILES:
        more = wanted + _SPARE_FILES if hard == resource.RLIM_INFINITY else min(hard, wanted + _SPARE_FILES)
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (more, hard))
        soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return wanted if soft == resource.RLIM_INFINITY else max(16, min(wanted, soft - _SPARE_FILES))
