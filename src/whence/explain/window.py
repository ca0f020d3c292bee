"""A state that is elsewhere, in a store or on Spark, through a window: only the tuples that a search may meet are read.

Before a conjunction runs, its atoms are gone through in the order in which their columns become bound; of each
relation the tuples are read that have the values met so far. What is read stays.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from whence.engines.local.table import Rows, Words
from whence.engines.local.tables import LocalTables
from whence.explain.conjunction import Conjunction, may_fail
from whence.explain.state import Annotation, InMemory, annotation
from whence.lang.program import Aggregate, Atom, Comparison, Literal, Negation, Program, Relation, Var

ALL_AT_ONCE = 100_000  # tuples of a state that is read whole
MANY_KEYS = 20_000  # after which a relation is read whole

Columns = tuple[int, ...]
Annotated = tuple[Rows, Words, Words]  # encoded tuples, their iterations and counts


class Reader(Protocol):
    """Where the tuples are."""

    def size(self, relation: Relation) -> int: ...

    def read(self, relation: Relation, keys: Mapping[int, Words], tables: LocalTables) -> Iterable[Annotated]:
        """The tuples that have one of these values in each of these columns, and perhaps others."""
        ...


@dataclass
class Read:
    """What has been read of a relation: all of it, or for some columns the tuples of some keys."""

    whole: bool = False
    keys: dict[Columns, set[tuple[int, ...]]] = field(default_factory=dict)
    iterations: Words = field(default_factory=lambda: np.zeros(0, np.int64))
    counts: Words = field(default_factory=lambda: np.zeros(0, np.int64))


class Window:
    """The state that a reader reads from. `tables` are empty at first; relations that are not `elsewhere` are there."""

    def __init__(self, program: Program, tables: LocalTables, reader: Reader, elsewhere: Iterable[str]) -> None:
        self.program = program
        self.tables = tables
        self.reader = reader
        self._read = {name: Read() for name in elsewhere}
        self._inside = InMemory(tables)
        if sum(reader.size(program.relations[name]) for name in self._read) <= ALL_AT_ONCE:
            for name in self._read:
                self._fetch_whole(name)

    def annotation(self, relation: str, rows: Rows) -> Annotation:
        read = self._read.get(relation)
        if read is None:
            return annotation(self.tables, relation, rows)
        columns = tuple(range(self.program.relations[relation].arity))
        self._fetch(relation, columns, rows)
        found = self.tables.stored[relation].table.locate(np.ascontiguousarray(rows).reshape(-1), len(rows))
        present = found >= 0
        iteration, count = np.full(len(rows), -1, np.int64), np.zeros(len(rows), np.int64)
        iteration[present], count[present] = read.iterations[found[present]], read.counts[found[present]]
        return Annotation(present, iteration, count)

    # What a conjunction needs

    def require(self, literals: Sequence[Literal], given: Sequence[Var], source: Rows) -> None:
        if all(read.whole for read in self._read.values()):
            return
        equations = [one for one in literals if isinstance(one, Comparison) and not may_fail(one)]
        waiting = [literal for literal in literals if isinstance(literal, Atom)]
        conjunction = Conjunction(self._inside, equations, given)
        found = conjunction.all(source)
        known: list[Atom] = []
        while waiting:
            bound = set(conjunction.variables)
            atom = max(waiting, key=lambda one: (len(_bound(one, bound)), -self._size(one.relation)))
            waiting.remove(atom)
            self._fetch_for(atom, conjunction, found)
            known.append(atom)
            conjunction = Conjunction(self._inside, [*known, *equations], given)
            found = conjunction.all(source)
        for literal in literals:
            if isinstance(literal, Negation):
                self._fetch_for(literal.atom, conjunction, found)
            elif isinstance(literal, Aggregate) and set(literal.outer) <= set(conjunction.variables):
                values = [conjunction.column(variable, found) for variable in literal.outer]
                outer = np.column_stack(values) if values else np.empty((min(1, len(found)), 0), np.int64)
                self.require(literal.body, literal.outer, np.unique(outer, axis=0))

    def _size(self, relation: str) -> int:
        return self.reader.size(self.program.relations[relation]) if relation in self._read else 0

    def _fetch_for(self, atom: Atom, conjunction: Conjunction, found: Rows) -> None:
        """The tuples of an atom that go with instantiations of the atoms before it."""
        if atom.relation not in self._read:
            return
        columns = _bound(atom, set(conjunction.variables))
        if not columns:
            if len(found):
                self._fetch_whole(atom.relation)
            return
        keys = np.column_stack([conjunction.column(atom.args[column], found) for column in columns])
        self._fetch(atom.relation, columns, keys)

    # Reading

    def _fetch(self, relation: str, columns: Columns, keys: Rows) -> None:
        read = self._read[relation]
        if read.whole or not len(keys):
            return
        if not columns:
            self._fetch_whole(relation)
            return
        known = read.keys.setdefault(columns, set())
        new = [key for key in set(map(tuple, keys.tolist())) if key not in known]
        if not new:
            return
        if len(new) > MANY_KEYS:
            self._fetch_whole(relation)
            return
        values = np.array(new, np.int64)
        self._take(relation, {column: np.unique(values[:, i]) for i, column in enumerate(columns)})
        known.update(new)

    def _fetch_whole(self, relation: str) -> None:
        if not self._read[relation].whole:
            self._take(relation, {})
            self._read[relation].whole = True

    def _take(self, relation: str, keys: Mapping[int, Words]) -> None:
        read, stored = self._read[relation], self.tables.stored[relation]
        for rows, iterations, counts in self.reader.read(self.program.relations[relation], keys, self.tables):
            places = np.empty(len(rows), np.int64)
            stored.table.insert(np.ascontiguousarray(rows).reshape(-1), len(rows), found=places)
            size = stored.stop = len(stored.table)
            read.iterations, read.counts = _long(read.iterations, size), _long(read.counts, size)
            read.iterations[places], read.counts[places] = iterations, counts


def _bound(atom: Atom, bound: set[Var]) -> Columns:
    return tuple(i for i, term in enumerate(atom.args) if not isinstance(term, Var) or term in bound)


def _long(words: Words, size: int) -> Words:
    if size <= len(words):
        return words
    longer = np.zeros(max(size, 2 * len(words)), np.int64)
    longer[: len(words)] = words
    return longer
