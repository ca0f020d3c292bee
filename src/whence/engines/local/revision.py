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
from dataclasses import dataclass, field
from time import perf_counter

import numpy as np

from whence.lang.program import Stratum
from whence.plan.steps import RuleVersion, View
from whence.plan.update_versions import Sieve
from whence.tables import Tables, Uncountable

from .execute import Buffer
from .kernel.layout import BEFORE, CHANGED, GAINED, ITERATION, LOST, MOST_DERIVATIONS, NOW, SEARCHED, TOUCHED
from .table import Halves, Rows, Table, Words
from .tables import LocalTables, Stored
from .vectors import Vectors

Places = Words | Halves  # numbers of rows
FAR = 1 << 40  # a row that no table reaches
NONE: Words = np.empty(0, np.int64)
NO_ROWS: Halves = np.empty(0, np.int32)
SIGNS = {View.LOST: LOST, View.GAINED: GAINED, View.MISSING: SEARCHED}
MOST_DEAD = 4  # a table is made anew when a row in so many is dead
FEW_ROWS = 4096


@dataclass
class Log:
    """What the rows of a relation were when they were first touched in this epoch."""

    entries: list[tuple[Places, Halves, Halves]] = field(default_factory=list)  # rows, stamps, counts

    @property
    def touched(self) -> Places:
        return np.concatenate([rows for rows, _, _ in self.entries]) if self.entries else NONE


@dataclass(frozen=True)
class Input:
    """Rows that are put into a relation's input or taken from it."""

    inserted: Rows
    deleted: Rows


class Waiting:
    """The events of a relation: rows and signed weights by iteration."""

    def __init__(self) -> None:
        self.by_iteration: dict[int, list[tuple[Halves, Halves]]] = {}

    def add(self, rows: Halves, iterations: Halves, weights: Halves) -> None:
        if not len(rows):
            return
        first = int(iterations[0])
        if (iterations == first).all():
            self.by_iteration.setdefault(first, []).append((rows.copy(), weights.copy()))
            return
        order = np.argsort(iterations, kind="stable")
        rows, iterations, weights = rows[order], iterations[order], weights[order]
        starts = np.flatnonzero(np.diff(iterations, prepend=iterations[0] - 1))
        for start, stop in zip(starts.tolist(), [*starts[1:].tolist(), len(rows)], strict=True):
            part = (rows[start:stop], weights[start:stop])
            self.by_iteration.setdefault(int(iterations[start]), []).append(part)

    def take(self, iteration: int) -> tuple[Halves, Words]:
        """The rows with events in an iteration, each once, and what these come to."""
        parts = self.by_iteration.pop(iteration, None)
        if parts is None:
            return NO_ROWS, NONE
        rows = np.concatenate([rows for rows, _ in parts]) if len(parts) > 1 else parts[0][0]
        weights = np.concatenate([weights for _, weights in parts]) if len(parts) > 1 else parts[0][1]
        order = np.argsort(rows, kind="stable")  # they come nearly in order
        rows, weights = rows[order], weights[order].astype(np.int64)
        starts = np.flatnonzero(np.diff(rows, prepend=-1))
        return rows[starts], np.add.reduceat(weights, starts)


@dataclass
class Owned:
    """A relation of the stratum under way: its events, and the rows that are to change next."""

    stored: Stored
    log: Log
    vectors: Vectors | None
    waiting: Waiting = field(default_factory=Waiting)
    leaving: Places = field(default_factory=lambda: NONE)  # no longer in the iteration under way
    coming: Places = field(default_factory=lambda: NONE)  # in the iteration under way, from none or a later one
    derivations: Words = field(default_factory=lambda: NONE)  # of those that come

    def touch(self, rows: Places) -> None:
        """Remember what the rows are, if that was not done in this epoch."""
        table = self.stored.table
        stamps = table.stamps
        fresh = rows[(stamps[rows] & TOUCHED) == 0]
        if len(fresh):
            self.log.entries.append((fresh, stamps[fresh], table.counts[fresh]))
            stamps[fresh] |= TOUCHED


class LocalRevision:
    def __init__(self, tables: LocalTables, inputs: dict[str, Input]) -> None:
        self.tables = tables
        self.inputs = inputs
        self.logs: dict[str, Log] = {}
        self.replaced: dict[str, Stored] = {}  # what recomputed relations were
        self.replaced_vectors: dict[str, Vectors] = {}
        self.own: dict[str, Owned] = {}
        self.watch: Callable[[], None] = lambda: None
        self.iteration = 0
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

    def changed(self, relation: str) -> int:
        if relation in self.inputs:
            given = self.inputs[relation]
            return len(given.inserted) + len(given.deleted)
        return sum(self._delta(relation, view) for view in (View.LOST, View.GAINED))

    def size(self, relation: str, view: View) -> float:
        if view is View.MISSING and relation in self.own:
            return len(self.own[relation].leaving)
        if view in (View.LOST, View.GAINED, View.CAUSE):
            return self._delta(relation, view)
        return self.tables.size(relation, view)

    def _delta(self, relation: str, view: View) -> int:
        delta = self.tables.deltas.get((relation, view))
        return 0 if delta is None else len(delta.table)

    # A stratum

    def begin(self, stratum: Stratum) -> None:
        self.tables.own = frozenset(stratum.relations)
        self.iteration = 0
        for name in stratum.relations:
            stored = self._stamped(name)
            vectors = self.tables.vectors.get(name)
            self.own[name] = Owned(stored, self.logs.setdefault(name, Log()), vectors)
            if vectors is not None:
                self.tables.deltas[name, View.VECTOR] = Stored(vectors.table, stop=len(vectors.table))
            arity = stored.table.arity + 1
            for view in (View.LOST, View.GAINED):
                self.tables.deltas[name, view] = Stored(Table(self.tables.kernel, arity, counted=False))
            if name in self.inputs:
                self._change_input(self.own[name], self.inputs[name])
        self._show_changes()

    def _stamped(self, name: str) -> Stored:
        """A relation with a stamp for each row."""
        stored = self.tables.stored[name]
        if not stored.table.stamped:
            started = perf_counter()
            stored.live = stored.stop = len(stored.table)
            stored.table.stamp(stored.stamps)
            stored.marks.clear()
            self.tables.arranging += perf_counter() - started
        return stored

    def _change_input(self, owned: Owned, given: Input) -> None:
        table = owned.stored.table
        owned.leaving = table.locate(np.ascontiguousarray(given.deleted).reshape(-1), len(given.deleted))
        owned.coming = np.empty(len(given.inserted), np.int64)
        table.insert(np.ascontiguousarray(given.inserted).reshape(-1), len(given.inserted), FAR, found=owned.coming)
        owned.stored.stop = len(table)
        owned.derivations = np.ones(len(owned.coming), np.int64)

    def _show_changes(self) -> None:
        """LOST and GAINED are what is to change; the rows themselves are marked."""
        for name, owned in self.own.items():
            table = owned.stored.table
            stamps = table.stamps
            stamps[owned.leaving] |= CHANGED
            stamps[owned.coming] |= CHANGED
            moving = owned.coming[(stamps[owned.coming] & NOW) != 0]
            lost = np.concatenate([owned.leaving, moving]) if len(moving) else owned.leaving
            self._fill(name, View.LOST, table, lost, stamps[lost] & ITERATION)
            self._fill(name, View.GAINED, table, owned.coming, self.iteration)

    def _fill(self, name: str, view: View, table: Table, rows: Places, iterations: Halves | int) -> None:
        delta = self.tables.deltas[name, view]
        delta.table.clear()
        if len(rows):
            leveled = np.empty((len(rows), table.arity + 1), np.int64)
            leveled[:, :-1] = table.rows[rows]
            leveled[:, -1] = iterations
            delta.table.append(leveled)
        delta.stop = len(delta.table)

    def collect(self, name: str, arity: int, versions: Iterable[RuleVersion]) -> None:
        held = self._keys(name, View.CAUSE, arity)
        for version in versions:
            for buffer, count in self.tables.emitted(version):
                held.table.insert(buffer.rows, count)
        held.stop = len(held.table)

    def sift(self, sieve: Sieve) -> None:
        held = self._keys(sieve.name, View.MISSING, len(sieve.columns))
        held.table.clear()
        owned = self.own[sieve.relation]
        rows = owned.stored.table.rows[owned.leaving]
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
        owned = self.own[version.rule.head.relation]
        table = owned.stored.table
        for buffer, count in self.tables.emitted(version):
            address = buffer.weights_address
            if owned.vectors is not None:
                changed = self._change_vectors(owned.vectors, buffer, count, sign)
                address = changed.ctypes.data
            rows, iterations, weights = table.note(buffer.address, count, address, SIGNS[sign])
            if address and len(weights) and np.abs(weights).max() >= MOST_DERIVATIONS:
                raise Uncountable
            owned.waiting.add(rows, iterations, weights)
            self.watch()
        owned.stored.stop = len(table)
        if owned.vectors is not None:
            self.tables.deltas[version.rule.head.relation, View.VECTOR].stop = len(owned.vectors.table)

    def _change_vectors(self, vectors: Vectors, buffer: Buffer, count: int, sign: View) -> Words:
        """Counts derivations in every iteration; returns how many they are, or were kept where they are recalled."""
        if sign is View.MISSING:
            return vectors.weights(buffer.rows, count)
        weights = buffer.weights[:count].copy() if buffer.weights_address else np.ones(count, np.int64)
        vectors.change(buffer.rows, count, -weights if sign is View.LOST else weights)
        return weights

    def take_effect(self) -> None:
        for owned in self.own.values():
            table = owned.stored.table
            owned.touch(owned.leaving)
            owned.touch(owned.coming)
            stamps, counts = table.stamps, table.counts
            stamps[owned.leaving] &= ~np.int32(NOW)
            stamps[owned.coming] = (stamps[owned.coming] & ~np.int32(ITERATION)) | NOW | self.iteration
            counts[owned.coming] = owned.derivations

    def settle(self) -> int | None:
        self._forget_changes()
        while True:
            iterations = [i for owned in self.own.values() for i in owned.waiting.by_iteration]
            if not iterations:
                return None
            self.iteration = min(iterations)
            for owned in self.own.values():
                self._weigh(owned, *owned.waiting.take(self.iteration))
            if any(len(owned.leaving) or len(owned.coming) for owned in self.own.values()):
                self._show_changes()
                return self.iteration

    def _forget_changes(self) -> None:
        for owned in self.own.values():
            stamps = owned.stored.table.stamps
            for rows in (owned.leaving, owned.coming):
                stamps[rows] &= ~np.int32(CHANGED)
            owned.leaving = owned.coming = owned.derivations = NONE

    def _weigh(self, owned: Owned, rows: Halves, weights: Words) -> None:
        if not len(rows):
            return
        table = owned.stored.table
        stamps = table.stamps[rows]
        there, iterations = (stamps & NOW) != 0, stamps & ITERATION
        here = there & (iterations == self.iteration)
        if here.any():
            counted = rows[here]
            before = table.counts[counted]
            if before.max() >= MOST_DERIVATIONS:
                raise Uncountable
            left = before + weights[here]
            assert left.min() >= 0, "more derivations were lost than there were"
            owned.leaving = counted[left == 0]
            changed = (left > 0) & (left != before)
            owned.touch(counted[changed])
            table.counts[counted[changed]] = np.minimum(left[changed], MOST_DERIVATIONS)
        comes = (~there | (iterations > self.iteration)) & (weights > 0)
        owned.coming = rows[comes]
        owned.derivations = np.minimum(weights[comes], MOST_DERIVATIONS)

    def end(self) -> tuple[int, int]:
        self._forget_changes()
        gained = lost = 0
        for name, owned in self.own.items():
            table = owned.stored.table
            rows = owned.log.touched
            there = table.stamps[rows] & (BEFORE | NOW)
            gained += self._differ(name, View.GAINED, table.rows[rows[there == NOW]])
            lost += self._differ(name, View.LOST, table.rows[rows[there == BEFORE]])
        self._close()
        return gained, lost

    def _differ(self, name: str, view: View, rows: Rows) -> int:
        """What strata above see of a relation's changes."""
        delta = Stored(Table(self.tables.kernel, rows.shape[1], counted=False))
        delta.table.append(rows)
        delta.stop = len(delta.table)
        self.tables.deltas[name, view] = delta
        return len(rows)

    def _close(self) -> None:
        self.own.clear()
        self.tables.own = frozenset()
        for name, view in list(self.tables.deltas):
            if view in (View.CAUSE, View.MISSING, View.VECTOR):
                del self.tables.deltas[name, view]
        self.tables.forget_executions()

    def drop(self) -> None:
        for name in self.own:
            self._restore(name)
            del self.tables.deltas[name, View.LOST], self.tables.deltas[name, View.GAINED]
        self._close()

    def _restore(self, name: str) -> None:
        stored = self.tables.stored[name]
        for rows, stamps, counts in self.logs.pop(name).entries:
            stored.table.stamps[rows] = stamps & ~np.int32(CHANGED)
            stored.table.counts[rows] = counts
        if name in self.tables.vectors:
            self.tables.vectors[name].abandon()
        owned = self.own.get(name)
        for rows in (owned.leaving, owned.coming) if owned else ():  # may be marked and not touched yet
            stored.table.stamps[rows] &= ~np.int32(CHANGED)
        stored.stop = len(stored.table)

    def apply(self, stratum: Stratum) -> tuple[int, int]:
        self.begin(stratum)
        self.take_effect()
        return self.end()

    # From its input

    def recompute(self, stratum: Stratum, evaluate: Callable[[Tables], None]) -> tuple[int, int]:
        tables = self.tables
        tables.forget_executions()
        for name in stratum.relations:
            old = tables.stored[name]
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
            came, went = compare(self.replaced[name], tables.stored[name])
            gained += self._differ(name, View.GAINED, came)
            lost += self._differ(name, View.LOST, went)
        tables.own = frozenset()
        return gained, lost

    # The epoch

    def rows_of(self, relation: str, view: View) -> Rows:
        """The tuples that a relation gained or lost in this epoch."""
        delta = self.tables.deltas.get((relation, view))
        return (
            np.empty((0, self.tables.program.relations[relation].arity), np.int64)
            if delta is None
            else delta.table.rows
        )

    def commit(self) -> None:
        for name, log in self.logs.items():
            stored = self.tables.stored[name]
            rows = log.touched
            stamps = stored.table.stamps[rows]
            there = (stamps & NOW) != 0
            kept = stamps & (ITERATION | NOW)
            stored.table.stamps[rows] = np.where(there, kept | BEFORE, kept)
            stored.live += int(there.sum()) - int(((stamps & BEFORE) != 0).sum())
        for name in self.replaced:
            stamps = self.tables.stored[name].table.stamps
            stamps[...] = np.where((stamps & NOW) != 0, stamps | BEFORE, 0)
        self._finish()

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


def compare(old: Stored, new: Stored) -> tuple[Rows, Rows]:
    """Stamps a table that was evaluated anew, and adds what is no longer there; returns what came and what went."""
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
    table.insert(np.ascontiguousarray(went).reshape(-1), len(went), FAR)
    table.stamps[size:] = BEFORE
    new.stop = len(table)
    new.marks.clear()
    return came, went


def compact(tables: LocalTables, name: str) -> None:
    """Makes a table anew where many of its rows are dead."""
    stored = tables.stored[name]
    table = stored.table
    if not table.stamped or (len(table) - stored.live) * MOST_DEAD < len(table) + FEW_ROWS:
        return
    rows, (iterations, counts) = np.ascontiguousarray(stored.rows), stored.annotations
    tables.stored[name] = Stored(Table(tables.kernel, table.arity))
    tables.restore(name, rows.reshape(-1), len(rows), iterations, counts)
