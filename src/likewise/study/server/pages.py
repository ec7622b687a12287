"""The pages of raters who have joined: instructions, practice, tasks, end; pause, withdraw."""

from __future__ import annotations

from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from likewise.study.config.sections import Item
from likewise.study.server.context import COOKIE, Page, Site, page_of, see_other, session
from likewise.study.server.forms import MissingError, comprehends, given_from, groups_of
from likewise.study.server.guard import parse_int, read_form
from likewise.study.server.responses import Received, Shown, next_task, undo
from likewise.study.server.schedule import TRAINING_STEP, length_of
from likewise.study.store.raters import (
    FINISHED,
    begin,
    fail_comprehension,
    find,
    set_language,
    withdraw,
)
from likewise.study.translations import words


async def _own(request: Request) -> tuple[Page, dict[str, str]]:
    """Read a form of a rater with a session; refuse a forged one."""
    page = await page_of(request)
    fields = await read_form(request)
    if page.rater is None:
        raise HTTPException(401)
    if not page.site.signer.same(fields.get("csrf", ""), page.site.csrf(page.rater.id)) or not page.own_form():
        raise HTTPException(403)
    return page, fields


async def instructions(request: Request) -> Response:
    """Show the instructions, at the start and whenever a rater wants them."""
    page = await page_of(request)
    return instructions_page(page, path=page.place) if page.rater else see_other("/")


def instructions_page(page: Page, *, path: str, status: int = 200, **values: Any) -> Response:
    """Render the instructions, with the comprehension check for raters who have not started."""
    study, first = page.site.study, page.rater is not None and page.rater.state == "consented"
    shown = [(f"/image/{page.site.served.name(name)}", text) for name, text in study.instructions.pictures]
    questions = [item.question for item in study.comprehension.items if item.question is not None]
    groups = groups_of(questions, page.language) if first or page.preview else []
    return page.render(
        "instructions.html.j2", status=status, pictures=shown, first=first, groups=groups, action="/instructions",
        path=path, **values,
    )  # fmt: skip


async def start(request: Request) -> Response:
    """Leave the instructions, if the comprehension check is passed."""
    page, fields = await _own(request)
    who, site = page.rater, page.site
    if who is None:
        raise HTTPException(401)
    t = words(page.language)
    try:
        understood = who.state != "consented" or comprehends(site.study, fields)
    except MissingError as missing:
        notice = t["missing"].format(question=missing.question.text(page.language))
        return instructions_page(page, path="/task", status=422, notice=notice)
    except ValueError as error:
        raise HTTPException(400) from error
    if not understood:
        left = await site.writes.run(
            lambda connection: fail_comprehension(
                connection, site.study, find(connection, who.id, lock=True) or who, site.clock()
            )
        )
        if not left:
            return see_other("/end")
        return instructions_page(page, path="/task", status=422, notice=t["comprehension_again"].format(n=left))
    await site.writes.run(
        lambda connection: begin(connection, site.study, find(connection, who.id, lock=True) or who, site.clock())
    )
    return see_other("/task")


async def language(request: Request) -> Response:
    """Change the language of the pages."""
    page, fields = await _own(request)
    chosen, key = fields.get("language", ""), page.rater.id if page.rater else 0
    if chosen in page.site.study.languages:
        await page.site.writes.run(lambda connection: set_language(connection, key, chosen))
    back = fields.get("back", "/task")
    return see_other(back if back in ("/task", "/instructions", "/pause", "/withdraw", "/end") else "/task")


async def task(request: Request) -> Response:
    """Show the current task of a rater."""
    page = await page_of(request)
    who, site = page.rater, page.site
    if who is None:
        return see_other("/")
    if who.state == "consented" or who.state in FINISHED:
        return see_other(page.place)
    shown = await site.writes.run(
        lambda connection: next_task(connection, site.study, find(connection, who.id, lock=True) or who, site.clock())
    )
    return show(page, shown)


async def submit(request: Request) -> Response:
    """Record a response. It is on disk before this returns; sent twice it counts once."""
    site = request.app.state.site
    key, fields = session(site, request), await read_form(request)
    page = Page(site, request)
    if key is None:
        raise HTTPException(401)
    if not site.signer.same(fields.get("csrf", ""), site.csrf(key)) or not page.own_form():
        raise HTTPException(403)
    item = site.study.items.get(site.item_of.get(fields.get("item", ""), ""))
    position = parse_int(fields.get("position", ""))
    if item is None or position is None:
        raise HTTPException(400)
    try:
        given = given_from(site.study, item, position, _shown_at(site, key, position, fields), fields)
    except MissingError as missing:
        return await _ask_again(request, missing)
    except ValueError as error:
        raise HTTPException(400) from error
    found = await site.writes.run_together(site.record, Received(key, given, site.clock()))
    if found is None:
        raise HTTPException(401)
    outcome, shown = found
    page.rater = shown.rater
    if shown.kind == "feedback":
        return _feedback(page, shown, given.values)
    if request.headers.get("x-likewise") == "script" or shown.kind in ("qualified", "again"):
        return show(page, shown, notice="gone" if outcome == "gone" else "")
    return see_other("/end" if shown.rater.state in FINISHED else "/task")


def _shown_at(site: Site, key: int, position: int, fields: dict[str, str]) -> float:
    """Return when a form says that it was shown; the time is signed for this rater and this position."""
    signed = site.signer.unsign("shown", fields.get("shown", "")) or ""
    by, _, rest = signed.partition(" ")
    at, _, milliseconds = rest.partition(" ")
    if (by, at) != (str(key), str(position)) or parse_int(milliseconds) is None:
        raise ValueError("shown")
    return int(milliseconds) / 1000


async def _ask_again(request: Request, missing: MissingError) -> Response:
    page = await page_of(request)
    who, site = page.rater, page.site
    if who is None:
        raise HTTPException(401)
    shown = await site.writes.run(lambda connection: next_task(connection, site.study, who, site.clock()))
    question = missing.question.text(page.language)
    return show(page, shown, notice=words(page.language)["missing"].format(question=question), status=422)


def show(page: Page, shown: Shown, *, notice: str = "", status: int = 200) -> Response:
    """Render the page of a task, or of what comes instead of one."""
    t = words(page.language)
    if shown.kind in ("qualified", "again"):
        return page.message(shown.kind, link="/task")
    if shown.rater.state in FINISHED:
        return _end(page, shown)
    page.rater = shown.rater
    item = page.site.study.items[shown.item]
    following = page.site.study.items.get(shown.following)
    return page.render(
        "task.html.j2",
        status=status,
        notice=t.get(notice, notice),
        position=shown.position,
        item=page.site.opaque[shown.item],
        shown=page.site.signer.sign("shown", f"{shown.rater.id} {shown.position} {round(shown.shown_at * 1000)}"),
        action="/task",
        last=shown.last,
        **task_view(page, item, following),
        **_progress(page, shown),
    )


def task_view(page: Page, item: Item, following: Item | None) -> dict[str, Any]:
    """Return the parts of the page of a task that depend on the item."""
    site, t = page.site, words(page.language)
    rater = page.rater.id if page.rater else 0
    images = site.pictures(item, rater)
    alts = [t["picture"]] if len(images) == 1 else [t["picture_of"].format(k=k + 1, n=2) for k in range(2)]
    return {
        "pictures": list(zip(images, alts, strict=True)),
        "ahead": site.pictures(following, rater) if following else [],
        "form": site.form(item, page.language),
    }


def _progress(page: Page, shown: Shown) -> dict[str, Any]:
    study = page.site.study
    if shown.position < 0:
        return {"done": shown.position % TRAINING_STEP, "total": len(study.training.items), "practice": True}
    return {"done": shown.position, "total": length_of(study, shown.rater.arm), "practice": False}


def _feedback(page: Page, shown: Shown, values: Any) -> Response:
    """Explain a training item after the response."""
    study, language = page.site.study, page.language
    item = study.items[shown.item]
    right = dict(values) == dict(item.answer)
    labels = []
    for question in study.questions_of(item):
        of = {option.value: option.label(language) for option in question.options}
        labels.append((question.text(language), of.get(values.get(question.name), "–"), of[item.answer[question.name]]))
    explanation = item.explanation.html(language) if item.explanation else ""
    return page.render("feedback.html.j2", right=right, labels=labels, explanation=explanation, link="/task",
                       **task_view(page, item, None), **_progress(page, shown))  # fmt: skip


async def end(request: Request) -> Response:
    """Show the last page, with the completion code."""
    page = await page_of(request)
    if page.rater is None or page.rater.state not in FINISHED:
        return see_other(page.place)
    return _end(page, Shown(page.rater))


def _end(page: Page, shown: Shown) -> Response:
    who, site = shown.rater, page.site
    code = site.code(who) if who.state != "full" else site.study.completion.screened_out
    redirect = site.study.completion.redirect.replace("{code}", code) if code else ""
    page.rater = who
    return page.render("end.html.j2", name=who.state, code=code, redirect=redirect)


async def pause(request: Request) -> Response:
    """Show the return link."""
    page = await page_of(request)
    if page.rater is None:
        return see_other("/")
    address = page.site.address.rstrip("/") + page.site.back_path(page.rater.id)
    return page.render("pause.html.j2", address=address, path=page.place)


async def leave(request: Request) -> Response:
    """Ask before everything is erased."""
    page = await page_of(request)
    return page.render("withdraw.html.j2", path=page.place) if page.rater else see_other("/")


async def left(request: Request) -> Response:
    """Withdraw: erase the rater's rows, also from the files of the database, and end the session."""
    page, _ = await _own(request)
    key = page.rater.id if page.rater else 0
    await page.site.writes.run(lambda connection: withdraw(connection, key))
    await page.site.erase_traces()
    page.rater = None
    response = page.message("withdrawn")
    response.delete_cookie(COOKIE, httponly=True, samesite="lax", secure=page.site.secure)
    return response


async def take_back(request: Request) -> Response:
    """Take back the response that the form names, if it is the last one."""
    page, fields = await _own(request)
    key, position = page.rater.id if page.rater else 0, parse_int(fields.get("position", ""))
    if position is None:
        raise HTTPException(400)
    await page.site.writes.run(lambda connection: undo(connection, key, position))
    return see_other("/task")
