"""The local engine's tables: every relation of a program in memory, and rule versions evaluated into them.

Rows are appended in order of iteration. While an iteration is evaluated, its tuples lie behind `stop`, where no view
reaches; `advance` makes them the new ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from whence.lang.program import Call, Const, Fact, Program, Record, Rule, Stratum, Term
from whence.plan.steps import Project, RuleVersion, View
from whence.plan.text import atom_text
from whence.tables import Progress

from .assemble import Segment
from .execute import BUFFER, Buffer, Execution, naming
from .kernel.library import load
from .primitives import primitives
from .records import RecordTables
from .strings import ConversionError
from .symbols import SymbolTable
from .table import Rows, Table, Words
from .values import Value, ValueMismatch, Values

HANDED_ROWS = 1 << 13
SAMPLE = 4096
BLOCK = 1 << 16  # rows that are handed out at once


@dataclass
class Stored:
    """A relation's table; `old` and `stop` bound its new tuples, `marks` says where each iteration begins."""

    table: Table
    old: int = 0
    stop: int = 0
    marks: list[tuple[int, int]] = field(default_factory=list)
    distinct: dict[tuple[int, ...], tuple[int, float]] = field(default_factory=dict)


class LocalTables:
    def __init__(
        self,
        program: Program,
        counts: bool = True,
        warn: Callable[[str], None] = lambda message: None,
        announce: Callable[[str], None] | None = None,
    ) -> None:
        self.program = program
        self.counts = counts
        self.warn = warn
        self.tick: Callable[[], None] = lambda: None
        self.kernel = load(announce)
        self.symbols = SymbolTable(self.kernel)
        self.records = RecordTables(self.kernel)
        self.values = Values(program.types, self.symbols, self.records)
        self.stored = {
            name: Stored(Table(self.kernel, relation.arity, counts)) for name, relation in program.relations.items()
        }
        self._buffers: dict[tuple[int, bool], Buffer] = {}
        self._executions: dict[tuple[Any, ...], Execution] = {}
        self.iteration = 0
        self._stratum: Sequence[Stored] = ()
        self._insert_facts()

    # Input

    def insert(self, relation: str, rows: Words, count: int) -> None:
        """Input tuples, encoded, one after the other in `rows`: iteration 0, one derivation each."""
        stored = self.stored[relation]
        table = stored.table
        table.insert(rows, count, fresh=len(table) + count)  # a tuple given twice is still one
        if len(table) and not stored.marks:
            stored.marks.append((0, 0))
        stored.stop = len(table)

    def insert_tuples(self, relation: str, tuples: Sequence[tuple[Value, ...]]) -> None:
        """Input tuples as Python values; each has as many as the relation has columns."""
        columns = self.program.relations[relation].columns
        rows = np.empty((len(tuples), len(columns)), np.int64)
        for i, column in enumerate(columns):
            rows[:, i] = self.values.encode([t[i] for t in tuples], column.type, column.kind)
        self.insert(relation, rows.reshape(-1), len(tuples))

    def restore(self, relation: str, rows: Words, count: int, iterations: Words, counts: Words) -> None:
        """Tuples with their iterations and counts, in place of what a relation holds."""
        self.forget(relation)
        stored = self.stored[relation]
        order = np.argsort(iterations, kind="stable")
        flat = np.ascontiguousarray(rows.reshape(count, stored.table.arity)[order]).reshape(-1)
        stored.table.insert(flat, count, weights=np.ascontiguousarray(counts[order]))
        numbers, starts = np.unique(iterations[order], return_index=True)
        stored.marks = list(zip(numbers.tolist(), starts.tolist(), strict=True))
        stored.stop = len(stored.table)

    def _insert_facts(self) -> None:
        plain: dict[str, list[tuple[Value, ...]]] = {}
        for fact in self.program.facts:
            if any(map(_calls, fact.atom.args)):
                self._compute_fact(fact)
            else:
                plain.setdefault(fact.atom.relation, []).append(tuple(map(_value, fact.atom.args)))
        for relation, tuples in plain.items():
            self.insert_tuples(relation, tuples)

    def _compute_fact(self, fact: Fact) -> None:
        rule = Rule(fact.atom, (), fact.origin, atom_text(fact.atom) + ".")
        execution = Execution(primitives([Project(fact.atom.args)]), self)
        try:
            for buffer, count in execution.results():
                self.insert(fact.atom.relation, buffer.rows, count)
        except (ZeroDivisionError, ConversionError) as error:
            raise naming(rule)(error) from None

    def constant(self, constant: Const) -> int:
        return int(self.values.encode([constant.value], "", constant.kind)[0]) if constant.value is not None else 0

    # Evaluation

    def solve(self, stratum: Stratum, progress: Progress) -> bool:
        """Every stratum is evaluated iteration by iteration."""
        return False

    def begin(self, stratum: Stratum) -> None:
        """Evaluate this stratum from now on; its relations hold their input."""
        self.iteration = 0
        self._stratum = [self.stored[name] for name in stratum.relations]
        for stored in self._stratum:
            stored.old, stored.stop = 0, len(stored.table)

    def derive(self, version: RuleVersion) -> None:
        """Evaluate a version into the tuples of the iteration that is under way."""
        key = (id(version.rule), version.views, version.order)
        execution = self._executions.get(key)
        if execution is None:
            execution = self._executions[key] = Execution(primitives(version.steps), self, None, self.counts)
        stored = self.stored[version.rule.head.relation]
        insert, fresh = stored.table.insert_from, stored.stop
        try:
            for buffer, count in execution.results():
                insert(buffer.address, count, fresh, buffer.weights_address)
        except (ZeroDivisionError, ConversionError) as error:
            raise naming(version.rule)(error) from None

    def add(self, relation: str, rows: Words, count: int, weights: Words) -> None:
        """Tuples that were derived elsewhere in the iteration that is under way, each in so many ways."""
        stored = self.stored[relation]
        stored.table.insert(rows, count, stored.stop, weights)

    def advance(self) -> int:
        """End the iteration; its tuples are now the new ones. Returns how many they are."""
        self.iteration += 1
        total = 0
        for stored in self._stratum:
            stored.old, stored.stop = stored.stop, len(stored.table)
            if stored.stop > stored.old:
                stored.marks.append((self.iteration, stored.old))
                total += stored.stop - stored.old
        return total

    def end(self) -> None:
        """The stratum is complete: what its rules needed in between is given up."""
        for stored in self._stratum:
            stored.old, stored.stop = 0, len(stored.table)
        self._executions.clear()

    def buffer(self, segment: Segment, alone: bool) -> Buffer:
        """A buffer for a segment; one that is alone in its pipeline shares it with others of its form."""
        width = len(segment.emits)
        if not alone:
            return Buffer(width, segment.weighted, HANDED_ROWS)
        key = (width, segment.weighted)
        if key not in self._buffers:
            self._buffers[key] = Buffer(width, segment.weighted, BUFFER)
        return self._buffers[key]

    # Statistics, for the planner

    def size(self, relation: str, view: View) -> float:
        stored = self.stored[relation]
        if view is View.NEW:
            return stored.stop - stored.old
        return stored.old if view is View.OLD else stored.stop

    def distinct(self, relation: str, columns: tuple[int, ...]) -> float:
        """The number of keys: that of an index where there is one, else judged by a sample."""
        stored = self.stored[relation]
        table = stored.table
        size = len(table)
        if len(columns) == table.arity:
            return size
        index = table.indexes.get(columns)
        if index is not None and index.keys and 2 * index.size >= size:
            return float(index.keys)
        known = stored.distinct.get(columns)
        if known is None or not known[0] <= size < 2 * known[0]:
            known = stored.distinct[columns] = (size, _estimate(table, columns))
        return known[1]

    # Results

    def rows(self, relation: str) -> int:
        return len(self.stored[relation].table)

    def nbytes(self, relation: str) -> int:
        return self.stored[relation].table.nbytes

    def encoded(self, relation: str) -> Iterator[tuple[Rows, Words, Words]]:
        """Blocks of rows with their iterations and counts; not to be kept while the table grows."""
        table = self.stored[relation].table
        iterations = self.iterations(relation)
        for start in range(0, len(table), BLOCK):
            block = slice(start, start + BLOCK)
            yield table.rows[block], iterations[block], table.counts[block].astype(np.int64)

    def has(self, relation: str, row: tuple[Value, ...]) -> bool:
        """Whether a tuple is there. Symbols that no tuple has are not kept."""
        columns = self.program.relations[relation].columns
        codes = np.empty(len(columns), np.int64)
        for i, (value, column) in enumerate(zip(row, columns, strict=True)):
            if isinstance(value, str) and column.kind == "symbol" and self.symbols.find(value) is None:
                return False
            try:
                codes[i] = self.values.encode([value], column.type, column.kind)[0]
            except ValueMismatch:
                return False
        return bool(self.stored[relation].table.locate(codes, 1)[0] >= 0)

    def to_arrow(self, relation: str, annotated: bool) -> Any:
        from .arrow import table_of

        return table_of(self, self.program.relations[relation], annotated)

    def to_spark(self, relation: str, annotated: bool) -> Any:
        """On the Spark session that is running, or a new one."""
        from whence.engines.spark.transfer import natural_frame

        return natural_frame(self, self.program.relations[relation], annotated)

    def forget(self, relation: str) -> None:
        """Empties a relation."""
        self.stored[relation] = Stored(Table(self.kernel, self.program.relations[relation].arity, self.counts))

    def drop_derived(self) -> None:
        """Back to the input, wherever an evaluation stopped."""
        self._executions.clear()
        for name, stored in list(self.stored.items()):
            table = stored.table
            derived = [start for number, start in stored.marks if number > 0]
            given = derived[0] if derived else stored.stop  # what lies behind is of an iteration that did not end
            stored.old, stored.stop = 0, given
            if given == len(table):
                table.indexes.clear()  # one may have been growing
            else:
                stored.table = Table(self.kernel, table.arity, self.counts)
                stored.marks.clear()
                stored.distinct.clear()
                self.insert(name, table.rows[:given].reshape(-1).copy(), given)

    def iterations(self, relation: str) -> Words:
        """The iteration of each row."""
        stored = self.stored[relation]
        starts = np.array([start for _, start in stored.marks], np.int64)
        numbers = np.array([number for number, _ in stored.marks], np.int64)
        places = np.searchsorted(starts, np.arange(len(stored.table)), side="right") - 1
        return numbers[places]


def _estimate(table: Table, columns: tuple[int, ...]) -> float:
    """Distinct keys by a sample: those met once stand for sqrt(size / sample) others (Charikar et al., PODS 2000)."""
    size = len(table)
    if size == 0:
        return 0.0
    sample = np.unique(np.linspace(0, size - 1, min(size, SAMPLE)).astype(np.int64))
    rows = table.rows[sample][:, list(columns)]
    seen = Table(table.kernel, len(columns))
    seen.insert(np.ascontiguousarray(rows).reshape(-1), len(rows))
    once = int(np.count_nonzero(seen.counts == 1))
    scale: float = (size / len(rows)) ** 0.5
    return min(float(size), scale * once + len(seen) - once)


def _calls(term: Term) -> bool:
    return isinstance(term, Call) or (isinstance(term, Record) and any(map(_calls, term.fields)))


def _value(term: Term) -> Value:
    if isinstance(term, Record):
        return tuple(map(_value, term.fields))
    assert isinstance(term, Const)
    return term.value
