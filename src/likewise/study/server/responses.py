"""Responses: the next task of a rater, what a response changes, and the rules by which a rater goes on or finishes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from statistics import median

import sqlalchemy as sa

from likewise.study.config.sections import Exclusion, StudyPlan
from likewise.study.store.assignment import assign_next, hold_until
from likewise.study.store.raters import (
    FINISHED,
    RATER_COLUMNS,
    Rater,
    add_training_tasks,
    find,
    reassign_responses,
    release_tasks,
    set_state,
)
from likewise.study.store.schema import rater, task

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
class Submission:
    """A response from a form that has been validated."""

    position: int
    item: str
    values: Mapping[str, float | None]
    certainty: int | None = None
    comment: str = ""
    shown: float | None = None
    """When the task was shown, by the signed time in its form."""


@dataclass(frozen=True)
class Shown:
    """What a rater sees next: a task and the one after it (its images can be loaded ahead), or an end."""

    rater: Rater
    position: int = 0
    item: str = ""
    kind: str = ""
    following: str = ""
    shown_at: float = 0.0
    last: int = -1
    """The position of the last response, which can be taken back; below 0 when there is none."""


_LAST = sa.select(sa.func.max(task.c.position)).where(
    (task.c.rater == sa.bindparam("by")) & (task.c.position >= 0) & task.c.answered_at.is_not(None)
)


def _last_position(connection: sa.Connection, key: int) -> int:
    found: int | None = connection.execute(_LAST, {"by": key}).scalar()
    return -1 if found is None else found


def next_task(connection: sa.Connection, study: StudyPlan, who: Rater, now: float) -> Shown:
    """Return the current task of a rater; assign more when there is none, and finish when none is left."""
    if who.state not in ("training", "working"):
        return Shown(who)
    rows = connection.execute(_OPEN, {"by": who.id}).all()
    if not rows and who.state == "training":
        return _after_training(connection, study, who, now)
    if not rows and assign_next(connection, study, who, now):
        rows = connection.execute(_OPEN, {"by": who.id}).all()
    if not rows:
        return Shown(finish(connection, study, who, now))
    place, position, item, kind, shown_at = rows[0]
    since = now if shown_at is None or shown_at > now else shown_at  # the clock may have been set back
    connection.execute(_SHOW, {"place": place, "at": since, "until": hold_until(study, now)})
    following = rows[1].item if len(rows) > 1 else ""
    return Shown(who, position, item, kind, following, since, _last_position(connection, who.id))


def record(connection: sa.Connection, by: int, given: Submission, now: float) -> str:
    """Record a response: ``recorded``, ``again`` (it was there already), or ``gone`` (the task was reassigned)."""
    values = json.dumps({name: given.values.get(name) for name in sorted(given.values)})
    key = {"by": by, "here": given.position, "what": given.item}
    facts = {"at": now, "given": values, "sure": given.certainty, "words": given.comment or None, "since": given.shown}
    if connection.execute(_RECORD, {**key, **facts}).rowcount == 1:
        return "recorded"
    return "again" if connection.execute(_ANSWERED, key).scalar() is not None else "gone"


def record_and_next(
    connection: sa.Connection, study: StudyPlan, key: int, given: Submission, now: float
) -> tuple[str, Shown] | None:
    """Record a response, apply the rules if it was a control, and return what comes next; None for an unknown rater.

    The usual case is two statements: the response, and the next task that is already assigned. When that one was shown
    is not written yet: its form carries the time, signed, and the response brings it along.
    """
    outcome = record(connection, key, given, now)
    rows = connection.execute(_NEXT, {"by": key}).all()
    if not rows:
        return None
    who = Rater(*rows[0][: len(RATER_COLUMNS)])
    kind = study.kinds[given.item] if outcome == "recorded" else ""
    if who.state in FINISHED:
        return "gone", Shown(who)
    if kind == "training" and feedback_on(study, given):
        return outcome, Shown(who, given.position, given.item, "feedback")
    if rows[0].position is None or kind in ("gold", "attention"):
        return outcome, _after_control(connection, study, key, kind, now)
    following = rows[1].item if len(rows) > 1 else ""
    last = given.position if outcome == "recorded" else _last_position(connection, key)
    return outcome, Shown(who, rows[0].position, rows[0].item, rows[0].kind, following, rows[0].shown_at or now, last)


def _after_control(connection: sa.Connection, study: StudyPlan, key: int, kind: str, now: float) -> Shown:
    """Apply the rules after a control, and assign more tasks, while no other process serves the same rater."""
    who = find(connection, key, lock=True)
    if who is None:
        raise LookupError("The rater withdrew during this request")
    if kind in ("gold", "attention"):
        who = apply_exclusion(connection, study, who, now)
    return next_task(connection, study, who, now)


def feedback_on(study: StudyPlan, given: Submission) -> bool:
    """Return whether an explanation follows this response to a training item."""
    correct = dict(given.values) == dict(study.items[given.item].answer)
    return study.training.feedback == "all" or (study.training.feedback == "misses" and not correct)


def share_correct(study: StudyPlan, rows: list[tuple[str, str]]) -> float:
    """Return the share of items whose responses are all correct."""
    items = study.items
    return sum(json.loads(value) == dict(items[item].answer) for item, value in rows) / len(rows) if rows else 1.0


def responses_of(connection: sa.Connection, key: int, kind: str) -> list[tuple[str, str]]:
    """Return a rater's responses of one kind, in order: item and values."""
    mine = (task.c.rater == key) & (task.c.kind == kind) & task.c.answered_at.is_not(None)
    rows = connection.execute(sa.select(task.c.item, task.c.value).where(mine).order_by(task.c.position))
    return [(item, value) for item, value in rows]


def _after_training(connection: sa.Connection, study: StudyPlan, who: Rater, now: float) -> Shown:
    """Score the last attempt: go on to work, try again, or finish."""
    rows, number = responses_of(connection, who.id, "training"), len(study.training.items)
    attempt = len(rows) // number
    if share_correct(study, rows[-number:]) >= study.training.qualify:
        set_state(connection, who.id, "working", now, reason="")
        return Shown(replace(who, state="working"), kind="qualified")
    if attempt < study.training.tries:
        add_training_tasks(connection, study, who, attempt)
        return Shown(who, kind="again")
    set_state(connection, who.id, "unqualified", now, reason="training")
    return Shown(replace(who, state="unqualified", reason="training"))


def finish(connection: sa.Connection, study: StudyPlan, who: Rater, now: float) -> Rater:
    """Finish a rater: done, excluded by a rule, or full (there was no task left to give)."""
    found = apply_exclusion(connection, study, who, now, at_end=True)
    if found.state in FINISHED:
        return found
    state = "done" if responses_of(connection, who.id, "work") else "full"
    set_state(connection, who.id, state, now)
    return replace(who, state=state)


def apply_exclusion(
    connection: sa.Connection, study: StudyPlan, who: Rater, now: float, *, at_end: bool = False
) -> Rater:
    """Apply the exclusion rules of the plan to a rater."""
    reason = violated_rule(connection, study, who.id, at_end=at_end)
    if not reason:
        return who
    set_state(connection, who.id, "excluded", now, reason)
    release_tasks(connection, who.id, answered=False)
    if study.exclusion.replace:
        reassign_responses(connection, who.id)
    return replace(who, state="excluded", reason=reason)


def violated_rule(connection: sa.Connection, study: StudyPlan, key: int, *, at_end: bool) -> str:
    """Return the exclusion rule that a rater's responses violate, or an empty string.

    Missed attention counts at once. A share of gold, a median of seconds and repeated responses need all responses, so
    they are checked at the end.
    """
    rule = study.exclusion
    missed = [row for row in responses_of(connection, key, "attention") if share_correct(study, [row]) < 1]
    if rule.attention_missed and len(missed) >= rule.attention_missed:
        return "attention_missed"
    return _violated_at_end(connection, study, key, rule) if at_end else ""


def _violated_at_end(connection: sa.Connection, study: StudyPlan, key: int, rule: Exclusion) -> str:
    if rule.gold_below and share_correct(study, responses_of(connection, key, "gold")) < rule.gold_below:
        return "gold_below"
    mine = (task.c.rater == key) & (task.c.kind == "work") & task.c.answered_at.is_not(None)
    rows = connection.execute(sa.select(task.c.answered_at - task.c.shown_at, task.c.value).where(mine)).all()
    seconds = [row[0] for row in rows if row[0] is not None and row[0] >= 0]  # negative: the clock was set back
    if seconds and rule.median_seconds_below and median(seconds) < rule.median_seconds_below:
        return "median_seconds_below"
    values = [row[1] for row in rows]
    most = max((values.count(value) for value in set(values)), default=0)
    if len(values) > 1 and rule.same_answer_above < 1 and most / len(values) > rule.same_answer_above:
        return "same_answer_above"
    return ""


def undo(connection: sa.Connection, key: int, position: int) -> bool:
    """Take back the response at ``position`` if it is the rater's last one; practice stays.

    The form names the position, so a form that is sent twice takes back one response.
    """
    who = find(connection, key, lock=True)
    if who is None or who.state != "working":
        return False
    if position < 0 or _last_position(connection, key) != position:
        return False
    erased = {"answered_at": None, "value": None, "certainty": None, "comment": None}
    connection.execute(sa.update(task).where((task.c.rater == key) & (task.c.position == position)).values(erased))
    return True
