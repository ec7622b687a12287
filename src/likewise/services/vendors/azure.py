"""Azure AI Vision: the tags of Image Analysis 4.0, by REST. Microsoft retires the service in 2028."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from likewise.errors import SpecError
from likewise.services.connection import Post
from likewise.services.http import HttpService
from likewise.services.labels import LabelResponse


@dataclass(kw_only=True)
class Azure(HttpService):
    """Tags of Azure AI Vision."""

    endpoint: str = field()
    """The address of your own resource, e.g. https://my-resource.cognitiveservices.azure.com."""
    key_env: str = "AZURE_VISION_KEY"
    price: float = 0.001
    language: str = "en"
    """The language of the labels."""
    model_version: str = "latest"
    """The model version that is requested."""
    api_version: str = "2024-02-01"
    """The version of the interface."""

    name: str = field(init=False, default="azure")

    def __post_init__(self) -> None:
        if not self.endpoint:
            fix = "Set endpoint to the address on the page of your resource."
            raise SpecError(f"{self.name} has no endpoint", fix=fix)
        super().__post_init__()

    def _settings(self) -> dict[str, Any]:
        return {"language": self.language, "model version": self.model_version, "api": self.api_version}

    def _key_headers(self, key: str) -> dict[str, str]:
        return {"Ocp-Apim-Subscription-Key": key}

    def _post(self, image: bytes) -> Post:
        query = urlencode(
            {
                "api-version": self.api_version,
                "features": "tags",
                "language": self.language,
                "model-version": self.model_version,
            }
        )
        url = f"{self.endpoint}/computervision/imageanalysis:analyze?{query}"
        return Post(url, headers={"Content-Type": "application/octet-stream"}, content=image)

    def _refusal(self, status: int, answer: Any) -> str:
        error = answer.get("error", {}) if isinstance(answer, dict) else {}
        inner = error.get("innererror", {}).get("code", "")
        if "Image" in inner:  # InvalidImageSize, InvalidImageFormat, NotSupportedImage ...
            return f"{inner}: {error.get('message', '')}"
        return super()._refusal(status, answer)

    def _read(self, answer: Any) -> LabelResponse:
        tags = answer["tagsResult"]["values"]
        return LabelResponse.of([(tag["name"], tag["confidence"]) for tag in tags], model=answer["modelVersion"])
