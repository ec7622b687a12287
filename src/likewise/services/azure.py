"""Azure AI Vision: the tags of Image Analysis 4.0, by REST. The service is to be retired in 2028.

What is asked, and how an answer is judged and read, is the same through Microsoft's own client: ``azure_client``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from likewise.errors import SpecError
from likewise.services.reading import Reading
from likewise.services.wire import Http, Post, Rest


@dataclass(kw_only=True)
class AzureTags(Http):
    """Tags of Azure AI Vision, however it is asked."""

    endpoint: str = field()
    """The address of your own resource, e.g. https://my-resource.cognitiveservices.azure.com."""
    key_env: str = "AZURE_VISION_KEY"
    price: float = 0.001
    language: str = "en"
    """The language of the labels."""
    model_version: str = "latest"
    """Which version is asked."""

    def __post_init__(self) -> None:
        if not self.endpoint:
            fix = "It stands on the page of your resource."
            raise SpecError(f"{self.name} needs the endpoint of your own resource", got="none", fix=fix)
        super().__post_init__()

    def _blames_picture(self, status: int, answer: Any) -> str:
        error = answer.get("error", {}) if isinstance(answer, dict) else {}
        inner = error.get("innererror", {}).get("code", "")
        if "Image" in inner:  # InvalidImageSize, InvalidImageFormat, NotSupportedImage ...
            return f"{inner}: {error.get('message', '')}"
        return super()._blames_picture(status, answer)

    def _read(self, answer: Any) -> Reading:
        tags = answer["tagsResult"]["values"]
        return Reading.of([(tag["name"], tag["confidence"]) for tag in tags], model=answer["modelVersion"])


@dataclass(kw_only=True)
class Azure(AzureTags, Rest):
    """Tags of Azure AI Vision, by REST."""

    api_version: str = "2024-02-01"
    """The version of the interface."""

    name: str = field(init=False, default="azure")

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
