"""What lines over gRPC have in common: where they lead, and that the patience is ours."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

ONE_TRY = (
    ("grpc.enable_retries", 0),
    ("grpc.max_send_message_length", -1),
    ("grpc.max_receive_message_length", -1),
)
"""Options of a channel that asks once, about a picture of any size."""
_NO_PROXY = ("grpc.enable_http_proxy", 0)  # what is on this machine is reached directly


def host_and_port(endpoint: str) -> str:
    """Return where a checked address leads; gRPC wants to be told the port."""
    parts = urlsplit(endpoint)
    return parts.netloc if parts.port else f"{parts.netloc}:{443 if parts.scheme == 'https' else 80}"


def plain_channel(grpc: Any, endpoint: str) -> Any:
    """Open a line without TLS, on this machine."""
    return grpc.insecure_channel(host_and_port(endpoint), options=[*ONE_TRY, _NO_PROXY])
