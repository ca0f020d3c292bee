"""The circuit engine behind a session: a second, independent evaluator, in which rules come and go as facts do."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, NoReturn

from whence.circuit.interpreter import Encoding, Interpreter
from whence.circuit.interpreter.lowering import Lowering, Part
from whence.circuit.zset import ZSet
from whence.engines.local import loading
from whence.engines.local.changing import Sources, inputs_of
from whence.engines.local.directives import read_input, write_outputs
from whence.engines.local.revision import Input
from whence.errors import WhenceError
from whence.interrupts import hold
from whence.lang.program import Program
from whence.maintain import Impact, Policy
from whence.maintain.impact import Tuples
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
        before, after = self.program, program or self.program
        if after is not before:
            self._check_facts(before, after)
            self.tables.become(after)
        try:
            inputs, ignored = inputs_of(insert, delete, self.tables, policy.lenient, self.tables)
        except BaseException:
            self.tables.become(before)
            raise
        impact = self._epoch(inputs, before, after)
        self._changes.append((inputs, before))
        return Impact(0, "update", impact.seconds, (), impact.inserted, impact.deleted, ignored)

    def undo(self, policy: Policy, progress: Progress | None) -> Impact:
        changes, program = self._changes[-1]
        inputs = {name: Input(given.deleted, given.inserted) for name, given in changes.items()}
        impact = self._epoch(inputs, self.program, program)
        self._changes.pop()
        return impact

    def _epoch(self, inputs: dict[str, Input], before: Program, after: Program) -> Impact:
        started = perf_counter()
        try:
            parts = self._parts if after is before else self._lowering.parts(after)
            changed = {part: parts.get(part, 0) - self._parts.get(part, 0) for part in {**self._parts, **parts}}
            changes = {name: change_of(given) for name, given in inputs.items()}
            derived = self._step({part: weight for part, weight in changed.items() if weight}, changes)
        except BaseException:
            hold()
            self._back(before)
            raise
        hold()
        self.tables.change(changes)
        self._parts, self.program = parts, after
        known = {**before.relations, **after.relations}
        self.tables.become(after)
        came: dict[str, Tuples] = {}
        went: dict[str, Tuples] = {}
        for name, change in derived.items():
            if name in known:
                for found, weight in ((came, 1), (went, -1)):
                    rows = change.rows[change.weights == weight]
                    if len(rows) and name in after.relations:
                        found[name] = self.tables.tuples(name, rows)
        return Impact(0, "update", perf_counter() - started, (), came, went)

    def _back(self, before: Program) -> None:
        """The epoch before, in a new circuit: a tick that was broken off leaves the old one anywhere."""
        self.tables.become(before)
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

    def _check_facts(self, before: Program, after: Program) -> None:
        """Rules change as they are; facts in the text of a program are changed as facts."""
        if [fact.atom for fact in before.facts] != [fact.atom for fact in after.facts]:
            raise WhenceError("the programs differ in their facts: change these with insert= and delete=")

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


def change_of(given: Input) -> ZSet:
    return ZSet.from_array(given.inserted) - ZSet.from_array(given.deleted)


def _unannotated() -> NoReturn:
    raise WhenceError(UNANNOTATED)
