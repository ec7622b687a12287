"""Raters: they join, are taught, work, end, and may withdraw. Each function is one change of the ledger."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass

import sqlalchemy as sa

from likewise.study.assignment import Person
from likewise.study.parts import Parts
from likewise.study.schema import rater, task
from likewise.study.series import arm_of, training_order, training_position
from likewise.study.signing import Signer

OVER = ("done", "unqualified", "excluded", "full")
"""The states in which nothing more is asked."""


@dataclass(frozen=True)
class Rater(Person):
    """A rater as the database knows them; the worker's own id is nowhere."""

    name: str
    language: str
    state: str
    reason: str


RATER_COLUMNS = (rater.c.id, rater.c.arm, rater.c.name, rater.c.language, rater.c.state, rater.c.reason)
_BY_ID = sa.select(*RATER_COLUMNS).where(rater.c.id == sa.bindparam("key"))
_LOCKED = _BY_ID.with_for_update()


def find(connection: sa.Connection, key: int, *, lock: bool = False) -> Rater | None:
    """Return a rater; ``lock`` makes other processes wait until this change is made."""
    row = connection.execute(_LOCKED if lock else _BY_ID, {"key": key}).first()
    return Rater(*row) if row else None


def join(connection: sa.Connection, study: Parts, signer: Signer, worker: str, language: str, now: float) -> Rater:
    """Add a rater who has consented, or return the one that is there: joining twice is joining once."""
    found = connection.execute(sa.select(*RATER_COLUMNS).where(rater.c.worker == worker)).first()
    if found:
        return Rater(*found)
    if connection.dialect.name == "postgresql":
        from sqlalchemy.dialects.postgresql import insert  # noqa: PLC0415  # each kind has its own ON CONFLICT
    else:
        from sqlalchemy.dialects.sqlite import insert  # type: ignore[assignment]  # noqa: PLC0415
    fresh = {"worker": worker, "name": secrets.token_hex(8), "arm": "", "language": language, "state": "consented",
             "joined_at": now, "reason": ""}  # fmt: skip
    connection.execute(insert(rater).values(fresh).on_conflict_do_nothing(index_elements=["worker"]))
    key = connection.execute(sa.select(rater.c.id).where(rater.c.worker == worker)).scalar_one()
    named = {"arm": arm_of(study, key), "name": f"r{signer.mac('rater', worker, 6)}"}
    connection.execute(sa.update(rater).where((rater.c.id == key) & (rater.c.arm == "")).values(named))
    return Rater(*connection.execute(_BY_ID, {"key": key}).one())


def set_state(connection: sa.Connection, key: int, state: str, now: float, reason: str = "") -> None:
    """Move a rater on."""
    values = {"state": state, "reason": reason, "finished_at": now if state in OVER else None}
    connection.execute(sa.update(rater).where(rater.c.id == key).values(values))


def begin(connection: sa.Connection, study: Parts, who: Rater, now: float) -> str:
    """Go on from the instructions to practice, or to work where there is none."""
    if who.state != "consented":
        return who.state
    state = "training" if study.training.items else "working"
    if state == "training":
        lay_training(connection, study, who, attempt=0)
    set_state(connection, who.id, state, now)
    return state


def lay_training(connection: sa.Connection, study: Parts, who: Rater, attempt: int) -> None:
    """Lay out the practice of one try."""
    rows = [
        {"kind": "training", "item": item, "rater": who.id, "position": training_position(study, attempt, k)}
        for k, item in enumerate(training_order(study, who.id, attempt))
    ]
    connection.execute(sa.insert(task), rows)


def give_back(connection: sa.Connection, key: int, *, answered: bool) -> None:
    """Free the places that a rater holds; with ``answered`` also those answered, whose answers are erased."""
    mine = (task.c.rater == key) & (task.c.kind == "work")
    if not answered:
        mine &= task.c.answered_at.is_(None)
    erased = dict.fromkeys(
        ("rater", "position", "held_until", "shown_at", "answered_at", "value", "certainty", "comment")
    )
    connection.execute(sa.update(task).where(mine).values(erased))


def withdraw(connection: sa.Connection, key: int) -> bool:
    """Erase a rater and every answer; the places go back to the pool. Return whether there was anyone."""
    if find(connection, key, lock=True) is None:
        return False
    give_back(connection, key, answered=True)
    connection.execute(sa.delete(task).where(task.c.rater == key))
    connection.execute(sa.delete(rater).where(rater.c.id == key))
    return True


def replace_answers(connection: sa.Connection, key: int) -> None:
    """Set an excluded rater's answers aside and open as many fresh places for somebody else."""
    mine = (task.c.rater == key) & (task.c.kind == "work") & task.c.answered_at.is_not(None)
    items: Sequence[str] = connection.execute(sa.select(task.c.item).where(mine)).scalars().all()
    connection.execute(sa.update(task).where(mine).values(kind="void"))
    if items:
        connection.execute(sa.insert(task), [{"kind": "work", "item": item} for item in items])


def set_language(connection: sa.Connection, key: int, language: str) -> None:
    """Show a rater's pages in another language."""
    connection.execute(sa.update(rater).where(rater.c.id == key).values(language=language))
