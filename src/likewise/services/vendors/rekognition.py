"""Amazon Rekognition: DetectLabels. boto3 finds the credentials, signs and parses; the request itself is sent by us.

So a response is limited in size and time as for every other service (``connection``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from typing import Any, ClassVar
from urllib.parse import urlsplit

from likewise.errors import ServiceError, SpecError
from likewise.runtime.optional import require
from likewise.services.base import Service
from likewise.services.connection import Connections, Post, http_library
from likewise.services.http import parsed
from likewise.services.labels import LabelResponse
from likewise.services.retry import Refused, Transient, retry_after
from likewise.services.secret import check_address, is_plain, scrubbed

_BAD_PICTURE = {"ImageTooLargeException", "InvalidImageFormatException"}
_LATER = {
    "ThrottlingException",
    "Throttling",
    "ProvisionedThroughputExceededException",
    "InternalServerError",
    "ServiceUnavailable",
    "ServiceUnavailableException",
    "RequestTimeout",
}
_KEY = {
    "AccessDeniedException",
    "ExpiredTokenException",
    "ExpiredToken",
    "UnrecognizedClientException",
    "InvalidSignatureException",
    "InvalidClientTokenId",
    "MissingAuthenticationTokenException",
}
_KEY_HELP = "Renew the credentials (environment, profile or role); responses that were received are kept."


@dataclass(kw_only=True)
class Rekognition(Service):
    """Labels of Amazon Rekognition."""

    threshold: float = 0.55
    price: float = 0.001
    region: str = "us-east-1"
    """The region; models may differ between regions."""
    endpoint: str = ""
    """Another address, e.g. of a private endpoint."""
    profile: str = ""
    """The profile of the client's own configuration that holds the key."""
    most: int = 1000
    """Labels that are requested at most."""

    name: str = field(init=False, default="rekognition")
    language: str = field(init=False, default="en")  # it has no other
    largest: ClassVar[int] = 5_000_000

    def __post_init__(self) -> None:
        super().__post_init__()
        self.endpoint = check_address(self.endpoint or f"https://rekognition.{self.region}.amazonaws.com")
        self._boto: Any = None
        for module in ("boto3", "botocore.exceptions"):
            _package(module)
        http_library()

    @property
    def where(self) -> str:
        """The host that the pictures are sent to."""
        return urlsplit(self.endpoint).netloc

    def _settings(self) -> dict[str, Any]:
        return {"region": self.region, "most": self.most, "least": round(self.threshold * 100, 4)}

    @contextmanager
    def _connected(self) -> Iterator[None]:
        """Create the client once for all threads; only likewise's retry policy applies."""
        config = _package("botocore.config").Config(retries={"total_max_attempts": 1})
        self._boto = self._session().client(
            "rekognition", region_name=self.region, endpoint_url=self.endpoint, config=config
        )
        with (
            closing(self._boto),
            Connections(self.name, timeout=self.timeout, direct=is_plain(self.endpoint)) as connections,
        ):
            self._boto.meta.events.register("before-send.rekognition", _sender(connections))
            yield

    def _session(self) -> Any:
        try:
            return _package("boto3").Session(profile_name=self.profile or None)
        except _package("botocore.exceptions").ProfileNotFound:
            raise SpecError(
                f"Profile {self.profile[:80]!r} not found in the AWS configuration",
                fix="Run: aws configure --profile NAME.",
            ) from None

    def missing(self) -> str:
        """Return whether boto3 finds credentials."""
        if self.replay or super().missing() or self._secrets():
            return super().missing()
        return "rekognition has no credentials (environment, profile or role)"

    def _secrets(self) -> list[str]:
        credentials = self._session().get_credentials()
        if credentials is None:
            return []
        frozen = credentials.get_frozen_credentials()
        return [value for value in (frozen.secret_key, frozen.token, frozen.access_key) if value]

    def _ask(self, image: bytes) -> Any:
        known, parsers = _package("botocore.exceptions"), _package("botocore.parsers")
        try:
            answer = self._boto.detect_labels(
                Image={"Bytes": image}, MaxLabels=self.most, MinConfidence=self._settings()["least"]
            )
        except known.ClientError as error:
            raise self._error(error.response) from None
        except (known.NoCredentialsError, known.PartialCredentialsError, known.CredentialRetrievalError) as error:
            raise ServiceError(f"rekognition has no credentials ({type(error).__name__})", fix=_KEY_HELP) from None
        except (known.HTTPClientError, known.IncompleteReadError, parsers.ResponseParserError) as error:
            raise Transient(f"no complete response ({type(error).__name__})") from None
        answer.pop("ResponseMetadata", None)
        if "Labels" not in answer:  # boto3 turns a response that is cut off into an empty one
            raise Transient("the response is cut off", charged=True)
        return answer

    def _error(self, response: dict[str, Any]) -> Exception:
        code, message = response.get("Error", {}).get("Code", ""), response.get("Error", {}).get("Message", "")
        meta = response.get("ResponseMetadata", {})
        text = scrubbed(f"{code}: {message}", self._secrets())[:200]
        if code in _BAD_PICTURE:
            return Refused(text)
        if code in _LATER or meta.get("HTTPStatusCode", 0) >= 500 or meta.get("HTTPStatusCode") == 429:
            return Transient(text, wait=retry_after(meta.get("HTTPHeaders", {})))
        if code in _KEY:
            return ServiceError(f"rekognition refused the key: {text}", fix=_KEY_HELP)
        return ServiceError(f"rekognition rejected the request: {text}")

    def _read(self, answer: Any) -> LabelResponse:
        pairs = [(label["Name"], label["Confidence"]) for label in answer["Labels"]]
        return LabelResponse.of(pairs, model=answer["LabelModelVersion"], scale=100)


def _sender(connections: Connections) -> Callable[..., Any]:
    """Return a handler that sends boto3's signed request and hands it the whole response."""

    def send(request: Any, **_: object) -> Any:
        headers = {name: _text(value) for name, value in request.headers.items() if name.lower() != "accept-encoding"}
        sent = request.body if isinstance(request.body, bytes) else str(request.body or "").encode()
        found = connections.post(Post(request.url, content=sent), headers)
        valid = parsed(found.body) is not None
        if not valid and found.status < 300:
            raise Transient("the response is cut off or not JSON", charged=True)
        plain = {name: value for name, value in found.headers.items() if name.lower() != "content-encoding"}
        body = _Body(found.body if valid else b"{}")
        return _package("botocore.awsrequest").AWSResponse(request.url, found.status, plain, body)

    return send


@dataclass(frozen=True)
class _Body:
    """The part of a response that boto3 reads."""

    content: bytes

    def stream(self) -> Iterator[bytes]:
        yield self.content


def _text(value: bytes | str) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else str(value)


def _package(name: str) -> Any:
    """Load a part of boto3, which belongs to an extra."""
    return require(name, "apis")
