"""Any HTTP service, described in a TOML file: where it is, what is sent, and where in the answer the labels are."""

from __future__ import annotations

import base64
import re
import tomllib
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from likewise.errors import SpecError, nearest, some
from likewise.services.jsonpath import follow, parse
from likewise.services.reading import Reading
from likewise.services.retry import Refused
from likewise.services.secret import check_address
from likewise.services.wire import Post, Rest

_SECRET = re.compile(r"key|token|secret|auth|password|signature|^sig$", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True)
class Description:
    """What the file says."""

    name: str
    """What the service is called in the report."""
    url: str
    """Where pictures are sent."""
    labels: str
    """The path to the labels, or to an object of label: confidence."""
    price: float
    """USD a picture; 0 for a free one. There is no default: nobody should find out by the bill."""
    confidences: str = ""
    """The path to the confidences, in the labels' order."""
    version: str = ""
    """The path to the model's version."""
    refused: str = ""
    """The path to a message that is only there when the service will not look at a picture."""
    language: str = ""
    """In which language the labels are, e.g. en; where the service can be told, tell it in the URL, headers or body."""
    scale: float = 1.0
    """What a confidence of 100 percent is in the answer: 1 or 100."""
    threshold: float = 0.5
    """From which confidence, of 1, a label counts as present."""
    key_env: str = ""
    """The environment variable with the key."""
    headers: dict[str, str] = field(default_factory=dict)
    """Headers; "{key}" stands for the key."""
    body: dict[str, Any] = field(default_factory=dict)
    """What is sent as JSON; "{image}" stands for the picture in base64. Without it the picture's bytes are sent."""

    def __post_init__(self) -> None:
        for path in (self.labels, self.confidences, self.version, self.refused):
            if path:
                parse(path)
        if self.body and "{image}" not in str(self.body):
            raise SpecError('the body holds the picture as "{image}"', got="no such place")
        self._check_keys()

    def _check_keys(self) -> None:
        check_address(self.url)
        query = [name for name, _ in parse_qsl(urlsplit(self.url).query) if _SECRET.search(name)]
        plain = [name for name, value in self.headers.items() if _SECRET.search(name) and "{key}" not in value]
        if query or plain or "{key}" in self.url + str(self.body):
            fix = 'Send it in a header, e.g. Authorization = "Bearer {key}", and name the variable as key_env.'
            where = some([*query, *plain]) or "{key} outside the headers"
            raise SpecError("a key stands in no file and in no address", got=f"a place for one in {where}", fix=fix)
        if ("{key}" in str(self.headers)) != bool(self.key_env):
            raise SpecError('key_env and "{key}" in a header go together', got="one without the other")


def read_description(path: Path) -> Description:
    """Read the file strictly: an unknown line is an error."""
    try:
        plain = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise SpecError("the description of the service is there", got=f"no file {path.name}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SpecError(f"{path.name} is TOML", got=str(error)) from error
    kinds = {entry.name: str(entry.type).split("[")[0] for entry in fields(Description)}
    for name, value in plain.items():
        if name not in kinds:
            fix = nearest(name, kinds) or f"It knows {some(kinds, 12)}."
            raise SpecError(f"{path.name} has no key {name!r}", fix=fix)
        if not isinstance(value, {"str": str, "float": int | float, "dict": dict}[kinds[name]]):
            raise SpecError(f"{path.name}: {name} is of the kind {kinds[name]}", got=type(value).__name__)
    missing = [name for name in ("name", "url", "labels", "price") if name not in plain]
    if missing:
        raise SpecError(f"{path.name} says {some(missing)}", got="no such line")
    return Description(**plain)


@dataclass(kw_only=True)
class Described(Rest):
    """A service of your own choice."""

    path: str
    """The file that describes it."""
    threshold: float | None = None  # type: ignore[assignment]  # the description's, unless said otherwise
    price: float | None = None  # type: ignore[assignment]  # the description's, unless said otherwise

    def __post_init__(self) -> None:
        told = self._told = read_description(Path(self.path))
        self.language = told.language
        self.name = told.name  # several such services may be audited together
        self.threshold = told.threshold if self.threshold is None else self.threshold
        self.price = told.price if self.price is None else self.price
        if self.key_env and not told.key_env:
            raise SpecError("key_env has an effect where the description sends a key", got="a service without one")
        self.key_env = self.key_env or told.key_env
        self.endpoint = self.endpoint or told.url
        super().__post_init__()

    def _settings(self) -> dict[str, Any]:
        told = self._told
        open_ = {name: value for name, value in told.headers.items() if "{key}" not in value}
        return {"url": self.endpoint, "headers": open_, "body": told.body}

    def _key_headers(self, key: str) -> dict[str, str]:
        return {name: value.replace("{key}", key) for name, value in self._told.headers.items() if "{key}" in value}

    def _post(self, image: bytes) -> Post:
        headers = dict(self._settings()["headers"])
        if not self._told.body:
            return Post(self.endpoint, {"Content-Type": f"image/{self.encoding}", **headers}, content=image)
        filled = _filled(self._told.body, base64.b64encode(image).decode())
        return Post(self.endpoint, headers, plain=filled)

    def _ask(self, image: bytes) -> Any:
        answer = super()._ask(image)
        if self._told.refused:
            try:
                reasons = follow(self._told.refused, answer)
            except KeyError:
                reasons = []
            if any(reasons):
                raise Refused(str(reasons[0]), answer)
        return answer

    def _read(self, answer: Any) -> Reading:
        told = self._told
        labels = follow(told.labels, answer)
        pairs = _pairs(labels, follow(told.confidences, answer) if told.confidences else None)
        model = str(follow(told.version, answer)[0]) if told.version else ""
        return Reading.of(pairs, model=model, scale=told.scale)


def _pairs(labels: list[Any], confidences: list[Any] | None) -> list[tuple[str, float]]:
    """Pair labels with confidences; without any, an object says both, and plain words are certain."""
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
