"""Assignment: which tasks a rater is given. A task is a row; taking it changes that row, so no two raters share it.

A task is free when no rater holds it, or when its holder has not responded within the hold. On PostgreSQL rows are
locked with SKIP LOCKED, so two processes that want the same task do not wait for each other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import sqlalchemy as sa

from likewise.study.config.sections import StudyPlan
from likewise.study.server.schedule import Schedule, schedule_of
from likewise.study.store.schema import task

RESERVE = 5
"""Positions that are assigned at a time: the next images can be loaded ahead, and few tasks are held idle."""
_LOOK = 8
"""Units that are looked at first for a free task; the look widens when they have none."""
_SLACK = 60.0

_FREE = task.c.answered_at.is_(None) & (
    task.c.rater.is_(None)
    | (task.c.held_until < sa.bindparam("now"))
    | (task.c.held_until > sa.bindparam("latest"))  # a hold that no clock could have given: the clock was set back
)
_OF_ITEMS = (
    sa.select(task.c.id, task.c.item)
    .where((task.c.kind == "work") & task.c.item.in_(sa.bindparam("items", expanding=True)) & _FREE)
    .order_by(task.c.id)
)
_STILL_FREE = (
    sa.select(task.c.id)
    .where(task.c.id.in_(sa.bindparam("places", expanding=True)) & _FREE)
    .with_for_update(skip_locked=True)
)
_TAKE = (
    sa.update(task)
    .where(task.c.id == sa.bindparam("place"))
    .values(
        rater=sa.bindparam("by"), position=sa.bindparam("at"), held_until=sa.bindparam("until"), shown_at=None
    )
)  # fmt: skip
_MINE = sa.select(task.c.item, task.c.position).where((task.c.rater == sa.bindparam("by")) & (task.c.position >= 0))


@dataclass(frozen=True)
class AssignedRater:
    """The facts about a rater that assignment needs; they never change."""

    id: int
    arm: str


def hold_until(study: StudyPlan, now: float) -> float:
    """Return until when a task that is given out now is held."""
    return now + 60 * study.hold_minutes


def _times(study: StudyPlan, now: float) -> dict[str, float]:
    return {"now": now, "latest": hold_until(study, now) + _SLACK}


def assign_next(connection: sa.Connection, study: StudyPlan, to: AssignedRater, now: float) -> int:
    """Give a rater the next few positions; return how many could be filled (0: nothing is left for this rater)."""
    schedule = schedule_of(study, to.id, to.arm)
    mine = [(item, position) for item, position in connection.execute(_MINE, {"by": to.id}).all()]
    start = max((position for _, position in mine), default=-1) + 1
    wanted = range(start, min(start + RESERVE, schedule.length))
    units = sum(position not in schedule.controls for position in wanted)
    places = _claim(connection, study, schedule, mine, to.id, units, now)
    return _place(connection, study, schedule, to.id, list(wanted), places, now)


def _place(
    connection: sa.Connection,
    study: StudyPlan,
    schedule: Schedule,
    by: int,
    wanted: list[int],
    places: list[int],
    now: float,
) -> int:
    """Put tasks and controls at their positions; when tasks run out the schedule ends there."""
    until, left = hold_until(study, now), iter(places)
    taken, added = [], []
    for position in wanted:
        if position in schedule.controls:
            kind, item = schedule.controls[position]
            added.append({"kind": kind, "item": item, "rater": by, "position": position, "held_until": until})
        elif (place := next(left, None)) is not None:
            taken.append({"place": place, "by": by, "at": position, "until": until})
        else:
            break
    if not taken and not _has_units(schedule, wanted):  # only controls are left: they count as filled
        return len(_insert(connection, added))
    if taken:
        connection.execute(_TAKE, taken)
        _insert(connection, added)
    return len(taken)


def _has_units(schedule: Schedule, wanted: list[int]) -> bool:
    return not wanted or any(position not in schedule.controls for position in wanted)


def _insert(connection: sa.Connection, rows: list[dict[str, object]]) -> list[dict[str, object]]:
    if rows:
        connection.execute(sa.insert(task), rows)
    return rows


def _claim(
    connection: sa.Connection,
    study: StudyPlan,
    schedule: Schedule,
    mine: Sequence[tuple[str, int]],
    by: int,
    number: int,
    now: float,
) -> list[int]:
    """Lock free tasks of different units, in the rater's order from the current place; go round once."""
    if number == 0:
        return []
    ranks = {item: int(schedule.rank[study.places[item]]) for item, _ in mine if item in study.places}
    start = max(ranks.values(), default=-1) + 1
    ahead = (key for key in _from_rank(study, schedule, start) if key not in ranks)
    found: list[int] = []
    size = _LOOK
    while len(found) < number and (batch := list(islice(ahead, size))):
        found += _lock(connection, batch, by, number - len(found), _times(study, now))
        size *= 4
    return found


def _from_rank(study: StudyPlan, schedule: Schedule, start: int) -> Iterator[str]:
    units = len(study.units)
    for k in range(units):
        yield study.units[int(schedule.order[(start + k) % units])].key


def _lock(connection: sa.Connection, batch: list[str], by: int, number: int, times: dict[str, float]) -> list[int]:
    """Lock a free task of each of the first ``number`` units that have one."""
    free: dict[str, list[int]] = {}
    for place, item in connection.execute(_OF_ITEMS, {"items": batch, **times}).all():
        free.setdefault(item, []).append(place)
    waiting = [_rotated(free[item], by) for item in batch if item in free]
    found: list[int] = []
    while len(found) < number and waiting:
        tried, waiting = waiting[: number - len(found)], waiting[number - len(found) :]
        picks = [places[0] for places in tried]
        locked = set(connection.execute(_STILL_FREE, {"places": picks, **times}).scalars().all())
        found += [place for place in picks if place in locked]
        waiting = [places[1:] for places in tried if places[0] not in locked and places[1:]] + waiting
    return found


def _rotated(places: list[int], by: int) -> list[int]:
    """Start at another of the unit's tasks for each rater, so that processes seldom want the same row."""
    turn = by % len(places) if places else 0
    return places[turn:] + places[:turn]


def any_free(connection: sa.Connection, study: StudyPlan, now: float) -> bool:
    """Return whether any task can be assigned."""
    free = sa.select(task.c.id).where((task.c.kind == "work") & _FREE).limit(1)
    return connection.execute(free, _times(study, now)).scalar() is not None
