"""The designer's pages, behind a token: progress, quality, agreement, export, a preview that records nothing."""

from __future__ import annotations

import io
import json
from typing import Any

import pandas as pd
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from likewise.errors import LikewiseError
from likewise.study.answering import Shown
from likewise.study.export import comments, controls, people, progress, ratings
from likewise.study.guard import whole
from likewise.study.pages import facts, task_view
from likewise.study.raters import Rater
from likewise.study.series import series_of
from likewise.study.site import DESIGNER, Page, Site, see_other

_CODES = ("done", "excluded", "unqualified")


def _page(request: Request) -> Page:
    """Return a page for the designer; anybody else is told that there is nothing."""
    site: Site = request.app.state.site
    cookie = site.signer.unsign("designer", request.cookies.get(DESIGNER, ""))
    if cookie != site.plan_hash[:16]:
        raise HTTPException(404)
    return Page(site, request)


async def enter(request: Request) -> Response:
    """Trade the token in the link for a cookie, so that the token does not stay in the address."""
    site: Site = request.app.state.site
    given = request.query_params.get("token", "")
    if not given:
        return await overview(request)
    if not site.signer.same(given, site.design_token):
        raise HTTPException(404)
    response = see_other("/design")
    token = site.signer.sign("designer", site.plan_hash[:16])
    response.set_cookie(DESIGNER, token, httponly=True, samesite="strict", secure=site.secure)
    return response


async def overview(request: Request) -> Response:
    """Show how the study goes."""
    page = _page(request)
    found = await _figures(page.site)
    link = str(request.base_url).rstrip("/") + page.site.join_path()
    return page.render("design.html.j2", p=found["progress"], people=found["raters"], agreement=found["agreement"],
                       link=link)  # fmt: skip


async def as_json(request: Request) -> Response:
    """Give the same numbers to a program."""
    page = _page(request)
    return JSONResponse({"plan": page.site.plan_hash, **await _figures(page.site)})


async def _figures(site: Site) -> dict[str, Any]:
    def read(connection: Any) -> dict[str, Any]:
        table = people(connection, site.study)
        rows = [_with_code(site, row) for row in _records(table)]
        return {"progress": progress(connection, site.study), "raters": rows, "agreement": _agreement(site, connection)}

    found: dict[str, Any] = await site.read(read)
    return found


def _records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = frame.where(frame.notna(), None).to_dict("records")  # type: ignore[assignment]
    return rows


def _with_code(site: Site, row: dict[str, Any]) -> dict[str, Any]:
    who = Rater(0, row["arm"], row["rater"], row["language"], row["state"], row["reason"])
    return {**row, "code": site.code(who) if row["state"] in _CODES else ""}


def _agreement(site: Site, connection: Any) -> list[dict[str, Any]]:
    if site.insight is None:
        return []
    try:
        return [dict(row) for row in site.insight(ratings(connection, site.study))]
    except LikewiseError:  # too few answers yet
        return []


async def download(request: Request) -> Response:
    """Give a table as a file whose name carries the plan's hash."""
    page = _page(request)
    site, name = page.site, request.path_params["name"]
    made: dict[str, Any] = {
        "ratings": lambda c: ratings(c, site.study).frame,
        "raters": lambda c: people(c, site.study),
        "controls": controls,
        "comments": comments,
    }
    table, _, ending = name.partition(".")
    if table not in made or ending not in ("csv", "parquet") or (ending == "parquet" and table != "ratings"):
        raise HTTPException(404)
    frame: pd.DataFrame = await site.read(made[table])
    data, kind = _bytes(frame, ending, site.plan_hash)
    headers = {
        "content-disposition": f'attachment; filename="{table}-{site.plan_hash[:12]}.{ending}"',
        "x-likewise-plan": site.plan_hash,
    }
    return Response(data, media_type=kind, headers=headers)


def _bytes(frame: pd.DataFrame, ending: str, plan_hash: str) -> tuple[bytes, str]:
    if ending == "csv":
        return frame.to_csv(index=False, lineterminator="\n").encode(), "text/csv"
    import pyarrow as pa  # noqa: PLC0415  # only this page needs it
    import pyarrow.parquet as pq  # noqa: PLC0415

    table = pa.Table.from_pandas(frame, preserve_index=False)
    table = table.replace_schema_metadata({b"likewise": json.dumps({"study": plan_hash}).encode()})
    sink = io.BytesIO()
    pq.write_table(table, sink)
    return sink.getvalue(), "application/vnd.apache.parquet"


async def preview(request: Request) -> Response:
    """Walk through the pages as a rater would; the step is in the address, and nothing is recorded."""
    page = _page(request)
    page.preview = True
    study, at = page.site.study, request.query_params.get("at", "0")
    step = max(0, whole(at) or 0)
    here = f"/design/preview?lang={page.language}&at="
    if step == 0:
        return page.render("consent.html.j2", ticket="", looking=False, facts=facts(page), action="/design/preview")
    if step == 1:
        shown = [(f"/image/{page.site.gallery.name(name)}", text) for name, text in study.instructions.pictures]
        return page.render("instructions.html.j2", pictures=shown, first=False, action="", path=f"{here}2")
    keys = _walk(page)
    if step - 2 >= len(keys):
        who = Rater(0, "", "preview", page.language, "done", "")
        return page.render("end.html.j2", name="done", code=page.site.code(who), redirect="")
    return _step(page, step, keys)


def _walk(page: Page) -> list[str]:
    """Return the items of a rater number 0: practice, then units with the controls between them."""
    study = page.site.study
    series = series_of(study, 0, study.arms[0].name if study.arms else "")
    units = iter([study.units[k].key for k in series.order])
    main = [series.controls[k][1] if k in series.controls else next(units) for k in range(series.length)]
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
        action=f"/design/preview?lang={page.language}",
        done=k if training else k - practice,
        total=total,
        practice=training,
        **task_view(page, study.items[shown.item], following),
    )


async def preview_on(request: Request) -> Response:
    """Go one step on in the preview, whatever was answered."""
    page = _page(request)
    body = (await request.body())[:2000].decode("ascii", "replace")
    fields = dict(part.split("=", 1) for part in body.split("&") if "=" in part)
    at = fields.get("position", "0")
    step = max(0, whole(at) or 0)
    return see_other(f"/design/preview?lang={page.language}&at={step + 1}")
