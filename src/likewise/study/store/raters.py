"""Raters: they join, train, work, finish, and may withdraw. Each function is one change of the database."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import sqlalchemy as sa

from likewise.study.config.sections import StudyPlan
from likewise.study.server.schedule import arm_of, training_order, training_position
from likewise.study.server.signing import Signer
from likewise.study.store.assignment import AssignedRater
from likewise.study.store.many import among
from likewise.study.store.schema import rater, task, withdrawn

FINISHED = ("done", "unqualified", "excluded", "full")
"""The states in which a rater gets no more tasks."""


@dataclass(frozen=True)
class Rater(AssignedRater):
    """A rater as the database knows them; the worker id of the platform is not stored."""

    name: str
    language: str
    state: str
    reason: str
    attempts: int = 0
    """Failed attempts at the comprehension check."""


class RefusedError(Exception):
    """A worker who cannot join; ``why`` is the name of the page that says so."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


RATER_COLUMNS = (
    rater.c.id, rater.c.arm, rater.c.name, rater.c.language, rater.c.state, rater.c.reason, rater.c.attempts,
)  # fmt: skip
_BY_ID = sa.select(*RATER_COLUMNS).where(rater.c.id == sa.bindparam("key"))
_LOCKED = _BY_ID.with_for_update()


def find(connection: sa.Connection, key: int, *, lock: bool = False) -> Rater | None:
    """Return a rater; ``lock`` makes other processes wait until this change is made."""
    row = connection.execute(_LOCKED if lock else _BY_ID, {"key": key}).first()
    return Rater(*row) if row else None


@cache
def _all_locked(dialect: str) -> sa.Select[Any]:
    """Return the query that locks several raters, always in the same order, so that two processes do not deadlock."""
    return sa.select(*RATER_COLUMNS).where(among(dialect, rater.c.id, "keys")).order_by(rater.c.id).with_for_update()


def find_all(connection: sa.Connection, keys: Sequence[int]) -> dict[int, Rater]:
    """Return raters by their numbers; other processes wait until this change is made."""
    rows = connection.execute(_all_locked(connection.dialect.name), {"keys": list(keys)})
    return {row.id: Rater(*row) for row in rows}


@dataclass(frozen=True)
class Joining:
    """Who wants to join: the keyed hash of a worker id, and what proves that it is their own."""

    worker: str
    language: str
    personal: bool = False
    """They came through a signed personal link."""
    session: int | None = None
    """The rater whose session their browser has."""


def join(connection: sa.Connection, study: StudyPlan, signer: Signer, who: Joining, now: float) -> Rater:
    """Add a rater who has consented, or return the one that is there.

    A worker id is no secret. Whoever gives the id of an existing rater must also have that rater's session or personal
    link; others are refused and sent to the return link.

    Raises
    ------
    RefusedError
        The worker has withdrawn before, or is an existing rater without proof.
    """
    if connection.execute(sa.select(withdrawn.c.worker).where(withdrawn.c.worker == who.worker)).first():
        raise RefusedError("left_before")
    found = connection.execute(sa.select(*RATER_COLUMNS).where(rater.c.worker == who.worker)).first()
    if found:
        known = Rater(*found)
        if not who.personal and known.id != who.session:
            raise RefusedError("known_worker")
        return known
    if connection.dialect.name == "postgresql":
        from sqlalchemy.dialects.postgresql import insert  # noqa: PLC0415  # each kind has its own ON CONFLICT
    else:
        from sqlalchemy.dialects.sqlite import insert  # type: ignore[assignment]  # noqa: PLC0415
    fresh = {"worker": who.worker, "name": secrets.token_hex(8), "arm": "", "language": who.language,
             "state": "consented", "joined_at": now, "reason": "", "attempts": 0}  # fmt: skip
    connection.execute(insert(rater).values(fresh).on_conflict_do_nothing(index_elements=["worker"]))
    key = connection.execute(sa.select(rater.c.id).where(rater.c.worker == who.worker)).scalar_one()
    named = {"arm": arm_of(study, key), "name": f"r{signer.mac('rater', who.worker, 6)}"}
    connection.execute(sa.update(rater).where((rater.c.id == key) & (rater.c.arm == "")).values(named))
    return Rater(*connection.execute(_BY_ID, {"key": key}).one())


def set_state(connection: sa.Connection, key: int, state: str, now: float, reason: str = "") -> None:
    """Move a rater to another state."""
    values = {"state": state, "reason": reason, "finished_at": now if state in FINISHED else None}
    connection.execute(sa.update(rater).where(rater.c.id == key).values(values))


def begin(connection: sa.Connection, study: StudyPlan, who: Rater, now: float) -> str:
    """Go on from the instructions to practice, or to work where there is none; return the state."""
    if who.state != "consented":
        return who.state
    state = "training" if study.training.items else "working"
    if state == "training":
        add_training_tasks(connection, study, who, attempt=0)
    set_state(connection, who.id, state, now)
    return state


def fail_comprehension(connection: sa.Connection, study: StudyPlan, who: Rater, now: float) -> int:
    """Count a failed attempt at the comprehension check; return how many attempts are left."""
    if who.state != "consented":
        return 0
    failed = who.attempts + 1
    connection.execute(sa.update(rater).where(rater.c.id == who.id).values(attempts=failed))
    left = study.comprehension.attempts - failed
    if left <= 0:
        set_state(connection, who.id, "unqualified", now, reason="comprehension")
    return max(left, 0)


def add_training_tasks(connection: sa.Connection, study: StudyPlan, who: Rater, attempt: int) -> None:
    """Add the practice tasks of one attempt."""
    rows = [
        {"kind": "training", "item": item, "rater": who.id, "position": training_position(study, attempt, k)}
        for k, item in enumerate(training_order(study, who.id, attempt))
    ]
    connection.execute(sa.insert(task), rows)


def release_tasks(connection: sa.Connection, key: int, *, answered: bool) -> None:
    """Free the tasks that a rater holds; with ``answered`` also completed ones, whose responses are erased."""
    mine = (task.c.rater == key) & (task.c.kind == "work")
    if not answered:
        mine &= task.c.answered_at.is_(None)
    erased = dict.fromkeys(
        ("rater", "position", "held_until", "shown_at", "answered_at", "value", "certainty", "comment")
    )
    connection.execute(sa.update(task).where(mine).values(erased))


def withdraw(connection: sa.Connection, key: int) -> bool:
    """Erase a rater and every response, and free the tasks; return whether there was a rater.

    Only the keyed hash of the worker id stays, so that a rater who failed the practice or was excluded cannot start
    again by withdrawing.
    """
    worker = connection.execute(sa.select(rater.c.worker).where(rater.c.id == key).with_for_update()).scalar()
    if worker is None:
        return False
    release_tasks(connection, key, answered=True)
    connection.execute(sa.delete(task).where(task.c.rater == key))
    connection.execute(sa.delete(rater).where(rater.c.id == key))
    connection.execute(sa.insert(withdrawn).values(worker=worker))
    return True


def reassign_responses(connection: sa.Connection, key: int) -> None:
    """Set an excluded rater's responses aside and add as many tasks for other raters."""
    mine = (task.c.rater == key) & (task.c.kind == "work") & task.c.answered_at.is_not(None)
    items: Sequence[str] = connection.execute(sa.select(task.c.item).where(mine)).scalars().all()
    connection.execute(sa.update(task).where(mine).values(kind="void"))
    if items:
        connection.execute(sa.insert(task), [{"kind": "work", "item": item} for item in items])


def set_language(connection: sa.Connection, key: int, language: str) -> None:
    """Show a rater's pages in another language."""
    connection.execute(sa.update(rater).where(rater.c.id == key).values(language=language))
