"""Google Cloud Vision: label detection, by REST (``images:annotate``), for who has only an API key.

It names no model version in its answers; the model that was asked for ("builtin/stable") stands for it.
Who has a service account asks through Google's own client instead: ``google_cloud``.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass, field
from typing import Any, ClassVar

from likewise.errors import ServiceError
from likewise.services.reading import Reading
from likewise.services.retry import Refused, Transient
from likewise.services.wire import Post, Rest

_BAD_PICTURE, _LATER = {3}, {4, 8, 13, 14}  # canonical codes: invalid argument; deadline, exhausted, internal, away
LARGEST = 7_000_000  # bytes: a request of JSON has at most 10 MB, and base64 is a third longer


def judged(name: str, answer: Any) -> Any:
    """Return an answer in which nothing went wrong; a picture's own error comes inside of one that looks well."""
    problem = answer["responses"][0].get("error", {})
    code, told = problem.get("code", 0), str(problem.get("message", ""))
    if code in _BAD_PICTURE:
        raise Refused(told, answer)
    if code in _LATER:
        raise Transient(told)
    if code:
        raise ServiceError(f"{name} answers", got=f"code {code}")
    return answer


def labels_of(answer: Any, model: str) -> Reading:
    """Read the labels of the one picture that was asked about; a score of exactly 0 is left out of the wire format."""
    labels = answer["responses"][0].get("labelAnnotations", [])
    return Reading.of([(label["description"], label.get("score", 0.0)) for label in labels], model=model)


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
    language: str = field(init=False, default="en")  # labels are in English only
    largest: ClassVar[int] = LARGEST

    def _settings(self) -> dict[str, Any]:
        return {"most": self.most, "model": self.model}

    def _key_headers(self, key: str) -> dict[str, str]:
        return {"x-goog-api-key": key}

    def _post(self, image: bytes) -> Post:
        feature = {"type": "LABEL_DETECTION", "maxResults": self.most, "model": self.model}
        request = {"image": {"content": base64.b64encode(image).decode()}, "features": [feature]}
        return Post(f"{self.endpoint}/v1/images:annotate", plain={"requests": [request]})

    def _ask(self, image: bytes) -> Any:
        return judged(self.name, super()._ask(image))

    def _read(self, answer: Any) -> Reading:
        return labels_of(answer, self.model)
