"""Clarifai: the concepts of one of its models, by REST (``models/.../outputs``).

What is asked, and how an answer is judged and read, is the same over gRPC: ``clarifai_grpc``.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass, field
from typing import Any

from likewise.errors import ServiceError
from likewise.services.keyed import Keyed
from likewise.services.reading import Reading
from likewise.services.retry import Refused, Transient
from likewise.services.secret import scrubbed
from likewise.services.wire import Post, Rest

# The service's own codes, by the names that its client has for them.
_SUCCESS = 10000
_BAD_PICTURE = frozenset(
    {
        30002,  # INPUT_FAILED
        30101,  # INPUT_UNSUPPORTED_FORMAT
        30104,  # INPUT_INVALID_ARGUMENT
        30105,  # INPUT_OVER_LIMIT
        30300,  # ALL_INPUT_INVALID_BYTES
        47104,  # MP_IMAGE_DECODE_ERROR
        47106,  # MP_IMAGE_PROCESSING_ERROR
    }
)
_KEY = frozenset({11000, 11001, 11002, 11007, 11008, 11009, 11200})  # CONN_ACCOUNT_ISSUES ... CONN_AUTH_METHOD_DISABLED
_TURNED_AWAY = frozenset(  # not charged for; whatever else went wrong may be
    {
        10030,  # TRY_AGAIN
        11003,  # CONN_EXCEED_HOURLY_LIMIT
        11005,  # CONN_THROTTLED
        21351,  # MODEL_DEPLOYING
        21354,  # MODEL_BUSY_PLEASE_RETRY
        21355,  # MODEL_LOADING
        39997,  # REQUEST_DISABLED_FOR_MAINTENANCE
        40030,  # RPC_REQUEST_QUEUE_FULL
        40031,  # RPC_SERVER_UNAVAILABLE
    }
)
_LASTING = frozenset(
    {
        *(code for code in range(11000, 12000) if code not in _TURNED_AWAY),  # CONN_...: limits, bad requests
        21200,  # MODEL_DOES_NOT_EXIST
        21201,  # MODEL_PERMISSION_DENIED
        21202,  # MODEL_INVALID_ARGUMENT
        21203,  # MODEL_INVALID_REQUEST
        21353,  # MODEL_NOT_DEPLOYED
        39999,  # INPUT_INVALID_REQUEST
        40001,  # PREDICT_INVALID_REQUEST
        90400,  # BAD_REQUEST
    }
)


@dataclass(kw_only=True)
class ClarifaiModel(Keyed):
    """Concepts of a Clarifai model, however it is asked."""

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

    def _settings(self) -> dict[str, Any]:
        address = [self.user, self.app, self.model, self.model_version]
        return {"model": address, "language": self.language, "most": self.most, "least": round(self.threshold, 6)}

    def _body(self, image: bytes) -> dict[str, Any]:
        """Say what is asked about one picture, besides which model it is."""
        wanted = {"language": self.language, "max_concepts": self.most, "min_value": round(self.threshold, 6)}
        picture = {"data": {"image": {"base64": base64.b64encode(image).decode()}}}
        return {"inputs": [picture], "model": {"output_info": {"output_config": wanted}}}

    def _judged(self, answer: Any) -> Any:
        """Return an answer in which nothing went wrong; what is not known to last is tried again."""
        problem = _status(answer)
        code, words = problem["code"], str(problem.get("description", ""))
        if code == _SUCCESS:
            return answer
        if code in _BAD_PICTURE:
            raise Refused(words, answer)
        told = scrubbed(f"code {code}: {words}", self._secrets())[:200]
        if code in _KEY:
            raise self._locked_out(told)
        if code in _LASTING:
            raise ServiceError(f"{self.name} understands the request", got=told)
        raise Transient(told, charged=code not in _TURNED_AWAY)

    def _read(self, answer: Any) -> Reading:
        output = answer["outputs"][0]
        concepts = output.get("data", {}).get("concepts", [])
        model = output["model"]["model_version"]["id"]
        return Reading.of([(concept["name"], concept.get("value", 0.0)) for concept in concepts], model=model)


@dataclass(kw_only=True)
class Clarifai(ClarifaiModel, Rest):
    """Concepts of a Clarifai model, by REST."""

    name: str = field(init=False, default="clarifai")

    def _key_headers(self, key: str) -> dict[str, str]:
        return {"Authorization": f"Key {key}"}

    def _post(self, image: bytes) -> Post:
        version = f"/versions/{self.model_version}" if self.model_version else ""
        path = f"v2/users/{self.user}/apps/{self.app}/models/{self.model}{version}/outputs"
        return Post(f"{self.endpoint}/{path}", plain=self._body(image))

    def _blames_picture(self, status: int, answer: Any) -> str:
        problem = _status(answer)
        return str(problem.get("description", "")) if problem.get("code") in _BAD_PICTURE else ""

    def _ask(self, image: bytes) -> Any:
        return self._judged(super()._ask(image))


def _status(answer: Any) -> dict[str, Any]:
    """Return what became of the picture, or of the whole request when it got no further."""
    outputs = answer.get("outputs") if isinstance(answer, dict) else None
    status: dict[str, Any] = (outputs[0] if outputs else answer or {}).get("status", {})
    return status
