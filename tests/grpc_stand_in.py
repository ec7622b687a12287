"""What the stand-ins over real gRPC have in common: a server of 127.0.0.1, and the ways to fail."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import NoReturn

import grpc
from google.protobuf.any_pb2 import Any as Packed
from google.protobuf.duration_pb2 import Duration
from google.rpc.error_details_pb2 import RetryInfo
from google.rpc.status_pb2 import Status

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


@contextmanager
def serving(handler: grpc.GenericRpcHandler, secret: grpc.ServerCredentials | None = None) -> Iterator[int]:
    """Serve on a port of 127.0.0.1, over TLS where there are credentials for it."""
    server = grpc.server(ThreadPoolExecutor(8), handlers=[handler])
    here = "127.0.0.1:0"
    port = server.add_insecure_port(here) if secret is None else server.add_secure_port(here, secret)
    server.start()
    try:
        yield port
    finally:
        server.stop(None).wait()
