"""Places: every unit exactly its quota, from different raters, in an order that can be drawn again."""

from __future__ import annotations

import json
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import sqlalchemy as sa

from likewise.errors import StudyError, VersionError
from likewise.study.config.load import read_study
from likewise.study.config.plan_hash import freeze
from likewise.study.server.responses import Received, Submission, next_task, undo
from likewise.study.server.schedule import arm_of, length_of, schedule_of, training_order
from likewise.study.store import schema
from likewise.study.store.raters import Joining, RefusedError, begin, find, join, withdraw
from likewise.study.store.schema import open_database, read_note, sqlite_url, task, write_note
from small_study import ATTENTION, GOLD, PLAN, TRAINING, open_small, write_study

ONE = PLAN.replace("raters_per_unit = 2", "raters_per_unit = 1").replace("tasks_per_rater = 4", "tasks_per_rater = 1")


def enter(site, worker, now=0.0):
    """Let a worker join and begin."""

    def change(connection):
        joining = Joining(site.signer.worker(worker), "en", personal=True)
        who = join(connection, site.study, site.signer, joining, now)
        begin(connection, site.study, who, now)
        return find(connection, who.id)

    return site.writes.submit(change).result()


def look(site, key, now=0.0):
    return site.writes.submit(lambda c: next_task(c, site.study, find(c, key, lock=True), now)).result()


def say(site, key, shown, value=1.0, now=1.0):
    question = site.study.questions_of(site.study.items[shown.item])[0].name
    given = Submission(shown.position, shown.item, {question: value}, shown=shown.shown_at)
    return site.writes.submit_to(site.record, Received(key, given, now)).result()


def through(site, key, value=1.0, now=0.0):
    """Answer until the end; return the items in order and the state."""
    seen, shown = [], look(site, key, now)
    while shown.item:
        seen.append(shown.item)
        _, shown = say(site, key, shown, value, now + 1)
        if shown.kind in ("feedback", "qualified"):
            shown = look(site, key, now + 1)
    return seen, shown.rater


def answered(site):
    with site.engine.connect() as connection:
        rows = connection.execute(
            sa.select(task.c.item, task.c.rater).where(task.c.kind == "work", task.c.answered_at.is_not(None))
        )
        return [tuple(row) for row in rows]


def test_every_unit_gets_its_quota_from_different_raters(tmp_path, url):
    site = open_small(write_study(tmp_path), url)
    for k in range(8):
        through(site, enter(site, f"w{k}").id)
    rows = answered(site)
    assert set(Counter(item for item, _ in rows).values()) == {2}
    assert len(set(rows)) == len(rows) == 16
    assert look(site, enter(site, "late").id).rater.state == "full"
    site.close()


def test_many_at_once_share_no_place(tmp_path, url):
    """Twenty threads want the last places: each is given once, and no quota is overrun."""
    site = open_small(write_study(tmp_path), url)
    raters = [enter(site, f"w{k}").id for k in range(20)]
    other = open_small(tmp_path, url)  # a second server process has its own ledger
    with ThreadPoolExecutor(20) as pool:
        list(pool.map(lambda pair: through(pair[0], pair[1]), zip([site, other] * 10, raters, strict=True)))
    rows = answered(site)
    assert set(Counter(item for item, _ in rows).values()) == {2}
    assert len(set(rows)) == len(rows)
    other.close()
    site.close()


def respond_together(site, shown, now=1.0):
    """Record one response of each rater in one transaction."""
    question = site.study.questions[0].name
    received = [Received(key, Submission(s.position, s.item, {question: 1.0}), now) for key, s in shown]
    return site.writes.submit(lambda c: site.record(c, received)).result()


def test_responses_that_wait_together_take_a_few_statements(tmp_path, url):
    """The number of statements does not depend on the number of raters, also when all need more tasks."""
    sizes = {"raters = 8": "raters = 40", "raters_per_unit = 2": "raters_per_unit = 9", "rater = 4": "rater = 9"}
    plan = PLAN
    for old, new in sizes.items():
        plan = plan.replace(old, new)
    site = open_small(write_study(tmp_path, units=40, plan=plan), url)
    keys = [enter(site, f"w{k}").id for k in range(20)]
    shown = [(key, look(site, key)) for key in keys]
    counted = []
    sa.event.listen(site.engine, "before_cursor_execute", lambda *given: counted.append(given[2]))
    for step in range(9):
        counted.clear()
        found = respond_together(site, shown)
        assert [outcome for outcome, _ in found] == ["recorded"] * 20
        assert len(counted) <= 8 or step == 8, counted  # the last response ends each rater by the rules
        shown = [(key, s) for key, (_, s) in zip(keys, found, strict=True)]
    assert {s.rater.state for _, s in shown} == {"done"}
    rows = answered(site)
    assert len(rows) == len(set(rows)) == 180
    assert max(Counter(item for item, _ in rows).values()) <= 9
    site.close()


def test_a_response_that_is_sent_twice_in_one_batch_counts_once(tmp_path, url):
    site = open_small(write_study(tmp_path), url)
    one, two = enter(site, "one").id, enter(site, "two").id
    first, second = look(site, one), look(site, two)
    found = respond_together(site, [(one, first), (two, second), (one, first), (999, first)])
    assert [outcome and outcome[0] for outcome in found] == ["recorded", "recorded", "again", None]
    assert found[0][1].item == found[2][1].item != first.item
    assert sorted(answered(site)) == sorted([(first.item, one), (second.item, two)])
    site.close()


def test_a_response_is_stored_as_it_was_given(tmp_path, url):
    """Responses reach the database as JSON: text of any kind and times come out as they went in."""
    site = open_small(write_study(tmp_path), url)
    key, now = enter(site, "one").id, 1795000929.1234567
    shown = look(site, key)
    comment = '\U0001f600 \u00e9 \\u0000 "quoted" \'x\' \n {"a": 1} \u2028 %s :given'
    name = site.study.questions[0].name
    given = Submission(shown.position, shown.item, {name: None}, certainty=2, comment=comment)
    assert site.writes.submit_to(site.record, Received(key, given, now)).result()[0] == "recorded"
    with site.engine.connect() as connection:
        row = connection.execute(sa.select(task).where(task.c.answered_at.is_not(None))).one()
    assert (row.comment, row.certainty, json.loads(row.value), row.answered_at) == (comment, 2, {name: None}, now)
    site.close()


def test_one_last_place_goes_to_one(tmp_path, url):
    site = open_small(write_study(tmp_path, units=1, plan=ONE), url)
    raters = [enter(site, f"w{k}").id for k in range(12)]
    with ThreadPoolExecutor(12) as pool:
        shown = list(pool.map(lambda key: look(site, key), raters))
    assert sum(bool(s.item) for s in shown) == 1
    assert Counter(s.rater.state for s in shown) == {"working": 1, "full": 11}
    site.close()


def test_the_order_is_the_raters_own_and_can_be_drawn_again(tmp_path):
    site = open_small(write_study(tmp_path, more=GOLD + ATTENTION))
    for k in range(4):
        who = enter(site, f"w{k}")
        seen, _ = through(site, who.id, now=10.0 * k)
        series = schedule_of(site.study, who.id, who.arm)
        assert series.order.tolist() == schedule_of(site.study, who.id, who.arm).order.tolist()
        order = [site.study.units[k].key for k in series.order]
        units = [item for item in seen if site.study.kinds[item] == "work"]
        assert units == sorted(units, key=order.index)
        assert all(seen[position] == item for position, (_, item) in series.controls.items())
    site.close()


def test_orders_and_places_of_controls_are_random(tmp_path):
    study = read_study(write_study(tmp_path, more=GOLD + ATTENTION))
    first = Counter(schedule_of(study, k, "").order[0] for k in range(4000))
    assert np.abs(np.array([first[k] for k in range(8)]) / 4000 - 1 / 8).max() < 0.025
    places = Counter(position for k in range(4000) for position in schedule_of(study, k, "").controls)
    assert length_of(study, "") == 6
    assert np.abs(np.array([places[k] for k in range(6)]) / 8000 - 1 / 6).max() < 0.025


def test_arms_stay_equally_large(tmp_path):
    arms = '[[arm]]\nname = "with"\n[[arm]]\nname = "without"\nattention = false\n'
    study = read_study(write_study(tmp_path, more=ATTENTION + arms))
    drawn = [arm_of(study, k) for k in range(400)]
    assert all(abs(drawn[:n].count("with") - n / 2) <= 1 for n in range(0, 400, 7))
    assert drawn[:200] != [drawn[k % 2] for k in range(200)]
    assert (length_of(study, "with"), length_of(study, "without")) == (5, 4)
    assert not schedule_of(study, 3, "without").controls
    assert len(schedule_of(study, 3, "with").controls) == 1


def test_an_abandoned_place_comes_back_after_the_hold(tmp_path, url):
    site = open_small(write_study(tmp_path, units=1, plan=ONE), url)
    gone, patient = enter(site, "gone").id, enter(site, "patient").id
    shown = look(site, gone, now=0.0)
    assert look(site, patient, now=599.0).rater.state == "full"
    third = enter(site, "third").id
    taken = look(site, third, now=601.0)
    assert taken.item == shown.item
    assert say(site, gone, shown, now=602.0)[0] == "gone"
    assert say(site, third, taken, now=603.0)[0] == "recorded"
    assert answered(site) == [(taken.item, third)]
    site.close()


def test_a_late_answer_counts_while_nobody_else_has_the_place(tmp_path):
    site = open_small(write_study(tmp_path))
    key = enter(site, "slow").id
    shown = look(site, key, now=0.0)
    assert say(site, key, shown, now=5000.0)[0] == "recorded"
    assert say(site, key, shown, 0.0, now=5001.0)[0] == "again"
    with site.engine.connect() as connection:
        mine = (task.c.item == shown.item) & (task.c.rater == key)
        kept = connection.execute(sa.select(task.c.value).where(mine)).scalar()
    assert json.loads(kept) == {"seen": 1.0}
    site.close()


def test_an_answer_of_a_lost_place_does_not_fall_on_another_item(tmp_path):
    """The position is given out again with another unit: the old form must not answer for it."""
    plan = PLAN.replace("raters_per_unit = 2", "raters_per_unit = 1")
    site = open_small(write_study(tmp_path, plan=plan))
    one, two = enter(site, "one").id, enter(site, "two").id
    old = look(site, one, now=0.0)
    through(site, two, now=700.0)
    fresh = look(site, one, now=800.0)
    assert fresh.item != old.item
    assert say(site, one, old, now=801.0)[0] == "gone"
    assert all(item != fresh.item or rater != one for item, rater in answered(site))
    site.close()


def test_withdrawal_erases_a_rater_and_frees_the_places(tmp_path, url):
    site = open_small(write_study(tmp_path, more=TRAINING + GOLD), url)
    key = enter(site, "w").id
    through_training(site, key)
    through(site, key)
    assert len(answered(site)) == 4
    assert site.writes.submit(lambda c: withdraw(c, key)).result()
    assert not site.writes.submit(lambda c: withdraw(c, key)).result()
    with site.engine.connect() as connection:
        assert connection.execute(sa.select(sa.func.count()).where(task.c.rater == key)).scalar() == 0
        assert connection.execute(sa.select(sa.func.count()).select_from(schema.rater)).scalar() == 0
        left = connection.execute(sa.select(task.c.value, task.c.comment, task.c.answered_at)).all()
    assert len(left) == 16
    assert all(cell is None for row in left for cell in row)
    with pytest.raises(RefusedError, match="left_before"):
        enter(site, "w")
    with site.engine.connect() as connection:
        assert connection.execute(sa.select(schema.withdrawn)).all() == [(site.signer.worker("w"),)]
    site.close()


def through_training(site, key):
    shown = look(site, key)
    while shown.kind == "training":
        say(site, key, shown, site.study.items[shown.item].answer["seen"])
        shown = look(site, key)
    return shown


def test_the_mark_decides_who_goes_on(tmp_path):
    site = open_small(write_study(tmp_path, more=TRAINING.replace("qualify = 0.6", "qualify = 0.6\ntries = 2")))
    good, poor = enter(site, "good").id, enter(site, "poor").id
    assert through_training(site, good).rater.state == "working"
    states = []
    for _ in range(4):
        shown = look(site, poor)
        wrong = 1 - site.study.items[shown.item].answer["seen"]
        say(site, poor, shown, wrong)
        after = look(site, poor)
        states.append(after.kind or after.rater.state)
        if after.kind == "again":
            look(site, poor)
    assert states == ["training", "again", "training", "unqualified"]
    assert training_order(site.study, poor, 0) != [] and sorted(training_order(site.study, poor, 1)) == [
        "training-1",
        "training-2",
    ]
    site.close()


@pytest.mark.parametrize(
    ("rule", "value", "reason"),
    [
        ("gold_below = 0.9", 0.0, "gold_below"),
        ("attention_missed = 1", 1.0, "attention_missed"),
        ("median_seconds_below = 5", 1.0, "median_seconds_below"),
        ("same_answer_above = 0.9", 1.0, "same_answer_above"),
    ],
)
def test_an_excluded_raters_answers_are_asked_again(rule, value, reason, tmp_path):
    gold = GOLD.replace("answer = 0", "answer = 1")
    site = open_small(write_study(tmp_path, more=gold + ATTENTION + f"[exclusion]\n{rule}\n"))
    seen, who = through(site, enter(site, "w").id, value)
    assert (who.state, who.reason) == ("excluded", reason)
    with site.engine.connect() as connection:
        kinds = Counter(connection.execute(sa.select(task.c.kind)).scalars())
        mine = (task.c.rater == who.id) & (task.c.kind == "work")
        held = connection.execute(sa.select(sa.func.count()).where(mine)).scalar()
    done = sum(site.study.kinds[item] == "work" for item in seen)
    assert kinds["void"] == done
    assert (kinds["work"], held) == (16, 0)
    site.close()


def test_an_answer_can_be_taken_back_once_at_a_time(tmp_path):
    site = open_small(write_study(tmp_path))
    key = enter(site, "w").id
    assert not site.writes.submit(lambda c: undo(c, key, 0)).result()
    first = look(site, key)
    say(site, key, first)
    say(site, key, look(site, key))
    assert not site.writes.submit(lambda c: undo(c, key, 0)).result()
    taken = [site.writes.submit(lambda c: undo(c, key, 1)).result() for _ in range(2)]
    assert taken == [True, False]  # a form that is sent twice takes back one response
    assert (look(site, key).position, look(site, key).last) == (1, 0)
    assert site.writes.submit(lambda c: undo(c, key, 0)).result()
    assert look(site, key).item == first.item
    assert say(site, key, first, 0.0)[0] == "recorded"
    site.close()


def test_one_bad_change_does_not_take_the_others_with_it(site):
    def bad(connection):
        connection.execute(sa.insert(task).values(kind="work", item="stray"))
        raise LookupError("no")

    def stall(connection):
        import time

        time.sleep(0.2)

    first = site.writes.submit(stall)  # the three behind it are committed together
    good = site.writes.submit(lambda c: c.execute(sa.insert(task).values(kind="work", item="kept")))
    broken, also = site.writes.submit(bad), site.writes.submit(lambda c: write_note(c, "seen", "yes"))
    with pytest.raises(LookupError):
        broken.result()
    first.result(), good.result(), also.result()
    with site.engine.connect() as connection:
        kept = connection.execute(sa.select(task.c.item).where(task.c.item.in_(["kept", "stray"]))).scalars().all()
        assert kept == ["kept"]
        assert read_note(connection, "seen") == "yes"


def test_a_commit_waits_for_the_disk(tmp_path):
    engine = open_database(sqlite_url(tmp_path / "x.sqlite"))
    with engine.connect() as connection:
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == 2
    engine.dispose()


def test_an_old_database_is_brought_up_to_date(tmp_path, url, monkeypatch):
    address = url or sqlite_url(tmp_path / "x.sqlite")
    monkeypatch.setattr(schema, "VERSION", 1)
    engine = open_database(address)
    assert "reason" not in {column["name"] for column in sa.inspect(engine).get_columns("rater")}
    with engine.begin() as connection:
        connection.exec_driver_sql(
            "INSERT INTO rater (worker, name, arm, language, state, joined_at) VALUES ('w', 'n', '', 'en', 'done', 1.0)"
        )
    engine.dispose()
    monkeypatch.undo()
    engine = open_database(address)
    for table in (schema.rater, schema.task, schema.note, schema.withdrawn):
        found = {column["name"] for column in sa.inspect(engine).get_columns(table.name)}
        assert found == set(table.columns.keys())
    with engine.begin() as connection:
        assert find(connection, 1).reason == ""
        write_note(connection, "version", "99")
    engine.dispose()
    with pytest.raises(VersionError, match=r"Install a newer likewise"):
        open_database(address)


def test_a_frozen_plan_does_not_change(tmp_path):
    write_study(tmp_path)
    found = freeze(read_study(tmp_path), tmp_path)
    assert freeze(read_study(tmp_path), tmp_path) == found
    (tmp_path / "study.toml").write_text(PLAN.replace("seed = 3", "seed = 4"))
    with pytest.raises(StudyError, match=r"The plan is frozen, but it was changed: 'seed'"):
        freeze(read_study(tmp_path), tmp_path)
    (tmp_path / "study.toml").write_text(PLAN)
    picture = tmp_path / "images" / "u3.png"
    picture.write_bytes((tmp_path / "images" / "u4.png").read_bytes())
    with pytest.raises(StudyError, match=r"it was changed: 'u3.png'"):
        freeze(read_study(tmp_path), tmp_path)


def test_a_database_of_another_plan_is_refused(tmp_path):
    open_small(write_study(tmp_path / "one")).close()
    other = write_study(tmp_path / "two", plan=PLAN.replace("seed = 3", "seed = 5"))
    with pytest.raises(StudyError, match=r"The database belongs to plan"):
        open_small(other, sqlite_url(tmp_path / "one" / "study.sqlite"))


def test_a_bad_address_of_a_database_is_a_clear_error():
    with pytest.raises(StudyError, match=r"Use SQLite or PostgreSQL"):
        open_database("mysql://x")
    with pytest.raises(StudyError, match=r"address of the database is not valid"):
        open_database("nonsense")
