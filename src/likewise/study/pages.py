"""The rater's pages: link, consent, instructions, practice, tasks, end; pause, come back, withdraw."""

from __future__ import annotations

import secrets
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from likewise.study.answering import Shown, answer_and_next, next_task, undo
from likewise.study.assignment import any_free
from likewise.study.forms import MissingError, form_view, given_from
from likewise.study.guard import form_of, same_site, whole
from likewise.study.parts import Item
from likewise.study.raters import OVER, begin, find, join, set_language, withdraw
from likewise.study.series import TRAINING_STEP, length_of
from likewise.study.site import COOKIE, WORKER_FIELDS, Page, Site, page_of, see_other, session
from likewise.study.words import words

_TICKET_HOURS = 48
_NO_ASSIGNMENT = "ASSIGNMENT_ID_NOT_AVAILABLE"  # what MTurk sends while a worker only looks


async def home(request: Request) -> Response:
    """Without a link there is only a friendly word; with a session, the way on."""
    page = await page_of(request)
    return see_other(_place(page)) if page.rater else page.message("no_link", status=404)


def _place(page: Page) -> str:
    if page.rater is None:
        return "/"
    return "/instructions" if page.rater.state == "consented" else "/end" if page.rater.state in OVER else "/task"


async def invitation(request: Request) -> Response:
    """Show what the study is and ask for consent; nothing is recorded yet."""
    page = await page_of(request)
    site = page.site
    whom = site.signer.unsign("join", request.path_params["token"])
    if whom is None:
        return page.message("bad_link", status=404)
    known = whom if whom != "open" else next((v for f in WORKER_FIELDS if (v := request.query_params.get(f))), "")
    if not await site.ledger.run(lambda connection: any_free(connection, site.clock())) and not page.rater:
        return page.message("full")
    worker = site.signer.worker(known[:200] or secrets.token_hex(16))
    ticket = site.signer.sign("ticket", f"{worker}-{int(site.clock())}")
    looking = request.query_params.get("assignmentId") == _NO_ASSIGNMENT
    return page.render("consent.html.j2", ticket=ticket, looking=looking, facts=facts(page), action=request.url.path)


def facts(page: Page) -> list[str]:
    """Say how many tasks there are, how long they take and what is paid."""
    study, t = page.site.study, words(page.language)
    number = study.tasks_per_rater + study.gold.per_rater + study.attention.per_rater
    lines = [t["pairs" if len(study.units[0].images) == 2 else "tasks"].format(n=number)]
    if study.training.items:
        lines.insert(0, t["practice"].format(n=len(study.training.items)))
    seconds = study.seconds * (number + len(study.training.items))
    lines.append(t["minutes"].format(n=max(1, round(seconds / 60 + 1))))
    if study.pay.per_task and not study.arms:
        lines.append(t["pay"].format(amount=f"{study.pay.per_task:.2f}", currency=study.pay.currency))
    return lines


async def consent(request: Request) -> Response:
    """Record consent: from here on there is a rater, and a session."""
    page = await page_of(request)
    site = page.site
    fields = await form_of(request)
    ticket = site.signer.unsign("ticket", fields.get("ticket", ""))
    if site.signer.unsign("join", request.path_params["token"]) is None or ticket is None or not same_site(request):
        return page.message("bad_link", status=403)
    worker, _, when = ticket.partition("-")
    if site.clock() - int(when) > 3600 * _TICKET_HOURS:
        return page.message("old_form", status=403, link=request.url.path)
    if fields.get("choice") != "agree":
        code = site.study.completion.declined
        return page.render("end.html.j2", name="declined", code=code, redirect="")
    who = await site.ledger.run(
        lambda connection: join(connection, site.study, site.signer, worker, page.language, site.clock())
    )
    page.rater = who
    return page.stay(see_other(_place(page)), who.id)


async def come_back(request: Request) -> Response:
    """Go on where a rater stopped, on any device."""
    page = await page_of(request)
    value = page.site.signer.unsign("back", request.path_params["token"]) or ""
    key = whole(value)
    if key is None:
        return page.message("bad_link", status=404)
    page.rater = await page.site.ledger.run(lambda connection: find(connection, key))
    return page.stay(see_other(_place(page)), page.rater.id) if page.rater else page.message("bad_link", status=404)


async def _own(request: Request) -> tuple[Page, dict[str, str]]:
    """Read a form of a rater with a session; refuse one that is forged."""
    page = await page_of(request)
    fields = await form_of(request)
    if page.rater is None:
        raise HTTPException(401)
    if not page.site.signer.same(fields.get("csrf", ""), page.site.csrf(page.rater.id)) or not same_site(request):
        raise HTTPException(403)
    return page, fields


async def instructions(request: Request) -> Response:
    """Show the instructions, at the start and whenever a rater wants them."""
    page = await page_of(request)
    if page.rater is None:
        return see_other("/")
    shown = [(f"/image/{page.site.gallery.name(name)}", text) for name, text in page.site.study.instructions.pictures]
    first = page.rater.state == "consented"
    return page.render("instructions.html.j2", pictures=shown, first=first, action="/instructions", path=_place(page))


async def start(request: Request) -> Response:
    """Leave the instructions."""
    page, _ = await _own(request)
    who, site = page.rater, page.site
    if who is None:
        raise HTTPException(401)
    await site.ledger.run(
        lambda connection: begin(connection, site.study, find(connection, who.id, lock=True) or who, site.clock())
    )
    return see_other("/task")


async def language(request: Request) -> Response:
    """Change the language of the pages."""
    page, fields = await _own(request)
    wish, key = fields.get("language", ""), page.rater.id if page.rater else 0
    if wish in page.site.study.languages:
        await page.site.ledger.run(lambda connection: set_language(connection, key, wish))
    back = fields.get("back", "/task")
    return see_other(back if back in ("/task", "/instructions", "/pause", "/withdraw", "/end") else "/task")


async def task(request: Request) -> Response:
    """Show the task that a rater is at."""
    page = await page_of(request)
    who, site = page.rater, page.site
    if who is None:
        return see_other("/")
    if who.state == "consented" or who.state in OVER:
        return see_other(_place(page))
    shown = await site.ledger.run(
        lambda connection: next_task(connection, site.study, find(connection, who.id, lock=True) or who, site.clock())
    )
    return show(page, shown)


async def submit(request: Request) -> Response:
    """Take an answer. It is on disk before this returns; sent twice it counts once."""
    site = request.app.state.site
    key, fields = session(site, request), await form_of(request)
    page = Page(site, request)
    if key is None:
        raise HTTPException(401)
    if not site.signer.same(fields.get("csrf", ""), site.csrf(key)) or not same_site(request):
        raise HTTPException(403)
    item = site.study.items.get(site.item_of.get(fields.get("item", ""), ""))
    position = whole(fields.get("position", ""))
    if item is None or position is None:
        raise HTTPException(400)
    try:
        given = given_from(site.study, item, position, _shown_at(site, key, position, fields), fields)
    except MissingError as missing:
        return await _ask_again(request, missing)
    except ValueError as error:
        raise HTTPException(400) from error
    found = await site.ledger.run(lambda connection: answer_and_next(connection, site.study, key, given, site.clock()))
    if found is None:
        raise HTTPException(401)
    outcome, shown = found
    page.rater = shown.rater
    if shown.kind == "feedback":
        return _feedback(page, shown, given.values)
    if request.headers.get("x-likewise") == "script" or shown.kind in ("qualified", "again"):
        return show(page, shown, notice="gone" if outcome == "gone" else "")
    return see_other("/end" if shown.rater.state in OVER else "/task")


def _shown_at(site: Site, key: int, position: int, fields: dict[str, str]) -> float:
    """Return when a form says that it was shown; the time is signed for this rater and this position."""
    told = whole(site.signer.unsign(f"shown {key} {position}", fields.get("shown", "")) or "")
    if told is None:
        raise ValueError("shown")
    return told / 1000


async def _ask_again(request: Request, missing: MissingError) -> Response:
    page = await page_of(request)
    who, site = page.rater, page.site
    if who is None:
        raise HTTPException(401)
    shown = await site.ledger.run(lambda connection: next_task(connection, site.study, who, site.clock()))
    question = missing.question.text(page.language)
    return show(page, shown, notice=words(page.language)["missing"].format(question=question), status=422)


def show(page: Page, shown: Shown, *, notice: str = "", status: int = 200) -> Response:
    """Make the page of a task, or of what comes instead of one."""
    t = words(page.language)
    if shown.kind in ("qualified", "again"):
        return page.message(shown.kind, link="/task")
    if shown.rater.state in OVER:
        return _end(page, shown)
    item = page.site.study.items[shown.item]
    following = page.site.study.items.get(shown.following)
    return page.render(
        "task.html.j2",
        status=status,
        notice=t.get(notice, notice),
        position=shown.position,
        item=page.site.opaque[shown.item],
        shown=page.site.signer.sign(f"shown {shown.rater.id} {shown.position}", str(round(shown.shown_at * 1000))),
        action="/task",
        **task_view(page, item, following),
        **_progress(page, shown),
    )


def task_view(page: Page, item: Item, following: Item | None) -> dict[str, Any]:
    """Return the parts of a task's page that depend on the item."""
    site, t = page.site, words(page.language)
    images = site.pictures(item)
    alts = [t["picture"]] if len(images) == 1 else [t["picture_of"].format(k=k + 1, n=2) for k in range(2)]
    return {
        "pictures": list(zip(images, alts, strict=True)),
        "ahead": site.pictures(following) if following else [],
        "skip": site.study.skip,
        **form_view(site.study, item, page.language),
    }


def _progress(page: Page, shown: Shown) -> dict[str, Any]:
    study = page.site.study
    if shown.position < 0:
        return {"done": shown.position % TRAINING_STEP, "total": len(study.training.items), "practice": True}
    return {"done": shown.position, "total": length_of(study, shown.rater.arm), "practice": False}


def _feedback(page: Page, shown: Shown, values: Any) -> Response:
    """Explain a training item after the answer."""
    study, language = page.site.study, page.language
    item = study.items[shown.item]
    right = dict(values) == dict(item.answer)
    labels = []
    for question in study.asked(item):
        of = {option.value: option.label(language) for option in question.options}
        labels.append((question.text(language), of.get(values.get(question.name), "–"), of[item.answer[question.name]]))
    explanation = item.explanation.html(language) if item.explanation else ""
    return page.render("feedback.html.j2", right=right, labels=labels, explanation=explanation, link="/task",
                       **task_view(page, item, None), **_progress(page, shown))  # fmt: skip


async def end(request: Request) -> Response:
    """Say thanks and give the completion code."""
    page = await page_of(request)
    if page.rater is None or page.rater.state not in OVER:
        return see_other(_place(page))
    return _end(page, Shown(page.rater))


def _end(page: Page, shown: Shown) -> Response:
    who, site = shown.rater, page.site
    code = site.code(who) if who.state != "full" else site.study.completion.screened_out
    redirect = site.study.completion.redirect.replace("{code}", code) if code else ""
    page.rater = who
    return page.render("end.html.j2", name=who.state, code=code, redirect=redirect)


async def pause(request: Request) -> Response:
    """Give the address on which to come back."""
    page = await page_of(request)
    if page.rater is None:
        return see_other("/")
    address = str(request.base_url).rstrip("/") + page.site.back_path(page.rater.id)
    return page.render("pause.html.j2", address=address, path=_place(page))


async def leave(request: Request) -> Response:
    """Ask before everything is erased."""
    page = await page_of(request)
    return page.render("withdraw.html.j2", path=_place(page)) if page.rater else see_other("/")


async def left(request: Request) -> Response:
    """Withdraw: the rater's rows go, and the session with them."""
    page, _ = await _own(request)
    key = page.rater.id if page.rater else 0
    await page.site.ledger.run(lambda connection: withdraw(connection, key))
    page.rater = None
    response = page.message("withdrawn")
    response.delete_cookie(COOKIE, httponly=True, samesite="lax", secure=page.site.secure)
    return response


async def take_back(request: Request) -> Response:
    """Go back to the last answer."""
    page, _ = await _own(request)
    key = page.rater.id if page.rater else 0
    await page.site.ledger.run(lambda connection: undo(connection, page.site.study, key))
    return see_other("/task")
