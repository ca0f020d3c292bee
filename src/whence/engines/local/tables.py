"""The local engine's tables: every relation of a program in memory, and rule versions evaluated into them.

Bootstrap appends rows in order of iteration. While an iteration is evaluated, its tuples lie behind `stop`, where no
view reaches; `advance` makes them the new ones. Once a relation is revised (see `revision`) its rows have stamps; some
may be dead, and `live` counts those that are not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from whence.interrupts import uninterrupted
from whence.lang.program import Call, Const, Fact, Program, Record, Rule, Stratum, Term
from whence.plan.steps import DELTAS, Project, RuleVersion, View
from whence.plan.text import atom_text
from whence.tables import Progress

from .assemble import Pipeline, Segment, assemble
from .execute import BUFFER, Buffer, Execution, naming
from .kernel.layout import BEFORE, CHANGED, ITERATION, NOW
from .kernel.library import load
from .primitives import primitives
from .records import RecordTables
from .strings import ConversionError
from .symbols import SymbolTable
from .table import Halves, Rows, Table, Words
from .values import Value, ValueMismatch, Values
from .vectors import Vectors

HANDED_ROWS = 1 << 13
HELD_APART = DELTAS | {View.VECTOR}
SAMPLE = 4096
BLOCK = 1 << 16  # rows that are handed out at once


@dataclass
class Stored:
    """A relation's table; `old` and `stop` bound its new tuples, `marks` says where each iteration begins."""

    table: Table
    old: int = 0
    stop: int = 0
    live: int = 0  # of a table with stamps
    marks: list[tuple[int, int]] = field(default_factory=list)
    distinct: dict[tuple[int, ...], tuple[int, float]] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """How many tuples there are now."""
        return self.live if self.table.stamped else len(self.table)

    @property
    def iterations(self) -> Words:
        """The iteration of each row."""
        return self.stamps.astype(np.int64) & ITERATION

    @property
    def stamps(self) -> Halves:
        """The stamp of each row, or what it would be."""
        if self.table.stamped:
            return self.table.stamps
        starts = [start for _, start in self.marks]
        numbers = np.array([number | NOW | BEFORE for number, _ in self.marks], np.int32)
        return np.repeat(numbers, np.diff([*starts, len(self.table)]))

    @property
    def rows(self) -> Rows:
        """The tuples that there are now; not to be kept while the table grows."""
        table = self.table
        if not table.stamped or self.live == len(table):
            return table.rows
        live: Rows = table.rows[(table.stamps & NOW) != 0]
        return live

    @property
    def annotations(self) -> tuple[Words, Words]:
        """The iterations and counts of these tuples."""
        iterations, counts = self.iterations, self.table.counts.astype(np.int64)
        if not self.table.stamped or self.live == len(self.table):
            return iterations, counts
        there = (self.table.stamps & NOW) != 0
        return iterations[there], counts[there]

    @property
    def given(self) -> Rows:
        """The rows of iteration 0: the input."""
        table = self.table
        if table.stamped:
            given: Rows = table.rows[(table.stamps & (ITERATION | NOW)) == NOW]
            return given
        derived = [start for number, start in self.marks if number > 0]
        return table.rows[: derived[0] if derived else self.stop]  # what lies behind did not end


class LocalTables:
    def __init__(
        self,
        program: Program,
        counts: bool = True,
        warn: Callable[[str], None] = lambda message: None,
        announce: Callable[[str], None] | None = None,
        dense: bool = False,
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
        self._dense = dense
        self.vectors: dict[str, Vectors] = {}
        self._make_vectors()
        self._buffers: dict[tuple[int, bool], Buffer] = {}
        self._executions: dict[tuple[Any, ...], Execution] = {}
        self._pipelines: dict[tuple[Any, ...], tuple[RuleVersion, Pipeline]] = {}
        self.deltas: dict[tuple[str, View], Stored] = {}  # what views of changes read while an update is under way
        self.own: frozenset[str] = frozenset()  # the relations of the stratum under way
        self.arranging = 0.0  # seconds that went into indexes of whole relations
        self.iteration = 0
        self._stratum: Sequence[Stored] = ()
        for relation, rows in self.encoded_facts(program.facts).items():
            self.insert(relation, rows.reshape(-1), len(rows))

    def take_program(self, program: Program) -> None:
        """The tables of another program: relations that it has too stay as they are, others are empty or go."""
        relations = program.relations
        tables = {
            name: self.stored.get(name) or Stored(Table(self.kernel, relation.arity, self.counts))
            for name, relation in relations.items()
        }
        with uninterrupted:
            self.program = program
            self.values.types = {**self.values.types, **program.types}  # what is gone may yet be read in an impact
            self.stored = tables
            self.vectors = {name: vectors for name, vectors in self.vectors.items() if name in relations}
            self._make_vectors()
            self.forget_executions()
            self._pipelines.clear()

    def _make_vectors(self) -> None:
        for name in dict.fromkeys(rule.head.relation for rule in self.program.rules) if self._dense else ():
            self.vectors.setdefault(name, Vectors(self.kernel, self.program.relations[name].arity))

    # Input

    def insert(self, relation: str, rows: Words, count: int) -> None:
        """Input tuples, encoded, one after the other in `rows`: iteration 0, one derivation each."""
        stored = self.stored[relation]
        table = stored.table
        table.insert(rows, count, fresh=len(table) + count)  # a tuple given twice is still one
        if len(table) and not stored.marks:
            stored.marks.append((0, 0))
        stored.stop = len(table)

    def encode(self, relation: str, tuples: Sequence[tuple[Value, ...]]) -> Words:
        """Tuples of Python values, each with as many as the relation has columns, one after the other."""
        columns = self.program.relations[relation].columns
        rows = np.empty((len(tuples), len(columns)), np.int64)
        for i, column in enumerate(columns):
            rows[:, i] = self.values.encode([t[i] for t in tuples], column.type, column.kind)
        return rows.reshape(-1)

    def encoded_facts(self, facts: Sequence[Fact]) -> dict[str, Rows]:
        """Facts of a program's text, by relation; one may come twice."""
        plain: dict[str, list[tuple[Value, ...]]] = {}
        computed: dict[str, list[Rows]] = {}
        for fact in facts:
            if any(map(_calls, fact.atom.args)):
                computed.setdefault(fact.atom.relation, []).append(self._computed_fact(fact))
            else:
                plain.setdefault(fact.atom.relation, []).append(tuple(map(_value, fact.atom.args)))
        for relation, tuples in plain.items():
            rows = self.encode(relation, tuples).reshape(len(tuples), -1)
            computed.setdefault(relation, []).append(rows)
        return {relation: np.concatenate(parts) for relation, parts in computed.items()}

    def _computed_fact(self, fact: Fact) -> Rows:
        rule = Rule(fact.atom, (), fact.origin, atom_text(fact.atom) + ".")
        execution = Execution(assemble(primitives([Project(fact.atom.args)]), None, True), self)
        try:
            return np.concatenate([buffer.matrix(count).copy() for buffer, count in execution.results()])
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
        self.own = frozenset(stratum.relations)
        self._stratum = [self.stored[name] for name in stratum.relations]
        for stored in self._stratum:
            stored.old, stored.stop = 0, len(stored.table)

    def derive(self, version: RuleVersion) -> None:
        """Evaluate a version into the tuples of the iteration that is under way."""
        stored = self.stored[version.rule.head.relation]
        vectors = self.vectors.get(version.rule.head.relation)
        insert, fresh = stored.table.insert_from, stored.stop
        for buffer, count in self.emitted(version):
            insert(buffer.address, count, fresh, buffer.weights_address)
            if vectors is not None:
                weights = buffer.weights[:count] if buffer.weights_address else None
                vectors.count(buffer.rows, count, self.iteration + 1, weights)

    def emitted(self, version: RuleVersion) -> Iterator[tuple[Buffer, int]]:
        """What a planned version emits, buffer by buffer."""
        key = (id(version.rule), version.views, version.order)
        execution = self._executions.get(key)
        if execution is None:
            if key not in self._pipelines:  # with the version, so that nothing else gets its rule's number
                self._pipelines[key] = version, assemble(primitives(version.steps), None, self.counts)
            execution = self._executions[key] = Execution(self._pipelines[key][1], self)
        try:
            yield from execution.results()
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
        self.forget_executions()

    def forget_executions(self) -> None:
        """What was made ready for tables that are no longer there."""
        self._executions.clear()

    # Views

    def holding(self, relation: str, view: View) -> Stored:
        """Where the tuples of a view are."""
        delta = self.deltas.get((relation, view)) if view in HELD_APART else None
        return self.stored[relation] if delta is None else delta

    def mask(self, relation: str, view: View) -> tuple[int, int, int]:
        """What of a row's stamp a view asks for: mask, value, and whether it has to be that value."""
        if not self.holding(relation, view).table.stamped:
            return 0, 0, 1
        if view is View.KEPT:
            return (NOW | CHANGED, NOW, 1) if relation in self.own else (BEFORE | NOW, BEFORE | NOW, 1)
        if view is View.EITHER:
            return BEFORE | NOW, 0, 0
        return (BEFORE, BEFORE, 1) if view is View.BEFORE else (NOW, NOW, 1)

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
        stored = self.holding(relation, view)
        if view is View.NEW:
            return stored.stop - stored.old
        return stored.old if view is View.OLD else stored.live if stored.table.stamped else stored.stop

    def distinct(self, relation: str, columns: tuple[int, ...]) -> float:
        """The number of keys: that of an index where there is one, else judged by a sample."""
        stored = self.stored.get(relation)
        if stored is None:  # a set of keys, which is read whole or looked up in
            return self.size(relation, View.CAUSE if (relation, View.CAUSE) in self.deltas else View.MISSING)
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
        return self.stored[relation].size

    def nbytes(self, relation: str) -> int:
        vectors = self.vectors.get(relation)
        return self.stored[relation].table.nbytes + (vectors.table.nbytes if vectors else 0)

    def encoded(self, relation: str) -> Iterator[tuple[Rows, Words, Words]]:
        """Blocks of rows with their iterations and counts; not to be kept while the table grows."""
        stored = self.stored[relation]
        table, iterations = stored.table, stored.iterations
        for start in range(0, len(table), BLOCK):
            block = slice(start, start + BLOCK)
            rows, numbers, counts = table.rows[block], iterations[block], table.counts[block].astype(np.int64)
            if table.stamped and stored.live < len(table):
                there = (table.stamps[block] & NOW) != 0
                rows, numbers, counts = rows[there], numbers[there], counts[there]
            yield rows, numbers, counts

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
        table = self.stored[relation].table
        found = int(table.locate(codes, 1)[0])
        return found >= 0 and (not table.stamped or bool(table.stamps[found] & NOW))

    def to_arrow(self, relation: str, annotated: bool) -> Any:
        from .arrow import table_of

        return table_of(self, self.program.relations[relation], annotated)

    def to_spark(self, relation: str, annotated: bool) -> Any:
        """On the Spark session that is running, or a new one."""
        from whence.engines.spark.transfer import natural_frame

        return natural_frame(self, self.program.relations[relation], annotated)

    def forget(self, relation: str) -> None:
        """Empties a relation."""
        arity = self.program.relations[relation].arity
        self.stored[relation] = Stored(Table(self.kernel, arity, self.counts))
        if relation in self.vectors:
            self.vectors[relation] = Vectors(self.kernel, arity)

    def drop_derived(self) -> None:
        """Back to the input, wherever an evaluation stopped."""
        self._executions.clear()
        self.deltas.clear()
        for name, stored in list(self.stored.items()):
            table, given = stored.table, stored.given
            stored.old, stored.stop = 0, len(given)
            if len(given) == len(table) and not table.stamped and name not in self.vectors:
                table.indexes.clear()  # one may have been growing
            else:
                self.forget(name)
                self.insert(name, given.reshape(-1).copy(), len(given))

    def restore(self, relation: str, rows: Words, count: int, iterations: Words, counts: Words) -> None:
        """Tuples of an earlier evaluation, each once, with their iterations and counts."""
        stored = self.stored[relation]
        table = stored.table
        before = stored.stamps
        table.insert(rows, count, weights=counts)
        table.stamp(np.concatenate([before, (iterations | NOW | BEFORE).astype(np.int32)]))
        stored.live = stored.stop = len(table)


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
