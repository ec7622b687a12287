"""What the stand-ins over real gRPC have in common: a handler with moods, a server on 127.0.0.1, ways to fail."""

from __future__ import annotations

import threading
import time
from abc import abstractmethod
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, ClassVar, NoReturn

import grpc
from google.protobuf.any_pb2 import Any as Packed
from google.protobuf.duration_pb2 import Duration
from google.rpc.error_details_pb2 import RetryInfo
from google.rpc.status_pb2 import Status

from tagging_services import Tagger

STATUSES = {
    "busy": grpc.StatusCode.RESOURCE_EXHAUSTED,
    "broken": grpc.StatusCode.INTERNAL,
    "away": grpc.StatusCode.UNAVAILABLE,
    "forbidden": grpc.StatusCode.PERMISSION_DENIED,
    "nonsense": grpc.StatusCode.INVALID_ARGUMENT,
}


def turn_away(call: grpc.ServicerContext, message: str) -> NoReturn:
    """Be busy, with the pause that is wished for, as Google's conventions for gRPC say it."""
    status, detail = Status(code=8, message=message), Packed()
    detail.Pack(RetryInfo(retry_delay=Duration(seconds=1)))
    status.details.append(detail)
    call.set_trailing_metadata((("grpc-status-details-bin", status.SerializeToString()),))
    call.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, status.message)
    raise AssertionError("unreachable")


class Moody(grpc.GenericRpcHandler):
    """Answers one method; ``sent`` holds the authorization of every call, ``asked`` the requests."""

    method: ClassVar[str]
    parsed: ClassVar[Callable[[bytes], Any]]

    def __init__(self, tagger: Tagger) -> None:
        self.tagger = tagger
        self.sent: list[str] = []
        self.asked: list[Any] = []
        self.lock = threading.Lock()

    @abstractmethod
    def fail(self, mood: str, call: grpc.ServicerContext, given: str) -> None:
        """End the call where the mood is one that gives no answer."""

    @abstractmethod
    def said(self, mood: str, model: str, asked: Any, given: str) -> bytes:
        """Return an answer, in bytes, so that it can be cut off."""

    def service(self, details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler | None:
        if details.method != self.method:
            return None
        return grpc.unary_unary_rpc_method_handler(self._answered, request_deserializer=type(self).parsed)

    def _answered(self, asked: Any, call: grpc.ServicerContext) -> bytes:
        given = str(dict(call.invocation_metadata()).get("authorization", ""))
        with self.lock:
            self.sent.append(given)
            self.asked.append(asked)
        with self.tagger.turn() as (mood, model):
            if mood == "late":
                time.sleep(1.0)
            self.fail(mood, call, given)
            if mood in STATUSES:
                call.abort(STATUSES[mood], f"{mood}: {given}")
            data = self.said(mood, model, asked, given)
        return {"cut": data[:-10], "half": data[: len(data) // 2]}.get(mood, data)


@contextmanager
def serving(handler: Moody, secret: grpc.ServerCredentials | None = None) -> Iterator[tuple[Moody, int]]:
    """Serve on a port of 127.0.0.1, over TLS where there are credentials for it."""
    server = grpc.server(ThreadPoolExecutor(8), handlers=[handler])
    here = "127.0.0.1:0"
    port = server.add_insecure_port(here) if secret is None else server.add_secure_port(here, secret)
    server.start()
    try:
        yield handler, port
    finally:
        server.stop(None).wait()
