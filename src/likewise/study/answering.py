"""Answering: what is shown next, what an answer changes, and the rules by which a rater goes on or ends."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from statistics import median

import sqlalchemy as sa

from likewise.study.assignment import lay_out
from likewise.study.parts import Exclusion, Parts
from likewise.study.raters import OVER, RATER_COLUMNS, Rater, find, give_back, lay_training, replace_answers, set_state
from likewise.study.schema import rater, task

_OPEN = (
    sa.select(task.c.id, task.c.position, task.c.item, task.c.kind, task.c.shown_at)
    .where((task.c.rater == sa.bindparam("by")) & task.c.answered_at.is_(None))
    .order_by(task.c.position)
    .limit(2)
)
_NEXT = (
    sa.select(*RATER_COLUMNS, task.c.position, task.c.item, task.c.kind, task.c.shown_at)
    .select_from(rater.outerjoin(task, (task.c.rater == rater.c.id) & task.c.answered_at.is_(None)))
    .where(rater.c.id == sa.bindparam("by"))
    .order_by(task.c.position)
    .limit(2)
)
_SHOW = (
    sa.update(task)
    .where(task.c.id == sa.bindparam("place"))
    .values(shown_at=sa.bindparam("at"), held_until=sa.bindparam("until"))
)
_RECORD = (
    sa.update(task)
    .where(
        (task.c.rater == sa.bindparam("by"))
        & (task.c.position == sa.bindparam("here"))
        & (task.c.item == sa.bindparam("what"))
        & task.c.answered_at.is_(None)
    )
    .values(
        answered_at=sa.bindparam("at"),
        shown_at=sa.func.coalesce(task.c.shown_at, sa.bindparam("since", type_=sa.Float)),
        value=sa.bindparam("given"),
        certainty=sa.bindparam("sure"),
        comment=sa.bindparam("words"),
    )
)
_ANSWERED = sa.select(task.c.answered_at).where(
    (task.c.rater == sa.bindparam("by"))
    & (task.c.position == sa.bindparam("here"))
    & (task.c.item == sa.bindparam("what"))
)


@dataclass(frozen=True)
class Given:
    """An answer as it comes from a form that has been checked."""

    position: int
    item: str
    values: Mapping[str, float | None]
    certainty: int | None = None
    comment: str = ""
    shown: float | None = None
    """When the task was shown, as its own form says."""


@dataclass(frozen=True)
class Shown:
    """What a rater sees next: a task, with the one after it (its pictures can be loaded), or an end."""

    rater: Rater
    position: int = 0
    item: str = ""
    kind: str = ""
    following: str = ""
    shown_at: float = 0.0


def next_task(connection: sa.Connection, study: Parts, who: Rater, now: float) -> Shown:
    """Return the task that a rater is at; lay out more when there is none, and end the series when there is no more."""
    if who.state not in ("training", "working"):
        return Shown(who)
    rows = connection.execute(_OPEN, {"by": who.id}).all()
    if not rows and who.state == "training":
        return _after_training(connection, study, who, now)
    if not rows and lay_out(connection, study, who, now):
        rows = connection.execute(_OPEN, {"by": who.id}).all()
    if not rows:
        return Shown(finish(connection, study, who, now))
    place, position, item, kind, shown_at = rows[0]
    until = now + 60 * study.hold_minutes
    connection.execute(_SHOW, {"place": place, "at": shown_at or now, "until": until})
    following = rows[1].item if len(rows) > 1 else ""
    return Shown(who, position, item, kind, following, shown_at or now)


def answer(connection: sa.Connection, by: int, given: Given, now: float) -> str:
    """Record an answer: ``recorded``, ``again`` (it was there already), or ``gone`` (the place is lost)."""
    values = json.dumps({name: given.values.get(name) for name in sorted(given.values)})
    key = {"by": by, "here": given.position, "what": given.item}
    facts = {"at": now, "given": values, "sure": given.certainty, "words": given.comment or None, "since": given.shown}
    if connection.execute(_RECORD, {**key, **facts}).rowcount == 1:
        return "recorded"
    return "again" if connection.execute(_ANSWERED, key).scalar() is not None else "gone"


def answer_and_next(
    connection: sa.Connection, study: Parts, key: int, given: Given, now: float
) -> tuple[str, Shown] | None:
    """Record an answer, apply the rules if it was a control, and return what comes next; None for a stranger.

    The usual case is two statements: the answer, and the next task that is already laid out. When that one was shown
    is not written yet: its form carries the time, signed, and the answer brings it along.
    """
    outcome = answer(connection, key, given, now)
    rows = connection.execute(_NEXT, {"by": key}).all()
    if not rows:
        return None
    who = Rater(*rows[0][:6])
    kind = study.kinds[given.item] if outcome == "recorded" else ""
    if who.state in OVER:
        return "gone", Shown(who)
    if kind == "training" and feedback_on(study, given):
        return outcome, Shown(who, given.position, given.item, "feedback")
    if rows[0].position is None or kind in ("gold", "attention"):
        return outcome, _after_control(connection, study, key, kind, now)
    following = rows[1].item if len(rows) > 1 else ""
    return outcome, Shown(who, rows[0].position, rows[0].item, rows[0].kind, following, rows[0].shown_at or now)


def _after_control(connection: sa.Connection, study: Parts, key: int, kind: str, now: float) -> Shown:
    """Apply the rules after a control, and lay out more tasks, while no other process serves the same rater."""
    who = find(connection, key, lock=True)
    if who is None:
        raise LookupError("a rater who was there a moment ago")
    if kind in ("gold", "attention"):
        who = judge(connection, study, who, now)
    return next_task(connection, study, who, now)


def feedback_on(study: Parts, given: Given) -> bool:
    """Say whether an explanation follows this answer to a training item."""
    right = dict(given.values) == dict(study.items[given.item].answer)
    return study.training.feedback == "all" or (study.training.feedback == "misses" and not right)


def right_share(study: Parts, rows: list[tuple[str, str]]) -> float:
    """Return the share of items whose answers are all right."""
    items = study.items
    return sum(json.loads(value) == dict(items[item].answer) for item, value in rows) / len(rows) if rows else 1.0


def answers_of(connection: sa.Connection, key: int, kind: str) -> list[tuple[str, str]]:
    """Return a rater's answers of one kind, in order: item and values."""
    mine = (task.c.rater == key) & (task.c.kind == kind) & task.c.answered_at.is_not(None)
    rows = connection.execute(sa.select(task.c.item, task.c.value).where(mine).order_by(task.c.position))
    return [(item, value) for item, value in rows]


def _after_training(connection: sa.Connection, study: Parts, who: Rater, now: float) -> Shown:
    """Mark the last try: go on to work, try again, or end."""
    rows, number = answers_of(connection, who.id, "training"), len(study.training.items)
    attempt = len(rows) // number
    if right_share(study, rows[-number:]) >= study.training.qualify:
        set_state(connection, who.id, "working", now, reason="")
        return Shown(replace(who, state="working"), kind="qualified")
    if attempt < study.training.tries:
        lay_training(connection, study, who, attempt)
        return Shown(who, kind="again")
    set_state(connection, who.id, "unqualified", now, reason="training")
    return Shown(replace(who, state="unqualified", reason="training"))


def finish(connection: sa.Connection, study: Parts, who: Rater, now: float) -> Rater:
    """End a series: done, or excluded by a rule; a rater who came when all places were taken was never needed."""
    found = judge(connection, study, who, now, at_end=True)
    if found.state in OVER:
        return found
    state = "done" if answers_of(connection, who.id, "work") else "full"
    set_state(connection, who.id, state, now)
    return replace(who, state=state)


def judge(connection: sa.Connection, study: Parts, who: Rater, now: float, *, at_end: bool = False) -> Rater:
    """Apply the plan's exclusion rules to a rater."""
    reason = broken_rule(connection, study, who.id, at_end=at_end)
    if not reason:
        return who
    set_state(connection, who.id, "excluded", now, reason)
    give_back(connection, who.id, answered=False)
    if study.exclusion.replace:
        replace_answers(connection, who.id)
    return replace(who, state="excluded", reason=reason)


def broken_rule(connection: sa.Connection, study: Parts, key: int, *, at_end: bool) -> str:
    """Return the rule of the plan that a rater's answers break, or nothing.

    Missed attention counts at once. A share of gold, a median of seconds or a habit needs all answers: at the end.
    """
    rule = study.exclusion
    missed = [row for row in answers_of(connection, key, "attention") if right_share(study, [row]) < 1]
    if rule.attention_missed and len(missed) >= rule.attention_missed:
        return "attention_missed"
    return _at_end(connection, study, key, rule) if at_end else ""


def _at_end(connection: sa.Connection, study: Parts, key: int, rule: Exclusion) -> str:
    if rule.gold_below and right_share(study, answers_of(connection, key, "gold")) < rule.gold_below:
        return "gold_below"
    mine = (task.c.rater == key) & (task.c.kind == "work") & task.c.answered_at.is_not(None)
    rows = connection.execute(sa.select(task.c.answered_at - task.c.shown_at, task.c.value).where(mine)).all()
    if rows and rule.median_seconds_below and median(row[0] or 0.0 for row in rows) < rule.median_seconds_below:
        return "median_seconds_below"
    values = [row[1] for row in rows]
    most = max((values.count(value) for value in set(values)), default=0)
    if len(values) > 1 and rule.same_answer_above < 1 and most / len(values) > rule.same_answer_above:
        return "same_answer_above"
    return ""


def undo(connection: sa.Connection, study: Parts, key: int) -> bool:
    """Take back a rater's last answer while the series goes on, whatever kind of item it was; practice stays."""
    who = find(connection, key, lock=True)
    if who is None or who.state != "working":
        return False
    mine = (task.c.rater == key) & (task.c.position >= 0) & task.c.answered_at.is_not(None)
    last = connection.execute(sa.select(sa.func.max(task.c.position)).where(mine)).scalar()
    if last is None:
        return False
    erased = {"answered_at": None, "value": None, "certainty": None, "comment": None}
    connection.execute(sa.update(task).where((task.c.rater == key) & (task.c.position == last)).values(erased))
    return True
