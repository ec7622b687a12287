"""A stand-in for a vision-language model, on 127.0.0.1, in the chat-completions wire format.

It decodes the pictures it is sent and answers by a fixed rule that sees pixels only. It can be made to misbehave.
"""

from __future__ import annotations

import base64
import io
import json
import math
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from PIL import Image

from benchmarks.stand_ins.server import Handler, StandIn, serving

KEY = "secret-key-7f3a91c5e2"
Rule = Callable[[str, list[np.ndarray]], str]
"""Answers a prompt about pictures with the text of a message."""


class ChatServer(StandIn):
    """One server; ``rule`` is what the model says, ``moods`` what goes wrong, one a request."""

    def __init__(self, rule: Rule) -> None:
        super().__init__(_Handler)
        self.rule, self.requests = rule, list[dict[str, Any]]()
        self.model, self.fingerprint = "stand-in-1", "fp_1"
        self.logprobs: Callable[[list[np.ndarray]], float] | None = None


class _Handler(Handler):
    server: ChatServer

    def respond(self) -> None:
        body = json.loads(self.body())
        with self.server.lock:
            mood = self.server.next_mood()
            self.server.requests.append({**body, "path": self.path, "auth": self.headers.get("Authorization")})
        self._answer(mood, body)

    def _answer(self, mood: str, body: dict[str, Any]) -> None:
        if mood == "throttled":
            return self.throttle()
        if mood == "filter":
            return self.send(400, {"error": {"code": "content_filter", "message": "content management policy"}})
        if mood == "html":
            return self.send_raw(200, b"<html>gateway</html>", "text/html")
        if mood == "cut":
            return self.send_raw(200, b'{"choices": [{"message"')
        if self.refused(KEY):
            return None
        return self.send(200, self._completion(mood, body))

    def _completion(self, mood: str, body: dict[str, Any]) -> dict[str, Any]:
        parts = body["messages"][-1]["content"]
        prompt = next(part["text"] for part in parts if part["type"] == "text")
        pictures = [_decoded(part["image_url"]["url"]) for part in parts if part["type"] == "image_url"]
        said = self.server.rule(prompt, pictures)
        texts = {
            "prose": f"Let me think. ```json\n{said}\n``` Hope that helps!",
            "gibberish": "purple seventeen maybe",
            "refusal": "I'm sorry, but I can't make judgments about people.",
            "length": said[:5],
        }
        message: dict[str, Any] = {"role": "assistant", "content": texts.get(mood, said)}
        choice: dict[str, Any] = {
            "index": 0,
            "message": message,
            "finish_reason": "length" if mood == "length" else "stop",
        }
        if mood == "field":
            message |= {"content": None, "refusal": "I cannot help with that."}
        if self.server.logprobs is not None and body.get("logprobs"):
            choice["logprobs"] = {"content": [_tokens(self.server.logprobs(pictures))]}
        model = "stand-in-2" if mood == "changed" else self.server.model
        return {"model": model, "system_fingerprint": self.server.fingerprint, "choices": [choice]}


def _tokens(yes: float) -> dict[str, Any]:
    return {
        "token": "yes",
        "top_logprobs": [{"token": " Yes", "logprob": math.log(yes)}, {"token": "no", "logprob": math.log(1 - yes)}],
    }


def _decoded(url: str) -> np.ndarray:
    head, _, data = url.partition(",")
    assert head in ("data:image/png;base64", "data:image/jpeg;base64"), head
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(data))).convert("RGB"))


def bright(picture: np.ndarray) -> float:
    """What the fixed rules see: mean brightness, 0 to 1."""
    return float(picture.mean()) / 255


def answers(value: object) -> str:
    """Write an answer as the prompt asks for it."""
    return json.dumps({"answer": value})


def coin(chance: float, *parts: object) -> bool:
    """Flip a coin that depends on its arguments only."""
    return random.Random(repr(parts)).random() < chance  # noqa: S311


@contextmanager
def chatting(rule: Rule) -> Iterator[ChatServer]:
    """Serve until the block ends."""
    with serving(ChatServer(rule)) as server:
        yield server
