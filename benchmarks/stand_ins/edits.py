"""A stand-in for an images-edit endpoint, on 127.0.0.1: multipart in, base64 out. It can be made to misbehave."""

from __future__ import annotations

import base64
import io
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from email.parser import BytesParser
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
from PIL import Image

KEY = "planted-key-51c09ab7"
Rule = Callable[[str, np.ndarray], np.ndarray | None]
"""Edits a picture by an instruction; None is refused by the content filter."""


class EditsServer(ThreadingHTTPServer):
    """One server; ``rule`` is what the model draws, ``moods`` what goes wrong, one a request."""

    daemon_threads = True

    def __init__(self, rule: Rule) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.rule, self.moods, self.lock = rule, list[str](), threading.Lock()
        self.calls, self.model, self.forms = 0, "drawer-1", list[dict[str, str]]()

    @property
    def url(self) -> str:
        """The address that a client is given."""
        return f"http://127.0.0.1:{self.server_port}/v1"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize, disable_nagle_algorithm = 65536, True  # one packet an answer: two would wait for an acknowledgment
    server: EditsServer

    def log_message(self, *args: object) -> None:
        pass

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        form = _form(self.headers["Content-Type"], body)
        with self.server.lock:
            self.server.calls += 1
            mood = self.server.moods.pop(0) if self.server.moods else ""
            self.server.forms.append({**{k: v for k, v in form.items() if k != "image"}, "path": self.path})
        self._answer(mood, form)

    def _answer(self, mood: str, form: dict[str, Any]) -> None:
        if mood == "throttled":
            return self._send(429, {"error": {"message": "slow down"}}, retry="0")
        if mood == "cut":
            return self._raw(200, b'{"data": [{"b64', "application/json")
        if mood == "text":
            return self._send(200, {"data": [{"b64_json": base64.b64encode(b"not an image").decode()}]})
        if self.headers.get("Authorization") not in (None, f"Bearer {KEY}"):
            return self._send(401, {"error": {"message": f"bad key {self.headers['Authorization']}"}})
        picture = np.asarray(Image.open(io.BytesIO(form["image"])).convert("RGB"))
        with self.server.lock:  # networks behind a rule are not for several threads
            edited = self.server.rule(form["prompt"], picture)
        if edited is None or mood == "filter":
            return self._send(400, {"error": {"code": "content_policy_violation", "message": "rejected"}})
        if mood == "wide":
            edited = np.concatenate([edited, edited], axis=1)
        model = "drawer-2" if mood == "changed" else self.server.model
        kind = "JPEG" if mood == "jpeg" else "PNG"
        return self._send(200, {"model": model, "data": [{"b64_json": _packed(edited, kind)}]})

    def _send(self, status: int, plain: Any, retry: str = "") -> None:
        self._raw(status, json.dumps(plain).encode(), "application/json", retry)

    def _raw(self, status: int, content: bytes, kind: str, retry: str = "") -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        if retry:
            self.send_header("Retry-After", retry)
        self.end_headers()
        self.wfile.write(content)


def _form(kind: str, body: bytes) -> dict[str, Any]:
    """Parse the form with the library's own parser of MIME messages."""
    message = BytesParser().parsebytes(b"Content-Type: " + kind.encode() + b"\r\n\r\n" + body)
    form: dict[str, Any] = {}
    for part in message.walk():
        content, name = part.get_payload(decode=True), part.get_param("name", header="content-disposition")
        if isinstance(content, bytes) and isinstance(name, str):
            form[name] = content if name == "image" else content.decode()
    return form


def _packed(picture: np.ndarray, kind: str) -> str:
    buffer = io.BytesIO()
    Image.fromarray(picture).save(buffer, format=kind)
    return base64.b64encode(buffer.getvalue()).decode()


@contextmanager
def editing(rule: Rule) -> Iterator[EditsServer]:
    """Serve until the block ends."""
    server = EditsServer(rule)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
