"""The local engine behind a session: everything in this process."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, Protocol

from whence.interrupts import hold
from whence.lang.program import Program
from whence.maintain import Controller, Impact, Policy, bootstrap
from whence.maintain.transition import Transition, transition
from whence.plan import View
from whence.tables import Progress

from . import loading
from .changed import Changed, changed
from .changing import LocalState, Sources, inputs_of, with_program
from .directives import read_input, write_outputs
from .revision import Input, LocalRevision
from .tables import LocalTables
from .trying import Differences, differences_of
from .values import EncodedTuples

if TYPE_CHECKING:
    from whence.store import Store, Writer


KEPT = 1 << 20  # tuples of an impact that are kept for questions about it


class LocalEngine:
    def __init__(
        self,
        program: Program,
        counts: bool,
        warn: Callable[[str], None],
        announce: Callable[[str], None] | None,
        dense: bool = False,
        tables: LocalTables | None = None,
    ) -> None:
        """On tables of its own, unless some are given."""
        self.program = program
        self.tables = tables or LocalTables(program, counts, warn, announce, dense)
        self.controller = Controller(program)
        self._changes: list[tuple[dict[str, Input], Program]] = []  # and the program before, to be taken back
        self._keeps_changes = False
        self._changed: dict[str, Changed] = {}  # by the last update
        self._differences: Differences | None = None  # what the last update brought, if that is not too much to keep
        self.bad_rows: dict[str, int] = {}  # none: a row that does not fit is an error

    def load(self, relation: str, source: Any) -> None:
        self.tables.insert(relation, *loading.encoded(self.program.relations[relation], source, self.tables))

    def read_inputs(self, folder: Path) -> None:
        for directive in self.program.directives_of("input"):
            read_input(directive, folder, self.tables)

    def run(self, progress: Progress | None) -> None:
        self.controller.bootstrapped(bootstrap(self.program, self.tables, progress))
        self._changes.clear()
        self._differences = None

    def update(
        self,
        insert: Sources,
        delete: Sources,
        policy: Policy,
        progress: Progress | None,
        program: Program | None = None,
    ) -> Impact:
        """A new epoch; if it fails or is interrupted, the one before is the current one."""
        before = self.program
        with through(self, program or before) as change:
            inputs, ignored = inputs_of(insert, delete, self.tables, policy.lenient)
            if change is not None:
                inputs = with_program(inputs, change, self.tables, LocalState(self.tables))
            impact = self._revise(inputs, change, policy, progress)
        self._changes.append((inputs, before))
        return replace(impact, ignored=ignored)

    def undo(self, policy: Policy, progress: Progress | None) -> Impact:
        changes, program = self._changes[-1]
        with through(self, program) as change:
            inputs = {name: Input(given.deleted, given.inserted) for name, given in changes.items()}
            impact = self._revise(inputs, change, policy, progress)
        self._changes.pop()
        self._differences = None  # of an update before, nothing is known
        return impact

    def _revise(
        self, inputs: dict[str, Input], change: Transition | None, policy: Policy, progress: Progress | None
    ) -> Impact:
        revision = LocalRevision(self.tables, inputs, change)

        def note_changes() -> None:
            self._changed = changed(revision) if self._keeps_changes else {}

        impact = revised(revision, self.controller, policy, progress, note_changes)
        self._differences = differences_of(revision, KEPT)
        return impact

    def changes(self, updates: int) -> tuple[list[dict[str, Input]], Program, Differences | None]:
        """What the last updates changed in the input, the program before them, and what came of the change where it is
        one and that was kept."""
        made = self._changes[len(self._changes) - updates :]
        return [inputs for inputs, _ in made], made[0][1], self._differences if updates == 1 else None

    def drop_derived(self) -> None:
        self.tables.drop_derived()

    def on_tick(self, tick: Callable[[], None]) -> None:
        self.tables.tick = tick

    def write_outputs(self, folder: Path) -> None:
        write_outputs(self.program.directives, folder, self.tables, self.tables.rows)

    def store(self, relation: str, writer: Writer) -> None:
        writer.write(relation, self.tables.to_arrow(relation, annotated=True))

    def keep_changes(self) -> None:
        """From now on, what an update changes is to be stored."""
        self._keeps_changes = True

    def changed_relations(self) -> tuple[str, ...]:
        """The relations that are not stored as they are now if they are stored as they were before the last update."""
        return tuple(self._changed)

    def store_changes(self, relation: str, writer: Writer) -> None:
        self._changed[relation].write(self.tables, self.program.relations[relation], writer)

    def restore(self, relation: str, store: Store, epoch: int) -> None:
        from .restoring import restore

        restore(self.tables, self.program.relations[relation], store.batches(relation, epoch))

    def learned(self) -> dict[str, Any]:
        """What the elastic controller knows by now, for a state that is kept."""
        return self.controller.to_json()

    def remember(self, learned: Mapping[str, Any]) -> None:
        self.controller.remember(learned)

    def close(self) -> None:
        """Nothing is held but memory."""


class Programmed(Protocol):
    """What has a program, and goes on with another."""

    program: Program
    controller: Controller

    @property
    def tables(self) -> Relations: ...


class Relations(Protocol):
    def take_program(self, program: Program) -> None: ...


@contextmanager
def through(engine: Programmed, program: Program) -> Iterator[Transition | None]:
    """While an epoch is made, there are the relations of both programs; then those of the new one, or of the old one
    if the epoch is not made. Nothing is to be done if the program stays."""
    if program is engine.program:
        yield None
        return
    before, controller = engine.program, engine.controller
    change = transition(before, program)
    try:
        engine.tables.take_program(change.program)
        engine.controller = controller.through(change)
        yield change
    except BaseException:
        hold()
        engine.tables.take_program(before)
        engine.controller = controller
        raise
    engine.tables.take_program(program)
    engine.program, engine.controller = program, engine.controller.of(program)


def revised(
    revision: LocalRevision,
    controller: Controller,
    policy: Policy,
    progress: Progress | None,
    note_changes: Callable[[], None],
) -> Impact:
    """Makes a revision the current epoch, or leaves the one before. Changes are noted while both are there."""
    started = perf_counter()
    try:
        strata = controller.revise(revision, policy, progress)
        came, went = _differences(revision, View.GAINED), _differences(revision, View.LOST)
        note_changes()
    except BaseException:
        hold()
        revision.abandon()
        raise
    hold()
    revision.commit()
    used = {report.strategy for report in strata}
    strategy = used.pop() if len(used) == 1 else "mixed" if used else "update"
    if revision.dense and strategy == "update":
        strategy = "dense"
    return Impact(0, strategy, perf_counter() - started, strata, came, went)


def _differences(revision: LocalRevision, view: View) -> dict[str, EncodedTuples]:
    tables = revision.tables
    found = {name: revision.rows_of(name, view) for name in tables.program.relations}
    return {
        name: EncodedTuples(tables.values, tables.program.relations[name].columns, rows)
        for name, rows in found.items()
        if len(rows)
    }
