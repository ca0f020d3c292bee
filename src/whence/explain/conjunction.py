"""A conjunction of literals, planned for variables that are handed to it, and run for many rows at once."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from whence.engines.local.assemble import assemble
from whence.engines.local.execute import Execution
from whence.engines.local.primitives import primitives
from whence.engines.local.strings import ConversionError
from whence.engines.local.table import Rows, Table
from whence.explain.backward import outside
from whence.explain.state import State
from whence.lang.program import Aggregate, Atom, Call, Comparison, Literal, Negation, Record, Term, Var
from whence.plan.order import Body, order_of
from whence.plan.steps import View

NUMBER = Var("r ", "number")  # of the row that an instantiation belongs to; a name that no user can write
PARTIAL = frozenset(["div", "mod", "to_number", "to_unsigned", "to_float"])  # functors that some values do not have


class OutOfTime(Exception):
    """A search was given up."""


class Conjunction:
    """`run` gives every instantiation: the number of the row it extends, then the values of `variables`.

    Every atom reads `view`. `open` are the literals that cannot be settled, because nothing binds some variable of
    theirs.
    """

    def __init__(self, state: State, literals: Sequence[Literal], given: Sequence[Var], view: View = View.ALL) -> None:
        self.state = state
        self.view = view
        self.given = tuple(given)
        self.literals = tuple(literals)
        atoms = [literal for literal in self.literals if isinstance(literal, Atom)]
        names = frozenset(variable.name for variable in (NUMBER, *self.given))
        views = [view] * len(atoms)
        body = Body(self.literals, views, names, (), state.tables, inside=view)
        order = body.best_order()
        course = body.course(order, greedy=False)
        self.order = order_of(course)
        found = dict.fromkeys(self.given)
        for literal in self.literals:
            found |= dict.fromkeys(variable for variable in outside(literal) if variable.name in course.bound)
        self.variables = tuple(found)
        self.open = tuple(literal for literal in self.literals if not _settled(literal, course.bound))
        wanted = Body(self.literals, views, names, (NUMBER, *self.variables), state.tables, inside=view)
        self._steps = wanted.steps(order)
        self._execution: Execution | None = None
        self._read: dict[str, Table] = {}

    def run(self, source: Rows, seconds: float | None = None) -> Iterator[Rows]:
        """Instantiations in blocks. `source` has a row of given values each; stop whenever there are enough."""
        if not len(source):
            return
        self.state.require([literal for literal in self.literals if literal not in self.open], self.given, source)
        execution = self._ready()
        handed = np.empty((len(source), len(self.given) + 1), np.int64)
        handed[:, 0] = np.arange(len(source))
        handed[:, 1:] = source
        tables = self.state.tables
        before = tables.tick
        if seconds is not None:
            tables.tick = _deadline(seconds)
        try:
            for buffer, count in execution.results(handed):
                yield buffer.matrix(count).copy()
        finally:
            tables.tick = before

    def all(self, source: Rows, most: int | None = None, seconds: float | None = None) -> Rows:
        """The instantiations in one array, the first `most` of them."""
        blocks: list[Rows] = []
        found = 0
        for block in self.run(source, seconds):
            blocks.append(block)
            found += len(block)
            if most is not None and found >= most:
                break
        empty = np.empty((0, len(self.variables) + 1), np.int64)
        return np.concatenate(blocks)[:most] if blocks else empty

    def careful(self, source: Rows) -> Rows:
        """All instantiations where evaluating in the planned order divides by zero or the like: a functor that not
        every value has is applied only once everything else holds, as it then did when the rule was evaluated too."""
        safe = [literal for literal in self.literals if not may_fail(literal)]
        first = Conjunction(self.state, safe, self.given, self.view)
        found = first.all(source)
        rest = [literal for literal in self.literals if may_fail(literal) or literal in first.open]
        second = Conjunction(self.state, rest, first.variables, self.view)
        kept = second.all(found[:, 1:])
        numbers = found[kept[:, 0], 0]
        return np.column_stack([numbers, *(second.column(variable, kept) for variable in self.variables)])

    def rows_of(self, atom: Atom, instantiations: Rows) -> Rows:
        """The tuple that each instantiation makes of an atom, all of whose variables are bound."""
        rows = np.empty((len(instantiations), len(atom.args)), np.int64)
        for column, term in enumerate(atom.args):
            rows[:, column] = self.column(term, instantiations)
        return rows

    def column(self, term: Term, instantiations: Rows) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        if isinstance(term, Var):
            return instantiations[:, 1 + self.variables.index(term)]
        assert not isinstance(term, Call | Record)
        return np.full(len(instantiations), self.state.tables.constant(term), np.int64)

    def _ready(self) -> Execution:
        """The execution, made anew where a table it read has been replaced since."""
        stored = self.state.tables.stored
        current = {name: stored[name].table for name in relations_of(self.literals)}
        if self._execution is None or any(table is not self._read[name] for name, table in current.items()):
            given = (NUMBER, *self.given)
            pipeline = assemble(primitives(self._steps), given, counted=False)
            self._execution = Execution(pipeline, self.state.tables)
            self._read = current
        return self._execution


def relations_of(literals: Sequence[Literal]) -> Iterator[str]:
    for literal in literals:
        match literal:
            case Atom(relation=name) | Negation(atom=Atom(relation=name)):
                yield name
            case Aggregate(body=inner):
                yield from relations_of(inner)


def _settled(literal: Literal, bound: frozenset[str]) -> bool:
    return isinstance(literal, Atom) or all(variable.name in bound for variable in outside(literal))


def _deadline(seconds: float) -> Callable[[], None]:
    end = time.monotonic() + seconds

    def tick() -> None:
        if time.monotonic() > end:
            raise OutOfTime

    return tick


# What may go wrong


def may_fail(literal: Literal) -> bool:
    match literal:
        case Comparison(_, left, right):
            return _partial(left) or _partial(right)
        case Aggregate(target=target, body=body):
            return (target is not None and _partial(target)) or any(map(may_fail, body))
    return False


def _partial(term: Term) -> bool:
    match term:
        case Call(functor, args):
            return functor in PARTIAL or any(map(_partial, args))
        case Record(fields=fields):
            return any(map(_partial, fields))
    return False


FAILURES = (ZeroDivisionError, ConversionError)
