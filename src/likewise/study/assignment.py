"""Assignment: which places a rater is given. A place is a row; taking it changes that row, so nobody shares it.

Free is a place that nobody holds, or whose holder has not answered within the hold. On PostgreSQL rows are locked with
SKIP LOCKED, so two processes that want the same place do not wait for each other: one gets it, the other looks on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, islice

import sqlalchemy as sa

from likewise.study.parts import Parts
from likewise.study.schema import task
from likewise.study.series import Series, series_of

RESERVE = 5
"""So many positions are laid out at a time: the next pictures can be loaded ahead, and few places are held idle."""
_LOOK = 8
"""Units that are looked at first for a free place; the look widens when they have none."""

_FREE = task.c.answered_at.is_(None) & (task.c.rater.is_(None) | (task.c.held_until < sa.bindparam("now")))
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
class Person:
    """The facts about a rater that assignment needs; they never change."""

    id: int
    arm: str


def lay_out(connection: sa.Connection, study: Parts, person: Person, now: float) -> int:
    """Give a rater the next few positions; return how many could be filled (0: nothing is left for this rater)."""
    series = series_of(study, person.id, person.arm)
    mine = [(item, position) for item, position in connection.execute(_MINE, {"by": person.id}).all()]
    start = max((position for _, position in mine), default=-1) + 1
    wanted = range(start, min(start + RESERVE, series.length))
    units = sum(position not in series.controls for position in wanted)
    places = _claim(connection, study, series, mine, person.id, units, now)
    return _place(connection, study, series, person.id, list(wanted), places, now)


def _place(
    connection: sa.Connection, study: Parts, series: Series, by: int, wanted: list[int], places: list[int], now: float
) -> int:
    """Put places and controls at their positions; when places run out the series ends there."""
    until, left = now + 60 * study.hold_minutes, iter(places)
    taken, added = [], []
    for position in wanted:
        if position in series.controls:
            kind, item = series.controls[position]
            added.append({"kind": kind, "item": item, "rater": by, "position": position, "held_until": until})
        elif (place := next(left, None)) is not None:
            taken.append({"place": place, "by": by, "at": position, "until": until})
        else:
            break
    if not taken and not _has_units(series, wanted):  # only controls are left to be shown: that is no work
        return len(_insert(connection, added))
    if taken:
        connection.execute(_TAKE, taken)
        _insert(connection, added)
    return len(taken)


def _has_units(series: Series, wanted: list[int]) -> bool:
    return not wanted or any(position not in series.controls for position in wanted)


def _insert(connection: sa.Connection, rows: list[dict[str, object]]) -> list[dict[str, object]]:
    if rows:
        connection.execute(sa.insert(task), rows)
    return rows


def _claim(
    connection: sa.Connection,
    study: Parts,
    series: Series,
    mine: Sequence[tuple[str, int]],
    by: int,
    number: int,
    now: float,
) -> list[int]:
    """Lock free places of different units, in the rater's order from where the rater is; go round once."""
    if number == 0:
        return []
    ranks = {item: series.order.index(study.places[item]) for item, _ in mine if item in study.places}
    start = max(ranks.values(), default=-1) + 1
    round_trip = chain(islice(series.order, start, None), islice(series.order, start))
    ahead = (key for k in round_trip if (key := study.units[k].key) not in ranks)
    found: list[int] = []
    size = _LOOK
    while len(found) < number and (batch := list(islice(ahead, size))):
        found += _lock(connection, batch, by, number - len(found), now)
        size *= 4
    return found


def _lock(connection: sa.Connection, batch: list[str], by: int, number: int, now: float) -> list[int]:
    """Lock a free place of each of the first ``number`` units that have one."""
    free: dict[str, list[int]] = {}
    for place, item in connection.execute(_OF_ITEMS, {"items": batch, "now": now}).all():
        free.setdefault(item, []).append(place)
    waiting = [_from(free[item], by) for item in batch if item in free]
    found: list[int] = []
    while len(found) < number and waiting:
        tried, waiting = waiting[: number - len(found)], waiting[number - len(found) :]
        picks = [places[0] for places in tried]
        locked = set(connection.execute(_STILL_FREE, {"places": picks, "now": now}).scalars().all())
        found += [place for place in picks if place in locked]
        waiting = [places[1:] for places in tried if places[0] not in locked and places[1:]] + waiting
    return found


def _from(places: list[int], by: int) -> list[int]:
    """Start at another of the unit's places for each rater, so that processes seldom want the same row."""
    turn = by % len(places) if places else 0
    return places[turn:] + places[:turn]


def any_free(connection: sa.Connection, now: float) -> bool:
    """Say whether any place can be given out."""
    free = sa.select(task.c.id).where((task.c.kind == "work") & _FREE).limit(1)
    return connection.execute(free, {"now": now}).scalar() is not None
