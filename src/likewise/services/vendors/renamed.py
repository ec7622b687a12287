"""Component names of the first release that now stand for another component, with a warning.

Each vendor had two clients. One transport each is kept: plain REST.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

from likewise.errors import LikewiseWarning, SpecError
from likewise.services.vendors.azure import Azure
from likewise.services.vendors.clarifai import Clarifai
from likewise.services.vendors.google import GoogleVision


def _warn(old: str, new: str, key: str) -> None:
    message = f"The classifier {old!r} is now {new!r}; it takes the key from {key}. Rename it in the plan."
    warnings.warn(message, LikewiseWarning, stacklevel=5)


@dataclass(kw_only=True)
class AzureClient(Azure):
    """Azure under its former name."""

    credential: str = "key"
    """Only "key": a login by Microsoft Entra ID went through Microsoft's client, which is no longer used."""

    def __post_init__(self) -> None:
        if self.credential != "key":
            fix = "Use a key of the resource in AZURE_VISION_KEY, and the classifier 'azure'."
            raise SpecError("azure-client no longer logs in by Microsoft Entra ID", fix=fix)
        _warn("azure-client", "azure", "AZURE_VISION_KEY")
        super().__post_init__()


@dataclass(kw_only=True)
class ClarifaiGrpc(Clarifai):
    """Clarifai under its former name."""

    def __post_init__(self) -> None:
        _warn("clarifai-grpc", "clarifai", "CLARIFAI_PAT")
        super().__post_init__()


@dataclass(kw_only=True)
class GoogleCloud(GoogleVision):
    """Google Cloud Vision under its former name."""

    transport: str = "rest"
    """Has no effect: requests go by REST."""

    def __post_init__(self) -> None:
        _warn("google-cloud", "google-vision", "GOOGLE_API_KEY")
        super().__post_init__()
