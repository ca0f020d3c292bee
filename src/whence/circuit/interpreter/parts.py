"""Operators on bundles, part by part: what is given later, introduction, distinct."""

from __future__ import annotations

import numpy as np

from whence.circuit.operators import Later
from whence.circuit.thresholds import Distinct
from whence.circuit.zset import Piece, ZSet
from whence.engines.local.table import Rows, Words

from .bundle import Bundle


class LaterParts:
    """What is to be given at later ticks, by number."""

    def __init__(self) -> None:
        self.ticks: dict[int, dict[int, list[Piece]]] = {}

    def add(self, tag: int, rows: Rows, weights: Words, times: Words | None, now: int) -> None:
        if not len(weights):
            return
        if times is None:
            self.ticks.setdefault(now, {}).setdefault(tag, []).append((rows, weights))
            return
        for time in sorted(set(times.tolist())):
            then = times == time
            self.ticks.setdefault(time, {}).setdefault(tag, []).append((rows[then], weights[then]))

    def pop(self, now: int) -> Bundle:
        parts = self.ticks.pop(now, {})
        return Bundle({tag: ZSet(pieces[0][0].shape[1], pieces) for tag, pieces in parts.items()})

    def waiting(self, now: int) -> int | None:
        return min(self.ticks, default=None)


class Introduce:
    """δ: each row at the tick of the loop that its last column names, without that column. δ₀ where that is 0."""

    def __init__(self, arity: int) -> None:
        self.later = Later(arity)

    def step(self, now: int, value: ZSet) -> ZSet:
        for rows, weights in value.pieces:
            self.later.add(np.ascontiguousarray(rows[:, :-1]), weights, rows[:, -1], now)
        return self.later.pop(now)

    def waiting(self, now: int) -> int | None:
        return self.later.next()

    def rewind(self) -> None: ...


class DistinctParts:
    """(↑(↑distinct)^Δ)^Δ of each part of a bundle."""

    def __init__(self) -> None:
        self.parts: dict[int, Distinct] = {}
        self.busy: set[int] = set()  # parts that have something to give later

    def step(self, now: int, bundle: Bundle) -> Bundle:
        for tag, part in bundle:
            if tag not in self.parts:
                self.parts[tag] = Distinct(part.arity, timed=True)
            self.parts[tag].follow(part, now)
        due = sorted(self.busy.union(bundle.parts))
        given = {tag: self.parts[tag].pop(now) for tag in due}
        self.busy = {tag for tag in due if self.parts[tag].later.pieces}
        return Bundle(given)

    def waiting(self, now: int) -> int | None:
        return min((min(self.parts[tag].later.pieces) for tag in self.busy), default=None)

    def rewind(self) -> None: ...

    def given(self, tag: int) -> ZSet:
        """All that was given of a part so far, each row with its time; not what is yet to be given."""
        distinct = self.parts.get(tag)
        if distinct is None:
            return ZSet(0)
        return distinct.given()
