"""Stand-ins for the label services, on 127.0.0.1, in their published wire formats; each can be told to misbehave."""

from __future__ import annotations

import base64
import io
import json
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module
from typing import Any
from urllib.parse import parse_qs, urlsplit

import numpy as np
from PIL import Image

KEY = "planted-key-7f3a91c5e2"
OVER_GRPC = {"google-cloud": ("google_stand_in", "Annotator"), "clarifai-grpc": ("clarifai_stand_in", "Outputs")}
Labels = list[tuple[str, float]]


def brightness(picture: np.ndarray) -> Labels:
    """What the stand-ins see unless told otherwise; 'Thing' always, 'Bright' for a bright picture."""
    bright = float(picture.mean()) / 255
    return [("Thing", 0.98)] + ([("Bright", round(bright, 4))] if bright >= 0.55 else [])


class Tagger(ThreadingHTTPServer):
    """One server that speaks for all services."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.see: Callable[[np.ndarray], Labels] = brightness
        self.moods: list[str] = []
        """What goes wrong, one a request, first come first served."""
        self.model = "3.0"
        self.models: list[str] = []
        """Versions of the next answers; then ``model``."""
        self.key, self.token, self.pause = KEY, "", 0.0
        self.calls, self.now, self.most_at_once = 0, 0, 0
        self.times: list[float] = []
        self.lock = threading.Lock()
        self.more = ExitStack()
        self.over_grpc: dict[str, tuple[Any, int]] = {}
        """The servers that speak gRPC for a service, and their ports."""
        self.paths: list[str] = []
        self.headers: list[dict[str, str]] = []
        """Of every request over HTTP."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def url_of(self, name: str) -> str:
        """The address at which this service is spoken to; gRPC has a server of its own, which starts when asked for."""
        if name not in OVER_GRPC:
            return self.url
        if name not in self.over_grpc:
            module, kind = OVER_GRPC[name]
            handler = getattr(import_module(module), kind)(self)
            self.over_grpc[name] = self.more.enter_context(import_module("grpc_stand_in").serving(handler))
        return f"http://127.0.0.1:{self.over_grpc[name][1]}"

    @contextmanager
    def turn(self) -> Iterator[tuple[str, str]]:
        """Count a request, and say what goes wrong with it and which model answers."""
        with self.lock:
            self.calls, self.now = self.calls + 1, self.now + 1
            self.times.append(time.monotonic())
            self.most_at_once = max(self.most_at_once, self.now)
            mood = self.moods.pop(0) if self.moods else ""
            model = self.models.pop(0) if self.models else self.model
        try:
            time.sleep(self.pause)
            yield mood, model
        finally:
            with self.lock:
                self.now -= 1


@contextmanager
def tagger(secret: ssl.SSLContext | None = None) -> Iterator[Tagger]:
    """Serve, over TLS where there is a certificate for it."""
    server = Tagger()
    if secret is not None:
        server.socket = secret.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=lambda: server.serve_forever(poll_interval=0.01), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.more.close()
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    server: Tagger
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        pass

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        with self.server.lock:
            self.server.paths.append(self.path)
            self.server.headers.append(dict(self.headers))
        with self.server.turn() as (mood, model):
            self._answer(mood, model, body)

    def do_GET(self) -> None:
        """Give a token, as the identity of a machine on Azure gets one; or none, repeating what it was asked with."""
        with self.server.turn() as (mood, _):
            asked = parse_qs(urlsplit(self.path).query)
            given = self.headers["X-IDENTITY-HEADER"]
            until, resource = str(int(time.time()) + 3600), asked["resource"][0]
            said = {
                "access_token": self.server.token,
                "expires_on": until,
                "resource": resource,
                "token_type": "Bearer",
            }
            status = 200
            if mood == "refused" or given != self.server.key:
                status, said = 400, {"statusCode": "400", "message": f"No identity for {given}"}
            data = json.dumps(said).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

    def _answer(self, mood: str, model: str, body: bytes) -> None:
        if mood == "dropped":  # not a word, and the line is closed
            self.close_connection = True
            return
        speak = next(speak for fits, speak in WIRES if fits(self))
        status, answer, headers = speak(self, mood, model, body)
        data = json.dumps(answer).encode()
        if mood == "broken":
            status, data = 500, b"<html>oops</html>"
        if mood == "half":
            data = data[: len(data) // 2]
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data[:-10] if mood == "cut" else data)
        if mood == "cut":  # fewer bytes than were promised
            self.close_connection = True


def decoded(image: bytes) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(image)).convert("RGB"))


Said = tuple[int, Any, dict[str, str]]


def _rekognition(handler: _Handler, mood: str, model: str, body: bytes) -> Said:
    def error(status: int, kind: str, message: str) -> Said:
        return status, {"__type": kind, "message": message}, {"Content-Type": "application/x-amz-json-1.1"}

    if mood == "busy":
        status, answer, headers = error(400, "ThrottlingException", "Rate exceeded")
        return status, answer, {**headers, "Retry-After": "1"}
    signed = handler.headers["Authorization"]
    if mood == "expired" or f"Credential={handler.server.key}/" not in signed:
        return error(400, "ExpiredTokenException", f"The security token in {signed} is expired")
    asked = json.loads(body)
    picture = decoded(base64.b64decode(asked["Image"]["Bytes"]))
    if mood == "bad picture":
        return error(400, "InvalidImageFormatException", "Request has invalid image format")
    labels = [
        {"Name": name, "Confidence": 100 * value, "Instances": [], "Parents": [], "Aliases": [], "Categories": []}
        for name, value in handler.server.see(picture)
        if 100 * value >= asked["MinConfidence"]
    ]
    return 200, {"Labels": labels, "LabelModelVersion": model}, {"Content-Type": "application/x-amz-json-1.1"}


def _google(handler: _Handler, mood: str, model: str, body: bytes) -> Said:
    if mood == "busy":
        error = {"code": 429, "message": "Quota exceeded", "status": "RESOURCE_EXHAUSTED"}
        return 429, {"error": error}, {"Retry-After": "1"}
    if mood == "moved":
        return 307, {}, {"Location": f"{handler.server.url}/v1/images:annotate"}
    key = handler.headers["x-goog-api-key"]
    if key is None and "gapic" in handler.headers["x-goog-api-client"]:  # Google's own client, without credentials
        if mood == "expired" or handler.server.key != KEY:
            return 403, {"error": {"code": 403, "message": "The caller is denied", "status": "PERMISSION_DENIED"}}, {}
    elif mood == "expired" or key != handler.server.key:
        said = f"API key {key} expired. Please renew the API key."
        return 400, {"error": {"code": 400, "message": said, "status": "INVALID_ARGUMENT"}}, {}
    request = json.loads(body)["requests"][0]
    assert request["features"][0]["type"] in ("LABEL_DETECTION", 4)  # Google's own client sends the number
    if mood == "bad picture":
        return 200, {"responses": [{"error": {"code": 3, "message": "Bad image data."}}]}, {}
    labels = [
        {"mid": f"/m/{name}", "description": name, "score": value, "topicality": value}
        for name, value in handler.server.see(decoded(base64.b64decode(request["image"]["content"])))
    ]
    return 200, {"responses": [{"labelAnnotations": labels} if labels else {}]}, {}


def _clarifai(handler: _Handler, mood: str, model: str, body: bytes) -> Said:
    def failed(status: int, code: int, words: str) -> Said:
        return status, {"status": {"code": code, "description": words}}, {"Retry-After": "1"} if status == 429 else {}

    codes = {"throttled": 11005, "loading": 21355, "issue": 98004, "no model": 21200}
    if mood in codes:  # inside of an answer that looks well
        return failed(200, codes[mood], mood)
    if mood == "busy":
        return failed(429, 11005, "Too many requests")
    given = handler.headers["Authorization"]
    if mood == "expired" or given != f"Key {handler.server.key}":
        return failed(401, 11102, f"Invalid authentication token: {given}")
    asked = json.loads(body)
    if mood == "bad picture":
        bad = {"status": {"code": 30300, "description": "Image decoding failed"}}
        return 400, {"status": {"code": 10020, "description": "Failure"}, "outputs": [bad]}, {}
    picture = decoded(base64.b64decode(asked["inputs"][0]["data"]["image"]["base64"]))
    concepts = [
        {"id": f"ai_{name}", "name": name, "value": value, "app_id": "main"}
        for name, value in handler.server.see(picture)
    ]
    output = {
        "status": {"code": 10000, "description": "Ok"},
        "model": {"id": handler.path.split("/")[7], "model_version": {"id": model}},
        "data": {"concepts": concepts} if concepts else {},
    }
    return 200, {"status": {"code": 10000, "description": "Ok"}, "outputs": [output]}, {}


def _azure(handler: _Handler, mood: str, model: str, body: bytes) -> Said:
    kind = {"Content-Type": "application/json; charset=utf-8"}
    key = handler.headers["Ocp-Apim-Subscription-Key"] or handler.headers["Authorization"].removeprefix("Bearer ")

    def failed(status: int, code: str, words: str, **more: Any) -> Said:
        headers = {**kind, "Retry-After": "1"} if status == 429 else kind
        return status, {"error": {"code": code, "message": words, **more}}, headers

    moods: dict[str, Said] = {
        "busy": failed(429, "429", "Requests have exceeded rate limit"),
        "expired": failed(401, "401", f"Access denied due to invalid subscription key {key}"),
        "forbidden": failed(403, "403", f"The key {key} may not do this"),
        "nonsense": failed(400, "InvalidRequest", f"No such language; {key}"),
        "bad picture": failed(400, "InvalidRequest", "Image is too small", innererror={"code": "InvalidImageSize"}),
        "moved": (307, {}, {"Location": f"{handler.server.url}{handler.path}"}),
        "empty": (200, {}, kind),
        "list": (200, ["tags"], kind),
    }
    if mood == "late":
        time.sleep(1.0)
    if key != handler.server.key and mood != "busy":
        mood = "expired"
    if mood in moods:
        return moods[mood]
    picture = decoded(body)
    tags = [{"name": name, "confidence": value} for name, value in handler.server.see(picture)]
    size = {"width": picture.shape[1], "height": picture.shape[0]}
    return 200, {"modelVersion": model, "metadata": size, "tagsResult": {"values": tags}}, kind


def _own(handler: _Handler, mood: str, model: str, body: bytes) -> Said:
    """A service that nobody has heard of; percentages, and a refusal of its own."""
    if mood == "busy":
        return 503, {"error": "later"}, {"Retry-After": "1"}
    given = handler.headers["X-Tagger-Auth"]
    if mood == "expired" or given != f"Bearer {handler.server.key}":
        return 403, {"error": f"{given} is not valid"}, {}
    if mood == "bad picture":
        return 200, {"problem": "not a picture"}, {}
    seen = handler.server.see(decoded(base64.b64decode(json.loads(body)["photo"]["data"])))
    return 200, {"by": {"model": model}, "tags": [{"word": name, "percent": 100 * v} for name, v in seen]}, {}


def _token(handler: _Handler, mood: str, model: str, body: bytes) -> Said:
    """Where a login is renewed; it refuses, and repeats what it was given."""
    said = {"error": "invalid_grant", "error_description": f"Token has been revoked: {body.decode()}"}
    return (400, said, {}) if mood == "expired" else (503, {"error": "temporarily_unavailable"}, {})


WIRES: list[tuple[Callable[[_Handler], bool], Callable[[_Handler, str, str, bytes], Said]]] = [
    (lambda h: h.headers["X-Amz-Target"] == "RekognitionService.DetectLabels", _rekognition),
    (lambda h: h.path.partition("?")[0] == "/v1/images:annotate", _google),
    (lambda h: h.path.startswith("/v2/users/clarifai/apps/main/models/") and h.path.endswith("/outputs"), _clarifai),
    (lambda h: h.path.startswith("/computervision/imageanalysis:analyze?api-version="), _azure),
    (lambda h: h.path == "/tag", _own),
    (lambda h: h.path == "/token", _token),
]

NAMES = (
    "rekognition",
    "google-vision",
    "google-cloud",
    "clarifai",
    "clarifai-grpc",
    "azure",
    "azure-client",
    "http",
)
OWN = """
name = "own-tagger"
url = "{url}/tag"
price = 0.002
threshold = 0.55
labels = "$.tags[*].word"
confidences = "$.tags[*].percent"
scale = 100
version = "$.by.model"
refused = "$.problem"
key_env = "TAGGER_KEY"
[headers]
X-Tagger-Auth = "Bearer {{key}}"
[body.photo]
data = "{{image}}"
"""
