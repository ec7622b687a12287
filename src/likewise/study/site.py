"""The site: what every page needs - the study, its secrets, its ledger, its pictures - and how a page is made."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import jinja2
import sqlalchemy as sa
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from likewise.errors import StudyError
from likewise.study.frozen import freeze
from likewise.study.guard import whole
from likewise.study.ledger import Ledger
from likewise.study.parts import Item, Parts
from likewise.study.pictures import Gallery
from likewise.study.raters import Rater, find
from likewise.study.schema import begin_study, open_database
from likewise.study.signing import Signer, read_key
from likewise.study.texts import LANGUAGES
from likewise.study.words import best_language, words

COOKIE = "likewise"
DESIGNER = "likewise_design"
WORKER_FIELDS = ("PROLIFIC_PID", "workerId", "worker_id", "participant")
"""How the platforms name a worker's id in the link."""
_MONTH = 30 * 24 * 3600
Insight = Callable[[Any], list[Mapping[str, object]]]


@dataclass(frozen=True)
class Site:
    """A running study."""

    study: Parts
    signer: Signer
    engine: sa.Engine
    ledger: Ledger
    gallery: Gallery
    plan_hash: str
    secure: bool = False
    """Cookies only over https."""
    insight: Insight | None = None
    """Turns Ratings into rows about agreement for the designer's page; the command line brings it."""
    clock: Callable[[], float] = time.time

    @classmethod
    def open(cls, study: Parts, folder: Path, url: str, **options: Any) -> Site:
        """Freeze the plan, open its database and make every unit's places."""
        signer, engine = read_key(folder), open_database(url)
        found = freeze(study, folder)
        try:
            with engine.begin() as connection:
                begin_study(connection, study, found)
        except StudyError:
            engine.dispose()
            raise
        gallery = Gallery(study, signer, folder / ".pictures")
        return cls(study, signer, engine, Ledger(engine), gallery, found, **options)

    def close(self) -> None:
        """Finish what waits and let the database go."""
        self.ledger.close()
        self.engine.dispose()

    @cached_property
    def opaque(self) -> dict[str, str]:
        """Item -> the name under which forms carry it."""
        return {key: self.signer.mac("item", key, 10) for key in self.study.items}

    @cached_property
    def item_of(self) -> dict[str, str]:
        """The other way round."""
        return {name: key for key, name in self.opaque.items()}

    def pictures(self, item: Item) -> list[str]:
        """Return the addresses of an item's pictures."""
        return [f"/image/{self.gallery.name(name)}" for name in item.images]

    def join_path(self, worker: str = "") -> str:
        """Return the signed path of the study's link, or of one worker's own."""
        return f"/join/{self.signer.sign('join', f'for-{worker}' if worker else 'open')}"

    def back_path(self, rater: int) -> str:
        """Return the signed path on which a rater comes back."""
        return f"/back/{self.signer.sign('back', str(rater))}"

    @property
    def design_token(self) -> str:
        """What opens the designer's pages."""
        return self.signer.mac("design", self.plan_hash, 20)

    def csrf(self, rater: int) -> str:
        """Return the token that a rater's forms carry."""
        return self.signer.mac("csrf", str(rater))

    def code(self, who: Rater) -> str:
        """Return the completion code for how a rater's series ended."""
        fixed = self.study.completion.code if who.state == "done" else self.study.completion.screened_out
        return fixed or self.signer.code(who.state, who.name)

    async def read(self, query: Callable[[sa.Connection], Any]) -> Any:
        """Run a reading function beside the ledger."""
        return await run_in_threadpool(self._read, query)

    def _read(self, query: Callable[[sa.Connection], Any]) -> Any:
        with self.engine.connect() as connection:
            return query(connection)


_PAGES = jinja2.Environment(
    loader=jinja2.PackageLoader("likewise.study"),
    autoescape=True,
    undefined=jinja2.StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    auto_reload=False,
)


@dataclass
class Page:
    """One request: who asks, in which language, and how the answer is made."""

    site: Site
    request: Request
    rater: Rater | None = None
    preview: bool = False
    values: dict[str, Any] = field(default_factory=dict)

    @cached_property
    def language(self) -> str:
        """The rater's language, the one asked for, or the browser's."""
        offered = self.site.study.languages
        asked = self.request.query_params.get("lang", "")
        if asked in offered:
            return asked
        if self.rater and self.rater.language in offered:
            return self.rater.language
        return best_language(self.request.headers.get("accept-language", ""), offered)

    def render(self, template: str, *, status: int = 200, **values: Any) -> HTMLResponse:
        """Make a page."""
        study = self.site.study
        known = {
            "t": words(self.language),
            "lang": self.language,
            "languages": {code: LANGUAGES[code] for code in study.languages},
            "study": study,
            "title": study.title(self.language),
            "rater": self.rater,
            "preview": self.preview,
            "csrf": self.site.csrf(self.rater.id) if self.rater else "",
            "plan": self.site.plan_hash[:12],
            "notice": "",
            "bare": self.request.headers.get("x-likewise") == "script",  # our script keeps the frame of the page
        }
        return HTMLResponse(_PAGES.get_template(template).render({**known, **values}), status)

    def message(self, name: str, *, status: int = 200, link: str = "", label: str = "", **values: Any) -> HTMLResponse:
        """Make a page of a heading, a sentence and perhaps a way on."""
        t = words(self.language)
        text = values.pop("text", t[f"{name}_text"])
        label = label or t["go_on"]
        return self.render(
            "message.html.j2", status=status, heading=t[name], text=text, link=link, label=label, **values
        )

    def stay(self, response: Response, key: int) -> Response:
        """Put the session into a cookie: the rater's number, signed; nothing else is ever kept in the browser."""
        token = self.site.signer.sign("session", str(key))
        response.set_cookie(COOKIE, token, max_age=_MONTH, httponly=True, samesite="lax", secure=self.site.secure)
        return response


def session(site: Site, request: Request) -> int | None:
    """Return the rater's number from a genuine session cookie."""
    if "likewise.rater" not in request.scope:
        value = site.signer.unsign("session", request.cookies.get(COOKIE, ""))
        request.scope["likewise.rater"] = whole(value or "")
    found: int | None = request.scope["likewise.rater"]
    return found


async def page_of(request: Request) -> Page:
    """Return the page for whoever asks, with their rater if they have a session."""
    site: Site = request.app.state.site
    key = session(site, request)
    who = await site.ledger.run(lambda connection: find(connection, key)) if key is not None else None
    return Page(site, request, who)


def see_other(path: str) -> RedirectResponse:
    """Lead a browser on with a GET."""
    return RedirectResponse(path, status_code=303)
