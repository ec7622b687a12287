"""A stand-in for an images endpoint, on 127.0.0.1: a prompt and a seed in, base64 out. It can be made to misbehave."""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from PIL import Image

from benchmarks.stand_ins.server import Handler, StandIn, serving

KEY = "planted-key-90d2e7b1"
Rule = Callable[[str, int], np.ndarray | None]
"""Draws a picture for a prompt and a seed; None is refused by the content filter."""


class ImagesServer(StandIn):
    """One server; ``rule`` is what the model draws, ``moods`` what goes wrong, one a request."""

    def __init__(self, rule: Rule) -> None:
        super().__init__(_Handler)
        self.rule, self.model, self.requests = rule, "painter-1", list[dict[str, Any]]()


class _Handler(Handler):
    server: ImagesServer

    def respond(self) -> None:
        body = json.loads(self.body())
        with self.server.lock:
            mood = self.server.next_mood()
            self.server.requests.append({**body, "path": self.path, "auth": self.headers.get("Authorization")})
        self._answer(mood, body)

    def _answer(self, mood: str, body: dict[str, Any]) -> None:
        broken = {
            "cut": b'{"data": [{"b64', "html": b"<html>gateway</html>", "text": b'{"data": [{"b64_json": "bm8="}]}',
            "url": b'{"data": [{"url": "https://images.example/1.png"}]}',
        }  # fmt: skip
        if mood == "throttled":
            return self.throttle()
        if mood in broken:
            return self.send_raw(200, broken[mood], "text/html" if mood == "html" else "application/json")
        if self.refused(KEY):
            return None
        with self.server.lock:  # networks behind a rule are not for several threads
            drawn = self.server.rule(body["prompt"], int(body.get("seed", 0)))
        if drawn is None or mood == "filter":
            return self.send(400, {"error": {"code": "content_policy_violation", "message": "rejected"}})
        image: dict[str, str] = {"b64_json": _packed(drawn, "JPEG" if mood == "jpeg" else "PNG")}
        if mood == "rewritten":
            image["revised_prompt"] = f"A detailed photo: {body['prompt']}"
        model = "painter-2" if mood == "changed" else self.server.model
        return self.send(200, {"created": 1, "model": model, "data": [image]})


def _packed(picture: np.ndarray, kind: str) -> str:
    buffer = io.BytesIO()
    Image.fromarray(picture).save(buffer, format=kind)
    return base64.b64encode(buffer.getvalue()).decode()


@contextmanager
def drawing(rule: Rule) -> Iterator[ImagesServer]:
    """Serve until the block ends."""
    with serving(ImagesServer(rule)) as server:
        yield server
