"""A stand-in for Google's ImageAnnotator over real gRPC, in the types of Google's own client; as moody as others."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import grpc
from google.cloud.vision_v1 import (
    AnnotateImageResponse,
    BatchAnnotateImagesRequest,
    BatchAnnotateImagesResponse,
    Feature,
)

from grpc_stand_in import STATUSES, serving, turn_away
from tagging_services import KEY, Tagger, decoded


class Annotator(grpc.GenericRpcHandler):
    """Answers BatchAnnotateImages; ``sent`` holds the authorization of every call."""

    def __init__(self, tagger: Tagger) -> None:
        self.tagger = tagger
        self.sent: list[str] = []
        self.lock = threading.Lock()

    def service(self, details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler | None:
        if details.method != "/google.cloud.vision.v1.ImageAnnotator/BatchAnnotateImages":
            return None
        return grpc.unary_unary_rpc_method_handler(
            self._answered,  # in bytes, so that an answer can be cut off
            request_deserializer=BatchAnnotateImagesRequest.deserialize,
        )

    def _answered(self, asked: BatchAnnotateImagesRequest, call: grpc.ServicerContext) -> bytes:
        with self.lock:
            self.sent.append(dict(call.invocation_metadata()).get("authorization", ""))
        with self.tagger.turn() as (mood, _):
            if mood == "late":
                time.sleep(1.0)
            self._fail(mood, call)
            data = BatchAnnotateImagesResponse.serialize(self._said(mood, asked))
        return {"cut": data[:-10], "half": data[: len(data) // 2]}.get(mood, data)

    def _fail(self, mood: str, call: grpc.ServicerContext) -> None:
        if mood == "expired" or self.tagger.key != KEY:
            call.abort(grpc.StatusCode.UNAUTHENTICATED, f"The credentials are expired: {self.sent[-1]}")
        if mood == "busy":
            turn_away(call, "Quota exceeded")
        if mood in STATUSES:
            call.abort(STATUSES[mood], f"{mood}: {self.sent[-1]}")

    def _said(self, mood: str, asked: BatchAnnotateImagesRequest) -> BatchAnnotateImagesResponse:
        if mood == "empty":
            return BatchAnnotateImagesResponse()
        (request,) = asked.requests
        (feature,) = request.features
        assert feature.type_ == Feature.Type.LABEL_DETECTION
        codes = {"bad picture": (3, "Bad image data."), "picture later": (14, "Later."), "picture denied": (7, "No.")}
        if mood in codes:
            code, message = codes[mood]
            return BatchAnnotateImagesResponse({"responses": [{"error": {"code": code, "message": message}}]})
        labels = [
            {"mid": f"/m/{name}", "description": name, "score": value, "topicality": value}
            for name, value in self.tagger.see(decoded(request.image.content))
        ]
        return BatchAnnotateImagesResponse(
            responses=[AnnotateImageResponse(label_annotations=labels[: feature.max_results])]
        )


@contextmanager
def annotator(tagger: Tagger, secret: grpc.ServerCredentials | None = None) -> Iterator[tuple[Annotator, int]]:
    """Serve on a port of 127.0.0.1; Tagger says what goes wrong."""
    handler = Annotator(tagger)
    with serving(handler, secret) as port:
        yield handler, port
