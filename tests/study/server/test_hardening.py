"""What an attack on the server found: locks, identities, traces, forged requests, clocks, spreadsheets."""

from __future__ import annotations

import contextlib
import io
import json
import re
import stat
import time
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool

import pytest
import sqlalchemy as sa
from PIL import Image

from likewise.cli.study.plan import planned
from likewise.errors import ImageError, StudyError
from likewise.study.config.load import read_study
from likewise.study.server import figures
from likewise.study.server.pictures import padded
from likewise.study.server.responses import next_task
from likewise.study.server.schedule import images_for
from likewise.study.store.assignment import any_free
from likewise.study.store.export import progress, rater_table, read_collected, spreadsheet_safe
from likewise.study.store.raters import find
from likewise.study.store.schema import open_database, rater, reading, sqlite_url, task, withdrawn, write_note
from small_study import (
    ATTENTION,
    COMPREHENSION,
    GOLD,
    PLAN,
    TRAINING,
    Clock,
    Visitor,
    form,
    hidden,
    open_small,
    write_study,
)


def rows(site):
    with site.engine.connect() as connection:
        return connection.execute(sa.select(task).where(task.c.answered_at.is_not(None))).all()


def leave(visitor):
    return visitor.post("/withdraw", csrf=hidden(visitor.get("/withdraw").text)["csrf"])


# Readers and writers


def test_a_reader_holds_up_no_writer(tmp_path, url):
    """The page of the designer reads for as long as it likes; a response is committed meanwhile."""
    site = open_small(write_study(tmp_path), url)
    with reading(site.engine) as connection:
        before = connection.execute(sa.select(sa.func.count()).select_from(rater)).scalar()
        site.writes.submit(lambda c: write_note(c, "seen", "yes")).result(timeout=5)
        assert connection.execute(sa.select(sa.func.count()).select_from(rater)).scalar() == before
    site.close()


def test_a_read_cannot_write(tmp_path, database):
    site = open_small(write_study(tmp_path), database)
    with pytest.raises(sa.exc.InternalError), reading(site.engine) as connection:
        write_note(connection, "seen", "yes")
    site.close()


def test_health_does_not_wait_for_the_write_queue(site):
    site.writes.submit(lambda connection: time.sleep(3))
    begun = time.monotonic()
    assert Visitor(site).get("/health").text == "ok"
    assert time.monotonic() - begun < 2.5


def answered_by_many(site, raters=60, each=8):
    """Put responses into the database directly: rater k calls the unit by a rule of its own."""
    units = [unit.key for unit in site.study.units]
    with site.engine.begin() as connection:
        connection.execute(sa.insert(rater), [
            {"worker": f"w{k}", "name": f"r{k}", "arm": "", "language": "en", "state": "working", "joined_at": 0.0,
             "reason": "", "attempts": 0}
            for k in range(raters)
        ])  # fmt: skip
        keys = connection.execute(sa.select(rater.c.id).order_by(rater.c.id)).scalars().all()
        connection.execute(sa.insert(task), [
            {"kind": "work", "item": units[(k * 3 + j) % len(units)], "rater": key, "position": j, "shown_at": 1.0,
             "answered_at": 3.0 + k % 5, "value": json.dumps({"seen": float((k * j + k // 3) % 3 == 0)})}
            for k, key in enumerate(keys) for j in range(each)
        ])  # fmt: skip


def test_agreement_with_the_majority_is_counted_as_by_hand(site):
    answered_by_many(site)
    data = read_collected(site.engine, site.study)
    found = rater_table(data).set_index("rater")["majority"]
    hits: dict[str, list[bool]] = {}
    for _, unit in data.responses.groupby("unit"):
        for name, value in zip(unit["rater"], unit["values"], strict=True):
            others = unit.loc[unit["rater"] != name, "values"].value_counts()
            if len(others) and (len(others) == 1 or others.iloc[0] > others.iloc[1]):
                hits.setdefault(name, []).append(bool(others.index[0] == value))
    assert {name: pytest.approx(sum(h) / len(h)) for name, h in hits.items()} == found.dropna().to_dict()


def test_the_designers_page_takes_seconds_of_work_not_minutes(site):
    """20,000 responses of 2,500 raters, in CPU time, which a busy machine does not change."""
    answered_by_many(site, raters=2500)
    begun = time.process_time()
    data = read_collected(site.engine, site.study)
    assert (len(rater_table(data)), progress(data)["answered"]) == (2500, 20_000)
    assert time.process_time() - begun < 5


def test_a_large_study_is_computed_in_another_process_and_kept_for_seconds(site, monkeypatch):
    answered_by_many(site)
    small = site.figures.overview()
    site.figures._kept = None
    monkeypatch.setattr(figures, "SMALL", 10)
    try:
        large = site.figures.overview()
        assert site.figures._pool is not None
        assert large == {**small, "computed_at": large["computed_at"]}
        assert site.figures.overview() is large
        assert site.figures.table("ratings", "csv").count(b"\n") == 1 + 60 * 8
    finally:
        site.figures.close()


def test_a_page_that_would_wait_shows_the_last_figures_and_their_time(site, monkeypatch):
    """The designer's page takes no longer than its patience, whatever the computation takes."""
    coming: Future = Future()
    first = site.figures.overview()
    monkeypatch.setattr(figures, "_KEEP", -1.0)
    monkeypatch.setattr(figures, "_PATIENCE", 0.01)
    monkeypatch.setattr(figures.Figures, "_submitted", lambda self, *given: coming)
    assert site.figures.overview() is first
    assert site.figures.overview() is first  # one computation is under way; it is not started again
    coming.set_result({**first, "computed_at": first["computed_at"] + 1})
    assert site.figures.overview()["computed_at"] == first["computed_at"] + 1


def test_figures_come_back_after_their_process_was_killed(site, monkeypatch):
    answered_by_many(site)
    monkeypatch.setattr(figures, "SMALL", 10)
    monkeypatch.setattr(figures, "_KEEP", -1.0)
    try:
        first = site.figures.overview()
        for process in site.figures._pool._processes.values():
            process.kill()
        with contextlib.suppress(BrokenProcessPool):  # whoever waited for it is told
            site.figures.overview()
        assert site.figures.overview()["progress"] == first["progress"]
    finally:
        site.figures.close()


# Identities


def test_an_id_alone_is_not_a_rater(site):
    """Whoever knows a worker's id can neither respond, nor undo, nor erase."""
    victim, thief = Visitor(site, worker="w"), Visitor(site, worker="w")
    victim.answer(victim.join())
    page = thief.get(thief.link).text
    refused = thief.post(thief.link, ticket=hidden(page)["ticket"], choice="agree")
    assert refused.status_code == 403
    assert "already started" in refused.text
    assert thief.client.cookies.get("likewise") is None
    assert thief.get("/withdraw").url.path == "/"
    assert len(rows(site)) == 1


def test_a_personal_link_is_enough_to_come_back(site):
    links = [Visitor(site), Visitor(site)]
    for visitor in links:
        visitor.link = site.join_path("00001")
    page = links[0].answer(links[0].join()).text
    assert form(links[1].join())["item"] == form(page)["item"]


@pytest.mark.parametrize("state", ["excluded", "unqualified", "working"])
def test_withdrawing_is_no_second_chance(state, tmp_path):
    more = TRAINING + ATTENTION + "[exclusion]\nattention_missed = 1\n"
    site = open_small(write_study(tmp_path, more=more))
    visitor = Visitor(site, worker="w")
    page = visitor.join()
    if state != "working":
        right = state == "excluded"
        while form(page) is not None or 'href="/task"' in page:
            if form(page) is None:
                page = visitor.get("/task").text
                continue
            item = site.study.items[visitor.item(page)]
            value = next(iter(item.answer.values()), 1.0)
            wrong = site.study.kinds[item.key] == "attention" or not right
            options = site.study.questions_of(item)[0].values
            page = visitor.answer(page, f"{next(o for o in options if (o == value) != wrong):g}").text
    leave(visitor)
    again = Visitor(site, worker="w")
    page = again.get(again.link).text
    refused = again.post(again.link, ticket=hidden(page)["ticket"], choice="agree")
    assert refused.status_code == 403
    assert "withdrawn from this study" in refused.text
    with site.engine.connect() as connection:
        assert connection.execute(sa.select(sa.func.count()).select_from(rater)).scalar() == 0
        assert connection.execute(sa.select(withdrawn)).all() == [(site.signer.worker("w"),)]
    site.close()


def test_withdrawal_leaves_no_text_in_the_files(tmp_path):
    site = open_small(write_study(tmp_path, plan="comment = true\n" + PLAN))
    for path in tmp_path.glob("study.sqlite*"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path.name
    visitor, other = Visitor(site, worker="w"), Visitor(site, worker="other")
    visitor.answer(visitor.join(), comment="a most telling remark")
    other.answer(other.join(), comment="something else")
    assert any(b"telling remark" in path.read_bytes() for path in tmp_path.glob("study.sqlite*"))
    leave(visitor)
    files = list(tmp_path.glob("study.sqlite*"))
    assert not any(b"telling remark" in path.read_bytes() for path in files)
    assert any(b"something else" in path.read_bytes() for path in files)
    site.close()


def test_undo_sent_twice_takes_back_one_response(site):
    visitor = Visitor(site)
    page = visitor.answer(visitor.answer(visitor.join()).text).text
    undo = re.search(r'<form method="post" action="/undo".*?</form>', page, re.DOTALL)[0]
    for _ in range(2):
        visitor.post("/undo", **hidden(undo))
    assert len(rows(site)) == 1
    assert visitor.post("/undo", csrf=hidden(undo)["csrf"]).status_code == 400


# Forged requests


def test_links_never_come_from_the_host_header(site):
    visitor = Visitor(site)
    visitor.answer(visitor.join())
    evil = {"host": "evil.example", "x-forwarded-host": "evil.example"}
    page = visitor.client.get("/pause", headers=evil).text
    assert "https://study.example.org/back/" in page
    assert "evil.example" not in page
    visitor.get(f"/design?token={site.design_token}")
    page = visitor.client.get("/design", headers=evil).text
    assert "https://study.example.org/join/" in page
    assert "evil.example" not in page


def test_a_form_from_another_scheme_is_from_another_site(site):
    visitor = Visitor(site)
    fields = {**form(visitor.join()), "answer-1": "1"}
    for origin in ("http://study.example.org", "https://testserver", "http://testserver", "null"):
        assert visitor.client.post("/task", data=fields, headers={"origin": origin}).status_code == 403, origin
    good = {"origin": "https://study.example.org"}
    assert visitor.client.post("/task", data=fields, headers=good).status_code == 200


def test_loading_an_address_does_not_replace_a_session(site):
    mine, theirs = Visitor(site, worker="mine"), Visitor(site, worker="theirs")
    page = mine.join()
    theirs.join()
    with site.engine.connect() as connection:
        name = site.signer.worker("theirs")
        key = connection.execute(sa.select(rater.c.id).where(rater.c.worker == name)).scalar_one()
    path = site.back_path(key)
    mine.client.get(path, headers={"sec-fetch-site": "cross-site"})
    assert form(mine.get("/task").text)["csrf"] == form(page)["csrf"]
    kind = {"content-type": "application/x-www-form-urlencoded", "sec-fetch-site": "cross-site"}
    assert mine.client.post(path, data={}, headers=kind).status_code == 403
    assert form(mine.get("/task").text)["csrf"] == form(page)["csrf"]


def test_the_designers_link_works_from_a_mail(site):
    response = Visitor(site).client.get(f"/design?token={site.design_token}", follow_redirects=False)
    assert "samesite=lax" in response.headers["set-cookie"].lower()


# Clocks


def test_a_clock_that_is_set_back_holds_no_task_for_ever(tmp_path):
    clock = Clock()
    plan = PLAN.replace("raters_per_unit = 2", "raters_per_unit = 1").replace(
        "tasks_per_rater = 4", "tasks_per_rater = 8"
    )
    site = open_small(write_study(tmp_path, plan=plan), clock=clock)
    visitor = Visitor(site)
    visitor.join()
    clock.now -= 400 * 24 * 3600
    with site.engine.connect() as connection:
        assert any_free(connection, site.study, clock.now)
    other = Visitor(site)
    assert form(other.join()) is not None
    site.close()


def test_a_negative_time_is_counted_and_left_out(tmp_path):
    clock = Clock()
    site = open_small(write_study(tmp_path), clock=clock)
    visitor = Visitor(site)
    page = visitor.join()
    clock.now -= 500
    page = visitor.answer(page).text
    clock.now += 4
    visitor.answer(visitor.get("/task").text if form(page) is None else page)
    data = read_collected(site.engine, site.study)
    found = progress(data)
    assert (found["untimed"], found["answered"]) == (1, 2)
    assert found["seconds"] == pytest.approx(4, abs=1)
    assert data.responses["seconds"].isna().sum() == 1
    site.close()


def test_a_time_before_the_task_was_shown_starts_again(site):
    visitor = Visitor(site)
    visitor.join()
    shown = site.writes.submit(lambda c: next_task(c, site.study, find(c, 1), 5.0)).result()
    assert shown.shown_at == 5.0


# Files


@pytest.mark.parametrize(
    ("text", "safe"),
    [
        ("=1+1", "'=1+1"),
        ("  @SUM(A1)", "  '@SUM(A1)"),
        ("teeth;=cmd()", "teeth;'=cmd()"),
        ("teeth,+1", "teeth,'+1"),
        ("teeth\t=cmd()", "teeth |' =cmd()"),
        ("teeth\r\n-1", "teeth |' -1"),
        ("a = b, c - d", "a = b, c - d"),
    ],
)
def test_no_cell_of_a_comment_is_a_formula(text, safe):
    found = spreadsheet_safe(text)
    assert not re.search(r"(^|[;,|\t\r\n])\s*[=+\-@]", found)
    assert found.replace("'", "").replace(" ", "") == safe.replace("'", "").replace(" ", "")


def test_hostile_image_names_and_images_are_problems_of_the_plan(tmp_path):
    folder = write_study(tmp_path)
    header = io.BytesIO()
    Image.new("1", (8, 8)).save(header, "PNG")
    data = bytearray(header.getvalue())
    data[16:24] = (50_000).to_bytes(4, "big") * 2
    import zlib

    data[29:33] = zlib.crc32(bytes(data[12:29])).to_bytes(4, "big")
    (folder / "images" / "u3.png").write_bytes(bytes(data))
    with pytest.raises(StudyError, match=r"Image 'u3.png' has (more than|2,500,000,000)"):
        read_study(folder)
    for name in ("\\u0000.png", "x" * 5000, "sub/" + "y" * 300):
        write_study(tmp_path, more=GOLD.replace("g1.png", name))
        with pytest.raises(StudyError, match=r"[Ii]mage"):
            read_study(folder)


def test_a_file_that_is_cut_off_is_found_before_serving(tmp_path):
    folder = write_study(tmp_path)
    path = folder / "images" / "u2.png"
    Image.effect_noise((64, 64), 90).convert("RGB").save(path)
    path.write_bytes(path.read_bytes()[:2000])
    with pytest.raises(ImageError, match=r"u2.png"):
        planned(folder, database="", power=False)


def test_different_shapes_are_warned_of_and_lengths_are_few(tmp_path):
    folder = write_study(tmp_path)
    assert planned(folder, database="", power=False).values["warnings"] == []
    Image.new("RGB", (64, 48), "red").save(folder / "images" / "u1.png")
    reported = planned(folder, database="", power=False)
    assert any("different aspect ratios" in line for line in reported.lines)
    buffers = []
    for noise in (0, 20, 60, 250):
        image = Image.effect_noise((96, 96), noise).convert("RGB") if noise else Image.new("RGB", (96, 96), "gray")
        buffer = io.BytesIO()
        image.save(buffer, "PNG")
        buffers.append(padded(buffer.getvalue(), 96 * 96 * 3))
        assert Image.open(io.BytesIO(buffers[-1])).convert("RGB").tobytes() == image.tobytes()
    assert len({len(data) % (96 * 96 * 3 // 4) for data in buffers}) == 1


def test_leftover_pictures_are_removed(tmp_path):
    folder = write_study(tmp_path)
    (folder / ".pictures").mkdir()
    leftover = folder / ".pictures" / ".abc.tmp"
    leftover.write_bytes(b"half")
    import os

    os.utime(leftover, (time.time() - 3600,) * 2)
    open_small(folder).close()
    assert not leftover.exists()


def test_an_image_is_read_once(tmp_path, monkeypatch):
    from likewise.study.config import images

    folder = write_study(tmp_path)
    open_small(folder).close()
    images._KNOWN.clear()
    monkeypatch.setattr(images, "_read", lambda path: pytest.fail(f"{path} was read again"))
    open_small(folder).close()


def test_a_password_on_the_command_line_is_refused(tmp_path, monkeypatch):
    from click.testing import CliRunner

    from likewise.cli.study.commands import study

    folder, secret = write_study(tmp_path), "postgresql://me:secret@127.0.0.1:1/x"
    refused = CliRunner().invoke(study, ["export", str(folder), "--database", secret])
    assert isinstance(refused.exception, StudyError)
    assert "process list" in str(refused.exception)
    assert "secret" not in str(refused.exception)
    monkeypatch.setenv("LIKEWISE_STUDY_DATABASE", sqlite_url(tmp_path / "other.sqlite"))
    open_database(sqlite_url(tmp_path / "other.sqlite")).dispose()
    assert CliRunner().invoke(study, ["export", str(folder)]).exit_code == 0


# What raters see


def test_left_and_right_are_random_for_each_rater(tmp_path):
    from likewise.cli.study.example import make_example

    make_example(tmp_path, "same-person")
    study = read_study(tmp_path)
    swapped = [images_for(study, unit, k) != unit.images for unit in study.units for k in range(100)]
    assert 0.47 < sum(swapped) / len(swapped) < 0.53
    unit = study.units[0]
    assert {images_for(study, unit, k) for k in range(20)} == {unit.images, unit.images[::-1]}
    assert images_for(study, unit, 7) == images_for(study, unit, 7)


def test_a_comprehension_check_allows_two_attempts(tmp_path):
    site = open_small(write_study(tmp_path, more=COMPREHENSION))
    states = []
    for worker, answers in (("good", "1"), ("second", "21"), ("poor", "22")):
        visitor = Visitor(site, worker=worker)
        page = visitor.get(visitor.link).text
        page = visitor.post(visitor.link, ticket=hidden(page)["ticket"], choice="agree").text
        assert "What will you look at?" in page
        asked = visitor.post("/instructions", csrf=hidden(page)["csrf"])
        assert asked.status_code == 422
        for value in answers:
            page = visitor.post("/instructions", csrf=hidden(page)["csrf"], **{"answer-1": value}).text
            states.append("task" if form(page) else "again" if "Attempts left: 1" in page else "end")
        if worker == "poor":
            assert visitor.get("/task").url.path == "/end"
            assert visitor.post("/instructions", csrf=site.csrf(3), **{"answer-1": "1"}).url.path in ("/task", "/end")
            assert form(visitor.get("/task").text) is None
    assert states == ["task", "again", "task", "again", "end"]
    with site.engine.connect() as connection:
        found = connection.execute(sa.select(rater.c.state, rater.c.reason, rater.c.attempts)).all()
    assert found == [("working", "", 0), ("working", "", 1), ("unqualified", "comprehension", 2)]
    site.close()


def test_payment_is_said_when_it_is_planned(tmp_path):
    arms = '[[arm]]\nname = "low"\npay = 0.01\n[[arm]]\nname = "high"\npay = 0.03\n'
    for more, consent, page in (
        ("", None, "no payment planned"),
        ("[pay]\nper_task = 0.05\n", "0.05 USD for each answer", "no responses yet"),
        (arms, "at least 0.01 USD for each answer", "no responses yet"),
    ):
        folder = tmp_path / str(len(more))
        site = open_small(write_study(folder, more=more))
        visitor = Visitor(site)
        shown = visitor.get(visitor.link).text
        assert consent in shown if consent else "USD" not in shown
        visitor.get(f"/design?token={site.design_token}")
        assert page in visitor.get("/design").text
        site.close()
