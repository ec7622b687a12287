"""Google Cloud Vision through Google's own client: label detection with a service account, over gRPC or REST.

Its answers are kept in the form that REST gives them, so that both ways to Google are read by the same lines.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, ClassVar
from urllib.parse import urlsplit

from likewise.errors import LikewiseError, ServiceError, SpecError
from likewise.services.google import LARGEST, judged, labels_of
from likewise.services.google_line import HELP, found_credentials, opened, package
from likewise.services.reading import Reading
from likewise.services.retry import Transient, retry_after
from likewise.services.secret import check_host, is_plain, scrubbed
from likewise.services.service import Service
from likewise.services.wire import KEY, LATER

_TURNED_AWAY = {429, 503}  # exhausted, unavailable: not charged for; whatever else went wrong may be


@dataclass(kw_only=True)
class GoogleCloud(Service):
    """Labels of Google Cloud Vision, asked for with the credentials that Google's client finds."""

    price: float = 0.0015
    endpoint: str = "https://vision.googleapis.com"
    """Another address, e.g. https://eu-vision.googleapis.com; http:// is for an emulator on this machine."""
    transport: str = "grpc"
    """How it is spoken to: grpc, or rest where a network lets only that through."""
    most: int = 50
    """How many labels it is asked for at most."""
    model: str = "builtin/stable"
    """Which of its models answers: builtin/stable or builtin/latest."""

    name: str = field(init=False, default="google-cloud")
    language: str = field(init=False, default="en")  # labels are in English only
    largest: ClassVar[int] = LARGEST

    def __post_init__(self) -> None:
        super().__post_init__()
        self.endpoint = check_host(self.endpoint, self.name)
        if self.transport not in ("grpc", "rest"):
            raise SpecError("google-cloud: transport is 'grpc' or 'rest'", got=repr(self.transport)[:80])
        self._client: Any = None
        self._credentials: Any = None
        self._renewing = threading.Lock()
        self._seen: set[str] = set()
        package("google.cloud.vision_v1")

    @property
    def where(self) -> str:
        """The host that the pictures go to."""
        return urlsplit(self.endpoint).netloc

    def _settings(self) -> dict[str, Any]:
        return {"most": self.most, "model": self.model}  # not the transport: the answer is the same

    def missing(self) -> str:
        """Say whether the client finds credentials; an emulator on this machine needs none."""
        if self.replay or is_plain(self.endpoint):
            return ""
        try:
            found_credentials(self.name)
        except LikewiseError as error:
            return str(error)
        return ""

    @contextmanager
    def _connected(self) -> Iterator[None]:
        """Open one line for all threads."""
        self._credentials = None if is_plain(self.endpoint) else found_credentials(self.name)
        with opened(self.endpoint, self.transport, self._credentials) as self._client:
            yield

    def _secrets(self) -> list[str]:
        """Return the tokens that were sent so far, also those of a moment ago, and what renews them."""
        for part in ("token", "refresh_token", "client_secret"):
            value = getattr(self._credentials, part, None)
            if isinstance(value, str):
                self._seen.add(value)
        return list(self._seen)

    def _renew(self) -> None:
        """Renew a token here, where a refusal is heard as one: inside of the channel it looks like a bad line."""
        if self._credentials is None:
            return
        with self._renewing:
            if self._credentials.valid:
                return
            self._secrets()
            try:
                self._credentials.refresh(package("google.auth.transport.requests").Request())
            except package("google.auth.exceptions").GoogleAuthError as error:
                raise self._unsigned(error) from None

    def _ask(self, image: bytes) -> Any:
        self._renew()
        core, auth = package("google.api_core.exceptions"), package("google.auth.exceptions")
        web, json_format = package("requests.exceptions"), package("google.protobuf.json_format")
        try:
            answer = self._client.batch_annotate_images(request=self._request(image), retry=None, timeout=self.timeout)
        except core.GoogleAPICallError as error:
            raise self._understood(error) from None
        except auth.GoogleAuthError as error:
            raise self._unsigned(error) from None
        except web.TooManyRedirects:
            raise ServiceError(f"{self.name} answers where it was asked", got="a redirect") from None
        except (web.ReadTimeout, web.ChunkedEncodingError, json_format.ParseError) as error:
            raise Transient(f"no whole answer ({type(error).__name__})", charged=True) from None
        except web.RequestException as error:
            raise Transient(f"no connection ({type(error).__name__})") from None
        return judged(self.name, json_format.MessageToDict(type(answer).pb(answer)))

    def _request(self, image: bytes) -> Any:
        labels = package("google.cloud.vision_v1").Feature.Type.LABEL_DETECTION
        feature = {"type_": labels, "max_results": self.most, "model": self.model}
        return {"requests": [{"image": {"content": image}, "features": [feature]}]}

    def _understood(self, error: Any) -> Exception:
        """Say what an error of the service means; gRPC's have the statuses of HTTP, too."""
        status = getattr(error.grpc_status_code, "name", f"status {int(error.code)}")
        told = scrubbed(f"{status}: {error.message}", self._secrets())[:200]
        if error.code in LATER:
            return Transient(told, wait=_asked_for(error), charged=error.code not in _TURNED_AWAY)
        if error.code in KEY:
            return ServiceError(f"{self.name} accepts the key", got=told, fix=HELP)
        return ServiceError(f"{self.name} understands the request", got=told)

    def _unsigned(self, error: Any) -> Exception:
        """Say why there is no valid token: for good, unless the error itself says that it will pass."""
        told = scrubbed(f"{type(error).__name__}: {error}", self._secrets())[:200]
        if isinstance(error, package("google.auth.exceptions").TransportError) or error.retryable:
            return Transient(told)
        return ServiceError(f"{self.name} accepts the key", got=told, fix=HELP)

    def _read(self, answer: Any) -> Reading:
        return labels_of(answer, self.model)


def _asked_for(error: Any) -> float | None:
    """Return the pause that the service wishes for: in the error's details, or in REST's header."""
    for detail in error.details:
        if getattr(detail, "retry_delay", None) is not None:
            return float(detail.retry_delay.seconds + detail.retry_delay.nanos / 1e9)
    return retry_after(getattr(error.response, "headers", {}))
