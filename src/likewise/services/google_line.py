"""The line to Google's own client: credentials where it always finds them, gRPC or REST, and no patience of its own."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from likewise.errors import ServiceError
from likewise.services.extras import part_of
from likewise.services.grpc_line import ONE_TRY, host_and_port, plain_channel
from likewise.services.secret import hush, is_plain

VARIABLE = "GOOGLE_APPLICATION_CREDENTIALS"  # the standard one; it names a file
HELP = (
    f"Set {VARIABLE} to the file of a service account, or log in with 'gcloud auth application-default login'; "
    "what was answered is kept."
)
_CLIENT = "google.cloud.vision_v1"


def package(name: str) -> Any:
    """Load a part of Google's client, which is an extra."""
    fix = "pip install 'likewise[google]', or ask google-vision with an API key."
    return part_of(name, rule="google-cloud is spoken to through google-cloud-vision", fix=fix)


def found_credentials(name: str) -> Any:
    """Return the Application Default Credentials; a service account signs its own tokens, so none is fetched."""
    auth = package("google.auth")
    scopes = package(_CLIENT).ImageAnnotatorClient.get_transport_class("grpc").AUTH_SCOPES
    try:
        credentials, _ = auth.default(scopes=scopes)
    except (auth.exceptions.GoogleAuthError, OSError, ValueError) as error:  # their text may hold what they read
        raise ServiceError(f"{name} finds credentials", got=_lack(error), fix=HELP) from None
    signing = getattr(credentials, "with_always_use_jwt_access", None)
    return signing(True) if signing else credentials


def _lack(error: Exception) -> str:
    given = os.environ.get(VARIABLE, "")
    there = False
    with suppress(OSError, ValueError):  # it may be anything but a path
        there = Path(given).is_file()
    if given and not there:
        return f"{VARIABLE} that names no file"
    return f"{VARIABLE} of a file that holds none" if given else f"none ({type(error).__name__})"


def opened(endpoint: str, transport: str, credentials: Any) -> Any:
    """Return a client that asks once; on a plain line there are no credentials."""
    client = package(_CLIENT).ImageAnnotatorClient
    kind, parts = client.get_transport_class(transport), urlsplit(endpoint)
    if transport == "rest":
        anonymous = package("google.auth.credentials").AnonymousCredentials
        line = kind(host=parts.netloc, url_scheme=parts.scheme, credentials=credentials or anonymous())
        line._session.max_redirects = 0  # pictures go where the plan says, and nowhere else
        line._session.trust_env = not is_plain(endpoint)  # what is on this machine is reached directly
    else:
        line = kind(host=parts.netloc, channel=_channel(kind, endpoint, credentials))
    made = client(transport=line)
    hush()  # again: making the client sets up logs of its own
    return made


def _channel(kind: Any, endpoint: str, credentials: Any) -> Any:
    if credentials is None:
        return plain_channel(package("grpc"), endpoint)
    return kind.create_channel(host_and_port(endpoint), credentials=credentials, options=list(ONE_TRY))
