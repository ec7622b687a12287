"""Simulated raters: they go through a study over HTTP as a browser would, with known abilities.

For rehearsals, tests and load. They connect to this machine only.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Self
from urllib.parse import urlencode

import numpy as np

from likewise.errors import StudyError
from likewise.study.config.sections import StudyPlan

Choose = Callable[[str, str], dict[str, str]]
"""From the opaque item and the page, the fields of a response."""
_HIDDEN = re.compile(r'<input type="hidden" name="(\w+)" value="([^"]*)">')
_FORM = re.compile(r'<form method="post" action="/task".*?</form>', re.DOTALL)
OPTION = re.compile(r'name="(answer-\d+)" value="([^"]*)"')
_SLOW_DOWN, _A_LITTLE = 429, 0.5
_MOST_STEPS = 5000


class Browser:
    """What a simulated rater needs of a browser: one connection, one cookie, forms."""

    def __init__(self, host: str, port: int, cookie: str = "") -> None:
        if host not in ("127.0.0.1", "::1", "localhost"):
            raise StudyError(f"Simulated raters cannot connect to {host}", fix="Serve the study on this machine.")
        self._host, self._port, self.cookie = host, port, cookie
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def get(self, path: str) -> tuple[int, str, str]:
        """Return status, body and where it leads (empty when nowhere)."""
        return await self._ask(f"GET {path} HTTP/1.1\r\n", b"")

    async def post(self, path: str, fields: dict[str, str], *, script: bool = False) -> tuple[int, str, str]:
        """Send a form."""
        body = urlencode(fields).encode()
        head = f"POST {path} HTTP/1.1\r\ncontent-type: application/x-www-form-urlencoded\r\n"
        return await self._ask(head + ("x-likewise: script\r\n" if script else ""), body)

    async def _ask(self, head: str, body: bytes) -> tuple[int, str, str]:
        cookie = f"cookie: {self.cookie}\r\n" if self.cookie else ""
        request = (
            f"{head}host: {self._host}:{self._port}\r\n{cookie}content-length: {len(body)}\r\n\r\n".encode() + body
        )
        answer = await self._sent(request)
        while answer[0] == _SLOW_DOWN:  # the rate limit: wait and try again
            await asyncio.sleep(_A_LITTLE)
            answer = await self._sent(request)
        return answer

    async def _sent(self, request: bytes) -> tuple[int, str, str]:
        if self._streams is None:
            self._streams = await asyncio.open_connection(self._host, self._port)
        reader, writer = self._streams
        try:
            writer.write(request)
            return await self._answer(reader)
        except (OSError, asyncio.IncompleteReadError):
            await self.close()
            raise

    async def _answer(self, reader: asyncio.StreamReader) -> tuple[int, str, str]:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        lines = head.split("\r\n")
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines[1:])}
        if "set-cookie" in headers:
            self.cookie = headers["set-cookie"].split(";")[0]
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        return int(lines[0].split()[1]), body.decode(), headers.get("location", "")

    async def close(self) -> None:
        """Close the connection."""
        if self._streams is not None:
            writer, self._streams = self._streams[1], None
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


@dataclass
class RaterSession:
    """What one simulated rater did: the acknowledged responses, and how long each took."""

    acknowledged: list[tuple[str, int]] = field(default_factory=list)
    """Opaque item and position."""
    seconds: list[float] = field(default_factory=list)
    ended: str = ""
    """The heading of the last page."""


async def run_rater(
    browser: Browser,
    link: str,
    choose: Choose,
    *,
    think: Callable[[], float] = lambda: 0.0,
    most: int = _MOST_STEPS,
    done: RaterSession | None = None,
) -> RaterSession:
    """Go from the link (or any page, with a session) to the end, or until ``most`` responses are given.

    ``done`` is filled on the way, so that it is known also when the connection breaks.
    """
    done = RaterSession() if done is None else done
    page = await _enter(browser, link)
    for _ in range(_MOST_STEPS):
        form = _FORM.search(page)
        if form is None:
            if 'href="/task"' not in page:
                break
            page = await _follow(browser, "/task")
            continue
        if len(done.seconds) >= most:
            break
        fields = dict(_HIDDEN.findall(form[0]))
        fields |= choose(fields["item"], form[0])
        await asyncio.sleep(think())
        begun = time.perf_counter()
        status, body, _ = await browser.post("/task", fields, script=True)
        done.seconds.append(time.perf_counter() - begun)
        if status != 200:
            raise StudyError(f"The server refused a response (status {status})", fix="Check the log of the server.")
        done.acknowledged.append((fields["item"], int(fields["position"])))
        page = body
    done.ended = (re.findall(r"<h1>(.*?)</h1>", page, re.DOTALL) or [""])[0]
    return done


async def _enter(browser: Browser, link: str) -> str:
    """Consent and read the instructions, or return to the current page."""
    status, page, _ = await browser.get(link)
    fields = dict(_HIDDEN.findall(page))
    if "ticket" not in fields:
        return page
    status, page, where = await browser.post(
        link.split("?", maxsplit=1)[0], {"ticket": fields["ticket"], "choice": "agree"}
    )
    page = await _follow(browser, where)
    if 'action="/instructions"' in page:
        status, page, where = await browser.post("/instructions", {"csrf": dict(_HIDDEN.findall(page))["csrf"]})
        page = await _follow(browser, where)
    if status >= 400:
        raise StudyError(
            f"A simulated rater could not join (status {status})", fix="Check the address, and that the study is open."
        )
    return page


async def _follow(browser: Browser, path: str) -> str:
    for _ in range(5):
        _, page, where = await browser.get(path)
        if not where:
            return page
        path = where
    raise StudyError(f"Redirects do not end at {path}", fix="Check the address of the server.")


def chooser(study: StudyPlan, items: dict[str, str], truth: dict[str, float], ability: float, seed: int) -> Choose:
    """Return a rater who gives the correct response with probability ``ability``, else another one at random.

    ``items`` maps opaque names to keys; ``truth`` is the correct value of each unit. Controls are rated with the same
    ability; without a truth all options are equally likely.
    """
    rng = np.random.default_rng([seed, 99])

    def choose(opaque: str, form: str) -> dict[str, str]:
        item = study.items[items[opaque]]
        offered: dict[str, list[str]] = {}
        for name, value in OPTION.findall(form):
            offered.setdefault(name, []).append(value)
        fields = {}
        for question, (name, values) in zip(study.questions_of(item), offered.items(), strict=True):
            right = item.answer.get(question.name, truth.get(item.key))
            fields[name] = _pick(values, right, ability, rng)
        return fields | ({"certainty": str(rng.integers(3))} if 'name="certainty"' in form else {})

    return choose


def _pick(values: list[str], right: float | None, ability: float, rng: np.random.Generator) -> str:
    if right is None:
        return str(rng.choice(values))
    if rng.random() < ability:
        return f"{right:g}"
    return str(rng.choice([value for value in values if value != f"{right:g}"]))
