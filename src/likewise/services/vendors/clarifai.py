"""Clarifai: the concepts of one of its models, by REST (``models/.../outputs``)."""

from __future__ import annotations

import base64
from dataclasses import dataclass, field
from typing import Any

from likewise.errors import ServiceError
from likewise.services.connection import Post
from likewise.services.http import HttpService
from likewise.services.labels import LabelResponse
from likewise.services.retry import Refused, Transient
from likewise.services.secret import scrubbed

# The service's own codes, with the names that its client gives them.
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
_TURNED_AWAY = frozenset(  # not charged; other errors may be
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
class Clarifai(HttpService):
    """Concepts of a Clarifai model."""

    endpoint: str = "https://api.clarifai.com"
    key_env: str = "CLARIFAI_PAT"
    price: float = 0.0012
    user: str = "clarifai"
    """The owner of the model."""
    app: str = "main"
    """The owner's app that holds it."""
    model: str = "general-image-recognition"
    """The model."""
    model_version: str = ""
    """The requested version; empty is the newest."""
    language: str = "en"
    """The language of the labels."""
    most: int = 200
    """Concepts that are requested at most."""

    name: str = field(init=False, default="clarifai")

    def _settings(self) -> dict[str, Any]:
        address = [self.user, self.app, self.model, self.model_version]
        return {"model": address, "language": self.language, "most": self.most, "least": round(self.threshold, 6)}

    def _key_headers(self, key: str) -> dict[str, str]:
        return {"Authorization": f"Key {key}"}

    def _post(self, image: bytes) -> Post:
        wanted = {"language": self.language, "max_concepts": self.most, "min_value": round(self.threshold, 6)}
        picture = {"data": {"image": {"base64": base64.b64encode(image).decode()}}}
        version = f"/versions/{self.model_version}" if self.model_version else ""
        path = f"v2/users/{self.user}/apps/{self.app}/models/{self.model}{version}/outputs"
        body = {"inputs": [picture], "model": {"output_info": {"output_config": wanted}}}
        return Post(f"{self.endpoint}/{path}", plain=body)

    def _refusal(self, status: int, answer: Any) -> str:
        problem = _status(answer)
        return str(problem.get("description", "")) if problem.get("code") in _BAD_PICTURE else ""

    def _ask(self, image: bytes) -> Any:
        """Return the response; most errors are a code inside of it. A code that is not known is tried again."""
        answer = super()._ask(image)
        problem = _status(answer)
        code, words = problem["code"], str(problem.get("description", ""))
        if code == _SUCCESS:
            return answer
        if code in _BAD_PICTURE:
            raise Refused(words, answer)
        message = scrubbed(f"code {code}: {words}", self._secrets())[:200]
        if code in _KEY:
            raise self._key_refused(message)
        if code in _LASTING:
            raise ServiceError(
                f"{self.name} rejected the request: {message}", fix="Check the model and the key at the vendor."
            )
        raise Transient(message, charged=code not in _TURNED_AWAY)

    def _read(self, answer: Any) -> LabelResponse:
        output = answer["outputs"][0]
        concepts = output.get("data", {}).get("concepts", [])
        model = output["model"]["model_version"]["id"]
        return LabelResponse.of([(concept["name"], concept.get("value", 0.0)) for concept in concepts], model=model)


def _status(answer: Any) -> dict[str, Any]:
    """Return the status of the picture, or of the whole request when it got no further."""
    outputs = answer.get("outputs") if isinstance(answer, dict) else None
    status: dict[str, Any] = (outputs[0] if outputs else answer or {}).get("status", {})
    return status
