"""Greedy matching on one score for millions: whole arrays at a time, with the pairs that one by one would give.

*Closest first.* A pair that is the nearest of both its sides cannot be kept apart by any other pair, so all such pairs
are taken at once, round after round. *In turn.* When each row takes the nearest that is left, the result is the one
stable matching in which all columns prefer who comes earlier. A batch of rows may therefore all propose at once, and a
column that an earlier row proposes to lets the later one go (deferred acceptance). Rows before the first that is not
settled are final, because later rows never matter to earlier ones.

Both stop when a round brings little (long chains, heavy ties) and say who is left; one by one is faster then.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from likewise.design.search.points import Floats, Index

Codes = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
_NOBODY = np.iinfo(np.int64).max
_WORTH = 0.02  # the share of those left that a round has to settle
_BATCHES = 32
_CROWD = 32  # rows of a batch between the same two columns from which they queue
_STEPS, _PROPOSALS = 4000, 16  # a batch is cut after so many steps, or proposals a row


class Found(NamedTuple):
    """Matches as arrays."""

    distance: Floats
    row: Index
    column: Index

    def at(self, index: Index | slice) -> Found:
        """Return some of them."""
        return Found(self.distance[index], self.row[index], self.column[index])


@dataclass
class Side:
    """Those who are left on one side, in order of score, then key."""

    score: Floats
    key: Index
    code: Codes
    tied: bool
    """Whether there were equal scores at first."""

    @classmethod
    def of(cls, score: Floats, code: Codes) -> Side:
        """Sort all units; positions are keys in order."""
        key = np.argsort(score, kind="stable")
        line = score[key]
        return cls(line, key, code[key], bool((line[1:] == line[:-1]).any()))

    def kept(self, mask: Mask) -> Side:
        """Return those in the mask."""
        return Side(self.score[mask], self.key[mask], self.code[mask], self.tied)

    def __len__(self) -> int:
        return len(self.key)

    def codes_by_key(self) -> Codes:
        """Return every unit's code in order of key."""
        codes = np.zeros(int(self.key.max()) + 1 if len(self) else 0, dtype=np.int64)
        codes[self.key] = self.code
        return codes

    def by_key(self) -> Side:
        """Return the same in order of key."""
        order = np.argsort(self.key)
        return Side(self.score[order], self.key[order], self.code[order], self.tied)

    def starts(self) -> Index:
        """Return where each one's equal scores begin."""
        fresh = np.r_[True, self.score[1:] != self.score[:-1]]
        starts: Index = np.maximum.accumulate(np.where(fresh, np.arange(len(self)), 0))
        return starts

    def _starts_of(self, at: Index) -> Index:
        return self.starts()[at] if self.tied else at

    def ends(self) -> Index:
        """Return where each one's equal scores end."""
        last = np.r_[self.score[1:] != self.score[:-1], True]
        ends: Index = np.minimum.accumulate(np.where(last, np.arange(len(self)), len(self))[::-1])[::-1]
        return ends

    def nearest_to(self, score: Floats) -> tuple[Floats, Index]:
        """Return for each of these sorted scores how far the nearest here is, and its key; ties go to the smaller."""
        at = np.searchsorted(self.score, score, side="left")
        line = np.r_[-np.inf, self.score, np.inf]
        above, below = line[at + 1] - score, score - line[at]
        up, down = self.key[np.minimum(at, len(self) - 1)], self.key[self._starts_of(np.maximum(at - 1, 0))]
        lower = (below < above) | ((below == above) & (down < up))
        return np.where(lower, below, above), np.where(lower, down, up)


def closest(rows: Side, columns: Side, limit: float, used: Mask) -> tuple[Found, Side, Side]:
    """Take the mutually nearest, round after round; return the pairs, and who is left when that gets slow."""
    parts: list[Found] = []
    whose = columns.codes_by_key()
    partner = np.full(len(whose), -1, dtype=np.intp)
    single = _single(rows.code) and _single(columns.code)
    while len(rows) and len(columns):
        before = min(len(rows), len(columns))
        apart, wanted = columns.nearest_to(rows.score)
        other_apart, wanting = rows.nearest_to(columns.score)
        near, other_near = (side <= limit for side in (apart, other_apart))
        first = near if single else near & _least(rows.code, apart, rows.key)
        other_first = other_near if single else other_near & _least(columns.code, other_apart, wanting, columns.key)
        partner[columns.key] = np.where(other_first, wanting, -1)
        taken = first & (partner[wanted] == rows.key)
        parts.append(Found(apart[taken], rows.key[taken], wanted[taken]))
        used[rows.code[taken]] = used[whose[wanted[taken]]] = True
        rows, columns = rows.kept(near & ~used[rows.code]), columns.kept(other_near & ~used[columns.code])
        if before - min(len(rows), len(columns)) < _WORTH * before:
            break
    return together(parts), rows, columns


def in_turn(rows: Side, columns: Side, limit: float, used: Mask, order: Index) -> tuple[Found, Index]:
    """Let rows choose in this order, batch by batch; return the pairs in order, and the rows still to come."""
    everyone = rows.by_key()
    score, code = everyone.score, everyone.code
    whose = columns.codes_by_key()
    holder = np.full(len(used), _NOBODY)
    least = max(256, len(order) // 256)
    size = max(least, -(-len(order) // _BATCHES))
    parts: list[Found] = []
    single = _single(code)
    while len(order) and size >= least:
        columns = columns.kept(~used[columns.code])
        if not len(columns):
            return together(parts), order[:0]
        batch = order[:size]
        found, done = _batch(batch, score[batch], code[batch], columns, _Held(whose, holder), limit, used, single)
        used[code[found.row]] = used[whose[found.column]] = True
        parts.append(found)
        order = order[done:]
        if done < len(batch) // 4:
            size //= 4
    return together(parts), order


def _batch(
    batch: Index, score: Floats, code: Codes, columns: Side, held: _Held, limit: float, used: Mask, single: bool
) -> tuple[Found, int]:
    """Return the pairs of the first ``done`` rows of a batch.

    Of several rows of one person only the first proposes. If it ends up alone, the batch ends before the second.
    """
    by_score = np.argsort(score, kind="stable")
    near = np.empty(len(batch), dtype=bool)
    near[by_score] = columns.nearest_to(score[by_score])[0] <= limit
    ready = np.flatnonzero(near & ~used[code])
    first = ready if single else ready[np.sort(np.unique(code[ready], return_index=True)[1])]
    apart, column, sure = _proposed(_Walk.of(score[first], columns), held, limit)
    done = len(batch) if sure == len(first) else int(first[sure])
    if len(first) < len(ready):
        alone = np.isin(code[ready], code[first[column < 0]])
        again = np.setdiff1d(ready[alone], first, assume_unique=True)
        done = min([done, *again[:1].tolist()])
    taken = (column >= 0) & (first < done)
    return Found(apart[taken], batch[first[taken]], column[taken]), done


@dataclass
class _Held:
    """Who holds a column: all columns of a person are held together."""

    whose: Codes
    """The person of each column."""
    holder: npt.NDArray[np.int64]
    """The row that holds each person; none at the beginning of a batch."""


def _proposed(walk: _Walk, held: _Held, limit: float) -> tuple[Floats, Index, int]:
    """Return each row's distance and column (-1: none) after all proposals, and how many rows are settled."""
    whose, holder = held.whose, held.holder
    active = _queued(walk, held, limit)
    work = 0
    for _ in range(_STEPS):
        work += len(active)
        if not len(active) or work > _PROPOSALS * len(walk.score):
            break
        distance, wanted = walk.next_of(active)
        walk.column[active] = -1
        stay = (distance <= limit) & (distance < np.inf)
        active, distance, wanted = active[stay], distance[stay], wanted[stay]
        person = whose[wanted]
        before = holder[person]
        np.minimum.at(holder, person, active)
        won = holder[person] == active
        walk.apart[active[won]], walk.column[active[won]] = distance[won], wanted[won]
        let_go = before[won]
        active = np.concatenate([active[~won], let_go[let_go != _NOBODY]])
    holder[whose[walk.column[walk.column >= 0]]] = _NOBODY  # who is held at the end is all that was ever held
    return walk.apart, walk.column, int(active.min()) if len(active) else len(walk.score)


def _queued(walk: _Walk, held: _Held, limit: float) -> Index:
    """Let rows that crowd between the same two columns propose one by one; return who has to propose still.

    What an earlier row of the crowd passed by, a later one may pass by as well: an even earlier row holds it. So a
    crowd walks outwards once, not once for each of its rows.
    """
    gap = walk.low.copy()
    crowded = np.bincount(gap)[gap] >= _CROWD
    order = np.flatnonzero(crowded)
    order = order[np.argsort(gap[order], kind="stable")]
    let_go: list[int] = []
    for rows in np.split(order, np.flatnonzero(np.diff(gap[order])) + 1) if len(order) else []:
        _one_queue(walk, held, limit, rows.tolist(), let_go)
    return np.concatenate([np.flatnonzero(~crowded), np.array(let_go, dtype=np.intp)])


def _one_queue(walk: _Walk, held: _Held, limit: float, rows: list[int], let_go: list[int]) -> None:
    low, high = int(walk.low[rows[0]]), int(walk.high[rows[0]])
    for row in rows:
        score, holder = walk.score[row], -1
        while holder < row:
            below, above = score - walk.line[low], walk.line[high] - score
            down, up = walk.downward[low], walk.upward[high]
            lower = below < above or (below == above and down < up)
            distance, column = (below, down) if lower else (above, up)
            if distance > limit or distance == np.inf:
                break
            low, high = (low - 1, high) if lower else (low, high + 1)
            person = held.whose[column]
            holder = held.holder[person]
        else:
            held.holder[person], walk.apart[row], walk.column[row] = row, distance, column
            let_go += [int(holder)] if holder != _NOBODY else []
        walk.low[row], walk.high[row] = low, high


@dataclass
class _Walk:
    """Every row's way through the columns, from the nearest outwards; equal distances by key."""

    score: Floats
    line: Floats
    """The columns' scores between two that are infinitely far."""
    upward: Index
    downward: Index
    """The columns' keys beside the line: equal scores are met from the smallest key on, whichever way one comes."""
    low: Index
    high: Index
    apart: Floats
    """How far the column that each row holds is."""
    column: Index

    @classmethod
    def of(cls, score: Floats, columns: Side) -> _Walk:
        turned = columns.key
        if columns.tied:
            turned = turned[columns.starts() + columns.ends() - np.arange(len(columns))]
        at = np.searchsorted(columns.score, score, side="left")
        apart, column = np.full(len(score), np.inf), np.full(len(score), -1, dtype=np.intp)
        far = [np.iinfo(np.intp).max]
        ends = np.r_[far, columns.key, far], np.r_[far, turned, far]
        return cls(score, np.r_[-np.inf, columns.score, np.inf], *ends, at, at + 1, apart, column)

    def next_of(self, rows: Index) -> tuple[Floats, Index]:
        """Take one step with these rows: return the distance and the key of the next column of each."""
        low, high, score = self.low[rows], self.high[rows], self.score[rows]
        below, above = score - self.line[low], self.line[high] - score
        down, up = self.downward[low], self.upward[high]
        lower = (below < above) | ((below == above) & (down < up))
        self.low[rows] = np.maximum(low - lower, 0)
        self.high[rows] = np.minimum(high + ~lower, len(self.line) - 1)
        return np.where(lower, below, above), np.where(lower, down, up)


def _least(code: Codes, *keys: npt.NDArray[np.generic]) -> Mask:
    """Mark for each code who has the smallest keys, the first key first."""
    mask = np.ones(len(code), dtype=bool)
    for key in keys:
        whose, value = code[mask], key[mask]
        best = np.full(int(code.max()) + 1, value.max(), dtype=value.dtype)
        np.minimum.at(best, whose, value)
        mask[mask] = value == best[whose]
    return mask


def _single(code: Codes) -> bool:
    return len(code) == 0 or int(np.bincount(code).max()) == 1


def together(parts: list[Found]) -> Found:
    """Put pairs one after another."""
    empty = Found(np.empty(0), np.empty(0, dtype=np.intp), np.empty(0, dtype=np.intp))
    distance, row, column = (np.concatenate(part) for part in zip(empty, *parts, strict=True))
    return Found(distance, row, column)


def in_order(found: Found) -> Found:
    """Return the closest first; ties by row, then column."""
    return found.at(np.lexsort((found.column, found.row, found.distance)))
