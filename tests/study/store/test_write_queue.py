"""The write queue: durable before it is acknowledged, and SQLite's log stays short without a commit that moves it."""

import time

import pytest
import sqlalchemy as sa

from likewise.study.store import schema, write_queue
from likewise.study.store.schema import note, open_database, sqlite_url, write_note
from likewise.study.store.write_queue import WriteQueue


@pytest.fixture
def engine(tmp_path):
    engine = open_database(sqlite_url(tmp_path / "study.sqlite"))
    yield engine
    engine.dispose()


def frames(engine):
    """Return the pages in the log, and how many of them the database file holds by now."""
    with engine.connect() as connection:
        raw = connection.connection.dbapi_connection
        _, log, moved = raw.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
    return log, moved


def test_commits_leave_the_log_alone(engine):
    """Above SQLite's own 1,000 pages a commit would move the log while raters wait."""
    with engine.connect() as connection:
        raw = connection.connection.dbapi_connection
        assert raw.execute("PRAGMA wal_autocheckpoint").fetchone()[0] == schema._LOG_PAGES > 10_000


def test_the_log_is_moved_beside_the_commits(engine, tmp_path, monkeypatch):
    monkeypatch.setattr(write_queue, "_MOVE_SECONDS", 0.02)
    moved = []
    monkeypatch.setattr(write_queue, "move_log", lambda engine: (schema.move_log(engine), moved.append(1)))
    changes = WriteQueue(engine)
    for k in range(200):
        changes.submit(lambda connection, k=k: write_note(connection, f"n{k}", "x" * 2000)).result(10)
    until = time.monotonic() + 10
    while not moved and time.monotonic() < until:
        time.sleep(0.02)
    changes.close()
    assert moved
    assert not changes._mover.is_alive()
    with engine.connect() as connection:
        assert connection.execute(sa.select(sa.func.count()).select_from(note)).scalar_one() >= 200
    log, held = frames(engine)
    assert log == held


def test_a_failing_change_keeps_the_others(engine):
    changes = WriteQueue(engine)
    try:
        good = changes.submit(lambda connection: write_note(connection, "good", "1"))
        bad = changes.submit(lambda connection: connection.exec_driver_sql("SELECT * FROM nowhere"))
        good.result(10)
        with pytest.raises(sa.exc.OperationalError):
            bad.result(10)
    finally:
        changes.close()
