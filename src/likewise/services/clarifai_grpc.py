"""Clarifai through its own client: the concepts of one of its models, over gRPC.

Its answers are kept in the form that REST gives them, so that both ways to Clarifai are read by the same lines.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from likewise.errors import ServiceError
from likewise.services.clarifai import ClarifaiModel
from likewise.services.extras import part_of
from likewise.services.grpc_line import ONE_TRY, host_and_port, plain_channel
from likewise.services.retry import Transient, retry_after
from likewise.services.secret import check_host, hush, is_plain, scrubbed

_TURNED_AWAY = {"RESOURCE_EXHAUSTED", "UNAVAILABLE"}  # not charged for; whatever else went wrong may be
_LATER = {*_TURNED_AWAY, "ABORTED", "CANCELLED", "DATA_LOSS", "DEADLINE_EXCEEDED", "INTERNAL", "UNKNOWN"}
_KEY = {"PERMISSION_DENIED", "UNAUTHENTICATED"}
_DETAILS = "grpc-status-details-bin"


@dataclass(kw_only=True)
class ClarifaiGrpc(ClarifaiModel):
    """Concepts of a Clarifai model, asked for through Clarifai's own client."""

    name: str = field(init=False, default="clarifai-grpc")

    def __post_init__(self) -> None:
        super().__post_init__()
        check_host(self.endpoint, self.name)
        self._stub: Any = None
        _package("clarifai_grpc.grpc.api.service_pb2_grpc")

    @contextmanager
    def _connected(self) -> Iterator[None]:
        """Open one line for all threads."""
        with _channel(self.endpoint) as channel:
            self._stub = _stub(self.endpoint, channel)
            hush()  # again: levels may have been set since
            yield

    def _ask(self, image: bytes) -> Any:
        key = (("authorization", f"Key {self._key()}"),)
        try:
            answer = self._stub.PostModelOutputs(self._request(image), metadata=key, timeout=self.timeout)
        except _package("grpc").RpcError as error:
            raise self._failed(error) from None
        said = _package("google.protobuf.json_format").MessageToDict(
            answer, preserving_proto_field_name=True, use_integers_for_enums=True
        )
        return self._judged(said)

    def _request(self, image: bytes) -> Any:
        asked = {
            "user_app_id": {"user_id": self.user, "app_id": self.app},
            "model_id": self.model,
            "version_id": self.model_version,
            **self._body(image),
        }
        empty = _package("clarifai_grpc.grpc.api.service_pb2").PostModelOutputsRequest()
        return _package("google.protobuf.json_format").ParseDict(asked, empty)

    def _failed(self, error: Any) -> Exception:
        """Say what a call that has no answer at all means."""
        status = error.code().name
        told = scrubbed(f"{status}: {error.details()}", self._secrets())[:200]
        if status in _LATER:
            return Transient(told, wait=_asked_for(error), charged=status not in _TURNED_AWAY)
        if status in _KEY:
            return self._locked_out(told)
        return ServiceError(f"{self.name} understands the request", got=told)


def _channel(endpoint: str) -> Any:
    grpc = _package("grpc")
    if is_plain(endpoint):
        return plain_channel(grpc, endpoint)
    return grpc.secure_channel(host_and_port(endpoint), grpc.ssl_channel_credentials(), options=list(ONE_TRY))


def _stub(endpoint: str, channel: Any) -> Any:
    """Return the client on a channel of ours: those that it makes itself try five times, whatever one may say.

    It learns only by making one how answers over gRPC are read, so one is made, and closed before it is used.
    """
    own = _package("clarifai_grpc.channel.clarifai_channel").ClarifaiChannel
    own.get_grpc_channel(base=host_and_port(endpoint)).close()
    return _package("clarifai_grpc.grpc.api.service_pb2_grpc").V2Stub(channel)


def _asked_for(error: Any) -> float | None:
    """Return the pause that the service wishes for: in the error's details, or as REST says it."""
    said = dict([*(error.initial_metadata() or ()), *(error.trailing_metadata() or ())])
    details, wish = _package("google.rpc.status_pb2").Status(), _package("google.rpc.error_details_pb2").RetryInfo()
    with suppress(_package("google.protobuf.message").DecodeError):
        details.ParseFromString(said.get(_DETAILS, b""))
        for detail in details.details:
            if detail.Unpack(wish):
                return float(wish.retry_delay.seconds + wish.retry_delay.nanos / 1e9)
    return retry_after(said)


def _package(name: str) -> Any:
    """Load a part of Clarifai's client, which is an extra."""
    fix = "pip install 'likewise[clarifai]', or ask clarifai, which is the same by REST."
    return part_of(name, rule="clarifai-grpc is spoken to through clarifai-grpc", fix=fix)
