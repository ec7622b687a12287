"""The context of every request - study, secrets, write queue, images - and how a page is rendered."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, lru_cache, partial
from pathlib import Path
from typing import Any

import jinja2
import sqlalchemy as sa
from markupsafe import Markup
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from likewise.errors import StudyError
from likewise.study.config.plan_hash import freeze, image_facts
from likewise.study.config.sections import Item, StudyPlan
from likewise.study.config.texts import LANGUAGES
from likewise.study.server.figures import Agreement, Figures
from likewise.study.server.forms import form_view
from likewise.study.server.guard import parse_int, same_site
from likewise.study.server.pictures import ServedImages
from likewise.study.server.responses import Outcome, Received, record_and_next
from likewise.study.server.schedule import images_for
from likewise.study.server.signing import Signer, read_key
from likewise.study.store.raters import FINISHED, Rater, find
from likewise.study.store.schema import begin_study, erase_traces, open_database, reading
from likewise.study.store.write_queue import WriteQueue
from likewise.study.translations import best_language, words

COOKIE = "likewise"
DESIGNER = "likewise_design"
WORKER_FIELDS = ("PROLIFIC_PID", "workerId", "worker_id", "participant")
"""How the platforms name a worker id in the link."""
_REMEMBERED = 4096  # raters whose form token need not be made again
_MONTH = 30 * 24 * 3600


@dataclass(frozen=True)
class Site:
    """A running study."""

    study: StudyPlan
    signer: Signer
    engine: sa.Engine
    writes: WriteQueue
    served: ServedImages
    figures: Figures
    plan_hash: str
    address: str = ""
    """The public address, scheme included. Links never use the Host header of a request."""
    secure: bool = False
    """Cookies only over https."""
    clock: Callable[[], float] = time.time

    @classmethod
    def open(
        cls, study: StudyPlan, folder: Path, url: str, *, agreement: Agreement | None = None, **options: Any
    ) -> Site:
        """Freeze the plan, open its database and add the tasks of every unit.

        ``agreement`` computes agreement for the designer's page; the command line passes it in, because this package
        does no statistics.
        """
        signer, engine = read_key(folder), open_database(url)
        facts = image_facts(study)
        found = freeze(study, folder, facts)
        try:
            with engine.begin() as connection:
                begin_study(connection, study, found)
        except StudyError:
            engine.dispose()
            raise
        served = ServedImages(study, signer, folder / ".pictures", facts)
        figures = Figures(study, url, found, engine, agreement)
        return cls(study, signer, engine, WriteQueue(engine), served, figures, found, **options)

    def close(self) -> None:
        """Finish the queued changes and close the database."""
        self.writes.close()
        self.figures.close()
        self.engine.dispose()

    @cached_property
    def record(self) -> Callable[[sa.Connection, list[Received]], list[Outcome]]:
        """What the write queue makes of the responses that wait together."""
        return partial(_record, self.study)

    @cached_property
    def opaque(self) -> dict[str, str]:
        """Item -> the opaque name in forms."""
        return {key: self.signer.mac("item", key, 10) for key in self.study.items}

    @cached_property
    def item_of(self) -> dict[str, str]:
        """Opaque name -> item."""
        return {name: key for key, name in self.opaque.items()}

    @cached_property
    def _forms(self) -> dict[tuple[str, str], dict[str, Any]]:
        return {}

    def form(self, item: Item, language: str) -> dict[str, Any]:
        """Return the questions about an item as HTML, rendered once, and whether one click answers them."""
        key = (item.key if item.question else "", language)
        if key not in self._forms:
            view = form_view(self.study, item, language)
            html = _PAGES.get_template("asked.html.j2").render(t=words(language), **view)
            self._forms[key] = {"html": Markup(html), "instant": view["instant"]}  # noqa: S704  # escaped by the template
        return self._forms[key]

    def pictures(self, item: Item, rater: int) -> list[str]:
        """Return the addresses of an item's images from left to right, as this rater sees them."""
        return [f"/image/{self.served.name(name)}" for name in images_for(self.study, item, rater)]

    def join_path(self, worker: str = "") -> str:
        """Return the signed path of the study's open link, or of a personal link."""
        return f"/join/{self.signer.sign('join', f'for-{worker}' if worker else 'open')}"

    def back_path(self, rater: int) -> str:
        """Return the signed path of a rater's return link."""
        return f"/back/{self.signer.sign('back', str(rater))}"

    @property
    def design_token(self) -> str:
        """The token of the designer's pages."""
        return self.signer.mac("design", self.plan_hash, 20)

    @cached_property
    def csrf(self) -> Callable[[int], str]:
        """The token that a rater's forms carry."""
        return lru_cache(_REMEMBERED)(lambda rater: self.signer.mac("csrf", str(rater)))

    def code(self, who: Rater) -> str:
        """Return the completion code for how a rater finished."""
        fixed = self.study.completion.code if who.state == "done" else self.study.completion.screened_out
        return fixed or self.signer.code(who.state, who.name)

    async def read(self, query: Callable[[sa.Connection], Any]) -> Any:
        """Run a query beside the write queue."""
        return await run_in_threadpool(self._read, query)

    def _read(self, query: Callable[[sa.Connection], Any]) -> Any:
        with reading(self.engine) as connection:
            return query(connection)

    async def erase_traces(self) -> bool:
        """Remove what was deleted from the files of the database."""
        return await run_in_threadpool(erase_traces, self.engine)


def _record(study: StudyPlan, connection: sa.Connection, received: list[Received]) -> list[Outcome]:
    return record_and_next(connection, study, received)


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
    """One request: its rater, its language, and how its page is rendered."""

    site: Site
    request: Request
    rater: Rater | None = None
    preview: bool = False
    values: dict[str, Any] = field(default_factory=dict)

    @cached_property
    def language(self) -> str:
        """The requested language, the rater's, or the browser's."""
        offered = self.site.study.languages
        asked = self.request.query_params.get("lang", "")
        if asked in offered:
            return asked
        if self.rater and self.rater.language in offered:
            return self.rater.language
        return best_language(self.request.headers.get("accept-language", ""), offered)

    def render(self, template: str, *, status: int = 200, **values: Any) -> HTMLResponse:
        """Render a page."""
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
        """Render a page with a heading, a sentence and a link."""
        t = words(self.language)
        text = values.pop("text", t[f"{name}_text"])
        label = label or t["go_on"]
        return self.render(
            "message.html.j2", status=status, heading=t[name], text=text, link=link, label=label, **values
        )

    @property
    def place(self) -> str:
        """The path of the page that the rater should be on."""
        if self.rater is None:
            return "/"
        state = self.rater.state
        return "/instructions" if state == "consented" else "/end" if state in FINISHED else "/task"

    def own_form(self) -> bool:
        """Return whether the form of this request was sent from our own pages."""
        return same_site(self.request, self.site.address)

    def stay(self, response: Response, key: int) -> Response:
        """Put the session into a cookie: the signed number of the rater, and nothing else."""
        token = self.site.signer.sign("session", str(key))
        response.set_cookie(COOKIE, token, max_age=_MONTH, httponly=True, samesite="lax", secure=self.site.secure)
        return response


def session(site: Site, request: Request) -> int | None:
    """Return the number of the rater from a valid session cookie."""
    if "likewise.rater" not in request.scope:
        value = site.signer.unsign("session", request.cookies.get(COOKIE, ""))
        request.scope["likewise.rater"] = parse_int(value or "")
    found: int | None = request.scope["likewise.rater"]
    return found


async def page_of(request: Request) -> Page:
    """Return the page of a request, with its rater if it has a session."""
    site: Site = request.app.state.site
    key = session(site, request)
    who = await site.writes.run(lambda connection: find(connection, key)) if key is not None else None
    return Page(site, request, who)


def see_other(path: str) -> RedirectResponse:
    """Redirect a browser with a GET."""
    return RedirectResponse(path, status_code=303)
