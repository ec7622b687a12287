"""Clarifai: the concepts of one of its models, by REST (``models/.../outputs``)."""

from __future__ import annotations

import base64
from dataclasses import dataclass, field
from typing import Any

from likewise.services.reading import Reading
from likewise.services.retry import Refused, Transient
from likewise.services.wire import Post, Rest

_SUCCESS = 10000
_BAD_PICTURE = range(30000, 31000)  # the service's own codes for images it cannot take


@dataclass(kw_only=True)
class Clarifai(Rest):
    """Concepts of a Clarifai model."""

    endpoint: str = "https://api.clarifai.com"
    key_env: str = "CLARIFAI_PAT"
    price: float = 0.0012
    user: str = "clarifai"
    """Whose model it is."""
    app: str = "main"
    """In which of their apps."""
    model: str = "general-image-recognition"
    """Which model."""
    model_version: str = ""
    """Which version of it is asked; the newest unless said otherwise."""
    language: str = "en"
    """The language of the labels."""
    most: int = 200
    """How many concepts it is asked for at most."""

    name: str = field(init=False, default="clarifai")

    def _settings(self) -> dict[str, Any]:
        address = [self.user, self.app, self.model, self.model_version]
        return {"model": address, "language": self.language, "most": self.most, "least": round(self.threshold, 6)}

    def _key_headers(self, key: str) -> dict[str, str]:
        return {"Authorization": f"Key {key}"}

    def _post(self, image: bytes) -> Post:
        version = f"/versions/{self.model_version}" if self.model_version else ""
        path = f"v2/users/{self.user}/apps/{self.app}/models/{self.model}{version}/outputs"
        wanted = {"language": self.language, "max_concepts": self.most, "min_value": round(self.threshold, 6)}
        picture = {"data": {"image": {"base64": base64.b64encode(image).decode()}}}
        body = {"inputs": [picture], "model": {"output_info": {"output_config": wanted}}}
        return Post(f"{self.endpoint}/{path}", plain=body)

    def _blames_picture(self, status: int, answer: Any) -> str:
        problem = _status(answer)
        return str(problem.get("description", "")) if problem.get("code") in _BAD_PICTURE else ""

    def _ask(self, image: bytes) -> Any:
        answer = super()._ask(image)
        problem = _status(answer)
        if problem["code"] in _BAD_PICTURE:
            raise Refused(str(problem.get("description", "")), answer)
        if problem["code"] != _SUCCESS:
            raise Transient(f"code {problem['code']}: {problem.get('description', '')}")
        return answer

    def _read(self, answer: Any) -> Reading:
        output = answer["outputs"][0]
        concepts = output.get("data", {}).get("concepts", [])
        model = output["model"]["model_version"]["id"]
        return Reading.of([(concept["name"], concept["value"]) for concept in concepts], model=model)


def _status(answer: Any) -> dict[str, Any]:
    """Return what became of the picture, or of the whole request when it got no further."""
    outputs = answer.get("outputs") if isinstance(answer, dict) else None
    status: dict[str, Any] = (outputs[0] if outputs else answer or {}).get("status", {})
    return status
