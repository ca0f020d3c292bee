"""Incremental provenance (002, 6.3) as a hypergraph: each rule instantiation that can take part in a proof, once.

Only tuples that the change can add or take away are named. A body tuple that is there whatever part of the change is
left out needs no variable, so it is dropped from its instantiation; which tuples those are depends on the question, see
`Scope`. The paper's Alg. 10 enumerates proof trees instead, of which there are exponentially many.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from whence.engines.local.kernel.layout import BEFORE, NOW
from whence.engines.local.table import Rows
from whence.explain.backward import Backward, backward, outside, with_named_columns
from whence.explain.conjunction import FAILURES, Conjunction, may_fail
from whence.explain.search import TOGETHER, Key, as_rows
from whence.explain.state import Flags, InMemory
from whence.lang.program import Aggregate, Atom, Comparison, Literal, Negation, Term, Var
from whence.plan import View
from whence.repair.change import Epochs
from whence.repair.cone import Cone, opposing

Body = frozenset[tuple[Key, bool]]  # the changeable tuples that must be there (True) and those that must not
MOST = 1_000_000  # instantiations


class TooMany(Exception):
    """There are more instantiations than an integer program can be made of."""


@dataclass
class Hypergraph:
    """By head, the bodies that derive it. `kept` are tuples of derived relations that were taken to stay."""

    bodies: dict[Key, dict[Body, None]] = field(default_factory=dict)
    kept: set[Key] = field(default_factory=set)
    size: int = 0

    def add(self, head: Key, body: Body) -> None:
        known = self.bodies.setdefault(head, {})
        if body not in known:
            known[body] = None
            self.size += 1
            if self.size > MOST:
                raise TooMany

    def clear(self) -> None:
        self.bodies.clear()
        self.kept.clear()
        self.size = 0


@dataclass(frozen=True)
class Scope:
    """Which instantiations count, and which tuples are taken to be there throughout.

    `view` is where positive atoms are read. `base` is the epoch to begin with: NOW or BEFORE. If `grows`, the base only
    gains tuples, so all of it stays. `whole` asks for instantiations that hold in the view as it is, negations and
    aggregates included, where others count that would hold in some mixture of both epochs.
    """

    view: View
    base: int
    grows: bool = False
    whole: bool = False


class Grounding:
    """Collects instantiations backward from tuples, level by level, for all tuples of a level at once."""

    def __init__(self, epochs: Epochs, cone: Cone, graph: Hypergraph, alarm: Callable[[], None]) -> None:
        self.epochs = epochs
        self.cone = cone
        self.graph = graph
        self.alarm = alarm
        self.state = InMemory(epochs.tables)
        self.promoted: dict[str, set[tuple[int, ...]]] = defaultdict(set)  # that may go, although both epochs have them
        self._rules: dict[str, list[Backward]] = defaultdict(list)
        for rule in epochs.tables.program.rules:
            self._rules[rule.head.relation].append(backward(rule))
        self._conjunctions: dict[tuple[object, ...], Conjunction] = {}

    def promote(self, keys: Iterable[Key]) -> None:
        for name, row in keys:
            self.promoted[name].add(row)
        self.graph.kept -= set(keys)

    def collect(self, keys: Iterable[Key], scope: Scope) -> None:
        """All instantiations of these tuples, and of the changeable tuples in their bodies."""
        done: set[Key] = set()
        level = dict.fromkeys(keys)
        while level:
            done.update(level)
            below: dict[Key, None] = {}
            by_relation: dict[str, list[tuple[int, ...]]] = defaultdict(list)
            for relation, row in level:
                by_relation[relation].append(row)
            for relation, tuples in by_relation.items():
                arity = self.epochs.tables.program.relations[relation].arity
                for start in range(0, len(tuples), TOGETHER):
                    rows = as_rows(tuples[start : start + TOGETHER], arity)
                    for rule in self._rules[relation]:
                        self.alarm()
                        below |= dict.fromkeys(self._instantiate(relation, rows, rule, scope))
            level = {key: None for key in below if key not in done}

    def _instantiate(self, relation: str, rows: Rows, rule: Backward, scope: Scope) -> Iterator[Key]:
        affected = self.cone.affected
        opposed = [literal for literal in rule.body if opposing(literal, affected)]
        if scope.whole or not opposed:
            ways = [(scope.view, rule.literals)]
        elif any(isinstance(literal, Aggregate) for literal in opposed):  # what holds in one epoch or the other
            ways = [(View.ALL, rule.literals), (View.BEFORE, rule.literals)]
        else:
            ways = [(scope.view, tuple(literal for literal in rule.literals if literal not in opposed))]
        for number, (view, literals) in enumerate(ways):
            conjunction = self._conjunction((id(rule), number, scope.view, scope.whole), literals, rule.given, view)
            for block in _blocks(conjunction, rows):
                yield from self._note(relation, rows, rule, opposed, conjunction, block, scope)

    def _note(
        self,
        relation: str,
        rows: Rows,
        rule: Backward,
        opposed: Sequence[Literal],
        conjunction: Conjunction,
        block: Rows,
        scope: Scope,
    ) -> list[Key]:
        """Adds a block of instantiations to the graph; returns the changeable tuples that they name."""
        bodies: list[dict[tuple[Key, bool], None]] = [{} for _ in range(len(block))]
        blocked = np.zeros(len(block), np.bool_)
        found: dict[Key, None] = {}

        def name(relation: str, tuples: Rows, places: Iterable[int], signs: Iterable[bool]) -> None:
            for row, place, sign in zip(tuples.tolist(), places, signs, strict=True):
                key = (relation, tuple(row))
                bodies[place][key, sign] = None
                found[key] = None

        for atom in rule.atoms:
            tuples = conjunction.rows_of(atom, block)
            changeable = self.changeable(atom.relation, tuples, scope)
            chosen = np.flatnonzero(changeable)
            name(atom.relation, tuples[chosen], chosen.tolist(), [True] * len(chosen))
            if atom.relation in self._rules and atom.relation in self.cone.affected:
                self._keep(atom.relation, tuples[~changeable])
        for literal in opposed:
            for atom, numbers, tuples in self._inside(literal, conjunction, block, View.EITHER):
                changeable = self.changeable(atom.relation, tuples, scope)
                chosen = np.flatnonzero(changeable)
                if isinstance(literal, Negation):
                    blocked[numbers[~changeable]] = True  # what is negated is always there
                    self._keep(atom.relation, tuples[~changeable])
                    signs = np.zeros(len(chosen), np.bool_)
                else:  # the value of an aggregate holds as long as every tuple that it reads is as it is here
                    signs = self._there(atom.relation, tuples[chosen], conjunction.view)
                name(atom.relation, tuples[chosen], numbers[chosen].tolist(), signs.tolist())
        heads = [(relation, tuple(row)) for row in rows.tolist()]
        for place, number in enumerate(block[:, 0].tolist()):
            body = bodies[place]
            opposite = any((key, not sign) in body for key, sign in body)
            if not blocked[place] and not opposite and (heads[number], True) not in body:
                self.graph.add(heads[number], frozenset(body))
        return list(found)

    def _inside(
        self, literal: Literal, outer: Conjunction, block: Rows, view: View
    ) -> Iterator[tuple[Atom, Rows, Rows]]:
        """The tuples that a negation or an aggregate reads in each instantiation: atoms, places, tuples."""
        if isinstance(literal, Negation):
            atom = _named(literal.atom)
            literals: tuple[Literal, ...] = (atom,)
            given = tuple(dict.fromkeys(outside(literal)))
        elif isinstance(literal, Aggregate):
            given = literal.outer
            literals = tuple(
                one
                for one in with_named_columns(literal.body)
                if isinstance(one, Atom) or (isinstance(one, Comparison) and not may_fail(one))
            )
        else:
            return
        source = np.empty((len(block), len(given)), np.int64)
        for column, variable in enumerate(given):
            source[:, column] = outer.column(variable, block)
        conjunction = self._conjunction((id(literal), view), literals, given, view)
        inner = conjunction.all(source)
        for atom in (one for one in literals if isinstance(one, Atom)):
            yield atom, inner[:, 0], conjunction.rows_of(atom, inner)
        if isinstance(literal, Aggregate):
            for one in literal.body:
                if isinstance(one, Negation | Aggregate):
                    for atom, numbers, tuples in self._inside(one, conjunction, inner, view):
                        yield atom, inner[numbers, 0], tuples

    # What a tuple is

    def changeable(self, relation: str, tuples: Rows, scope: Scope) -> Flags:
        """Which tuples may be there or not, by what part of the change is left out."""
        flags = np.zeros(len(tuples), np.bool_)
        if relation not in self.cone.affected or not len(tuples):
            return flags
        came, went = self.epochs.came(relation), self.epochs.went(relation)
        new = np.zeros(len(tuples), np.bool_)
        table = self.epochs.tables.stored[relation].table
        if table.stamped:
            places = table.locate(np.ascontiguousarray(tuples).reshape(-1), len(tuples))
            new = (places >= 0) & ((table.stamps[places] & (BEFORE | NOW)) == NOW)  # in neither epoch, or it came
        if scope.grows:
            gained, own = (went, came) if scope.base == NOW else (came, went)
            flags |= gained.has(tuples) | (new & ~own.has(tuples))
            return flags
        flags |= new | came.has(tuples) | went.has(tuples) | self.epochs.changed_input(relation).has(tuples)
        promoted = self.promoted.get(relation)
        if promoted:
            flags |= np.fromiter((tuple(row) in promoted for row in tuples.tolist()), np.bool_, len(tuples))
        return flags

    def _there(self, relation: str, tuples: Rows, view: View) -> Flags:
        table = self.epochs.tables.stored[relation].table
        places = table.locate(np.ascontiguousarray(tuples).reshape(-1), len(tuples))
        if not table.stamped:
            return places >= 0
        bit = BEFORE if view is View.BEFORE else NOW
        there: Flags = (places >= 0) & ((table.stamps[places] & bit) != 0)
        return there

    def _keep(self, relation: str, tuples: Rows) -> None:
        self.graph.kept.update((relation, tuple(row)) for row in tuples.tolist())

    def _conjunction(
        self, key: tuple[object, ...], literals: Sequence[Literal], given: Sequence[Var], view: View
    ) -> Conjunction:
        known = self._conjunctions.get(key)
        if known is None:
            known = self._conjunctions[key] = Conjunction(self.state, literals, given, view)
        return known


def _blocks(conjunction: Conjunction, rows: Rows) -> Iterator[Rows]:
    try:
        yield conjunction.all(rows)
    except FAILURES:
        yield conjunction.careful(rows)


def _named(atom: Atom) -> Atom:
    """A negated atom with a name for each anonymous variable."""
    args: list[Term] = [
        Var(f"a {i}", arg.kind) if isinstance(arg, Var) and arg.anonymous else arg for i, arg in enumerate(atom.args)
    ]
    return Atom(atom.relation, tuple(args))
