"""A stand-in for Google's ImageAnnotator over real gRPC, in the types of Google's own client; as moody as others."""

from __future__ import annotations

import grpc
from google.cloud.vision_v1 import (
    AnnotateImageResponse,
    BatchAnnotateImagesRequest,
    BatchAnnotateImagesResponse,
    Feature,
)

from grpc_stand_in import Moody, turn_away
from tagging_services import KEY, decoded


class Annotator(Moody):
    """Answers BatchAnnotateImages."""

    method = "/google.cloud.vision.v1.ImageAnnotator/BatchAnnotateImages"
    parsed = BatchAnnotateImagesRequest.deserialize

    def fail(self, mood: str, call: grpc.ServicerContext, given: str) -> None:
        if mood == "expired" or self.tagger.key != KEY:
            call.abort(grpc.StatusCode.UNAUTHENTICATED, f"The credentials are expired: {given}")
        if mood == "busy":
            turn_away(call, "Quota exceeded")

    def said(self, mood: str, model: str, asked: BatchAnnotateImagesRequest, given: str) -> bytes:
        return BatchAnnotateImagesResponse.serialize(self._annotated(mood, asked))

    def _annotated(self, mood: str, asked: BatchAnnotateImagesRequest) -> BatchAnnotateImagesResponse:
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
