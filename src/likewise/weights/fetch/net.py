"""The only way to the network: pip's proxy, certificates, timeout and retries; credentials go to their own host only.

Nothing here shows a user name, a password or a query: addresses are shown by ``plain``.
"""

from __future__ import annotations

import contextlib
import ssl
import warnings
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import unquote, urlsplit, urlunsplit

import requests
import truststore
from requests.adapters import HTTPAdapter
from urllib3.exceptions import InsecureRequestWarning
from urllib3.util import Retry

from likewise.errors import OfflineError, WeightsError
from likewise.weights.fetch.pip_settings import PipSettings

Auth = tuple[str, str] | None
_AGAIN = (500, 502, 503, 520, 524, 527)


def plain(url: str) -> str:
    """Return an address without credentials and query, fit to be shown."""
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, _host(url), parts.path, "", ""))


def without_auth(url: str) -> tuple[str, Auth]:
    """Split the credentials off an address."""
    parts = urlsplit(url)
    if parts.username is None:
        return url, None
    auth = unquote(parts.username), unquote(parts.password or "")
    return urlunsplit((parts.scheme, _host(url), parts.path, parts.query, parts.fragment)), auth


def same_place(a: str, b: str) -> bool:
    """Whether two addresses lie on one server, so that credentials for one are meant for the other."""
    return (urlsplit(a).scheme, _host(a).lower()) == (urlsplit(b).scheme, _host(b).lower())


def _host(url: str) -> str:
    return urlsplit(url).netloc.rpartition("@")[2]


class Net:
    """A session with the settings of the user's pip."""

    def __init__(self, settings: PipSettings) -> None:
        self._settings = settings
        self._session = requests.Session()
        retry = Retry(total=settings.retries, status_forcelist=_AGAIN, backoff_factor=0.25, raise_on_status=False)
        self._session.mount("https://", _SystemTrust(max_retries=retry))
        self._session.mount("http://", HTTPAdapter(max_retries=retry))
        for host in settings.trusted_hosts:
            for end in "/:":  # on the usual port, or on any if the user named none
                self._session.mount(f"https://{host}{end}", _Unchecked(max_retries=retry))

    @property
    def retries(self) -> int:
        """How often something is tried again."""
        return self._settings.retries

    def __enter__(self) -> Net:
        return self

    def __exit__(self, *_: object) -> None:
        self._session.close()

    @contextlib.contextmanager
    def get(self, url: str, *, auth: Auth = None, headers: Mapping[str, str] | None = None) -> Iterator[Any]:
        """Open a stream; no network, a bad certificate and the like are errors that name the address only."""
        with self._explained(url), _bundled(), warnings.catch_warnings():
            warnings.simplefilter("ignore", InsecureRequestWarning)  # the user called this host trusted
            response = self._session.get(
                url, auth=auth, headers=dict(headers or {}), stream=True, timeout=self._settings.timeout,
                proxies=self._proxies(), verify=self._settings.cert or None, cert=self._settings.client_cert or None,
            )  # fmt: skip
        with response, self._explained(url):
            yield response

    def _proxies(self) -> dict[str, str]:
        proxy = self._settings.proxy
        return {"http": proxy, "https": proxy} if proxy else {}

    @contextlib.contextmanager
    def _explained(self, url: str) -> Iterator[None]:
        try:
            yield
        except requests.exceptions.SSLError as error:
            fix = "Name your certificate authority: pip config set global.cert PATH."
            raise OfflineError(f"The certificate of {plain(url)} cannot be verified", fix=fix) from error
        except requests.exceptions.ProxyError as error:
            fix = "Check pip's setting proxy, or the variables HTTPS_PROXY and NO_PROXY."
            raise OfflineError(f"{plain(url)} cannot be reached through the proxy", fix=fix) from error
        except (requests.exceptions.ConnectionError, requests.exceptions.Timeout) as error:
            fix = (
                "Check the network and pip's index, or carry the archive over: likewise weights fetch NAME --from FILE."
            )
            raise OfflineError(f"{plain(url)} cannot be reached: {_reason(error)}", fix=fix) from error
        except requests.exceptions.ChunkedEncodingError as error:
            raise OfflineError(f"{plain(url)} broke the connection", fix="Try again.") from error
        except (requests.exceptions.RequestException, OSError) as error:
            if isinstance(error, requests.exceptions.RequestException):
                raise WeightsError(
                    f"{plain(url)} is not an address that pip could use: {type(error).__name__}",
                    fix="Check the address in the settings of pip.",
                ) from error
            raise


@contextlib.contextmanager
def _bundled() -> Iterator[None]:
    """Say that a file of certificates is missing in our words; the library's error is a plain OSError."""
    try:
        yield
    except requests.exceptions.RequestException:
        raise
    except OSError as error:
        fix = "Check pip's settings cert and client-cert, and the variables REQUESTS_CA_BUNDLE and CURL_CA_BUNDLE."
        raise WeightsError(f"A certificate file of pip's settings cannot be read: {error}", fix=fix) from error


def _reason(error: Exception) -> str:
    """Say what went wrong without quoting an address, which might hold credentials."""
    cause = getattr(error.args[0], "reason", error.args[0]) if error.args else error
    return "no answer in time" if "Timeout" in type(cause).__name__ else "no connection"


class _SystemTrust(HTTPAdapter):
    """Trusts the certificates of the operating system, as pip does."""

    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
        super().init_poolmanager(*args, ssl_context=truststore.SSLContext(ssl.PROTOCOL_TLS_CLIENT), **kwargs)


class _Unchecked(HTTPAdapter):
    """Asks no certificate of a host that the user's pip trusts; one that it leads on to is asked again."""

    def send(
        self,
        request: requests.PreparedRequest,
        stream: bool = False,
        timeout: Any = None,
        verify: bool | str = True,
        cert: Any = None,
        proxies: dict[str, str] | None = None,
    ) -> requests.Response:
        """Send it, whatever the certificate."""
        return super().send(request, stream, timeout, False, cert, proxies)
