"""The application: routes, errors and limits around the pages."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import AsyncIterator
from importlib.resources import files
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from likewise.study.server import designer, joining, pages
from likewise.study.server.context import DESIGNER, Page, Site, page_of, session
from likewise.study.server.guard import SecurityHeaders, TokenBucket, log

_STATIC = {"study.css": "text/css", "study.js": "text/javascript", "icon.svg": "image/svg+xml"}
_WORDS = {401: "no_link", 403: "old_form", 413: "too_large", 429: "slow_down", 400: "old_form", 415: "old_form"}
_YEAR = "private, max-age=31536000, immutable"


async def image(request: Request) -> Response:
    """Serve an image of the study to its raters and its designer."""
    site: Site = request.app.state.site
    inside = session(site, request) is not None or site.signer.unsign("designer", request.cookies.get(DESIGNER, ""))
    data = await run_in_threadpool(site.served.png, request.path_params["name"]) if inside else None
    if data is None:
        raise HTTPException(404)
    return Response(data, media_type="image/png", headers={"cache-control": _YEAR})


async def static(request: Request) -> Response:
    """Serve our own style sheet, script and icon."""
    name = request.path_params["name"]
    if name not in _STATIC:
        raise HTTPException(404)
    data = (files("likewise.study") / "static" / name).read_bytes()
    return Response(data, media_type=_STATIC[name], headers={"cache-control": "public, max-age=3600"})


async def health(request: Request) -> Response:
    """Return ``ok`` when the server and its database are up; it does not wait for the write queue."""
    site: Site = request.app.state.site
    await site.read(lambda connection: connection.exec_driver_sql("SELECT 1").scalar())
    return PlainTextResponse("ok")


async def refused(request: Request, error: Exception) -> Response:
    """Answer a refused request with a page in plain words."""
    status = error.status_code if isinstance(error, HTTPException) else 500
    page = Page(request.app.state.site, request)
    with contextlib.suppress(Exception):
        page = await page_of(request)
    name = _WORDS.get(status, "not_found")
    return page.message(name, status=status, link="/" if page.rater else "")


async def failed(request: Request, error: Exception) -> Response:
    """Log an unexpected error and show a page without its details."""
    log.error("%s %s failed", request.method, request.url.path, exc_info=error)
    return Page(request.app.state.site, request).message("trouble", status=500, link="/task")


class RateLimits:
    """Limits the requests of a session (or, without one, of an address), and turns unexpected errors into a page."""

    def __init__(self, app: Any, site: Site, pace: TokenBucket, joins: TokenBucket) -> None:
        self._app, self._site, self._pace, self._joins = app, site, pace, joins

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Count pages and responses; images and styles are cheap and come in bunches."""
        counted = scope["type"] == "http" and not scope["path"].startswith(("/image/", "/static/", "/health"))
        if counted and not self._allowed(Request(scope)):
            await PlainTextResponse("Too many requests; please wait a little.", 429)(scope, receive, send)
            return
        try:
            await self._app(scope, receive, send)
        except Exception as error:
            if scope["type"] != "http":
                raise
            response = await failed(Request(scope), error)
            await response(scope, receive, send)

    def _allowed(self, request: Request) -> bool:
        key = session(self._site, request)
        if key is not None:
            return self._pace.allows(str(key))
        return self._joins.allows(request.client.host if request.client else "?")


ROUTES = [
    Route("/", joining.home),
    Route("/join/{token}", joining.invitation),
    Route("/join/{token}", joining.consent, methods=["POST"]),
    Route("/back/{token}", joining.come_back),
    Route("/back/{token}", joining.resume, methods=["POST"]),
    Route("/instructions", pages.instructions),
    Route("/instructions", pages.start, methods=["POST"]),
    Route("/language", pages.language, methods=["POST"]),
    Route("/task", pages.task),
    Route("/task", pages.submit, methods=["POST"]),
    Route("/undo", pages.take_back, methods=["POST"]),
    Route("/pause", pages.pause),
    Route("/withdraw", pages.leave),
    Route("/withdraw", pages.left, methods=["POST"]),
    Route("/end", pages.end),
    Route("/image/{name}", image),
    Route("/static/{name}", static),
    Route("/health", health),
    Route("/design", designer.enter),
    Route("/design/progress.json", designer.as_json),
    Route("/design/preview", designer.preview),
    Route("/design/preview", designer.preview_on, methods=["POST"]),
    Route("/design/{name}", designer.download),
]


def make_app(site: Site, *, pace: TokenBucket | None = None, joins: TokenBucket | None = None) -> Starlette:
    """Make the application.

    Parameters
    ----------
    site
        The running study.
    pace
        The limit on requests of a session.
    joins
        The limit on requests of an address without a session.

    Returns
    -------
    Starlette
        The ASGI application.
    """

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        gc.collect()
        gc.freeze()  # the plan and the libraries stay for good: scanning them again would delay responses
        yield
        gc.unfreeze()
        site.close()

    app = Starlette(
        routes=ROUTES,
        lifespan=lifespan,
        middleware=[
            Middleware(SecurityHeaders, https=site.secure),
            Middleware(RateLimits, site=site, pace=pace or TokenBucket(10, 40), joins=joins or TokenBucket(4, 240)),
        ],
        exception_handlers={HTTPException: refused},
    )
    app.state.site = site
    return app
