"""Joining a study: link, consent, return link."""

from __future__ import annotations

import secrets

from starlette.requests import Request
from starlette.responses import Response

from likewise.study.config.sections import StudyPlan
from likewise.study.server.context import WORKER_FIELDS, Page, page_of, see_other
from likewise.study.server.guard import parse_int, read_form
from likewise.study.store.assignment import any_free
from likewise.study.store.raters import Joining, Rater, RefusedError, find, join
from likewise.study.translations import words

_TICKET_HOURS = 48
_NO_ASSIGNMENT = "ASSIGNMENT_ID_NOT_AVAILABLE"  # what MTurk sends while a worker only looks


async def home(request: Request) -> Response:
    """Redirect a rater with a session to the current page; others need a link."""
    page = await page_of(request)
    return see_other(page.place) if page.rater else page.message("no_link", status=404)


async def invitation(request: Request) -> Response:
    """Describe the study and ask for consent; nothing is recorded yet."""
    page = await page_of(request)
    site = page.site
    whom = site.signer.unsign("join", request.path_params["token"])
    if whom is None:
        return page.message("bad_link", status=404)
    known = whom if whom != "open" else next((v for f in WORKER_FIELDS if (v := request.query_params.get(f))), "")
    if not await site.writes.run(lambda connection: any_free(connection, site.study, site.clock())) and not page.rater:
        return page.message("full")
    worker = site.signer.worker(known[:200] or secrets.token_hex(16))
    personal = "p" if whom != "open" else "o"  # a personal link proves who comes; an id in an open link does not
    ticket = site.signer.sign("ticket", f"{worker} {int(site.clock())} {personal}")
    looking = request.query_params.get("assignmentId") == _NO_ASSIGNMENT
    return page.render("consent.html.j2", ticket=ticket, looking=looking, facts=facts(page), action=request.url.path)


def facts(page: Page) -> list[str]:
    """Return how many tasks there are, how long they take and what is paid."""
    study, t = page.site.study, words(page.language)
    number = study.tasks_per_rater + study.gold.per_rater + study.attention.per_rater
    lines = [t["pairs" if len(study.units[0].images) == 2 else "tasks"].format(n=number)]
    if study.training.items:
        lines.insert(0, t["practice"].format(n=len(study.training.items)))
    seconds = study.seconds * (number + len(study.training.items))
    lines.append(t["minutes"].format(n=max(1, round(seconds / 60 + 1))))
    rates = pay_rates(study)
    if max(rates):
        name = "pay" if min(rates) == max(rates) else "pay_least"
        lines.append(t[name].format(amount=f"{min(rates):.2f}", currency=study.pay.currency))
    return lines


def pay_rates(study: StudyPlan) -> list[float]:
    """Return the payment for a task in each arm."""
    return [study.pay.per_task if arm.pay is None else arm.pay for arm in study.arms] or [study.pay.per_task]


async def consent(request: Request) -> Response:
    """Record consent: add the rater and start a session."""
    page = await page_of(request)
    site = page.site
    fields = await read_form(request)
    ticket = site.signer.unsign("ticket", fields.get("ticket", ""))
    if site.signer.unsign("join", request.path_params["token"]) is None or ticket is None or not page.own_form():
        return page.message("bad_link", status=403)
    worker, when, personal = ticket.split(" ")
    if site.clock() - int(when) > 3600 * _TICKET_HOURS:
        return page.message("old_form", status=403, link=request.url.path)
    if fields.get("choice") != "agree":
        code = site.study.completion.declined
        return page.render("end.html.j2", name="declined", code=code, redirect="")
    joining = Joining(worker, page.language, personal == "p", page.rater.id if page.rater else None)
    try:
        who = await site.writes.run(lambda connection: join(connection, site.study, site.signer, joining, site.clock()))
    except RefusedError as refused:
        return page.message(refused.why, status=403)
    page.rater = who
    return page.stay(see_other(page.place), who.id)


async def come_back(request: Request) -> Response:
    """Offer to go on where a rater stopped, on any device.

    The session starts with the button, not with the address: a page elsewhere could load the address and so replace
    the session of a rater by another one.
    """
    page = await page_of(request)
    who = await _returning(page)
    if who is None:
        return page.message("bad_link", status=404)
    if page.rater is not None and page.rater.id == who.id:
        return see_other(page.place)
    page.rater = None
    return page.render("return.html.j2", action=request.url.path)


async def resume(request: Request) -> Response:
    """Start the session of a rater who returns."""
    page = await page_of(request)
    await read_form(request)
    who = await _returning(page)
    if who is None or not page.own_form():
        return page.message("bad_link", status=403)
    page.rater = who
    return page.stay(see_other(page.place), who.id)


async def _returning(page: Page) -> Rater | None:
    value = page.site.signer.unsign("back", page.request.path_params["token"]) or ""
    key = parse_int(value)
    if key is None:
        return None
    found: Rater | None = await page.site.writes.run(lambda connection: find(connection, key))
    return found
