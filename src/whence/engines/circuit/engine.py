"""The circuit engine behind a session: a second, independent evaluator, in which rules come and go as facts do."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, NoReturn

from whence.circuit.interpreter import Encoding, Interpreter
from whence.circuit.interpreter.lowering import Lowering, Part
from whence.circuit.zset import ZSet
from whence.engines.local import loading
from whence.engines.local.changing import Sources, inputs_of, with_program
from whence.engines.local.directives import read_input, write_outputs
from whence.engines.local.revision import Input
from whence.errors import WhenceError
from whence.interrupts import hold
from whence.lang.program import Program
from whence.maintain import Impact, Policy
from whence.maintain.impact import Tuples
from whence.maintain.transition import Transition, transition
from whence.tables import Progress

from .tables import UNANNOTATED, CircuitTables

if TYPE_CHECKING:
    from whence.store import Store, Writer

Parts = dict[tuple[Part, int], int]


class CircuitEngine:
    """Every epoch is one tick of the circuit. If a tick fails, the circuit is made anew from the input."""

    def __init__(
        self,
        program: Program,
        warn: Callable[[str], None],
        announce: Callable[[str], None] | None,
        indexed: bool = True,
    ) -> None:
        _check(program)
        self.program = program
        self.indexed = indexed
        self.tables = CircuitTables(program, warn, announce)
        self.bad_rows: dict[str, int] = {}
        self._lowering = Lowering()
        self._parts: Parts = {}
        self._changes: list[tuple[dict[str, Input], Program]] = []  # and the program before, to be taken back

    def load(self, relation: str, source: Any) -> None:
        self.tables.insert(relation, *loading.encoded(self.program.relations[relation], source, self.tables))

    def read_inputs(self, folder: Path) -> None:
        for directive in self.program.directives_of("input"):
            read_input(directive, folder, self.tables)

    def run(self, progress: Progress | None) -> None:
        self.tables.show(self._interpreter())
        self._parts = self._lowering.parts(self.program)
        self._changes.clear()
        self._step(self._parts, self.tables.whole_input())

    def update(
        self,
        insert: Sources,
        delete: Sources,
        policy: Policy,
        progress: Progress | None,
        program: Program | None = None,
    ) -> Impact:
        """A new epoch, of facts or of rules or of both; if it fails, the one before is the current one."""
        if policy.strategy == "bootstrap":
            raise WhenceError("the circuit engine has one strategy, update: leave `strategy` out")
        before = self.program
        with self._through(program or before) as change:
            inputs, ignored = inputs_of(insert, delete, self.tables, policy.lenient, self.tables)
            if change is not None:
                inputs = with_program(inputs, change, self.tables, self.tables)
            impact = self._epoch(inputs, program or before)
        self._changes.append((inputs, before))
        return replace(impact, ignored=ignored)

    def undo(self, policy: Policy, progress: Progress | None) -> Impact:
        changes, program = self._changes[-1]
        with self._through(program):
            inputs = {name: Input(given.deleted, given.inserted) for name, given in changes.items()}
            impact = self._epoch(inputs, program)
        self._changes.pop()
        return impact

    @contextmanager
    def _through(self, program: Program) -> Iterator[Transition | None]:
        """While an epoch is made, there are the relations of the program before and after; then those of one of
        them."""
        before = self.program
        if program is before:
            yield None
            return
        _check(program)
        change = transition(before, program)
        self.tables.become(change.program)
        try:
            yield change
        except BaseException:
            hold()
            self.tables.become(before)
            raise
        self.tables.become(program)
        self.program = program
        assert self.tables.interpreter is not None
        for relation in change.going:
            self.tables.interpreter.forget(relation.name)

    def _epoch(self, inputs: dict[str, Input], program: Program) -> Impact:
        """One tick of the circuit."""
        started = perf_counter()
        parts = self._parts if program is self.program else self._lowering.parts(program)
        changed = {part: parts.get(part, 0) - self._parts.get(part, 0) for part in {**self._parts, **parts}}
        changes = {
            name: ZSet.from_array(given.inserted) - ZSet.from_array(given.deleted) for name, given in inputs.items()
        }
        try:
            derived = self._step({part: weight for part, weight in changed.items() if weight}, changes)
        except BaseException:
            hold()
            self._make_anew()
            raise
        hold()
        self.tables.change(changes)
        self._parts = parts
        came: dict[str, Tuples] = {}
        went: dict[str, Tuples] = {}
        for name in self.tables.program.relations:
            change = derived.get(name, ZSet(0))
            for found, weight in ((came, 1), (went, -1)):
                rows = change.rows[change.weights == weight]
                if len(rows):
                    found[name] = self.tables.tuples(name, rows)
        return Impact(0, "update", perf_counter() - started, (), came, went)

    def _make_anew(self) -> None:
        """The epoch before in a new circuit: a tick that was broken off leaves the old one anywhere."""
        self.tables.interpreter = self._interpreter()
        self._step(self._parts, self.tables.whole_input())

    def _interpreter(self) -> Interpreter:
        tables = self.tables
        encoding = Encoding(tables.constant, tables.symbols, tables.records, tables.warn)
        interpreter = Interpreter(encoding, self.indexed)
        interpreter.on_tick(lambda: tables.tick())
        return interpreter

    def _step(self, parts: Mapping[tuple[Part, int], int], facts: Mapping[str, ZSet]) -> dict[str, ZSet]:
        assert self.tables.interpreter is not None
        return self.tables.interpreter.step(parts, facts)

    def drop_derived(self) -> None:
        self.tables.drop_derived()

    def on_tick(self, tick: Callable[[], None]) -> None:
        self.tables.tick = tick

    def write_outputs(self, folder: Path) -> None:
        self.tables.complete()
        write_outputs(self.program.directives, folder, self.tables, self.tables.rows)

    def store(self, relation: str, writer: Writer) -> None:
        _unannotated()

    def keep_changes(self) -> None:
        """Nothing is stored."""

    def changed_relations(self) -> tuple[str, ...]:
        return ()

    def store_changes(self, relation: str, writer: Writer) -> None:
        _unannotated()

    def restore(self, relation: str, store: Store, epoch: int) -> None:
        _unannotated()

    def learned(self) -> dict[str, Any]:
        return {}

    def remember(self, learned: Mapping[str, Any]) -> None:
        """There is nothing to be decided from it."""

    def close(self) -> None:
        """Nothing is held but memory."""


def _check(program: Program) -> None:
    for directive in program.directives_of("limitsize"):
        raise WhenceError(
            f"{directive.origin}: the circuit engine has no .limitsize: take it out, or use another engine"
        )


def _unannotated() -> NoReturn:
    raise WhenceError(UNANNOTATED)
