"""A new epoch in process: stamps say which rows are there before and now; a log puts them back if it is abandoned.

Every derivation that changes is an event at a row and an iteration: so many instantiations of its tuple more or fewer
in that iteration. Events wait in order of iteration. `settle` takes those of the next one and says what they mean:

- the last derivation in a tuple's iteration went: the tuple is lost, and searched for in later iterations;
- a tuple that is not there, or comes later, has derivations here: it is gained;
- anything else is a count. Events behind the iteration that a tuple has by then mean nothing (sparsification).

So a tuple's derivations are looked at when it, or a tuple in their body, changes, and at no other time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from time import perf_counter

import numpy as np

from whence.interrupts import uninterrupted
from whence.lang.program import Program, Stratum, read_by
from whence.maintain.transition import Transition
from whence.plan.steps import RuleVersion, View
from whence.plan.update_versions import Sieve
from whence.tables import Ahead, Tables

from .execute import Buffer
from .kernel.layout import BEFORE, GAINED, ITERATION, LOST, NOW, SEARCHED
from .propagation import Propagation, propagation
from .revised import FAR, Log, Revised
from .table import Rows, Table, Words
from .tables import LocalTables, Stored
from .vectors import Vectors

SIGNS = {View.LOST: LOST, View.GAINED: GAINED, View.MISSING: SEARCHED}
MOST_DEAD = 4  # a table is made anew when a row in so many is dead
FEW_ROWS = 4096


@dataclass(frozen=True)
class Input:
    """Rows that are put into a relation's input or taken from it."""

    inserted: Rows
    deleted: Rows


class LocalRevision:
    def __init__(self, tables: LocalTables, inputs: dict[str, Input], transition: Transition | None = None) -> None:
        """If rules change too, the tables are those of the transition's program."""
        self.tables = tables
        self.inputs = inputs
        self.logs: dict[str, Log] = {}
        self.replaced: dict[str, Stored] = {}  # what recomputed relations were
        self.replaced_vectors: dict[str, Vectors] = {}
        self.differences: dict[tuple[str, View], Rows] = {}  # of strata that are done
        self._read_above = _read_above(tables.program) if transition is None else transition.read_elsewhere()
        self.own: dict[str, Revised] = {}
        self.watch: Callable[[], None] = lambda: None
        self.iteration = 0
        self.through = 0.0
        self._handed_over: list[Propagation | None] = []  # of the stratum under way, once it was tried
        self.distinct = tables.distinct
        for name in tables.stored:
            compact(tables, name)
        for vectors in tables.vectors.values():
            vectors.compact()

    @property
    def dense(self) -> bool:
        return bool(self.tables.vectors)

    @property
    def arranging(self) -> float:
        return self.tables.arranging

    @property
    def net(self) -> int:
        return sum(revised.net for revised in self.own.values())

    def changed(self, relation: str) -> int:
        if relation in self.inputs and (relation, View.LOST) not in self.differences:
            given = self.inputs[relation]
            return len(given.inserted) + len(given.deleted)
        return sum(self._delta(relation, view) for view in (View.LOST, View.GAINED))

    def size(self, relation: str, view: View) -> float:
        if view is View.MISSING and relation in self.own:
            return self.own[relation].leaving
        if view in (View.LOST, View.GAINED, View.CAUSE):
            return self._delta(relation, view)
        return self.tables.size(relation, view)

    def _delta(self, relation: str, view: View) -> int:
        delta = self.tables.deltas.get((relation, view))
        return len(self.differences.get((relation, view), ())) if delta is None else len(delta.table)

    def stored(self, name: str) -> Stored:
        """Where the rows are that are revised."""
        return self.tables.stored[name]

    # A stratum

    def begin(self, stratum: Stratum) -> None:
        self.tables.own = frozenset(stratum.relations)
        self.iteration = 0
        for name in stratum.relations:
            stored = stamped(self.tables, self.stored(name))
            vectors = self.tables.vectors.get(name)
            revised = Revised(self.tables.kernel, stored, self.logs.setdefault(name, Log()), vectors)
            self.own[name] = revised
            for view in (View.LOST, View.GAINED):
                held = Table(self.tables.kernel, stored.table.arity + 1, counted=False)
                self.tables.deltas[name, view] = Stored(held)
            if vectors is not None:
                self.tables.deltas[name, View.VECTOR] = Stored(vectors.table, stop=len(vectors.table))
            if name in self.inputs:
                revised.change_input(self.inputs[name].inserted, self.inputs[name].deleted)
        self._show()

    def _show(self) -> None:
        deltas = self.tables.deltas
        for name, revised in self.own.items():
            revised.show(deltas[name, View.LOST], deltas[name, View.GAINED], self.iteration)

    def collect(self, name: str, arity: int, versions: Iterable[RuleVersion]) -> None:
        held = self._keys(name, View.CAUSE, arity)
        for version in versions:
            for buffer, count in self.tables.emitted(version):
                held.table.insert(buffer.rows, count)
        held.stop = len(held.table)

    def sift(self, sieve: Sieve) -> None:
        held = self._keys(sieve.name, View.MISSING, len(sieve.columns))
        held.table.clear()
        revised = self.own[sieve.relation]
        rows = revised.table.rows[revised.missing]
        if sieve.columns == tuple(range(rows.shape[1])):
            held.table.append(rows)
        else:
            held.table.insert(rows[:, list(sieve.columns)].reshape(-1), len(rows))
        held.stop = len(held.table)

    def _keys(self, name: str, view: View, arity: int) -> Stored:
        held = self.tables.deltas.get((name, view))
        if held is None:
            held = self.tables.deltas[name, view] = Stored(Table(self.tables.kernel, arity, counted=False))
        return held

    def derive(self, version: RuleVersion, sign: View) -> None:
        revised = self.own[version.rule.head.relation]
        execution = self.tables.execution(version)
        for buffer, count in self.tables.emitted(version):
            self.through = execution.through
            address = buffer.weights_address
            if revised.vectors is not None:
                changed = self._change_vectors(revised.vectors, buffer, count, sign)
                address = changed.ctypes.data
            revised.note(buffer.address, count, address, SIGNS[sign])
            self.watch()
        if revised.vectors is not None:
            self.tables.deltas[version.rule.head.relation, View.VECTOR].stop = len(revised.vectors.table)

    def _change_vectors(self, vectors: Vectors, buffer: Buffer, count: int, sign: View) -> Words:
        """Counts derivations in every iteration; returns how many they are, or were kept where they are recalled."""
        if sign is View.MISSING:
            return vectors.weights(buffer.rows, count)
        weights = buffer.weights[:count].copy() if buffer.weights_address else np.ones(count, np.int64)
        vectors.change(buffer.rows, count, -weights if sign is View.LOST else weights)
        return weights

    def take_effect(self) -> None:
        for revised in self.own.values():
            revised.take_effect(self.iteration)

    def settle(self) -> int | None:
        for revised in self.own.values():
            revised.settle()
        while True:
            iterations = [revised.waiting.first for revised in self.own.values()]
            first = min((i for i in iterations if i is not None), default=None)
            if first is None:
                return None
            self.iteration = first
            for revised in self.own.values():
                revised.weigh(self.iteration)
            if any(len(revised.changing) for revised in self.own.values()):
                self._show()
                return self.iteration

    def run_ahead(self, planned: Callable[[], Ahead]) -> tuple[int, int]:
        if self.dense:
            return 0, 0
        if not self._handed_over:
            self._handed_over.append(propagation(self, planned(), SIGNS))
        propagated = self._handed_over[0]
        return propagated.run() if propagated else (0, 0)

    def end(self) -> tuple[int, int]:
        gained = lost = 0
        for name, revised in self.own.items():
            revised.settle()
            table, rows = revised.table, revised.log.rows
            there = table.stamps[rows] & (BEFORE | NOW)
            gained += self._differ(name, View.GAINED, table.rows[rows[there == NOW]])
            lost += self._differ(name, View.LOST, table.rows[rows[there == BEFORE]])
        self._close()
        return gained, lost

    def _differ(self, name: str, view: View, rows: Rows) -> int:
        """A relation's changes, as a table where strata above read it."""
        self.differences[name, view] = rows
        self.tables.deltas.pop((name, view), None)
        if name in self._read_above:
            delta = Stored(Table(self.tables.kernel, rows.shape[1], counted=False))
            delta.table.append(rows)
            delta.stop = len(delta.table)
            self.tables.deltas[name, view] = delta
        return len(rows)

    def _close(self) -> None:
        self.own.clear()
        self._handed_over.clear()
        self.tables.own = frozenset()
        for name, view in list(self.tables.deltas):
            if view in (View.CAUSE, View.MISSING, View.VECTOR):
                del self.tables.deltas[name, view]
        self.tables.forget_executions()

    @uninterrupted
    def drop(self) -> int:
        done = 0
        for name, revised in self.own.items():
            there = revised.table.stamps[revised.log.rows] & (BEFORE | NOW)
            done += int(np.count_nonzero((there == BEFORE) | (there == NOW)))
            self._restore(name)
            del self.tables.deltas[name, View.LOST], self.tables.deltas[name, View.GAINED]
        self._close()
        return done

    def _restore(self, name: str) -> None:
        stored = self.stored(name)
        self.logs.pop(name).undo(stored.table)
        if name in self.tables.vectors:
            self.tables.vectors[name].abandon()
        stored.stop = len(stored.table)

    def apply(self, stratum: Stratum) -> tuple[int, int]:
        self.begin(stratum)
        self.take_effect()
        return self.end()

    # From its input

    def recompute(self, stratum: Stratum, evaluate: Callable[[Tables], None], ready: bool) -> tuple[int, int]:
        tables = self.tables
        tables.forget_executions()
        arranged: dict[str, list[tuple[int, ...]]] = {}
        for name in stratum.relations:
            old = tables.stored[name]
            arranged[name] = list(old.table.indexes) if ready else []
            old.table.indexes.clear()
            self.replaced[name] = old
            if name in tables.vectors:
                self.replaced_vectors[name] = tables.vectors[name]
            given = old.given
            tables.forget(name)
            if name in self.inputs:
                taken = Table(tables.kernel, old.table.arity, counted=False)
                deleted = self.inputs[name].deleted
                taken.insert(np.ascontiguousarray(deleted).reshape(-1), len(deleted))
                given = given[taken.locate(np.ascontiguousarray(given).reshape(-1), len(given)) < 0]
                given = np.concatenate([given, self.inputs[name].inserted])
            tables.insert(name, np.ascontiguousarray(given).reshape(-1), len(given))
        evaluate(tables)
        gained = lost = 0
        for name in stratum.relations:
            stored = tables.stored[name]
            came, went = compare(self.replaced[name], stored, name in self._read_above)
            for columns in arranged[name]:
                stored.table.index(columns).extend(stored.stop)
            gained += self._differ(name, View.GAINED, came)
            lost += self._differ(name, View.LOST, went)
        tables.own = frozenset()
        return gained, lost

    # The epoch

    def rows_of(self, relation: str, view: View) -> Rows:
        """The tuples that a relation gained or lost in this epoch; of the stratum under way, those of its iteration."""
        if relation in self.own:
            return self.tables.deltas[relation, view].table.rows
        none: Rows = np.empty((0, self.tables.program.relations[relation].arity), np.int64)
        return self.differences.get((relation, view), none)

    @uninterrupted
    def commit(self) -> None:
        for name, log in self.logs.items():
            stored = self.stored(name)
            rows = log.rows
            stamps = stored.table.stamps[rows]
            there = (stamps & NOW) != 0
            kept = stamps & (ITERATION | NOW)
            stored.table.stamps[rows] = np.where(there, kept | BEFORE, kept)
            stored.live += int(there.sum()) - int(((stamps & BEFORE) != 0).sum())
        for name in self.replaced:
            stamps = self.tables.stored[name].table.stamps
            stamps[...] = np.where((stamps & NOW) != 0, stamps | BEFORE, 0)
        self._finish()

    @uninterrupted
    def abandon(self) -> None:
        for name in list(self.logs):
            self._restore(name)
        self.tables.stored.update(self.replaced)
        self.tables.vectors.update(self.replaced_vectors)
        self._close()
        self._finish()

    def _finish(self) -> None:
        self.tables.deltas.clear()
        self.tables.forget_executions()
        self.replaced.clear()
        for vectors in self.tables.vectors.values():
            vectors.commit()


def stamped(tables: LocalTables, stored: Stored) -> Stored:
    """A relation with a stamp for each row."""
    if not stored.table.stamped:
        started = perf_counter()
        stored.live = stored.stop = len(stored.table)
        stored.table.stamp(stored.stamps)
        stored.marks.clear()
        tables.arranging += perf_counter() - started
    return stored


def compare(old: Stored, new: Stored, is_read: bool) -> tuple[Rows, Rows]:
    """Stamps a table that was evaluated anew; returns what came and what went, which stays if it is yet to be read."""
    table = new.table
    size = len(table)
    found = old.table.locate(table.rows.reshape(-1), size)
    there = found >= 0
    left = np.ones(len(old.table), np.bool_)
    if old.table.stamped:
        left = (old.table.stamps & BEFORE) != 0
        there[there] = left[found[there]]
    left[found[there]] = False
    went = old.table.rows[left]
    stamps = new.stamps
    stamps[~there] &= ~np.int32(BEFORE)
    came = table.rows[~there]
    new.live = size
    table.stamp(stamps)
    if is_read:
        table.insert(np.ascontiguousarray(went).reshape(-1), len(went), FAR)
        table.stamps[size:] = BEFORE
    new.stop = len(table)
    new.marks.clear()
    return came, went


def _read_above(program: Program) -> frozenset[str]:
    """The relations that are read in another stratum than their own."""
    return frozenset(name for s in program.strata for name in read_by(s) if name not in s.relations)


def compact(tables: LocalTables, name: str) -> None:
    """Makes a table anew where many of its rows are dead."""
    stored = tables.stored[name]
    table = stored.table
    if not table.stamped or (len(table) - stored.live) * MOST_DEAD < len(table) + FEW_ROWS:
        return
    rows, (iterations, counts) = np.ascontiguousarray(stored.rows), stored.annotations
    tables.stored[name] = Stored(Table(tables.kernel, table.arity))
    try:
        tables.restore(name, rows.reshape(-1), len(rows), iterations, counts)
    except BaseException:  # interrupted: the old one has everything
        tables.stored[name] = stored
        raise
