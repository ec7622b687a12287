"""Keys: read from the environment when a call needs them, sent in a header, and never written or said anywhere."""

from __future__ import annotations

import ipaddress
import logging
import os
import re
from urllib.parse import SplitResult, urlsplit

from likewise.errors import SpecError

HIDDEN = "(key)"
_NAME = re.compile(r"[A-Z_][A-Z0-9_]*")
_TALKATIVE = ("boto3", "botocore", "urllib3", "httpx2", "httpcore2", "google", "grpc", "azure", "msal")
_SAYING_TOO_MUCH = "azure.identity"  # its warnings repeat what a server said of a login


def key_from(variable: str, service: str) -> str:
    """Return the key that the environment variable of this name holds."""
    key = os.environ.get(variable, "").strip()
    if not key:
        fix = f"Set it in the shell: export {variable}=...   Keys stand in no file of an audit."
        raise SpecError(f"{service} finds its key in the environment variable {variable}", got="nothing", fix=fix)
    if not (key.isascii() and key.isprintable()):  # the clients' own errors would repeat it
        fix = f"Set {variable} again; something came along when it was copied."
        raise SpecError(f"the key in {variable} is plain letters, which a header can hold", got="others", fix=fix)
    return key


def check_variable(variable: str) -> str:
    """Return the name of a variable; what may be a key itself is refused without being repeated."""
    if not _NAME.fullmatch(variable):
        fix = "The key itself stands in the environment, e.g. key_env = 'TAGGER_KEY'."
        raise SpecError("key_env is the name of an environment variable, in capitals", got="something else", fix=fix)
    return variable


def check_address(url: str) -> str:
    """Return the address; a key goes only over https, or to this machine, and never in the address itself."""
    parts = urlsplit(url)
    if parts.username or parts.password:  # first: the others repeat the address
        raise SpecError("the address of a service holds no password", got="one", fix="Send the key in a header.")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise SpecError("the address of a service begins with https://", got=repr(url.partition("?")[0][:80]))
    if not _has_a_port_or_none(parts):
        raise SpecError("the port of a service is a number up to 65535", got=repr(url.partition("?")[0][:80]))
    if parts.scheme == "http" and not _is_here(parts.hostname):
        fix = "Use https://; plain http is for services on this machine."
        raise SpecError("a service elsewhere is spoken to in secret", got=f"http://{parts.hostname}", fix=fix)
    return url.rstrip("/")


def check_host(url: str, service: str) -> str:
    """Return the address of a service that is only a host, as gRPC has it."""
    url = check_address(url)
    if urlsplit(url)[2:] != ("", "", ""):
        raise SpecError(f"{service}: endpoint is a host, without a path", got=repr(url.partition("?")[0][:80]))
    return url


def is_plain(endpoint: str) -> bool:
    """Say whether a line is not in secret; an address that was checked is then on this machine."""
    return urlsplit(endpoint).scheme == "http"


def _has_a_port_or_none(parts: SplitResult) -> bool:
    try:
        return parts.port != 0
    except ValueError:
        return False


def _is_here(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def scrubbed(text: str, secrets: list[str]) -> str:
    """Return the text without any of the secrets; services like to repeat them in their errors."""
    for secret in sorted(filter(None, secrets), key=len, reverse=True):
        text = text.replace(secret, HIDDEN)
    return text


def hush() -> None:
    """Keep the clients' own logs from writing out headers, whatever the level of everybody else's."""
    named = [name for name in logging.root.manager.loggerDict if name.partition(".")[0] in _TALKATIVE]
    for name in {*_TALKATIVE, *named}:  # also those below, which may have been given a level of their own
        logging.getLogger(name).setLevel(logging.WARNING)
    for name in {_SAYING_TOO_MUCH, *(name for name in named if name.startswith(_SAYING_TOO_MUCH))}:
        logging.getLogger(name).setLevel(logging.CRITICAL)
