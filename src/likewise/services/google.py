"""Google Cloud Vision: label detection, by REST (``images:annotate``).

It names no model version in its answers; the model that was asked for ("builtin/stable") stands for it.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass, field
from typing import Any

from likewise.errors import ServiceError
from likewise.services.reading import Reading
from likewise.services.retry import Refused, Transient
from likewise.services.wire import Post, Rest

_BAD_PICTURE, _LATER = {3}, {4, 8, 13, 14}  # canonical codes: invalid argument; deadline, exhausted, internal, away


@dataclass(kw_only=True)
class GoogleVision(Rest):
    """Labels of Google Cloud Vision."""

    endpoint: str = "https://vision.googleapis.com"
    key_env: str = "GOOGLE_API_KEY"
    price: float = 0.0015
    most: int = 50
    """How many labels it is asked for at most."""
    model: str = "builtin/stable"
    """Which of its models answers: builtin/stable or builtin/latest."""

    name: str = field(init=False, default="google-vision")

    def _settings(self) -> dict[str, Any]:
        return {"most": self.most, "model": self.model}

    def _key_headers(self, key: str) -> dict[str, str]:
        return {"x-goog-api-key": key}

    def _post(self, image: bytes) -> Post:
        feature = {"type": "LABEL_DETECTION", "maxResults": self.most, "model": self.model}
        request = {"image": {"content": base64.b64encode(image).decode()}, "features": [feature]}
        return Post(f"{self.endpoint}/v1/images:annotate", plain={"requests": [request]})

    def _ask(self, image: bytes) -> Any:
        answer = super()._ask(image)
        problem = answer["responses"][0].get("error", {})  # a picture's own error comes with status 200
        code, told = problem.get("code", 0), str(problem.get("message", ""))
        if code in _BAD_PICTURE:
            raise Refused(told, answer)
        if code in _LATER:
            raise Transient(told)
        if code:
            raise ServiceError(f"{self.name} answers", got=f"code {code}")
        return answer

    def _read(self, answer: Any) -> Reading:
        labels = answer["responses"][0].get("labelAnnotations", [])
        return Reading.of([(label["description"], label["score"]) for label in labels], model=self.model)
