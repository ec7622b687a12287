"""Images in responses: base64 in JSON, decoded with limits, because a response is untrusted."""

from __future__ import annotations

import base64
import binascii
import io
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image, UnidentifiedImageError

from likewise.errors import ServiceError
from likewise.services.retry import Transient

Picture = npt.NDArray[np.uint8]
POLICY = ("content_policy", "content_filter", "content management policy", "safety", "moderation")
"""Words by which an error says that a content filter refused."""
_LARGEST = 50_000_000  # pixels


def filtered(status: int, answer: Any) -> bool:
    """Return whether an error response is the refusal of a content filter."""
    return status in (400, 403, 451) and any(word in str(answer).casefold() for word in POLICY)


def image_bytes(answer: Any) -> bytes:
    """Return the first image of a response in the format of OpenAI's images endpoints."""
    try:
        first = answer["data"][0]
        if "b64_json" not in first and first.get("url"):
            raise ServiceError(
                "The endpoint sent the address of an image instead of the image, and foreign addresses are not opened",
                fix="Ask for base64: do not skip response_format, or choose a model that returns b64_json.",
            )
        return base64.b64decode(first["b64_json"], validate=True)
    except (KeyError, TypeError, IndexError, ValueError, AttributeError, binascii.Error):
        raise Transient("the response holds no image in base64", charged=True) from None


def decoded_image(content: bytes) -> Picture:
    """Decode an image, whatever media type its sender states."""
    try:
        with Image.open(io.BytesIO(content), formats=("PNG", "JPEG", "WEBP")) as image:
            if image.width * image.height > _LARGEST:
                raise ServiceError(
                    f"The endpoint sent an image of {image.width} x {image.height} pixels",
                    fix="Ask the endpoint for smaller images.",
                )
            return np.asarray(image.convert("RGB"))
    except (UnidentifiedImageError, OSError, ValueError, Image.DecompressionBombError):
        raise Transient("the response holds no image that can be decoded", charged=True) from None
