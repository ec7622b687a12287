"""A stand-in for an images-edit endpoint, on 127.0.0.1: multipart in, base64 out. It can be made to misbehave."""

from __future__ import annotations

import base64
import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from email.parser import BytesParser
from typing import Any

import numpy as np
from PIL import Image

from benchmarks.stand_ins.server import Handler, StandIn, serving

KEY = "planted-key-51c09ab7"
Rule = Callable[[str, np.ndarray], np.ndarray | None]
"""Edits a picture by an instruction; None is refused by the content filter."""


class EditsServer(StandIn):
    """One server; ``rule`` is what the model draws, ``moods`` what goes wrong, one a request."""

    def __init__(self, rule: Rule) -> None:
        super().__init__(_Handler)
        self.rule, self.model, self.forms = rule, "drawer-1", list[dict[str, str]]()
        self.kind = "PNG"


class _Handler(Handler):
    server: EditsServer

    def respond(self) -> None:
        body = self.body()
        form = _form(self.headers["Content-Type"], body)
        with self.server.lock:
            mood = self.server.next_mood()
            self.server.forms.append({**{k: v for k, v in form.items() if k != "image"}, "path": self.path})
        self._answer(mood, form)

    def _answer(self, mood: str, form: dict[str, Any]) -> None:
        if mood == "throttled":
            return self.throttle()
        if mood == "cut":
            return self.send_raw(200, b'{"data": [{"b64')
        if mood == "text":
            return self.send(200, {"data": [{"b64_json": base64.b64encode(b"not an image").decode()}]})
        if self.refused(KEY):
            return None
        picture = np.asarray(Image.open(io.BytesIO(form["image"])).convert("RGB"))
        with self.server.lock:  # networks behind a rule are not for several threads
            edited = self.server.rule(form["prompt"], picture)
        if edited is None or mood == "filter":
            return self.send(400, {"error": {"code": "content_policy_violation", "message": "rejected"}})
        if mood == "wide":
            edited = np.concatenate([edited, edited], axis=1)
        model = "drawer-2" if mood == "changed" else self.server.model
        kind = "JPEG" if mood == "jpeg" else self.server.kind
        return self.send(200, {"model": model, "data": [{"b64_json": _packed(edited, kind)}]})


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
    with serving(EditsServer(rule)) as server:
        yield server
