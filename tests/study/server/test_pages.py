"""The pages as a rater without script meets them, and what happens to those who try something else."""

from __future__ import annotations

import io
import re

import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image
from PIL.PngImagePlugin import PngInfo

from likewise.study.server.app import ROUTES, make_app
from likewise.study.server.guard import LARGEST_BODY, POLICY, TokenBucket
from likewise.study.store.schema import rater, task
from small_study import ATTENTION, FREE, GOLD, PLAN, TRAINING, Clock, Visitor, form, hidden, open_small, write_study

FULL = TRAINING + GOLD + ATTENTION


@pytest.fixture
def full(tmp_path):
    found = open_small(write_study(tmp_path, more=FULL))
    yield found
    found.close()


def rows(site):
    with site.engine.connect() as connection:
        return connection.execute(sa.select(task).where(task.c.answered_at.is_not(None))).all()


def test_from_the_link_to_the_code(full):
    visitor = Visitor(full, worker="anna")
    page = visitor.join()
    assert "Practice 1 of 2" in page
    seen, end = visitor.to_the_end(page)
    assert {full.study.kinds[item] for item in seen} == {"training", "gold", "attention", "work"}
    assert len(seen) == len(set(seen)) == 8
    assert "Thank you!" in end
    code = re.search(r"<output>(\w+)</output>", end)[1]
    assert len(code) == 8
    assert code in visitor.get("/end").text
    assert visitor.get("/task").url.path == "/end"
    assert not any("anna" in str(cell) for row in rows(full) for cell in row)
    with full.engine.connect() as connection:
        assert "anna" not in str(connection.execute(sa.select(rater)).all())


def test_nothing_is_recorded_before_consent(site):
    visitor = Visitor(site)
    page = visitor.get(visitor.link)
    assert "likewise" not in page.headers.get("set-cookie", "")
    declined = visitor.post(visitor.link, ticket=hidden(page.text)["ticket"], choice="decline")
    assert "Nothing was recorded" in declined.text
    with site.engine.connect() as connection:
        assert connection.execute(sa.select(sa.func.count()).select_from(rater)).scalar() == 0
    assert visitor.get("/task").status_code == 404


def test_a_miss_is_explained_and_a_hit_is_not(full):
    visitor = Visitor(full)
    page = visitor.join()
    item = full.study.items[visitor.item(page)]
    right = item.answer["seen"]
    reported = visitor.answer(page, f"{1 - right:g}").text
    assert "Not quite" in reported
    assert "It is &lt;there&gt;." in reported or "It is not." in reported
    page = visitor.get("/task").text
    right = full.study.items[visitor.item(page)].answer["seen"]
    assert "right answer" not in visitor.answer(page, f"{right:g}").text


def test_controls_look_like_all_others(full):
    """Apart from words, numbers and opaque names, the page of a gold or attention item is that of a unit."""
    visitor = Visitor(full, worker="w")
    page = visitor.join()
    shapes: dict[str, set[str]] = {}
    while (fields := form(page)) is not None or 'href="/task"' in page:
        if fields is None:
            page = visitor.get("/task").text
            continue
        item = full.study.items[visitor.item(page)]
        bare = re.sub(r'(value|href|src)="[^"]*"', "", re.search(r"<body.*</body>", page, re.DOTALL)[0])
        bare = re.sub(r'<form method="post" action="/undo".*?</form>', "", bare, flags=re.DOTALL)
        bare = re.sub(r">[^<>]*<", "><", re.sub(r"\s+", " ", bare))
        shapes.setdefault(full.study.kinds[item.key], set()).add(bare)
        page = visitor.answer(page, f"{next(iter(item.answer.values()), 1):g}").text
    assert shapes["gold"] == shapes["attention"] == shapes["work"]
    assert len(shapes["work"]) == 1


def test_an_answer_sent_twice_counts_once(site):
    visitor = Visitor(site)
    page = visitor.join()
    first = visitor.answer(page, "1")
    again = visitor.answer(page, "0")
    assert first.status_code == again.status_code == 200
    assert [row.value for row in rows(site)] == ['{"seen": 1.0}']


def test_a_missing_answer_is_asked_for(site):
    visitor = Visitor(site)
    page = visitor.join()
    asked = visitor.post("/task", **form(page))
    assert asked.status_code == 422
    assert "Please answer: Seen?" in asked.text
    assert form(asked.text) == form(page)


def test_certainty_comment_and_no_answer_are_kept(tmp_path):
    site = open_small(write_study(tmp_path, plan="certainty = true\ncomment = true\nskip = true\n" + PLAN))
    visitor = Visitor(site)
    page = visitor.answer(visitor.join(), "0", certainty="2", comment=" odd\x00 teeth\n").text
    page = visitor.post("/task", **form(page), skip="1").text
    visitor.answer(page, "1")
    kept = {row.position: (row.value, row.certainty, row.comment) for row in rows(site)}
    assert kept[0] == ('{"seen": 0.0}', 2, "odd teeth")
    assert kept[1] == ('{"seen": null}', None, None)
    assert kept[2] == ('{"seen": 1.0}', None, None)
    site.close()


def test_a_rater_can_stop_and_come_back_elsewhere(site):
    visitor = Visitor(site)
    page = visitor.answer(visitor.join()).text
    address = re.search(r"<output>(.*?)</output>", visitor.get("/pause").text)[1]
    assert address.startswith("https://study.example.org/back/")
    other = Visitor(site, app=visitor.app)
    path = address.removeprefix("https://study.example.org")
    assert form(other.come_back(path).text)["item"] == form(page)["item"]
    assert other.get("/back/7.forged").status_code == 404


def test_the_same_worker_is_the_same_rater(site):
    visitor = Visitor(site, worker="w")
    page = visitor.answer(visitor.join()).text
    assert form(visitor.join())["item"] == form(page)["item"]
    with site.engine.connect() as connection:
        assert connection.execute(sa.select(sa.func.count()).select_from(rater)).scalar() == 1


def test_withdrawal_erases_everything(site):
    visitor = Visitor(site)
    visitor.answer(visitor.join())
    page = visitor.get("/withdraw").text
    assert "cannot be undone" in page
    gone = visitor.post("/withdraw", csrf=hidden(page)["csrf"])
    assert "answers are erased" in gone.text
    assert rows(site) == []
    assert visitor.get("/task").status_code == 404


def test_pages_speak_the_raters_language(site):
    visitor = Visitor(site, language="de-CH,de;q=0.9")
    page = visitor.join()
    assert '<html lang="de">' in page
    assert "Gesehen?" in page
    page = visitor.post("/language", csrf=form(page)["csrf"], language="en", back="https://evil.example").text
    assert "Seen?" in page
    assert '<html lang="en">' in page


def test_a_full_study_says_so(tmp_path):
    plan = PLAN.replace("tasks_per_rater = 4", "tasks_per_rater = 8").replace(
        "raters_per_unit = 2", "raters_per_unit = 1"
    )
    site = open_small(write_study(tmp_path, plan=plan))
    visitor = Visitor(site)
    visitor.to_the_end(visitor.join())
    assert "All places have been taken" in Visitor(site).get(site.join_path()).text
    site.close()


def test_a_visitor_from_mturk_only_looks(site):
    page = Visitor(site).get(site.join_path() + "?assignmentId=ASSIGNMENT_ID_NOT_AVAILABLE").text
    assert "Accept the task" in page
    assert "ticket" not in page


def test_the_redirect_carries_the_code(tmp_path):
    more = '[completion]\ncode = "C123"\nredirect = "https://example.org/done?cc={code}"\n'
    site = open_small(write_study(tmp_path, more=more))
    visitor = Visitor(site)
    _, end = visitor.to_the_end(visitor.join())
    assert 'href="https://example.org/done?cc=C123"' in end
    site.close()


# Hostile input


def test_forged_links_forms_and_cookies_are_refused(site):
    visitor = Visitor(site)
    assert visitor.get("/join/open.aaaaaaaaaaaaaaaaaaaaaaaaaa").status_code == 404
    assert visitor.get(site.join_path()[:-1]).status_code == 404
    assert visitor.post(site.join_path(), ticket="x.y", choice="agree").status_code == 403
    page = visitor.join()
    fields = {**form(page), "answer-1": "1"}
    assert visitor.post("/task", **{**fields, "csrf": "x"}).status_code == 403
    assert visitor.post("/task", **{**fields, "item": "x"}).status_code == 400
    assert visitor.post("/task", **{**fields, "position": "1e9"}).status_code == 400
    assert visitor.post("/task", **{**fields, "position": "٣"}).status_code == 400
    assert visitor.post("/task", **{**fields, "answer-1": "7"}).status_code == 400
    elsewhere = visitor.client.post("/task", data=fields, headers={"sec-fetch-site": "cross-site"})
    assert elsewhere.status_code == 403
    assert visitor.client.post("/task", data=fields, headers={"origin": "https://evil.example"}).status_code == 403
    stranger = Visitor(site)
    assert stranger.post("/task", **fields).status_code == 401
    stranger.client.cookies.set("likewise", "1.aaaaaaaaaaaaaaaaaaaaaaaaaa")
    assert stranger.post("/task", **fields).status_code == 401
    assert rows(site) == []


def test_another_raters_form_is_refused(site):
    one, two = Visitor(site, worker="one"), Visitor(site, worker="two")
    fields = form(one.join())
    two.join()
    assert two.post("/task", **{**fields, "answer-1": "1"}).status_code == 403
    assert rows(site) == []


def test_an_old_ticket_is_refused(tmp_path):
    clock = Clock()
    site = open_small(write_study(tmp_path), clock=clock)
    visitor = Visitor(site)
    ticket = hidden(visitor.get(visitor.link).text)["ticket"]
    clock.now += 3 * 24 * 3600
    assert visitor.post(visitor.link, ticket=ticket, choice="agree").status_code == 403
    site.close()


def test_text_is_escaped_wherever_it_is_shown(tmp_path):
    evil = "<script>alert(1)</script>"
    plan = PLAN.replace("A small study", evil).replace("Look and answer.", evil).replace('"Yes"', f'"{evil}"')
    site = open_small(write_study(tmp_path, plan="comment = true\n" + plan))
    visitor = Visitor(site)
    page = visitor.join()
    shown = visitor.get(visitor.link).text + visitor.get("/instructions").text + page
    visitor.answer(page, comment=f"=cmd()|' {evil}")
    visitor.get(f"/design?token={site.design_token}")
    shown += visitor.get("/design").text
    assert evil not in shown
    assert "&lt;script&gt;" in shown
    reported = visitor.get("/design/comments.csv").text
    assert "'=cmd()" in reported
    site.close()


def test_too_much_is_refused(site):
    visitor = Visitor(site)
    fields = form(visitor.join())
    assert visitor.post("/task", **fields, comment="x" * LARGEST_BODY).status_code == 413
    assert visitor.client.post("/task", content=b"{}", headers={"content-type": "application/json"}).status_code == 415
    kind = {"content-type": "application/x-www-form-urlencoded"}
    assert visitor.client.post("/task", content=b"a=%ff", headers=kind).status_code == 400
    assert visitor.client.post("/task", content=b"a=1&a=2", headers=kind).status_code == 400
    assert (
        visitor.client.post("/task", content=b"&".join(b"a%d=1" % k for k in range(99)), headers=kind).status_code
        == 400
    )


def test_a_session_that_asks_too_fast_has_to_wait(site):
    clock = [0.0]
    app = make_app(site, pace=TokenBucket(1, 3, clock=lambda: clock[0]), joins=FREE)
    visitor = Visitor(site, app=app)
    page = visitor.get(visitor.link).text
    visitor.post(visitor.link, ticket=hidden(page)["ticket"], choice="agree")
    assert [visitor.get("/instructions").status_code for _ in range(4)] == [200, 200, 429, 429]
    clock[0] += 1
    assert visitor.get("/instructions").status_code == 200
    strangers = Visitor(site, app=make_app(site, joins=TokenBucket(1, 2, clock=lambda: clock[0])))
    assert [strangers.get(site.join_path()).status_code for _ in range(3)] == [200, 200, 429]


@pytest.mark.parametrize(
    "name", ["../study.toml", "..%2f..%2fstudy.toml", "u0.png", "%2fetc%2fpasswd", "study.key", "x" * 3000]
)
def test_only_pictures_of_the_study_are_served(name, site):
    visitor = Visitor(site)
    visitor.join()
    assert visitor.get(f"/image/{name}").status_code == 404
    assert visitor.get(f"/static/{name}").status_code == 404


def test_a_picture_says_nothing_about_its_file(tmp_path):
    """Names, formats, sizes and metadata differ on disk; what is served does not."""
    folder = write_study(tmp_path)
    notes = PngInfo()
    notes.add_text("Software", "a famous generator")
    Image.new("RGB", (64, 48), "red").save(folder / "images" / "u1.png", pnginfo=notes)
    Image.new("RGB", (100, 80), "blue").save(folder / "images" / "u2.png", format="JPEG")
    site = open_small(folder)
    visitor = Visitor(site)
    page = visitor.join()
    assert not re.search(r"u\d\.png", page)
    for name in ("u1.png", "u2.png"):
        response = visitor.get(f"/image/{site.served.name(name)}")
        assert response.headers["content-type"] == "image/png"
        assert "last-modified" not in response.headers
        image = Image.open(io.BytesIO(response.content))
        assert (image.format, max(image.size), image.info) == ("PNG", 8, {})
    assert Visitor(site).get(f"/image/{site.served.name('u1.png')}").status_code == 404
    site.close()


def test_every_response_is_guarded(site):
    visitor = Visitor(site)
    for path in ("/", visitor.link, "/nowhere", "/static/study.css", "/join/x", "/health"):
        headers = visitor.get(path).headers
        assert headers["content-security-policy"] == POLICY
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "same-origin"
    assert "unsafe" not in POLICY
    assert "http:" not in POLICY
    visitor.get(visitor.link)
    page = visitor.get(visitor.link).text
    sent = visitor.client.post(
        visitor.link, data={"ticket": hidden(page)["ticket"], "choice": "agree"}, follow_redirects=False
    )
    cookie = sent.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=lax" in cookie
    pages = page + visitor.get("/instructions").text
    assert not re.search(r"<script(?! src=\"/static)|style=|onclick|https?://", pages)


def test_a_fault_of_ours_is_a_page_without_a_trace(site, monkeypatch, caplog):
    visitor = Visitor(site)
    visitor.join()
    monkeypatch.setattr("likewise.study.server.pages.show", lambda *a, **k: 1 / 0)
    response = visitor.get("/task")
    assert response.status_code == 500
    assert "ZeroDivision" not in response.text
    assert response.headers["content-security-policy"] == POLICY
    assert "ZeroDivision" in caplog.text


PATHS = sorted({route.path for route in ROUTES})
WILD = st.text(max_size=40)


@settings(max_examples=120, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    path=st.sampled_from(PATHS),
    part=WILD,
    method=st.sampled_from(["GET", "POST", "PUT", "HEAD", "OPTIONS"]),
    fields=st.dictionaries(st.sampled_from(["csrf", "item", "position", "answer-1", "skip", "ticket", "lang"]), WILD),
    query=st.dictionaries(st.sampled_from(["lang", "at", "token", "worker_id", "assignmentId"]), WILD),
    cookie=st.sampled_from(["", "real", "1.x", "\x7f"]),
    valid=st.booleans(),
)
def test_no_route_breaks_whatever_is_sent(full, path, part, method, fields, query, cookie, valid):
    """Route fuzzing: random fields, names, cookies and methods never bring the server down."""
    if not hasattr(test_no_route_breaks_whatever_is_sent, "visitor") or _fuzz().site is not full:
        visitor = Visitor(full)
        page = visitor.join()
        test_no_route_breaks_whatever_is_sent.visitor = visitor
        visitor.known, visitor.kept = form(page), dict(visitor.client.cookies)
    visitor = _fuzz()
    visitor.client.cookies.clear()
    if cookie == "real":
        visitor.client.cookies.update(visitor.kept)
    if valid:
        fields = {**visitor.known, **fields, "csrf": visitor.known["csrf"]}
    address = re.sub(r"\{\w+\}", lambda _: part.replace("/", "") or "x", path)
    headers = {"cookie": cookie} if cookie not in ("", "real", "\x7f") else {}
    try:
        response = visitor.client.request(
            method, address, params=query, data=fields if method == "POST" else None, headers=headers
        )
    except (UnicodeEncodeError, ValueError):
        return  # the client could not even send it
    except Exception as error:
        if type(error).__name__ in ("InvalidURL", "LocalProtocolError"):
            return
        raise
    assert response.status_code < 500, (method, address, fields)


def _fuzz() -> Visitor:
    return test_no_route_breaks_whatever_is_sent.visitor


# The designer's pages


def test_the_designer_needs_the_token(site):
    visitor = Visitor(site)
    visitor.join()
    for path in ("/design", "/design?token=x", "/design/progress.json", "/design/ratings.csv", "/design/preview"):
        assert visitor.get(path).status_code == 404
    entered = visitor.get(f"/design?token={site.design_token}")
    assert entered.url.query == b""
    assert "Progress" in entered.text
    assert visitor.get("/design/raters.parquet").status_code == 404


def test_the_designer_sees_how_it_goes(full):
    visitor = Visitor(full)
    visitor.to_the_end(visitor.join())
    visitor.get(f"/design?token={full.design_token}")
    page = visitor.get("/design").text
    assert "4<small> / 16" in page
    reported = visitor.get("/design/progress.json").json()
    assert reported["plan"] == full.plan_hash
    assert reported["progress"]["answered"] == 4
    (row,) = reported["raters"]
    assert (row["state"], row["answers"], row["gold"], row["missed"], row["training"]) == ("done", 4, 1.0, 0, 1.0)
    assert row["code"] in visitor.get("/end").text
    table = visitor.get("/design/ratings.csv")
    assert table.headers["x-likewise-plan"] == full.plan_hash
    assert full.plan_hash[:12] in table.headers["content-disposition"]
    assert len(table.text.splitlines()) == 5


def test_the_preview_records_nothing(full):
    visitor = Visitor(full)
    visitor.get(f"/design?token={full.design_token}")
    page, steps = visitor.get("/design/preview").text, 0
    assert "nothing that you do here is recorded" in page
    at = 0
    while "<output>" not in page:
        page = visitor.post("/design/preview", position=str(at), **{"answer-1": "1"}).text
        at, steps = at + 1, steps + 1
        assert steps < 30
    assert steps == 10  # instructions, 2 of practice, 6 tasks, the end
    with full.engine.connect() as connection:
        assert connection.execute(sa.select(sa.func.count()).select_from(rater)).scalar() == 0
