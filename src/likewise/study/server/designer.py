"""The pages of the designer, behind a token: progress, quality, agreement, export, a preview without records."""

from __future__ import annotations

import time
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from likewise.study.server.context import DESIGNER, Page, Site, see_other
from likewise.study.server.guard import parse_int
from likewise.study.server.joining import facts, pay_rates
from likewise.study.server.pages import instructions_page, task_view
from likewise.study.server.responses import Shown
from likewise.study.server.schedule import schedule_of
from likewise.study.store.raters import Rater

_CODES = ("done", "excluded", "unqualified")
_MEDIA = {"csv": "text/csv", "parquet": "application/vnd.apache.parquet"}


def _page(request: Request) -> Page:
    """Return a page for the designer; for everyone else there is no such page."""
    site: Site = request.app.state.site
    cookie = site.signer.unsign("designer", request.cookies.get(DESIGNER, ""))
    if cookie != site.plan_hash[:16]:
        raise HTTPException(404)
    return Page(site, request)


async def enter(request: Request) -> Response:
    """Exchange the token in the link for a cookie, so that the token does not stay in the address.

    The cookie is SameSite=Lax: with Strict a designer who follows the link from a mail would be rejected.
    """
    site: Site = request.app.state.site
    given = request.query_params.get("token", "")
    if not given:
        return await overview(request)
    if not site.signer.same(given, site.design_token):
        raise HTTPException(404)
    response = see_other("/design")
    token = site.signer.sign("designer", site.plan_hash[:16])
    response.set_cookie(DESIGNER, token, httponly=True, samesite="lax", secure=site.secure)
    return response


async def overview(request: Request) -> Response:
    """Show the progress of the study."""
    page = _page(request)
    found = await _figures(page.site)
    link = page.site.address.rstrip("/") + page.site.join_path()
    values = {
        "at": _clock(found["computed_at"]),
        "p": found["progress"],
        "people": found["raters"],
        "agreement": found["agreement"],
        "link": link,
    }
    rates = pay_rates(page.site.study)  # many raters make a long page, so it is rendered beside the event loop
    return await run_in_threadpool(page.render, "design.html.j2", **values, paid=bool(max(rates)))


def _clock(seconds: float) -> str:
    return time.strftime("%H:%M:%S UTC", time.gmtime(seconds))


async def as_json(request: Request) -> Response:
    """Return the same numbers as JSON."""
    page = _page(request)
    return JSONResponse({"plan": page.site.plan_hash, **await _figures(page.site)})


async def _figures(site: Site) -> dict[str, Any]:
    found = await run_in_threadpool(site.figures.overview)
    return {**found, "raters": [_with_code(site, row) for row in found["raters"]]}


def _with_code(site: Site, row: dict[str, Any]) -> dict[str, Any]:
    who = Rater(0, row["arm"], row["rater"], row["language"], row["state"], row["reason"])
    return {**row, "code": site.code(who) if row["state"] in _CODES else ""}


async def download(request: Request) -> Response:
    """Send a table as a file whose name carries the hash of the plan."""
    page = _page(request)
    site = page.site
    table, _, ending = request.path_params["name"].partition(".")
    data = await run_in_threadpool(site.figures.table, table, ending)
    if data is None:
        raise HTTPException(404)
    headers = {
        "content-disposition": f'attachment; filename="{table}-{site.plan_hash[:12]}.{ending}"',
        "x-likewise-plan": site.plan_hash,
    }
    return Response(data, media_type=_MEDIA[ending], headers=headers)


async def preview(request: Request) -> Response:
    """Show the pages as a rater sees them; the step is in the address, and nothing is recorded."""
    page = _page(request)
    page.preview = True
    at = request.query_params.get("at", "0")
    step = max(0, parse_int(at) or 0)
    here = f"/design/preview?lang={page.language}&at="
    if step == 0:
        return page.render("consent.html.j2", ticket="", looking=False, facts=facts(page), action="/design/preview")
    if step == 1:
        return instructions_page(page, path=f"{here}2")
    keys = _walk(page)
    if step - 2 >= len(keys):
        who = Rater(0, "", "preview", page.language, "done", "")
        return page.render("end.html.j2", name="done", code=page.site.code(who), redirect="")
    return _step(page, step, keys)


def _walk(page: Page) -> list[str]:
    """Return the items of a rater number 0: practice, then units with the controls between them."""
    study = page.site.study
    schedule = schedule_of(study, 0, study.arms[0].name if study.arms else "")
    units = iter([study.units[int(k)].key for k in schedule.order])
    main = [schedule.controls[k][1] if k in schedule.controls else next(units) for k in range(schedule.length)]
    return [item.key for item in study.training.items] + main


def _step(page: Page, step: int, keys: list[str]) -> Response:
    study, k = page.site.study, step - 2
    practice = len(study.training.items)
    training = k < practice
    shown = Shown(Rater(0, "", "preview", page.language, "working", ""), k, keys[k])
    following = study.items.get(keys[k + 1]) if k + 1 < len(keys) else None
    total = practice if training else len(keys) - practice
    return page.render(
        "task.html.j2",
        position=step,
        item="",
        shown="",
        last=-1,
        action=f"/design/preview?lang={page.language}",
        done=k if training else k - practice,
        total=total,
        practice=training,
        **task_view(page, study.items[shown.item], following),
    )


async def preview_on(request: Request) -> Response:
    """Go to the next step of the preview, whatever the response."""
    page = _page(request)
    body = (await request.body())[:2000].decode("ascii", "replace")
    fields = dict(part.split("=", 1) for part in body.split("&") if "=" in part)
    at = fields.get("position", "0")
    step = max(0, parse_int(at) or 0)
    return see_other(f"/design/preview?lang={page.language}&at={step + 1}")
