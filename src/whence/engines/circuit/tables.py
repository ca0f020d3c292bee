"""The relations of a session on the circuit engine: its input, and what the interpreter has made of it.

How values are encoded, read and written is the local engine's; its tables hold the input until the session is run. What
is evaluated, and where results are, is the interpreter's alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from whence.circuit.interpreter import Interpreter
from whence.circuit.trace import Trace
from whence.circuit.zset import ZSet
from whence.engines.local.kernel.layout import BEFORE, NOW
from whence.engines.local.table import Rows, Table, Words
from whence.engines.local.tables import LocalTables, Stored
from whence.engines.local.values import EncodedTuples, Value, ValueMismatch, Values
from whence.lang.program import Program

if TYPE_CHECKING:
    from whence.plan import View

UNANNOTATED = (
    "the circuit engine keeps no iterations and no numbers of derivations: open the session with engine='local'"
)


class CircuitTables(LocalTables):
    """Before a run, tables of the local engine that hold the input; after it, what the interpreter holds."""

    missing = UNANNOTATED

    def __init__(self, program: Program, warn: Any, announce: Any) -> None:
        self.interpreter: Interpreter | None = None
        self.inputs: dict[str, Trace] = {}  # once the session is run
        super().__init__(program, False, warn, announce)

    def show(self, interpreter: Interpreter) -> None:
        """From now on results are the interpreter's."""
        self.inputs = {}
        for name, relation in self.program.relations.items():
            self.inputs[name] = Trace(relation.arity)
            self.inputs[name].add(ZSet.from_array(self.stored[name].table.rows.copy()))
        self.interpreter = interpreter

    def drop_derived(self) -> None:
        self.interpreter = None
        inputs, self.inputs = self.inputs, {}
        for name, trace in inputs.items():
            rows = trace.contents[0]
            self.forget(name)
            self.insert(name, np.ascontiguousarray(rows).reshape(-1), len(rows))

    def become(self, program: Program) -> None:
        """The relations and types are those of another program from now on."""
        for name in self.program.relations.keys() - program.relations.keys():
            self.inputs.pop(name, None)
            self.stored.pop(name, None)
        self.program = program
        self.values = Values(program.types, self.symbols, self.records)
        for name, relation in program.relations.items():
            if name not in self.inputs:
                self.inputs[name] = Trace(relation.arity)
                self.stored[name] = Stored(Table(self.kernel, relation.arity, False))

    def change(self, changes: Mapping[str, ZSet]) -> None:
        """Changes the input."""
        for name, change in changes.items():
            self.inputs[name].add(change)

    def whole_input(self) -> dict[str, ZSet]:
        return {name: trace.zset() for name, trace in self.inputs.items() if len(trace)}

    def present(self, relation: str) -> Rows:
        """The tuples that there are now."""
        if self.interpreter is None:
            return self.stored[relation].rows
        return self.interpreter.present(relation, self.program.relations[relation].arity)

    def complete(self) -> None:
        """Makes `stored` of what there is now, for what reads and writes files."""
        if self.interpreter is None:
            return
        for name, relation in self.program.relations.items():
            table = Table(self.kernel, relation.arity, False)
            table.append(self.present(name))
            self.stored[name] = Stored(table, stop=len(table))

    # What a change is checked against

    def holding(self, relation: str, view: View | Rows) -> Stored:
        """Where some rows are, with stamps that say which are input and which are derived."""
        if not isinstance(view, np.ndarray):
            return super().holding(relation, view)
        table = Table(self.kernel, self.program.relations[relation].arity, False)
        table.insert(np.ascontiguousarray(view).reshape(-1), len(view))
        assert self.interpreter is not None
        given, there = self.inputs[relation].weights_of(table.rows) > 0, self.interpreter.has(relation, table.rows)
        table.stamp(np.where(given, NOW | BEFORE, np.where(there, NOW | BEFORE | 1, 0)).astype(np.int32))
        return Stored(table, stop=len(table), live=len(table))

    def has_input(self, relation: str) -> bool:
        return len(self.inputs[relation]) > 0

    def given(self, relation: str) -> Rows:
        return self.inputs[relation].contents[0]

    # Results

    def rows(self, relation: str) -> int:
        return len(self.present(relation))

    def size(self, relation: str, view: View) -> float:
        return self.rows(relation)

    def distinct(self, relation: str, columns: tuple[int, ...]) -> float:
        return len(np.unique(self.present(relation)[:, list(columns)], axis=0)) if columns else 1.0

    def nbytes(self, relation: str) -> int:
        return self.stored[relation].table.nbytes if self.interpreter is None else self.interpreter.nbytes(relation)

    def encoded(self, relation: str) -> Iterator[tuple[Rows, Words, Words]]:
        rows = self.present(relation)
        nothing = np.zeros(len(rows), np.int64)
        yield rows, nothing, nothing

    def has(self, relation: str, row: tuple[Value, ...]) -> bool:
        if self.interpreter is None:
            return super().has(relation, row)
        codes = np.empty(len(row), np.int64)
        for i, (value, column) in enumerate(zip(row, self.program.relations[relation].columns, strict=True)):
            if isinstance(value, str) and column.kind == "symbol" and self.symbols.find(value) is None:
                return False
            try:
                codes[i] = self.values.encode([value], column.type, column.kind)[0]
            except ValueMismatch:
                return False
        return bool(self.interpreter.has(relation, codes.reshape(1, -1))[0])

    def to_arrow(self, relation: str, annotated: bool) -> Any:
        self.complete()
        return super().to_arrow(relation, annotated)

    def to_spark(self, relation: str, annotated: bool) -> Any:
        self.complete()
        return super().to_spark(relation, annotated)

    def tuples(self, relation: str, rows: Rows) -> EncodedTuples:
        """Rows as the tuples that users see."""
        return EncodedTuples(self.values, self.program.relations[relation].columns, rows)
