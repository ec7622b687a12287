"""Amazon Rekognition: DetectLabels, through Amazon's own client, which finds the key where it always does."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from typing import Any, ClassVar
from urllib.parse import urlsplit

from likewise.errors import ServiceError, SpecError
from likewise.services.extras import part_of
from likewise.services.reading import Reading
from likewise.services.retry import Refused, Transient, retry_after
from likewise.services.secret import check_address, is_plain, scrubbed
from likewise.services.service import Service

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
_KEY_HELP = "Renew the credentials (environment, profile or role); what was answered is kept."


@dataclass(kw_only=True)
class Rekognition(Service):
    """Labels of Amazon Rekognition."""

    threshold: float = 0.55
    price: float = 0.001
    region: str = "us-east-1"
    """Which region is asked; its models may differ from another's."""
    endpoint: str = ""
    """Another address, e.g. of a private endpoint."""
    profile: str = ""
    """The profile of the client's own configuration that holds the key."""
    most: int = 1000
    """How many labels it is asked for at most."""

    name: str = field(init=False, default="rekognition")
    language: str = field(init=False, default="en")  # it has no other
    largest: ClassVar[int] = 5_000_000

    def __post_init__(self) -> None:
        super().__post_init__()
        self.endpoint = check_address(self.endpoint or f"https://rekognition.{self.region}.amazonaws.com")
        self._boto: Any = None
        for module in ("boto3", "botocore.exceptions"):
            _package(module)

    @property
    def where(self) -> str:
        """The host that the pictures go to."""
        return urlsplit(self.endpoint).netloc

    def _settings(self) -> dict[str, Any]:
        return {"region": self.region, "most": self.most, "least": round(self.threshold * 100, 4)}

    @contextmanager
    def _connected(self) -> Iterator[None]:
        """Make the client once for all threads; patience is ours, so its own is switched off."""
        config = _package("botocore.config").Config(
            retries={"total_max_attempts": 1},
            connect_timeout=self.timeout,
            read_timeout=self.timeout,
            max_pool_connections=self.concurrency,
            proxies={} if is_plain(self.endpoint) else None,  # what is on this machine is reached directly
        )
        self._boto = self._session().client(
            "rekognition", region_name=self.region, endpoint_url=self.endpoint, config=config
        )
        with closing(self._boto):
            yield

    def _session(self) -> Any:
        try:
            return _package("boto3").Session(profile_name=self.profile or None)
        except _package("botocore.exceptions").ProfileNotFound:
            raise SpecError("the profile is in the client's own configuration", got=repr(self.profile)) from None

    def missing(self) -> str:
        """Say whether the client finds credentials."""
        if self.replay or super().missing() or self._secrets():
            return super().missing()
        return "rekognition finds no credentials (environment, profile or role)"

    def _secrets(self) -> list[str]:
        credentials = self._session().get_credentials()
        if credentials is None:
            return []
        frozen = credentials.get_frozen_credentials()
        return [value for value in (frozen.secret_key, frozen.token, frozen.access_key) if value]

    def _ask(self, image: bytes) -> Any:
        known = _package("botocore.exceptions")
        try:
            answer = self._boto.detect_labels(
                Image={"Bytes": image}, MaxLabels=self.most, MinConfidence=self._settings()["least"]
            )
        except known.ClientError as error:
            raise self._understood(error.response) from None
        except (known.NoCredentialsError, known.PartialCredentialsError, known.CredentialRetrievalError) as error:
            raise ServiceError("rekognition finds a key", got=type(error).__name__, fix=_KEY_HELP) from None
        except (known.HTTPClientError, known.ResponseParserError, known.IncompleteReadError) as error:
            raise Transient(f"no whole answer ({type(error).__name__})") from None
        answer.pop("ResponseMetadata", None)
        if "Labels" not in answer:  # the client turns an answer that is cut off into an empty one
            raise Transient("an answer that is cut off", charged=True)
        return answer

    def _understood(self, response: dict[str, Any]) -> Exception:
        code, message = response.get("Error", {}).get("Code", ""), response.get("Error", {}).get("Message", "")
        meta = response.get("ResponseMetadata", {})
        told = scrubbed(f"{code}: {message}", self._secrets())[:200]
        if code in _BAD_PICTURE:
            return Refused(told)
        if code in _LATER or meta.get("HTTPStatusCode", 0) >= 500 or meta.get("HTTPStatusCode") == 429:
            return Transient(told, wait=retry_after(meta.get("HTTPHeaders", {})))
        if code in _KEY:
            return ServiceError("rekognition accepts the key", got=told, fix=_KEY_HELP)
        return ServiceError("rekognition understands the request", got=told)

    def _read(self, answer: Any) -> Reading:
        pairs = [(label["Name"], label["Confidence"]) for label in answer["Labels"]]
        return Reading.of(pairs, model=answer["LabelModelVersion"], scale=100)


def _package(name: str) -> Any:
    """Load a part of Amazon's client, which is an extra."""
    return part_of(name, rule="rekognition is spoken to through boto3", fix="pip install 'likewise[apis]'")
