"""What stand-ins for services share: a server on 127.0.0.1, JSON responses, and failures on request."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeVar


class StandIn(ThreadingHTTPServer):
    """A server; ``moods`` is what goes wrong, one a request."""

    daemon_threads = True

    def __init__(self, handler: type[Handler]) -> None:
        super().__init__(("127.0.0.1", 0), handler)
        self.moods, self.calls, self.lock = list[str](), 0, threading.Lock()

    @property
    def url(self) -> str:
        """The address that a client is given."""
        return f"http://127.0.0.1:{self.server_port}/v1"

    def next_mood(self) -> str:
        """Count a request and return what goes wrong with it; call it with the lock."""
        self.calls += 1
        return self.moods.pop(0) if self.moods else ""


class Handler(BaseHTTPRequestHandler):
    """Sends JSON, or raw bytes; logs nothing."""

    protocol_version = "HTTP/1.1"
    wbufsize, disable_nagle_algorithm = 65536, True  # one packet an answer: two would wait for an acknowledgment

    def log_message(self, *args: object) -> None:
        """Log nothing."""

    def do_POST(self) -> None:
        """Leave the response to the stand-in."""
        self.respond()

    def respond(self) -> None:
        """Respond to one request."""
        raise NotImplementedError

    def body(self) -> bytes:
        """Return the bytes of the request."""
        return self.rfile.read(int(self.headers["Content-Length"]))

    def refused(self, key: str) -> bool:
        """Reject a wrong key; a request without one is accepted."""
        given = self.headers.get("Authorization")
        if given in (None, f"Bearer {key}"):
            return False
        self.send(401, {"error": {"message": f"bad key {given}"}})
        return True

    def throttle(self) -> None:
        """Ask the client to come back."""
        self.send(429, {"error": {"message": "slow down"}}, retry="0")

    def send(self, status: int, plain: Any, retry: str = "") -> None:
        """Send a value as JSON."""
        self.send_raw(status, json.dumps(plain).encode(), retry=retry)

    def send_raw(self, status: int, content: bytes, kind: str = "application/json", retry: str = "") -> None:
        """Send bytes as they are."""
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        if retry:
            self.send_header("Retry-After", retry)
        self.end_headers()
        self.wfile.write(content)


_Server = TypeVar("_Server", bound=StandIn)


@contextmanager
def serving(server: _Server) -> Iterator[_Server]:
    """Serve until the block ends."""
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
