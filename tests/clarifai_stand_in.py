"""A stand-in for Clarifai's V2 over real gRPC, in the types of Clarifai's own client; as moody as others."""

from __future__ import annotations

import grpc
from clarifai_grpc.grpc.api.resources_pb2 import Concept, Data, Model, ModelVersion, Output
from clarifai_grpc.grpc.api.service_pb2 import MultiOutputResponse, PostModelOutputsRequest
from clarifai_grpc.grpc.api.status import status_code_pb2 as codes
from clarifai_grpc.grpc.api.status.status_pb2 import Status

from grpc_stand_in import Moody, turn_away
from tagging_services import decoded

OF_THE_REQUEST = {
    "throttled": codes.CONN_THROTTLED,
    "loading": codes.MODEL_LOADING,
    "issue": codes.INTERNAL_SERVER_ISSUE,
    "no model": codes.MODEL_DOES_NOT_EXIST,
    "spent": codes.CONN_EXCEED_MONTHLY_LIMIT,
}
"""Clarifai says most of what goes wrong inside of an answer over a line that is well."""


class Outputs(Moody):
    """Answers PostModelOutputs."""

    method = "/clarifai.api.V2/PostModelOutputs"
    parsed = PostModelOutputsRequest.FromString

    def fail(self, mood: str, call: grpc.ServicerContext, given: str) -> None:
        if mood == "busy":
            turn_away(call, "Too many requests")
        if mood == "wait":  # as a gateway passes it on
            call.set_trailing_metadata((("retry-after", "1"),))
            call.abort(grpc.StatusCode.UNAVAILABLE, "later")
        if mood == "garbled":
            call.set_trailing_metadata((("grpc-status-details-bin", b"\xff\xff"),))
            call.abort(grpc.StatusCode.UNAVAILABLE, "later")

    def said(self, mood: str, model: str, asked: PostModelOutputsRequest, given: str) -> bytes:
        return self._outputs(mood, model, asked, given).SerializeToString()

    def _outputs(self, mood: str, model: str, asked: PostModelOutputsRequest, given: str) -> MultiOutputResponse:
        if mood == "empty":
            return MultiOutputResponse()
        if mood == "expired" or given != f"Key {self.tagger.key}":
            return _failed(codes.CONN_KEY_INVALID, f"Invalid API key or Invalid API key/application pair: {given}")
        if mood in OF_THE_REQUEST:
            return _failed(OF_THE_REQUEST[mood], f"{mood}: {given}")
        (picture,) = asked.inputs
        if mood == "bad picture":
            bad = Output(status=Status(code=codes.ALL_INPUT_INVALID_BYTES, description="Image decoding failed"))
            return MultiOutputResponse(status=Status(code=codes.FAILURE, description="Failure"), outputs=[bad])
        wanted = asked.model.output_info.output_config
        seen = self.tagger.see(decoded(picture.data.image.base64))
        concepts = [Concept(id=f"ai_{name}", name=name, value=value, app_id="main") for name, value in seen]
        well = Status(code=codes.SUCCESS, description="Ok")
        answered = Model(id=asked.model_id, model_version=ModelVersion(id=model))
        data = Data(concepts=concepts[: wanted.max_concepts])
        return MultiOutputResponse(status=well, outputs=[Output(status=well, model=answered, data=data)])


def _failed(code: int, words: str) -> MultiOutputResponse:
    return MultiOutputResponse(status=Status(code=code, description=words))
