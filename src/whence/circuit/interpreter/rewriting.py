"""The operators of the interpreter's circuit: gatekeep, index, product, ground (paper, eqs. 2 to 4 and fig. 3).

All four are joins, bilinear and incremental in both clocks. What they need of the past they find in three places: the
rewrites as `Distinct` has given them, the facts by relation in `Index`, and the rewrites that wait for an atom, in
`Product`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from whence.circuit.matching import BATCH, CONSTANT, TRACE, Match, Matcher
from whence.circuit.operators import Later
from whence.circuit.thresholds import Distinct
from whence.circuit.trace import Trace
from whence.circuit.zset import Piece, ZSet
from whence.engines.local.strings import ConversionError
from whence.engines.local.table import Rows, Words
from whence.lang.program import Atom, Const, Negation, Var

from .bundle import Bundle
from .kit import Kit, Order, join_order
from .prefixes import EMPTY, Prefix
from .terms import Encoding, Then


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


class Gatekeep:
    """Rewrites join the directions that lead on from their provenance; what they carry on is that of the next prefix.

    The rewrites come delayed by a tick from `distinct`, which knows those of the past."""

    def __init__(self, kit: Kit, rewrites: DistinctParts) -> None:
        self.kit = kit
        self.rewrites = rewrites
        self.begun = Trace(0, timed=True)  # the empty rewrite, which is not delayed
        self.directions: dict[int, dict[tuple[int, int], int]] = {}  # by prefix: next prefix and time, weight
        self.ways: dict[int, int] = {}  # by prefix: how many directions lead to it
        self.later = LaterParts()

    def step(self, now: int, rewrites: Bundle, directions: ZSet) -> Bundle:
        begun = rewrites[EMPTY]
        if begun is not None:
            self.begun.add(begun, now)
        for provenance, part in rewrites:
            for (following, time), weight in self.directions.get(provenance, {}).items():
                for rows, weights in part.pieces:
                    self._give(following, rows, weights * weight, np.full(len(rows), max(now, time)), now)
        for (before, following), weight in directions:
            for rows, weights in self._past(before).pieces:
                times = np.maximum(rows[:, -1], now)
                self._give(following, np.ascontiguousarray(rows[:, :-1]), weights * weight, times, now)
            self.ways[following] = self.ways.get(following, 0) + weight
            known = self.directions.setdefault(before, {})
            known[following, now] = known.get((following, now), 0) + weight
            if not known[following, now]:
                del known[following, now]
        return self.later.pop(now)

    def _past(self, provenance: int) -> ZSet:
        """What has come of a prefix so far, with the time at which it came."""
        if provenance == EMPTY:
            return self.begun.zset()
        given = self.rewrites.given(provenance)
        return given.map(_one_later, given.arity) if given.pieces else given

    def _give(self, following: int, rows: Rows, weights: Words, times: Words, now: int) -> None:
        later = times if (times != now).any() else None
        self.later.add(following, rows, weights, later, now)

    def waiting(self, now: int) -> int | None:
        return self.later.waiting(now)

    def rewind(self) -> None: ...


def _one_later(rows: Rows) -> Rows:
    later = rows.copy()
    later[:, -1] += 1
    return later


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


@contextmanager
def naming_rule(kit: Kit, provenance: int) -> Iterator[None]:
    """A rule that cannot be evaluated on its data is named in the error, in the user's words."""
    try:
        yield
    except (ZeroDivisionError, ConversionError) as error:
        from whence.engines.local.execute import naming

        raise naming(kit.rule_with(provenance))(error) from None


@dataclass(eq=False)
class Waiting:
    """A prefix with an atom: the rewrites that wait for it, and how they are matched with facts."""

    prefix: Prefix
    order: Order | None
    rewrites: Trace
    by_rewrite: Matcher | None
    by_fact: Matcher | None
    then: Then

    @property
    def negated(self) -> bool:
        return isinstance(self.prefix.step.reads, Negation)


class Product:
    """Rewrites that wait for an atom join the facts that it unifies with; what they become has the next provenance.

    Of a negated atom, a rewrite goes on with its weight, and with the negative of it where there is the key."""

    def __init__(
        self,
        kit: Kit,
        gatekeep: Gatekeep,
        index: Index,
        numbers: Callable[[str], int],
        encoding: Encoding,
        indexed: bool,
    ) -> None:
        self.kit = kit
        self.gatekeep = gatekeep
        self.index = index
        self.numbers = numbers
        self.encoding = encoding
        self.indexed = indexed
        self.waiting_for: dict[int, Waiting] = {}
        self.readers: dict[int, list[Waiting]] = {}  # by relation, the prefixes that end with an atom of it
        self.key_readers: dict[int, list[Waiting]] = {}  # by order, those that end with a negated one
        self.later = LaterParts()

    def step(self, now: int, rewrites: Bundle, arrived: tuple[Bundle, Bundle]) -> Bundle:
        for provenance, _ in rewrites:
            if provenance not in self.waiting_for:
                self._begin(provenance)
        for readers, bundle in ((self.readers, arrived[0]), (self.key_readers, arrived[1])):
            for number, part in bundle:
                for waiting in readers.get(number, ()):
                    if len(waiting.rewrites):
                        self._match(waiting, waiting.by_fact, part, waiting.rewrites, now)
        for provenance, part in rewrites:
            waiting = self.waiting_for[provenance]
            if waiting.order is None or waiting.negated:
                for rows, weights in part.pieces:
                    self._go_on(waiting, rows, weights, None, now)
            if waiting.order is not None:
                trace = self._read(waiting.order)
                if trace is not None:
                    self._match(waiting, waiting.by_rewrite, part, trace, now)
                waiting.rewrites.add(part, now)
        return self.later.pop(now)

    def _read(self, order: Order) -> Trace | None:
        if order.keys_only:
            return self.index.keys[self.kit.orders.of(order)][1]
        return self.index.facts.get(order.relation)

    def _match(self, waiting: Waiting, matcher: Matcher | None, batch: ZSet, trace: Trace, now: int) -> None:
        assert matcher is not None
        for rows, weights in batch.pieces:
            for out, out_weights, times in matcher.pieces(rows, weights, trace, now):
                self._go_on(waiting, out, -out_weights if waiting.negated else out_weights, times, now)

    def _go_on(self, waiting: Waiting, rows: Rows, weights: Words, times: Words | None, now: int) -> None:
        with naming_rule(self.kit, waiting.prefix.provenance):
            made, kept = waiting.then(rows)
        if kept is not None:
            weights, times = weights[kept], None if times is None else times[kept]
        self.later.add(waiting.prefix.provenance, made, weights, times, now)

    def _begin(self, provenance: int) -> None:
        prefix = self.kit.prefixes.known[provenance]
        known = self.kit.prefixes.kept(prefix.before)
        step = prefix.step
        rewrites = Trace(len(known), timed=True)
        if step.reads is None:
            then = Then(known, step.then, step.kept, self.encoding)
            self.waiting_for[provenance] = Waiting(prefix, None, rewrites, None, None, then)
            return
        order = join_order(step.reads, known)
        unification = Unification(step.reads, known, self.encoding, self.indexed, order)
        if isinstance(step.reads, Negation):
            given: tuple[Var, ...] = known
        else:
            given = _in_order(step.kept, (*known, *unification.found), bool(step.then))
        by_rewrite, by_fact = unification.matches(given)
        then = Then(given, step.then, step.kept, self.encoding)
        waiting = Waiting(prefix, order, rewrites, Matcher(by_rewrite), Matcher(by_fact), then)
        self.waiting_for[provenance] = waiting
        if order.keys_only:
            self.key_readers.setdefault(self.kit.orders.of(order), []).append(waiting)
        else:
            self.readers.setdefault(self.numbers(order.relation), []).append(waiting)

    def waiting(self, now: int) -> int | None:
        return self.later.waiting(now)

    def rewind(self) -> None:
        """Between two runs of the loop: prefixes that no rule has any more are given up, and by now hold nothing."""
        for provenance in [one for one, weight in self.gatekeep.ways.items() if not weight]:
            del self.gatekeep.ways[provenance]
            self.gatekeep.rewrites.parts.pop(provenance, None)
            gone = self.waiting_for.pop(provenance, None)
            for readers in (*self.readers.values(), *self.key_readers.values()):
                if gone in readers:
                    readers.remove(gone)


def _in_order(kept: tuple[Var, ...], available: tuple[Var, ...], all_of_them: bool) -> tuple[Var, ...]:
    """What a match puts out: what is kept, or, where something is yet to be done with it, all there is."""
    return available if all_of_them else kept


class Unification:
    """Where the values of an atom meet those of a rewrite: a match for rewrites that come, and one for facts that
    come."""

    def __init__(
        self, read: Atom | Negation, known: tuple[Var, ...], encoding: Encoding, indexed: bool, order: Order
    ) -> None:
        self.known = known
        self.indexed = indexed
        self.order = order
        args = read.atom.args if isinstance(read, Negation) else read.args
        # What a column of the fact, or of the key, has to be: a value, or that of a column of the rewrite.
        self.equal: list[tuple[int, int | None, int]] = []
        self.repeats: list[tuple[int, int]] = []
        self.found: dict[Var, int] = {}
        for column, arg in enumerate(args):
            place = order.columns.index(column) if order.keys_only and column in order.columns else column
            if isinstance(arg, Const):
                self.equal.append((place, encoding.constant(arg), -1))
            elif isinstance(arg, Var) and arg in known:
                self.equal.append((place, None, known.index(arg)))
            elif isinstance(arg, Var) and not arg.anonymous:
                if arg in self.found:
                    self.repeats.append((column, self.found[arg]))
                else:
                    self.found[arg] = column

    def matches(self, given: tuple[Var, ...]) -> tuple[Match, Match]:
        equal = tuple(
            (column, (CONSTANT, value) if value is not None else (BATCH, own)) for column, value, own in self.equal
        )
        repeats = tuple((column, (TRACE, other)) for column, other in self.repeats)
        outputs = tuple((BATCH, self.known.index(v)) if v in self.known else (TRACE, self.found[v]) for v in given)
        if self.indexed:
            columns = tuple(column for column, _ in equal)
            by_rewrite = Match(columns, tuple(source for _, source in equal), outputs, checks=repeats)
        else:
            by_rewrite = Match((), (), outputs, checks=(*equal, *repeats))
        constants = tuple((column, (CONSTANT, value)) for column, value, _ in self.equal if value is not None)
        repeated = tuple((column, (BATCH, other)) for column, other in self.repeats)
        joined = tuple((own, (BATCH, column)) for column, value, own in self.equal if value is None)
        outputs = tuple((TRACE, self.known.index(v)) if v in self.known else (BATCH, self.found[v]) for v in given)
        tests = (*constants, *repeated)
        if self.indexed:
            own = tuple(column for column, _ in joined)
            by_fact = Match(own, tuple(source for _, source in joined), outputs, tests=tests)
        else:
            by_fact = Match((), (), outputs, tests=tests, checks=joined)
        return by_rewrite, by_fact


class Ground:
    """Rewrites join the grounding signals of their provenance: applied to the head they are facts."""

    def __init__(self, kit: Kit, rewrites: DistinctParts, numbers: Callable[[str], int], encoding: Encoding) -> None:
        self.kit = kit
        self.rewrites = rewrites
        self.numbers = numbers
        self.encoding = encoding
        self.signals: dict[int, dict[tuple[int, int], int]] = {}  # by prefix: head and time, weight
        self.heads: dict[tuple[int, int], Then] = {}
        self.later = LaterParts()

    def step(self, now: int, rewrites: Bundle, signals: ZSet) -> Bundle:
        for provenance, part in rewrites:
            for (head, time), weight in self.signals.get(provenance, {}).items():
                for rows, weights in part.pieces:
                    self._give(provenance, head, rows, weights * weight, np.full(len(rows), max(now, time)), now)
        for (provenance, head), weight in signals:
            for rows, weights in self.rewrites.given(provenance).pieces:
                times = np.maximum(rows[:, -1], now)
                self._give(provenance, head, np.ascontiguousarray(rows[:, :-1]), weights * weight, times, now)
            known = self.signals.setdefault(provenance, {})
            known[head, now] = known.get((head, now), 0) + weight
            if not known[head, now]:
                del known[head, now]
        return self.later.pop(now)

    def _give(self, provenance: int, head: int, rows: Rows, weights: Words, times: Words, now: int) -> None:
        atom = self.kit.heads[head]
        if (provenance, head) not in self.heads:
            variables = self.kit.prefixes.kept(provenance)
            self.heads[provenance, head] = Then(variables, (), atom.args, self.encoding)
        with naming_rule(self.kit, provenance):
            made, _ = self.heads[provenance, head](rows)
        later = times if (times != now).any() else None
        self.later.add(self.numbers(atom.relation), made, weights, later, now)

    def waiting(self, now: int) -> int | None:
        return self.later.waiting(now)

    def rewind(self) -> None: ...


__all__ = ["Bundle", "DistinctParts", "Gatekeep", "Ground", "Index", "Introduce", "Piece", "Product"]
