"""The product operator: rewrites meet the facts that their next atom unifies with (paper, eq. 2)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from whence.circuit.matching import BATCH, CONSTANT, TRACE, Match, Matcher
from whence.circuit.trace import Trace
from whence.circuit.zset import ZSet
from whence.engines.local.table import Rows, Words
from whence.lang.program import Atom, Const, Negation, Var

from .bundle import Bundle
from .index import Index
from .kit import Kit, Order, join_order
from .parts import LaterParts
from .prefixes import Prefix
from .rewriting import Gatekeep, naming_rule
from .terms import Encoding, Then


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
