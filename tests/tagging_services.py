"""Stand-ins for the label services, on 127.0.0.1, in their published wire formats; each can be made to misbehave."""

from __future__ import annotations

import base64
import gzip
import io
import json
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
from PIL import Image

KEY = "secret-key-7f3a91c5e2"
Labels = list[tuple[str, float]]


def brightness(picture: np.ndarray) -> Labels:
    """The default labels of the stand-ins: 'Thing' always, 'Bright' for a bright picture."""
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
        self.key, self.pause = KEY, 0.0
        self.calls, self.now, self.most_at_once = 0, 0, 0
        self.times: list[float] = []
        self.lock = threading.Lock()
        self.paths: list[str] = []
        self.headers: list[dict[str, str]] = []
        """Of every request over HTTP."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

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

    def _answer(self, mood: str, model: str, body: bytes) -> None:
        if mood == "dropped":  # not a word, and the line is closed
            self.close_connection = True
            return
        speak = next(speak for fits, speak in WIRES if fits(self))
        status, answer, headers = speak(self, mood, model, body)
        data = json.dumps(answer).encode()
        if mood == "broken":
            status, data = 500, b"<html>oops</html>"
        if mood in RAW:
            self._raw(RAW[mood])
            return
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

    def _raw(self, write: Callable[[_Handler], None]) -> None:
        self.close_connection = True
        with suppress(OSError):  # the client hangs up, which is what is tested
            write(self)


def _endless(handler: _Handler) -> None:
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n")
    while True:
        handler.wfile.write(b" " * 65536)


def _bomb(handler: _Handler) -> None:
    body = gzip.compress(b" " * 300_000_000, 9)
    head = f"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: {len(body)}\r\n\r\n"
    handler.wfile.write(head.encode() + body)


def _slow_body(handler: _Handler) -> None:
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
    _drip(handler)


def _slow_head(handler: _Handler) -> None:
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nX-Slow: ")
    _drip(handler)


def _drip(handler: _Handler) -> None:
    for _ in range(100):
        time.sleep(0.1)
        handler.wfile.write(b"x")


def _nested(handler: _Handler) -> None:
    body = b"[" * 100_000 + b"]" * 100_000
    handler.wfile.write(f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)


RAW: dict[str, Callable[[_Handler], None]] = {
    "endless": _endless, "bomb": _bomb, "slow body": _slow_body, "slow head": _slow_head, "nested": _nested,
}  # fmt: skip


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
    if mood == "expired" or key != handler.server.key:
        said = f"API key {key} expired. Please renew the API key."
        return 400, {"error": {"code": 400, "message": said, "status": "INVALID_ARGUMENT"}}, {}
    request = json.loads(body)["requests"][0]
    assert request["features"][0]["type"] == "LABEL_DETECTION"
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
    key = handler.headers["Ocp-Apim-Subscription-Key"]

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
    """A service without a client of its own: confidences in percent, and its own error format."""
    if mood == "busy":
        return 503, {"error": "later"}, {"Retry-After": "1"}
    given = handler.headers["X-Tagger-Auth"]
    if mood == "expired" or given != f"Bearer {handler.server.key}":
        return 403, {"error": f"{given} is not valid"}, {}
    if mood == "bad picture":
        return 200, {"problem": "not a picture"}, {}
    seen = handler.server.see(decoded(base64.b64decode(json.loads(body)["photo"]["data"])))
    return 200, {"by": {"model": model}, "tags": [{"word": name, "percent": 100 * v} for name, v in seen]}, {}


WIRES: list[tuple[Callable[[_Handler], bool], Callable[[_Handler, str, str, bytes], Said]]] = [
    (lambda h: h.headers["X-Amz-Target"] == "RekognitionService.DetectLabels", _rekognition),
    (lambda h: h.path.partition("?")[0] == "/v1/images:annotate", _google),
    (lambda h: h.path.startswith("/v2/users/clarifai/apps/main/models/") and h.path.endswith("/outputs"), _clarifai),
    (lambda h: h.path.startswith("/computervision/imageanalysis:analyze?api-version="), _azure),
    (lambda h: h.path == "/tag", _own),
]

NAMES = ("rekognition", "google-vision", "clarifai", "azure", "http")
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
