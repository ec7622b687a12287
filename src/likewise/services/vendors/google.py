"""Google Cloud Vision: label detection, by REST (``images:annotate``) with an API key.

Its responses state no model version; the requested model ("builtin/stable") stands for it.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass, field
from typing import Any, ClassVar

from likewise.errors import ServiceError
from likewise.services.connection import Post
from likewise.services.http import HttpService
from likewise.services.labels import LabelResponse
from likewise.services.retry import Refused, Transient

_BAD_PICTURE, _LATER = {3}, {4, 8, 13, 14}  # canonical codes: invalid argument; deadline, exhausted, internal, away


@dataclass(kw_only=True)
class GoogleVision(HttpService):
    """Labels of Google Cloud Vision."""

    endpoint: str = "https://vision.googleapis.com"
    key_env: str = "GOOGLE_API_KEY"
    price: float = 0.0015
    most: int = 50
    """Labels that are requested at most."""
    model: str = "builtin/stable"
    """The requested model: builtin/stable or builtin/latest."""

    name: str = field(init=False, default="google-vision")
    language: str = field(init=False, default="en")  # labels are in English only
    largest: ClassVar[int] = 7_000_000  # a request of JSON has at most 10 MB, and base64 is a third longer

    def _settings(self) -> dict[str, Any]:
        return {"most": self.most, "model": self.model}

    def _key_headers(self, key: str) -> dict[str, str]:
        return {"x-goog-api-key": key}

    def _post(self, image: bytes) -> Post:
        feature = {"type": "LABEL_DETECTION", "maxResults": self.most, "model": self.model}
        request = {"image": {"content": base64.b64encode(image).decode()}, "features": [feature]}
        return Post(f"{self.endpoint}/v1/images:annotate", plain={"requests": [request]})

    def _ask(self, image: bytes) -> Any:
        """Return the response; a picture's own error is inside of one whose status is 200."""
        answer = super()._ask(image)
        problem = answer["responses"][0].get("error", {})
        code, text = problem.get("code", 0), str(problem.get("message", ""))
        if code in _BAD_PICTURE:
            raise Refused(text, answer)
        if code in _LATER:
            raise Transient(text)
        if code:
            raise ServiceError(
                f"{self.name} returned error code {code} for a picture",
                fix="Check that the API is enabled for the key.",
            )
        return answer

    def _read(self, answer: Any) -> LabelResponse:
        """Read the labels; a score of exactly 0 is left out of the wire format."""
        labels = answer["responses"][0].get("labelAnnotations", [])
        pairs = [(label["description"], label.get("score", 0.0)) for label in labels]
        return LabelResponse.of(pairs, model=self.model)
