"""What protects every request: security headers, rate limits, validated forms, same-site checks."""

from __future__ import annotations

import logging
import re
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl

from starlette.exceptions import HTTPException
from starlette.requests import Request

Message = dict[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Scope = dict[str, Any]

LARGEST_BODY = 32 * 1024
POLICY = (
    "default-src 'none'; img-src 'self'; style-src 'self'; script-src 'self'; connect-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS = [
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"same-origin"),  # "no-referrer" would make browsers send "Origin: null" with our own forms
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), microphone=(), geolocation=(), interest-cohort=()"),
]
log = logging.getLogger("likewise.study")


@dataclass
class TokenBucket:
    """A rate limit by key: ``rate`` requests a second, ``burst`` at once."""

    rate: float
    burst: float
    clock: Callable[[], float] = time.monotonic
    most: int = 20_000
    _left: OrderedDict[str, tuple[float, float]] = field(default_factory=OrderedDict)

    def allows(self, key: str) -> bool:
        """Take one token from the key's bucket, if there is one."""
        now = self.clock()
        left, since = self._left.pop(key, (self.burst, now))
        left = min(self.burst, left + (now - since) * self.rate)
        self._left[key] = (left - 1 if left >= 1 else left, now)
        if len(self._left) > self.most:
            self._left.popitem(last=False)  # the one that was idle longest has a full bucket again anyway
        return left >= 1


class SecurityHeaders:
    """Adds the security headers; pages are never stored by a browser or a proxy."""

    def __init__(self, app: Callable[[Scope, Receive, Send], Awaitable[None]], https: bool = False) -> None:
        self._app = app
        self._fixed = [*_HEADERS, *([(b"strict-transport-security", b"max-age=31536000")] if https else [])]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Add the headers to the start of every response."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = list(message["headers"])
                if not any(name == b"cache-control" for name, _ in headers):
                    headers.append((b"cache-control", b"no-store"))
                message = {**message, "headers": headers + self._fixed}
            await send(message)

        await self._app(scope, receive, with_headers)


async def read_form(request: Request) -> dict[str, str]:
    """Read a form: of the right type, not too large, in valid UTF-8, each field once."""
    if request.headers.get("content-type", "").split(";")[0].strip() != "application/x-www-form-urlencoded":
        raise HTTPException(415)
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > LARGEST_BODY:
            raise HTTPException(413)
    try:
        pairs = parse_qsl(body.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=60)
    except ValueError as error:
        raise HTTPException(400) from error
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise HTTPException(400)
    return fields


def parse_int(text: str) -> int | None:
    """Read a whole number of at most 15 ASCII digits; anything else is None."""
    return int(text) if re.fullmatch(r"-?[0-9]{1,15}", text) else None


def same_site(request: Request, address: str) -> bool:
    """Return whether a form was sent from our own pages, as far as the browser says.

    ``address`` is the public address of the study. Without one the request's own scheme and host are compared.
    """
    if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        return False
    origin = request.headers.get("origin")
    own = address or f"{request.scope['scheme']}://{request.headers.get('host', '')}"
    return origin is None or origin.rstrip("/").lower() == own.rstrip("/").lower()
