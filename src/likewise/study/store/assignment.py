"""Assignment: which tasks raters are given. A task is a row; taking it changes that row, so no two raters share it.

A task is free when no rater holds it, or when its holder has not responded within the hold. On PostgreSQL rows are
locked with SKIP LOCKED, so two processes that want the same task do not wait for each other. All raters of a batch are
assigned together: the number of statements does not depend on their number.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import islice
from typing import Any

import sqlalchemy as sa

from likewise.study.config.sections import StudyPlan
from likewise.study.server.schedule import Schedule, schedule_of
from likewise.study.store.many import among, rows_of
from likewise.study.store.schema import fetched, task

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


@dataclass(frozen=True)
class AssignedRater:
    """The facts about a rater that assignment needs; they never change."""

    id: int
    arm: str


@dataclass(frozen=True)
class OpenTask:
    """A task that a rater holds and has not responded to."""

    position: int
    item: str
    kind: str
    shown_at: float | None = None


@dataclass(frozen=True)
class _Statements:
    """The statements of assignment in the words of one database."""

    mine: sa.Select[Any]
    of_items: sa.Select[Any]
    still_free: sa.Select[Any]
    take: sa.Update


@cache
def _statements(dialect: str) -> _Statements:
    columns = (task.c.position, task.c.item, task.c.kind, task.c.shown_at, task.c.rater, task.c.answered_at)
    whole, real = sa.Integer(), sa.Float()
    taken = rows_of(dialect, "taken", {"place": whole, "holder": whole, "spot": whole, "until": real})
    work = (task.c.kind == "work") & among(dialect, task.c.item, "items")
    return _Statements(
        mine=sa.select(*columns).where(among(dialect, task.c.rater, "raters") & (task.c.position >= 0)),
        of_items=sa.select(task.c.id, task.c.item).where(work & _FREE).order_by(task.c.id),
        still_free=(
            sa.select(task.c.id)
            .where(among(dialect, task.c.id, "places") & _FREE)
            .with_for_update(skip_locked=True)
        ),
        take=(
            sa.update(task)
            .where(task.c.id == taken.c.place)
            .values(rater=taken.c.holder, position=taken.c.spot, held_until=taken.c.until, shown_at=None)
        ),
    )  # fmt: skip


def hold_until(study: StudyPlan, now: float) -> float:
    """Return until when a task that is given out now is held."""
    return now + 60 * study.hold_minutes


def _times(study: StudyPlan, now: float) -> dict[str, float]:
    return {"now": now, "latest": hold_until(study, now) + _SLACK}


def open_or_assign(
    connection: sa.Connection, study: StudyPlan, raters: Iterable[AssignedRater], now: float
) -> dict[int, list[OpenTask]]:
    """Return the open tasks of each rater in order; those who have none are given the next few positions.

    An empty list means that nothing is left for the rater. The caller has locked the raters.
    """
    people = {who.id: who for who in raters}
    seen: dict[int, list[tuple[int, str]]] = {key: [] for key in people}
    found: dict[int, list[OpenTask]] = {key: [] for key in people}
    query = _statements(connection.dialect.name).mine
    for position, item, kind, shown, by, answered in fetched(connection, query, {"raters": list(people)}):
        seen[by].append((position, item))
        if answered is None:
            found[by].append(OpenTask(position, item, kind, shown))
    for tasks in found.values():
        tasks.sort(key=lambda one: one.position)
    wants = [_Want.of(study, people[key], seen[key]) for key, tasks in found.items() if not tasks]
    _claim(connection, study, wants, now)
    return found | _take(connection, study, wants, now)


@dataclass
class _Want:
    """A rater who needs tasks: the positions to fill, and the units to look at, in the rater's order."""

    by: int
    schedule: Schedule
    positions: range
    ahead: Iterator[str]
    looked: list[str] = field(default_factory=list)
    places: list[tuple[int, str]] = field(default_factory=list)
    """Claimed tasks: row and unit."""

    @classmethod
    def of(cls, study: StudyPlan, who: AssignedRater, seen: Sequence[tuple[int, str]]) -> _Want:
        """Look from the rater's current place in the order, and go round once."""
        schedule = schedule_of(study, who.id, who.arm)
        start = max((position for position, _ in seen), default=-1) + 1
        had = {item for _, item in seen if item in study.places}
        first = int(schedule.rank[[study.places[item] for item in had]].max()) + 1 if had else 0
        ahead = (key for key in _from_rank(study, schedule, first) if key not in had)
        return cls(who.id, schedule, range(start, min(start + RESERVE, schedule.length)), ahead)

    @property
    def missing(self) -> int:
        """How many units are still to be claimed."""
        return sum(position not in self.schedule.controls for position in self.positions) - len(self.places)

    def look(self, size: int) -> bool:
        """Look at the next units; return whether there are any."""
        self.looked = list(islice(self.ahead, size))
        return bool(self.looked)

    def filled(self) -> list[tuple[OpenTask, int | None]]:
        """Return what goes where: tasks with their rows, and controls. When tasks run out the schedule ends there."""
        left, taken = iter(self.places), 0
        found: list[tuple[OpenTask, int | None]] = []
        for position in self.positions:
            if position in self.schedule.controls:
                kind, item = self.schedule.controls[position]
                found.append((OpenTask(position, item, kind), None))
            elif (place := next(left, None)) is not None:
                found.append((OpenTask(position, place[1], "work"), place[0]))
                taken += 1
            else:
                return found if taken else []  # controls alone are shown only when they end the schedule
        return found


def _from_rank(study: StudyPlan, schedule: Schedule, start: int) -> Iterator[str]:
    units = len(study.units)
    for k in range(units):
        yield study.units[int(schedule.order[(start + k) % units])].key


def _claim(connection: sa.Connection, study: StudyPlan, wants: Sequence[_Want], now: float) -> None:
    """Lock free tasks of different units for every rater who needs some."""
    size, times, used = _LOOK, _times(study, now), set[int]()
    while short := [want for want in wants if want.missing > 0 and want.look(size)]:
        free = _free_tasks(connection, {key for want in short for key in want.looked}, times)
        _lock(connection, short, free, used, times)
        size *= 4


def _free_tasks(connection: sa.Connection, items: set[str], times: dict[str, float]) -> dict[str, list[int]]:
    free: dict[str, list[int]] = {}
    query = _statements(connection.dialect.name).of_items
    for place, item in connection.execute(query, {"items": sorted(items), **times}).all():
        free.setdefault(item, []).append(place)
    return free


def _lock(
    connection: sa.Connection,
    wants: Sequence[_Want],
    free: Mapping[str, list[int]],
    used: set[int],
    times: dict[str, float],
) -> None:
    """Lock a free task of each of the first units that have one. ``used`` are rows that were tried before."""
    query = _statements(connection.dialect.name).still_free
    while True:
        picks = [(want, *pick) for want in wants for pick in _picked(want, free, used)]
        if not picks:
            return
        rows = [place for _, place, _ in picks]
        locked = set(connection.execute(query, {"places": rows, **times}).scalars())
        for want, place, item in picks:
            if place in locked:
                want.places.append((place, item))


def _picked(want: _Want, free: Mapping[str, list[int]], used: set[int]) -> list[tuple[int, str]]:
    """Choose a row of each of the next units; each rater starts at another row, so processes seldom want the same."""
    found: list[tuple[int, str]] = []
    have = {item for _, item in want.places}
    for item in want.looked:
        if len(found) == want.missing:
            break
        left = [place for place in free.get(item, ()) if place not in used] if item not in have else []
        if left:
            place = left[want.by % len(left)]
            used.add(place)
            found.append((place, item))
    return found


def _take(connection: sa.Connection, study: StudyPlan, wants: Sequence[_Want], now: float) -> dict[int, list[OpenTask]]:
    """Write who holds the claimed tasks, and add the controls."""
    until, taken, added = hold_until(study, now), [], []
    found: dict[int, list[OpenTask]] = {}
    for want in wants:
        filled = want.filled()
        found[want.by] = [one for one, _ in filled]
        for one, place in filled:
            if place is None:
                added.append({"kind": one.kind, "item": one.item, "rater": want.by, "position": one.position,
                              "held_until": until})  # fmt: skip
            else:
                taken.append({"place": place, "holder": want.by, "spot": one.position, "until": until})
    if taken:
        connection.execute(_statements(connection.dialect.name).take, {"taken": taken})
    if added:
        connection.execute(sa.insert(task), added)
    return found


def any_free(connection: sa.Connection, study: StudyPlan, now: float) -> bool:
    """Return whether any task can be assigned."""
    free = sa.select(task.c.id).where((task.c.kind == "work") & _FREE).limit(1)
    return connection.execute(free, _times(study, now)).scalar() is not None
