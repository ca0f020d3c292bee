"""Run a pipeline: the kernel fills a buffer, again and again, until a segment is done.

Between segments, string functors, records and aggregates work on the whole buffer. Only an aggregate waits for all rows
of the segment before it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from whence.errors import WhenceError
from whence.lang.program import Const, Rule, Var
from whence.plan.steps import View

from . import strings
from .assemble import Arranged, Handed, Pipeline, RecordFields, Segment, assemble
from .fold import Accumulator
from .kernel.layout import (
    CHUNK,
    DIVISION_BY_ZERO,
    DONE,
    L_CURSOR,
    L_ROWS,
    LEVEL_WORDS,
    S_BUDGET,
    S_DEPTH,
    S_ERROR,
    S_LEVELS,
    SCAN,
    SUSPENDED,
    T_ARITY,
    T_ROWS,
    TABLE_WORDS,
    V_HIGH,
    V_INDEX,
    V_LOW,
    V_MASK,
    V_SENSE,
    V_TABLE,
    V_VALUE,
    VIEW_WORDS,
)
from .primitives import Compare, Compute, Emit, Group, Pack
from .table import Index, Rows, Table, Words

if TYPE_CHECKING:
    from .tables import LocalTables, Stored

BUFFER = 1 << 15  # rows
BUDGET = 20_000  # chunks, before Python looks at the clock
MANY = 10_000  # rows of an index, which take a time of their own
COUNTING = ("count", "sum", "mean")


class EvaluationError(WhenceError):
    """A rule that cannot be evaluated on its data, such as a division by zero."""


class Buffer:
    """Where a segment emits: rows one after the other, and their weights."""

    def __init__(self, width: int, weighted: bool, rows: int = BUFFER) -> None:
        self.capacity = rows
        self.width = width
        self.rows: Words = np.empty(max(1, rows * width), np.int64)
        self.weights: Words = np.empty(rows if weighted else 1, np.int64)
        self.address = self.rows.ctypes.data
        self.weights_address = self.weights.ctypes.data if weighted else 0

    def matrix(self, count: int) -> Rows:
        return self.rows[: count * self.width].reshape(count, self.width)


class Running:
    """A segment with its registers and state, ready to be run many times."""

    def __init__(self, segment: Segment, tables: LocalTables, buffer: Buffer) -> None:
        self.segment = segment
        self.tables = tables
        self.buffer = buffer
        self._code = np.array(segment.code, np.int64)
        self._registers = np.zeros((max(1, segment.registers), CHUNK), np.int64)
        for register, constant in segment.constants:
            self._registers[register] = tables.constant(constant)
        self._flags = np.empty(CHUNK, np.int64)
        state = np.zeros(S_LEVELS + segment.levels * LEVEL_WORDS, np.int64)
        state[S_BUDGET] = BUDGET
        self._state = state.data
        views = np.zeros(max(1, len(segment.readings)) * VIEW_WORDS, np.int64)
        self._views = views.data
        self._handed = np.zeros(TABLE_WORDS, np.int64)
        self._source: Rows | None = None
        self._relations: list[tuple[int, Arranged]] = []
        for i, reading in enumerate(segment.readings):
            match reading:
                case Arranged():
                    table = tables.holding(reading.relation, reading.view).table
                    self._views[i * VIEW_WORDS + V_TABLE] = table.address
                    if reading.columns and len(reading.columns) < table.arity:
                        self._views[i * VIEW_WORDS + V_INDEX] = table.index(reading.columns).address
                    self._relations.append((i * VIEW_WORDS, reading))
                case RecordFields(arity):
                    self._views[i * VIEW_WORDS + V_TABLE] = tables.records.table(arity).address
                case Handed(arity):
                    self._handed[T_ARITY] = arity
                    self._views[i * VIEW_WORDS + V_TABLE] = self._handed.ctypes.data
        self.scans_relation = segment.given is None and segment.code[segment.code[1]] == SCAN  # the first reading
        self.arguments = (
            self._code.ctypes.data,
            views.ctypes.data,
            self._registers.ctypes.data,
            state.ctypes.data,
            self._flags.ctypes.data,
            buffer.address,
            buffer.weights_address,
            buffer.capacity,
        )
        self._arrays = (state, views)

    def hand(self, rows: Rows) -> None:
        """The rows to begin with, where the segment goes on from another."""
        self._source = np.ascontiguousarray(rows)
        self._handed[T_ROWS] = self._source.ctypes.data
        self._views[V_HIGH] = len(rows)

    def start(self) -> bool:
        """Look at the relations as they are now; false if one is empty that must not be."""
        for place, reading in self._relations:
            stored = self.tables.holding(reading.relation, reading.view)
            if not self._show(place, reading, stored) and reading.needed:
                return False
        state = self._state
        state[S_DEPTH] = 0
        state[S_LEVELS + L_CURSOR] = self._views[V_LOW] if self.scans_relation else 0
        return True

    def arrange(self) -> None:
        """Look at the relations as they are now, empty or not; the kernel begins by itself."""
        for place, reading in self._relations:
            self._show(place, reading, self.tables.holding(reading.relation, reading.view))

    def _show(self, place: int, reading: Arranged, stored: Stored) -> bool:
        """Let a view show what its relation has now; false if that is nothing."""
        views = self._views
        low = stored.old if reading.view is View.NEW else 0
        high = stored.old if reading.view is View.OLD else stored.stop
        views[place + V_LOW] = low
        views[place + V_HIGH] = high
        if stored.table.stamped:
            mask = self.tables.mask(reading.relation, reading.view)
            views[place + V_MASK], views[place + V_VALUE], views[place + V_SENSE] = mask
        if reading.whole:
            stored.table.complete()
        if views[place + V_INDEX]:
            self._extend(stored.table.indexes[reading.columns], high)
        return low < high

    @property
    def suspended(self) -> bool:
        """Whether there is more to come than the buffer could hold."""
        return bool(self._state[S_ERROR] == SUSPENDED)

    @property
    def through(self) -> float:
        """The part of a relation that is scanned first which is done with; of the chunk that was read last, the rows
        whose matches were met."""
        low, high = self._views[V_LOW], self._views[V_HIGH]
        if not self.scans_relation or low >= high:
            return 0.0
        state = self._state
        waiting = 0
        if self.segment.levels > 1:
            waiting = state[S_LEVELS + L_ROWS] - state[S_LEVELS + LEVEL_WORDS + L_CURSOR]
        return max(0, state[S_LEVELS + L_CURSOR] - low - waiting) / (high - low)

    @property
    def driving(self) -> Table:
        """The table that is scanned first."""
        _, reading = self._relations[0]
        return self.tables.holding(reading.relation, reading.view).table

    def view_of(self, number: int) -> tuple[int, int, int]:
        """Where a view is, its table, and its index or 0."""
        place = number * VIEW_WORDS
        address: int = self.arguments[1] + 8 * place
        return address, self._views[place + V_TABLE], self._views[place + V_INDEX]

    def _extend(self, index: Index, stop: int) -> None:
        if stop - index.size < MANY:
            index.extend(stop)
            return
        started = perf_counter()
        index.extend(stop)
        self.tables.arranging += perf_counter() - started

    def chunks(self) -> Iterator[int]:
        """The number of rows in the buffer, each time that there are some."""
        evaluate = self.tables.kernel.evaluate
        arguments, state, tick = self.arguments, self._state, self.tables.tick
        while True:
            count = evaluate(*arguments)
            outcome = state[S_ERROR]
            if outcome == DIVISION_BY_ZERO:
                raise ZeroDivisionError
            if count:
                yield count
            if outcome == DONE:
                return
            tick()


class Execution:
    """The pipeline of a rule version, or of the inside of an aggregate."""

    def __init__(self, pipeline: Pipeline, tables: LocalTables) -> None:
        self.tables = tables
        self.pipeline = pipeline
        alone = len(pipeline.segments) == 1 and pipeline.segments[0].given is None
        self.running = [Running(segment, tables, tables.buffer(segment, alone)) for segment in pipeline.segments]
        self.groups = {
            id(part): Grouping(part, tables)
            for parts in self.pipeline.between
            for part in parts
            if isinstance(part, Group)
        }

    @property
    def through(self) -> float:
        """The part of what is read first that has been read; nothing of it where that is no relation."""
        return self.running[0].through

    def results(self, source: Rows | None = None) -> Iterator[tuple[Buffer, int]]:
        """The buffer with the number of rows that were emitted into it, until all are."""
        if source is not None:
            self.running[0].hand(source)
        if all(running.start() for running in self.running):
            yield from self._from(0)

    def _from(self, place: int) -> Iterator[tuple[Buffer, int]]:
        running = self.running[place]
        if place == len(self.running) - 1:
            for count in running.chunks():
                yield running.buffer, count
            return
        between = self.pipeline.between[place]
        chunks: Iterator[Rows] = (running.buffer.matrix(count) for count in running.chunks())
        if any(isinstance(part, Group) for part in between):
            parts = [chunk.copy() for chunk in chunks]
            chunks = iter([np.concatenate(parts)] if parts else [])
        following = self.running[place + 1]
        for chunk in chunks:
            rows = self._between(chunk, running.segment, between, following.segment.given or ())
            if len(rows):
                following.hand(rows)
                following.start()
                yield from self._from(place + 1)

    def _between(self, chunk: Rows, segment: Segment, parts: list[Any], wanted: tuple[Var, ...]) -> Rows:
        """What is done on whole columns after a segment, in order."""
        columns = Columns(self.tables, chunk, segment.emits)
        for part in parts:
            match part:
                case Compute(to, functor, args):
                    kinds = [arg.kind for arg in args]
                    values = [columns.of(arg) for arg in args]
                    columns.values[to] = strings.apply(
                        functor, values, kinds, to.kind, self.tables.symbols, self.tables.warn
                    )
                case Pack(to, fields):
                    packed = np.empty((columns.count, len(fields)), np.int64)
                    for i, operand in enumerate(fields):
                        packed[:, i] = columns.of(operand)
                    codes = self.tables.records.pack(len(fields), packed.reshape(-1))
                    columns.values[to] = codes if fields else np.repeat(codes, columns.count)
                case Compare(op, left, right):
                    columns.keep(
                        strings.holds(op, columns.of(left), columns.of(right), self.tables.symbols, self.tables.warn)
                    )
                case Group(aggregate):
                    outer = columns.matrix(aggregate.outer)
                    result, defined = self.groups[id(part)].fold(outer)
                    columns.values[aggregate.result] = result
                    if not defined.all():
                        columns.keep(defined)
        return columns.matrix(wanted)


class Columns:
    """Rows as columns by variable, while something is done to them."""

    def __init__(self, tables: LocalTables, rows: Rows, names: tuple[Any, ...]) -> None:
        self.tables = tables
        self.count = len(rows)
        self.values: dict[Var, Words] = {name: rows[:, i].copy() for i, name in enumerate(names)}

    def of(self, operand: Var | Const) -> Words:
        if isinstance(operand, Const):
            return np.full(self.count, self.tables.constant(operand), np.int64)
        return self.values[operand]

    def keep(self, chosen: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> None:
        self.values = {name: column[chosen] for name, column in self.values.items()}
        self.count = int(np.count_nonzero(chosen))

    def matrix(self, names: tuple[Var, ...]) -> Rows:
        rows = np.empty((self.count, len(names)), np.int64)
        for i, name in enumerate(names):
            rows[:, i] = self.values[name]
        return rows


class Grouping:
    """An aggregate, evaluated once for each distinct value of its outer variables."""

    def __init__(self, group: Group, tables: LocalTables) -> None:
        self.aggregate = group.aggregate
        self.tables = tables
        self.number = Var("g ", "number")  # of the distinct value
        given = (*self.aggregate.outer, self.number)
        emit = group.inner[-1]
        assert isinstance(emit, Emit)
        inner = (*group.inner[:-1], Emit((self.number, *emit.operands)))
        self.execution = Execution(assemble(inner, given, counted=self.aggregate.op in COUNTING), tables)

    def fold(self, outer: Rows) -> tuple[Words, np.ndarray[tuple[int], np.dtype[np.bool_]]]:
        """The result for each row, and whether it has one."""
        width = outer.shape[1]
        distinct = Table(self.tables.kernel, width, counted=False)
        numbers = np.empty(len(outer), np.int64)
        distinct.insert(outer.reshape(-1), len(outer), found=numbers)
        source = np.empty((len(distinct), width + 1), np.int64)
        source[:, :width] = distinct.rows
        source[:, width] = np.arange(len(distinct))
        target = self.aggregate.target
        accumulator = Accumulator(self.aggregate.op, target.kind if target else "number", len(distinct))
        for buffer, count in self.execution.results(source):
            rows = buffer.matrix(count)
            weights = buffer.weights[:count] if buffer.weights_address else None
            accumulator.add(rows[:, 0], rows[:, 1] if target else None, weights)
        values, defined = accumulator.finish()
        return values[numbers], defined[numbers]


def naming(rule: Rule) -> Callable[[Exception], EvaluationError]:
    """How an error while a rule is evaluated is told."""
    text = rule.text if len(rule.text) < 200 else rule.text[:197] + "…"

    def told(error: Exception) -> EvaluationError:
        what = "division by zero" if isinstance(error, ZeroDivisionError) else str(error)
        return EvaluationError(f"{rule.origin}: {what}, in `{' '.join(text.split())}`")

    return told
