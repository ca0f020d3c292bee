"""The index operator: facts by relation, ready to be looked up as the rules want it (paper, eq. 4)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from whence.circuit.thresholds import Distinct
from whence.circuit.trace import Trace
from whence.circuit.zset import ZSet

from .bundle import Bundle
from .kit import Kit, Order


class Index:
    """Facts join the join orders of their relation. A trace of each relation holds its facts with an index for each
    order; of a negated atom's order the distinct keys are made, which are a trace of their own.

    Gives the facts that came, by number of their relation, and after them the keys, by number of their order."""

    def __init__(self, kit: Kit, relations: Callable[[int], str]) -> None:
        self.kit = kit
        self.relations = relations
        self.facts: dict[str, Trace] = {}
        self.weights: dict[int, int] = {}  # of orders
        self.keys: dict[int, tuple[Distinct, Trace]] = {}

    def step(self, now: int, facts: Bundle, orders: ZSet) -> tuple[Bundle, Bundle]:
        for relation, part in facts:
            self.trace(self.relations(relation), part.arity).add(part, now)
        keys = {}
        by_name = {self.relations(relation): part for relation, part in facts}
        for number, (distinct, _) in self.keys.items():
            order = self.kit.orders[number]
            if order.relation in by_name:
                distinct.follow(by_name[order.relation].project(order.columns), now)
        for (number,), weight in orders:
            self.weights[number] = self.weights.get(number, 0) + weight
            order = self.kit.orders[number]
            if order.keys_only and number not in self.keys:
                self.keys[number] = self._all_keys(order)
        for number, (distinct, trace) in self.keys.items():
            part = distinct.later.pop(now)
            if part.pieces:
                trace.add(part, now)
                keys[number] = part
        return facts, Bundle(keys)

    def trace(self, relation: str, arity: int) -> Trace:
        if relation not in self.facts:
            self.facts[relation] = Trace(arity, timed=True)
        return self.facts[relation]

    def _all_keys(self, order: Order) -> tuple[Distinct, Trace]:
        distinct = Distinct(len(order.columns), timed=True)
        trace = self.facts.get(order.relation)
        if trace is not None:
            rows, weights = trace.contents
            for time in np.unique(rows[:, -1]).tolist():
                then = rows[:, -1] == time
                keys = np.ascontiguousarray(rows[then][:, list(order.columns)])
                distinct.follow(ZSet(len(order.columns), [(keys, weights[then])]), time)
        return distinct, Trace(len(order.columns), timed=True)

    def waiting(self, now: int) -> int | None:
        return min((time for one, _ in self.keys.values() if (time := one.later.next()) is not None), default=None)

    def rewind(self) -> None:
        """Between two runs of the loop: an order that no rule has any more is given up."""
        for number in [number for number, weight in self.weights.items() if not weight]:
            order = self.kit.orders[number]
            del self.weights[number]
            self.keys.pop(number, None)
            trace = self.facts.get(order.relation)
            if trace is not None and not order.keys_only:
                trace.table.indexes.pop(order.columns, None)
