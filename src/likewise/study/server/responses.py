"""Responses: the next task of a rater, what a response changes, and the rules by which a rater goes on or finishes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from statistics import median
from typing import Any

import sqlalchemy as sa

from likewise.study.config.sections import Exclusion, StudyPlan
from likewise.study.store.assignment import OpenTask, hold_until, open_or_assign
from likewise.study.store.many import rows_of
from likewise.study.store.raters import (
    FINISHED,
    RATER_COLUMNS,
    Rater,
    add_training_tasks,
    find,
    find_all,
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
_SHOW = (
    sa.update(task)
    .where((task.c.rater == sa.bindparam("by")) & (task.c.position == sa.bindparam("here")))
    .values(shown_at=sa.bindparam("at"), held_until=sa.bindparam("until"))
)
_ANSWERED = sa.select(task.c.answered_at).where(
    (task.c.rater == sa.bindparam("by"))
    & (task.c.position == sa.bindparam("here"))
    & (task.c.item == sa.bindparam("what"))
)


@dataclass(frozen=True)
class _Statements:
    """The two statements that a batch of responses takes, in the words of one database."""

    record: Any
    following: sa.Select[Any]


@cache
def _statements(dialect: str) -> _Statements:
    whole, text, real = sa.Integer(), sa.Text(), sa.Float()
    columns: dict[str, sa.types.TypeEngine[Any]] = {
        "who": whole, "here": whole, "what": text, "ended": real, "since": real, "said": text, "sure": whole,
        "words": text,
    }  # fmt: skip
    given = rows_of(dialect, "given", columns)
    mine = (task.c.rater == given.c.who) & task.c.answered_at.is_(None)
    return _Statements(
        record=sa.update(task)
        .where(mine & (task.c.position == given.c.here) & (task.c.item == given.c.what))
        .values(
            answered_at=given.c.ended,
            shown_at=sa.func.coalesce(task.c.shown_at, given.c.since),
            value=given.c.said,
            certainty=given.c.sure,
            comment=given.c.words,
        )
        .returning(task.c.rater),
        following=sa.select(*RATER_COLUMNS, task.c.position, task.c.item, task.c.kind, task.c.shown_at)
        .select_from(
            given.join(rater, rater.c.id == given.c.who).outerjoin(task, mine & (task.c.position > given.c.here))
        )
        .order_by(rater.c.id, task.c.position),
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
    rows = [OpenTask(*row[1:]) for row in connection.execute(_OPEN, {"by": who.id})]
    if not rows and who.state == "training":
        return _after_training(connection, study, who, now)
    rows = rows or open_or_assign(connection, study, [who], now)[who.id]
    if not rows:
        return Shown(finish(connection, study, who, now))
    shown = _shown(who, rows, now, _last_position(connection, who.id))
    key = {"by": who.id, "here": shown.position}
    connection.execute(_SHOW, {**key, "at": shown.shown_at, "until": hold_until(study, now)})
    return shown


def _shown(who: Rater, rows: Sequence[OpenTask], now: float, last: int) -> Shown:
    """Return the first of a rater's open tasks, and the one after it."""
    first, since = rows[0], rows[0].shown_at
    since = now if since is None or since > now else since  # the clock may have been set back
    following = rows[1].item if len(rows) > 1 else ""
    return Shown(who, first.position, first.item, first.kind, following, since, last)


@dataclass(frozen=True)
class Received:
    """A response and who sent it when."""

    by: int
    given: Submission
    now: float

    @property
    def row(self) -> dict[str, Any]:
        """The values of the response, as ``_Statements`` names them."""
        given = self.given
        said = json.dumps({name: given.values.get(name) for name in sorted(given.values)})
        return {"who": self.by, "here": given.position, "what": given.item, "ended": self.now, "since": given.shown,
                "said": said, "sure": given.certainty, "words": given.comment or None}  # fmt: skip


Outcome = tuple[str, Shown] | None
"""``recorded``, ``again`` (it was there already) or ``gone`` (the task was reassigned), and what comes next."""


def record_and_next(connection: sa.Connection, study: StudyPlan, received: Sequence[Received]) -> list[Outcome]:
    """Record responses, apply the rules after controls, and return what comes next; None for an unknown rater.

    The usual case is two statements, however many responses: the responses, and the next tasks that are already
    assigned. When a next task was shown is not written yet: its form carries the time, signed, and the response brings
    it along. Raters who need more tasks are assigned them together.
    """
    found: dict[int, Outcome] = {}
    left = list(enumerate(received))
    while left:  # each rater once in a round: a response that was sent twice waits for the next
        turn = {one.by: (k, one) for k, one in reversed(left)}
        outcomes = _round(connection, study, {by: one for by, (_, one) in sorted(turn.items())})
        found |= {k: outcomes[by] for by, (k, _) in turn.items()}
        left = [(k, one) for k, one in left if k not in found]
    return [found[k] for k in range(len(received))]


def _round(connection: sa.Connection, study: StudyPlan, received: Mapping[int, Received]) -> dict[int, Outcome]:
    """Record at most one response of each rater."""
    statements = _statements(connection.dialect.name)
    given = {"given": [one.row for one in received.values()]}
    recorded = set(connection.execute(statements.record, given).scalars())
    rows: dict[int, list[Any]] = {}
    for row in connection.execute(statements.following, given):
        rows.setdefault(row.id, []).append(row)
    found: dict[int, Outcome] = {by: None for by in received if by not in rows}
    short: list[Received] = []
    for by, of in rows.items():
        who = Rater(*of[0][: len(RATER_COLUMNS)])
        opened = [OpenTask(*row[len(RATER_COLUMNS) :]) for row in of if row.position is not None]
        ready = _ready(study, who, received[by], opened) if by in recorded else None
        if who.state in FINISHED:
            found[by] = "gone", Shown(who)
        elif ready is not None:
            found[by] = "recorded", ready
        elif by in recorded and who.state == "working" and study.kinds[received[by].given.item] == "work":
            short.append(received[by])
        else:
            found[by] = _slowly(connection, study, received[by], recorded=by in recorded)
    return found | _more(connection, study, short)


def _ready(study: StudyPlan, who: Rater, one: Received, opened: Sequence[OpenTask]) -> Shown | None:
    """Return what follows a recorded response if nothing has to be written for it."""
    kind = study.kinds[one.given.item]
    if kind == "training" and feedback_on(study, one.given):
        return Shown(who, one.given.position, one.given.item, "feedback")
    if not opened or kind in ("gold", "attention"):
        return None
    return _shown(who, opened, one.now, one.given.position)


def _slowly(connection: sa.Connection, study: StudyPlan, one: Received, *, recorded: bool) -> Outcome:
    """Return what follows a control, the end of the practice, or a response that was not recorded."""
    kind, outcome = (study.kinds[one.given.item], "recorded") if recorded else ("", "gone")
    if not recorded:
        key = {"by": one.by, "here": one.given.position, "what": one.given.item}
        outcome = "again" if connection.execute(_ANSWERED, key).scalar() is not None else "gone"
    return outcome, _after_control(connection, study, one.by, kind, one.now)


def _more(connection: sa.Connection, study: StudyPlan, received: Sequence[Received]) -> dict[int, Outcome]:
    """Assign tasks to raters who have none open, while no other process serves the same raters."""
    if not received:
        return {}
    people = find_all(connection, [one.by for one in received])
    now = max(one.now for one in received)
    working = [who for who in people.values() if who.state == "working"]
    tasks = open_or_assign(connection, study, working, now)
    found: dict[int, Outcome] = {}
    for one in received:
        who = people.get(one.by)
        if who is None:
            found[one.by] = None
        elif tasks.get(who.id):
            found[who.id] = "recorded", _shown(who, tasks[who.id], one.now, one.given.position)
        else:  # the end, or another process changed the rater's state
            found[who.id] = "recorded", next_task(connection, study, who, one.now)
    return found


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
