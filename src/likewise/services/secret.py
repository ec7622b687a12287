"""Keys: read from the environment when a call needs them, sent in a header, and never written anywhere."""

from __future__ import annotations

import base64
import ipaddress
import logging
import os
import re
from functools import lru_cache
from typing import Any
from urllib.parse import SplitResult, urlsplit

from likewise.errors import SpecError

HIDDEN = "(key)"
_NAME = re.compile(r"[A-Z_][A-Z0-9_]*")
_VERBOSE_LOGGERS = ("boto3", "botocore", "urllib3", "httpx2", "httpcore2")
_SHORTEST = 8  # characters of an encoded key that are looked for; fewer would match by accident


def key_from(variable: str, service: str) -> str:
    """Return the key that the environment variable of this name holds."""
    key = os.environ.get(variable, "").strip()
    if not key:
        fix = f"Set it in the shell: export {variable}=...   Keys are in no file of an audit."
        raise SpecError(f"{service} needs a key, and the environment variable {variable} is not set", fix=fix)
    if not (key.isascii() and key.isprintable()):  # the clients' own errors would repeat it
        fix = f"Set {variable} again; it may hold a line break or a letter from copying."
        raise SpecError(f"The key in {variable} has characters that a header cannot hold", fix=fix)
    return key


def check_variable(variable: str) -> str:
    """Return the name of a variable; a value that may be a key itself is refused without being repeated."""
    if not _NAME.fullmatch(variable):
        fix = "Name a variable in capitals, e.g. key_env = 'TAGGER_KEY'; the key itself is in the environment."
        raise SpecError("key_env is not the name of an environment variable", fix=fix)
    return variable


def check_address(url: str) -> str:
    """Return the address; a key goes only over https, or to this machine, and never in the address itself."""
    parts, shown = urlsplit(url), repr(url.partition("?")[0][:80])
    if parts.username or parts.password:  # first: the others repeat the address
        raise SpecError("The address of the service holds a password", fix="Send the key in a header.")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise SpecError(f"{shown} is not the address of a service", fix="It starts with https://")
    if not _has_valid_port(parts):
        raise SpecError(f"The port in {shown} is not a number from 1 to 65535", fix="Correct the address.")
    if parts.scheme == "http" and not _is_local(parts.hostname):
        fix = "Use https://; plain http is for services on this machine."
        raise SpecError(f"The address http://{parts.hostname} is not encrypted", fix=fix)
    return url.rstrip("/")


def is_plain(endpoint: str) -> bool:
    """Return whether a connection is not encrypted; an address that was checked is then on this machine."""
    return urlsplit(endpoint).scheme == "http"


def _has_valid_port(parts: SplitResult) -> bool:
    try:
        return parts.port != 0
    except ValueError:
        return False


def _is_local(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def scrubbed(text: str, secrets: list[str]) -> str:
    """Return the text without the secrets: plain, URL-encoded, JSON-escaped, as base64 or as hexadecimal digits.

    >>> scrubbed("Bearer sk%2Dlive%2D1 was refused", ["sk-live-1"])
    'Bearer (key) was refused'
    """
    for secret in sorted({secret for secret in secrets if secret}, key=len, reverse=True):
        text = _pattern(secret).sub(HIDDEN, text)
    return text


def scrubbed_values(value: Any, secrets: list[str]) -> Any:
    """Return JSON values without the secrets, in keys and in texts at any depth."""
    if isinstance(value, str):
        return scrubbed(value, secrets)
    if isinstance(value, dict):
        return {scrubbed(str(name), secrets): scrubbed_values(inner, secrets) for name, inner in value.items()}
    if isinstance(value, list):
        return [scrubbed_values(inner, secrets) for inner in value]
    return value


@lru_cache(maxsize=32)
def _pattern(secret: str) -> re.Pattern[str]:
    """Match a secret in every encoding, each character plain or escaped."""
    forms = [secret, *_base64_cores(secret)]
    choices = ["".join(map(_either, form)) for form in forms if form == secret or len(form) >= _SHORTEST]
    digits = secret.encode().hex()
    if len(digits) >= _SHORTEST:
        choices.append(f"(?i:{digits})")
    return re.compile("|".join(choices), re.IGNORECASE)  # a key in other letters is still most of the key


def _either(character: str) -> str:
    """Match one character: itself, after backslashes, URL-encoded (also twice), or as a JSON or HTML escape."""
    code = ord(character)
    escaped = rf"%(?:25)*{code:02x}|\\+u00{code:02x}|\\+x{code:02x}|&\#0*{code};|&\#x0*{code:x};"
    return rf"(?:\\*{re.escape(character)}|(?i:{escaped}))"


def _base64_cores(secret: str) -> list[str]:
    """Return what stays of a secret in base64, wherever in the encoded text it begins."""
    cores = []
    for before in range(3):
        encoded = base64.b64encode(bytes(before) + secret.encode()).decode()
        first, last = (0, 2, 3)[before], (before + len(secret.encode())) * 8 // 6
        core = encoded[first:last]
        cores += [core, core.translate(str.maketrans("+/", "-_"))]
    return cores


def quiet_loggers() -> None:
    """Keep the clients' own logs from writing headers, whatever the level of the others."""
    named = [name for name in logging.root.manager.loggerDict if name.partition(".")[0] in _VERBOSE_LOGGERS]
    for name in {*_VERBOSE_LOGGERS, *named}:  # also those below, which may have a level of their own
        logging.getLogger(name).setLevel(logging.WARNING)
