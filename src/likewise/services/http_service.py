"""Any HTTP service, described in a TOML file: its address, the request, and where in the response the labels are."""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from likewise.errors import SpecError, some
from likewise.runtime.config import read_toml, validate
from likewise.services.connection import Post
from likewise.services.http import HttpService
from likewise.services.jsonpath import follow, parse
from likewise.services.labels import LabelResponse
from likewise.services.retry import Refused
from likewise.services.secret import check_address

_SECRET = re.compile(r"key|token|secret|auth|password|signature|^sig$", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True)
class Description:
    """The description of a service."""

    name: str
    """Its name in the report."""
    url: str
    """Where pictures are sent."""
    labels: str
    """The path to the labels, or to an object of label: confidence."""
    price: float
    """USD a picture; 0 for a free service. There is no default, so that no cost comes as a surprise."""
    confidences: str = ""
    """The path to the confidences, in the order of the labels."""
    version: str = ""
    """The path to the model version."""
    refused: str = ""
    """The path to a message that a response has only when the service refuses a picture."""
    language: str = ""
    """The language of the labels, e.g. en; nothing is sent by it."""
    scale: float = 1.0
    """What a confidence of 100 percent is in the response: 1 or 100."""
    threshold: float = 0.5
    """Confidence, of 1, from which a label is present."""
    key_env: str = ""
    """The environment variable with the key."""
    headers: dict[str, str] = field(default_factory=dict)
    """Headers; "{key}" stands for the key."""
    body: dict[str, Any] = field(default_factory=dict)
    """Sent as JSON; "{image}" stands for the picture in base64. Without a body the picture's bytes are sent."""

    def __post_init__(self) -> None:
        for path in (self.labels, self.confidences, self.version, self.refused):
            if path:
                parse(path)
        if self.body and "{image}" not in str(self.body):
            raise SpecError("The body has no place for the picture", fix='Write "{image}" where it goes.')
        self._check_keys()

    def _check_keys(self) -> None:
        check_address(self.url)
        query = [name for name, _ in parse_qsl(urlsplit(self.url).query) if _SECRET.search(name)]
        plain = [name for name, value in self.headers.items() if _SECRET.search(name) and "{key}" not in value]
        if query or plain or "{key}" in self.url + str(self.body):
            fix = 'Send it in a header, e.g. Authorization = "Bearer {key}", and name the variable as key_env.'
            where = some([*query, *plain]) or "{key} outside the headers"
            raise SpecError(f"The description seems to hold a key: {where}", fix=fix)
        if ("{key}" in str(self.headers)) != bool(self.key_env):
            raise SpecError(
                'key_env and "{key}" in a header need each other, and one is missing',
                fix="Add the missing one, or remove the other.",
            )


def read_description(path: Path) -> Description:
    """Read a description; unknown keys and wrong types are errors."""
    source = read_toml(path, error=SpecError)
    headers = source.plain.get("headers", {})
    if not isinstance(headers, dict) or not all(isinstance(value, str) for value in headers.values()):
        raise SpecError(
            f"{source.place(('headers',))}: headers are not texts",
            fix='Write e.g. headers = {Accept = "application/json"}.',
        )  # not repeated: one may be a key
    return validate(Description, source, error=SpecError)


@dataclass(kw_only=True)
class ConfiguredHttpService(HttpService):
    """The component ``http``: a service that a TOML file describes."""

    path: str
    """The file that describes it."""
    threshold: float | None = None  # type: ignore[assignment]  # the description's, unless given
    price: float | None = None  # type: ignore[assignment]  # the description's, unless given

    def __post_init__(self) -> None:
        described = self._description = read_description(Path(self.path))
        self.language = described.language
        self.name = described.name  # several such services may be audited together
        self.threshold = described.threshold if self.threshold is None else self.threshold
        self.price = described.price if self.price is None else self.price
        if self.key_env and not described.key_env:
            raise SpecError("key_env has no effect: the description sends no key", fix="Leave key_env out.")
        self.key_env = self.key_env or described.key_env
        self.endpoint = self.endpoint or described.url
        super().__post_init__()

    def _settings(self) -> dict[str, Any]:
        described = self._description
        open_ = {name: value for name, value in described.headers.items() if "{key}" not in value}
        return {"url": self.endpoint, "headers": open_, "body": described.body}

    def _key_headers(self, key: str) -> dict[str, str]:
        headers = self._description.headers
        return {name: value.replace("{key}", key) for name, value in headers.items() if "{key}" in value}

    def _post(self, image: bytes) -> Post:
        headers = dict(self._settings()["headers"])
        if not self._description.body:
            return Post(self.endpoint, {"Content-Type": f"image/{self.encoding}", **headers}, content=image)
        filled = _filled(self._description.body, base64.b64encode(image).decode())
        return Post(self.endpoint, headers, plain=filled)

    def _ask(self, image: bytes) -> Any:
        answer = super()._ask(image)
        if self._description.refused:
            try:
                reasons = follow(self._description.refused, answer)
            except KeyError:
                reasons = []
            if any(reasons):
                raise Refused(str(reasons[0]), answer)
        return answer

    def _read(self, answer: Any) -> LabelResponse:
        described = self._description
        labels = follow(described.labels, answer)
        pairs = _pairs(labels, follow(described.confidences, answer) if described.confidences else None)
        model = str(follow(described.version, answer)[0]) if described.version else ""
        return LabelResponse.of(pairs, model=model, scale=described.scale)


def _pairs(labels: list[Any], confidences: list[Any] | None) -> list[tuple[str, float]]:
    """Pair labels with confidences; without any, an object holds both, and plain words have confidence 1."""
    if confidences is not None:
        return list(zip(labels, confidences, strict=True))
    if len(labels) == 1 and isinstance(labels[0], dict):
        return list(labels[0].items())
    return [(label, 1.0) for label in labels]


def _filled(body: Any, image: str) -> Any:
    if isinstance(body, dict):
        return {name: _filled(value, image) for name, value in body.items()}
    if isinstance(body, list):
        return [_filled(value, image) for value in body]
    return body.replace("{image}", image) if isinstance(body, str) else body
