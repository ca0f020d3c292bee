"""Incremental aggregates: for each group that a change touches, what it was and what it is now.

In a loop a group has a value at every time of its history. What changes at one time may change it at all later ones, so
the group is looked at again at each of these.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from whence.engines.local.table import Rows, Words
from whence.errors import WhenceError

from .matching import BATCH, TRACE, Match, Matcher
from .trace import Trace
from .zset import ZSet

AGGREGATES = ("count", "sum", "min", "max")


@dataclass(frozen=True)
class Aggregation:
    """Rows count as often as they weigh; `min` and `max` are of rows of positive weight. A group that has neither a
    weight nor, for these, such a row has no value."""

    by: tuple[int, ...]
    aggregate: str = "count"
    column: int | None = None

    def __post_init__(self) -> None:
        if self.aggregate not in AGGREGATES:
            raise WhenceError(f"there is no aggregate {self.aggregate!r}; there are: {', '.join(AGGREGATES)}")
        if (self.column is None) != (self.aggregate == "count"):
            raise WhenceError(f"say of which column: group(by, {self.aggregate!r}, column=…), or of none for 'count'")

    def of(self, batch: ZSet) -> ZSet:
        """A row for each group: its values of `by`, and the aggregate."""
        for column in (*self.by, *(() if self.column is None else (self.column,))):
            if not 0 <= column < batch.arity:
                raise WhenceError(f"rows of {batch.arity} columns have no column {column}; the first is 0")
        rows, weights = batch.rows, batch.weights
        if self.aggregate in ("min", "max"):
            rows, weights = rows[weights > 0], weights[weights > 0]
        if not len(rows):
            return ZSet(len(self.by) + 1)
        groups, number = distinct_groups(rows, self.by)
        totals = np.zeros(len(groups), np.int64)
        np.add.at(totals, number, weights)
        if self.aggregate == "count":
            values = totals
        elif self.aggregate == "sum":
            values = np.zeros(len(groups), np.int64)
            np.add.at(values, number, weights * rows[:, self.column])
        else:
            smallest = self.aggregate == "min"
            values = np.full(len(groups), np.iinfo(np.int64).max if smallest else np.iinfo(np.int64).min)
            (np.minimum if smallest else np.maximum).at(values, number, rows[:, self.column])
        there = totals != 0
        made = np.concatenate([groups, values[:, None]], axis=1)[there]
        return ZSet(len(self.by) + 1, [(made, np.ones(len(made), np.int64))], settled=True)


class Grouping(Protocol):
    """A function of Z-sets that makes of each group, by the columns `by`, a row of these and a value, or none."""

    @property
    def by(self) -> tuple[int, ...]: ...

    def of(self, batch: ZSet) -> ZSet: ...


class Group:
    def __init__(self, arity: int, aggregation: Grouping, timed: bool) -> None:
        self.aggregation = aggregation
        self.timed = timed
        by = aggregation.by
        self.came, self.gave = Trace(arity, timed), Trace(len(by) + 1, timed)
        self._came = Matcher(_whole(by, range(len(by)), arity, timed))
        self._gave = Matcher(_whole(range(len(by)), range(len(by)), len(by) + 1, timed))
        self._again: dict[int, list[Rows]] = {}

    def step(self, now: int, batch: ZSet) -> ZSet:
        by = self.aggregation.by
        now = now if self.timed else 0
        keys = [rows[:, list(by)] for rows, _ in batch.pieces] + self._again.pop(now, [])
        if not keys:
            return ZSet(len(by) + 1)
        self.came.add(batch, now)
        groups, _ = distinct_groups(np.concatenate(keys), range(len(by)))
        wanted = self.aggregation.of(self._until(now, groups, self._came, self.came))
        change = wanted - self._until(now, groups, self._gave, self.gave)
        self.gave.add(change, now)
        return ZSet(change.arity, [(change.rows, change.weights)], settled=True)

    def waiting(self, now: int) -> int | None:
        return min(self._again, default=None)

    def rewind(self) -> None: ...

    def _until(self, now: int, groups: Rows, matcher: Matcher, trace: Trace) -> ZSet:
        """The rows of some groups up to a time; groups with later rows are noted to be looked at again then."""
        arity = trace.arity
        found = []
        for rows, weights, _ in matcher.pieces(groups, np.ones(len(groups), np.int64), trace, now):
            if not self.timed:
                found.append((rows, weights))
                continue
            times = rows[:, arity]
            for time in np.unique(times[times > now]).tolist():
                then = rows[times == time]
                keys = then[:, list(self.aggregation.by)] if trace is self.came else then[:, : arity - 1]
                self._again.setdefault(time, []).append(np.ascontiguousarray(keys))
            found.append((np.ascontiguousarray(rows[times <= now, :arity]), weights[times <= now]))
        return ZSet(arity, found)


def distinct_groups(rows: Rows, by: Sequence[int]) -> tuple[Rows, Words]:
    """The distinct values of some columns, and for each row the number of its own."""
    keys = np.ascontiguousarray(rows[:, list(by)])
    if not len(by):
        return keys[:1], np.zeros(len(keys), np.int64)
    groups, number = np.unique(keys, axis=0, return_inverse=True)
    return groups, number.reshape(-1)


def _whole(indexed: Sequence[int], key: Sequence[int], arity: int, timed: bool) -> Match:
    """The whole rows of a trace that have a key, their times included."""
    return Match(tuple(indexed), tuple((BATCH, i) for i in key), tuple((TRACE, i) for i in range(arity + timed)))
