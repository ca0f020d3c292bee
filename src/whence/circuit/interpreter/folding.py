"""Aggregates in the interpreter's circuit: facts of some relations are folded into facts of another.

The paper leaves aggregates open. Here a fold is introduced at the tick at which its stratum begins, like a rule, and
takes all earlier facts in at that tick. It is incremental `Group` over what came in, in both clocks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from whence.circuit.grouping import Group, distinct_groups
from whence.circuit.operators import Later
from whence.circuit.zset import ZSet
from whence.engines.local.fold import Accumulator
from whence.engines.local.table import Rows, Words
from whence.lang.program import Aggregator, Kind

from .bundle import Bundle
from .index import Index
from .kit import STRATUM, Numbers
from .lowering import Fold
from .parts import LaterParts

GROUP, INSTANCE = 0, 1  # in the last column: a group that there is, or something that is aggregated


@dataclass(frozen=True)
class Accumulation:
    """What `Group` makes of a group: rows are its key, a value, and whether that counts."""

    by: tuple[int, ...]
    op: Aggregator
    kind: Kind

    def of(self, batch: ZSet) -> ZSet:
        rows, weights = batch.rows, batch.weights
        width = len(self.by)
        groups, number = distinct_groups(rows, self.by)
        counts = rows[:, width + 1] == INSTANCE
        accumulator = Accumulator(self.op, self.kind, len(groups))
        targets = None if self.op == "count" else np.ascontiguousarray(rows[counts, width])
        accumulator.add(number[counts], targets, weights[counts])
        values, defined = accumulator.finish()
        there = np.zeros(len(groups), np.bool_)
        there[number[~counts]] = True
        there &= defined
        made = np.concatenate([groups, values.reshape(-1, 1)], axis=1)[there]
        return ZSet(width + 1, [(made, np.ones(len(made), np.int64))], settled=True)


class Running:
    """A fold that has begun, and what it is yet to take in."""

    def __init__(self, fold: Fold, begin: int) -> None:
        self.fold = fold
        self.begin = begin
        by = tuple(range(fold.keys))
        self.group = Group(fold.keys + 2, Accumulation(by, fold.op, fold.kind), timed=True)
        self.waiting = Later(fold.keys + 2)

    def take(self, relation: str, rows: Rows, weights: Words, times: Words | int) -> None:
        keys = self.fold.keys
        for kind, name in ((GROUP, self.fold.groups), (INSTANCE, self.fold.instances)):
            if relation == name:
                taken = np.zeros((len(rows), keys + 2), np.int64)
                taken[:, :keys] = rows[:, :keys]
                if kind == INSTANCE:
                    taken[:, keys] = rows[:, -1]
                taken[:, keys + 1] = kind
                then = np.maximum(np.broadcast_to(times, len(rows)), self.begin)
                self.waiting.add(taken, weights, then + self.fold.patience if kind == GROUP else then, 0)

    def next(self) -> int | None:
        return min((t for t in (self.waiting.next(), self.group.waiting(0)) if t is not None), default=None)


class Folding:
    """Facts join the folds that read them. Gives the facts that folds make, by number of their relation."""

    def __init__(self, folds: Numbers[tuple[Fold, int]], index: Index, number: Callable[[str], int]) -> None:
        self.folds = folds
        self.index = index
        self.number = number
        self.running: dict[int, Running] = {}
        self.weights: dict[int, int] = {}
        self.later = LaterParts()

    def step(self, now: int, arrived: tuple[Bundle, Bundle], folds: ZSet) -> Bundle:
        for relation, part in arrived[0]:
            name = self.index.relations(relation)
            for running in self.running.values():
                for rows, weights in part.pieces:
                    running.take(name, rows, weights, now)
        for (number,), weight in folds:
            self._count(number, weight, now)
        for running in self.running.values():
            while (due := running.next()) is not None and due <= now:
                self._give(running, running.group.step(now, running.waiting.pop(due)), now)
        return self.later.pop(now)

    def _count(self, number: int, weight: int, now: int) -> None:
        before = self.weights.get(number, 0)
        self.weights[number] = before + weight
        if before == 0:
            fold, stratum = self.folds[number]
            running = self.running[number] = Running(fold, stratum * STRATUM)
            for relation in (fold.groups, fold.instances):
                trace = self.index.facts.get(relation)
                if trace is not None:
                    rows, weights = trace.contents
                    running.take(relation, rows[:, :-1], weights, rows[:, -1])
        elif not self.weights[number]:
            del self.weights[number]
            running = self.running.pop(number)
            rows, weights = running.group.gave.contents
            self._later(running, np.ascontiguousarray(rows[:, :-1]), -weights, rows[:, -1], now)

    def _give(self, running: Running, change: ZSet, now: int) -> None:
        for rows, weights in change.pieces:
            self._later(running, rows, weights, None, now)

    def _later(self, running: Running, rows: Rows, weights: Words, times: Words | None, now: int) -> None:
        times = None if times is None else np.maximum(times, now)
        self.later.add(self.number(running.fold.result), rows, weights, times, now)

    def waiting(self, now: int) -> int | None:
        due = [time for running in self.running.values() if (time := running.next()) is not None]
        given = self.later.waiting(now)
        return min(due + ([given] if given is not None else []), default=None)

    def rewind(self) -> None: ...
