"""The Spark engine behind a session: sources, tables and sinks on Spark, small things in this process."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame

from whence.engines.local import loading
from whence.engines.local.changed import Changed, changed
from whence.engines.local.changing import Sources, inputs_of, with_program
from whence.engines.local.directives import read_input as read_here
from whence.engines.local.directives import write_outputs as write_here
from whence.engines.local.engine import revised, through
from whence.engines.local.forms import filename_of, form_of, is_text
from whence.engines.local.restoring import restore
from whence.engines.local.revision import Input
from whence.errors import WhenceError
from whence.lang.program import Directive, Program
from whence.maintain import Controller, Impact, Policy, bootstrap
from whence.maintain.transition import Transition
from whence.store import Store, Writer
from whence.tables import Lost, Progress

from . import sinks, sources
from .cluster import Cluster
from .failures import told
from .folders import staging
from .options import Options
from .paths import URI, is_pattern
from .restoring import restored
from .revision import SparkRevision, SparkState
from .tables import SparkTables

SMALL = {"file": 1 << 25, "jsonlines": 1 << 24, "parquet": 1 << 23}  # bytes of a file that is read here, by its form


class SparkEngine:
    def __init__(
        self,
        program: Program,
        cluster: Cluster,
        options: Options,
        warn: Callable[[str], None],
        announce: Callable[[str], None] | None,
    ) -> None:
        self.program = program
        self.cluster = cluster
        self.options = options
        self.warn = warn
        self.tables = SparkTables(program, cluster, options, warn, announce)
        self.controller = Controller(program)
        self._changes: list[tuple[dict[str, Input], Program]] = []  # and the program before, to be taken back
        self._keeps_changes = False
        self._changed: dict[str, Changed] = {}  # by the last update, where that is to be stored
        self._rewritten: frozenset[str] = frozenset()  # by it, on Spark: these are stored whole
        self._read_before: set[str] = set()  # relations, whose quarantine is added to
        self.bad_rows: dict[str, int] = {}  # by relation: those that were left out

    def load(self, relation: str, source: Any) -> None:
        declared = self.program.relations[relation]
        if isinstance(source, DataFrame):
            given = sources.from_frame(source, declared, self.program, self.options.bad_rows, self.options.quarantine)
            self._give(relation, given)
        elif isinstance(source, str | os.PathLike):
            path = str(source) if URI.match(str(source)) else os.path.abspath(source)
            self._read(Directive("input", relation, {"filename": str(path)}, declared.origin), Path())
        else:
            self.tables.local.insert(relation, *loading.encoded(declared, source, self.tables.local))

    def read_inputs(self, folder: Path) -> None:
        for directive in self.program.directives_of("input"):
            self._read(directive, folder)

    def _read(self, directive: Directive, folder: Path) -> None:
        if self.options.bad_rows == "fail" and _is_small(directive, folder):
            read_here(directive, folder, self.tables.local)
            return
        relation = self.program.relations[directive.relation]
        given = sources.read_input(
            directive,
            relation,
            self.program,
            folder,
            self.cluster.session(),
            self.options.bad_rows,
            self.options.quarantine,
            append=relation.name in self._read_before,
        )
        self._read_before.add(relation.name)
        self._give(relation.name, given)

    def _give(self, relation: str, given: sources.Given) -> None:
        if given.bad:
            self.bad_rows[relation] = self.bad_rows.get(relation, 0) + given.bad
            done = "left out" if self.options.bad_rows == "skip" else f"put into {self.options.quarantine}"
            told = "1 row that does not fit was" if given.bad == 1 else f"{given.bad:,} rows that do not fit were"
            self.warn(f"{relation}: {told} {done}")
        self.tables.give(relation, given.frame, given.rows)

    def run(self, progress: Progress | None) -> None:
        self.tables.settle()
        self.controller.bootstrapped(bootstrap(self.program, self.tables, progress))
        self._changes.clear()

    def update(
        self,
        insert: Sources,
        delete: Sources,
        policy: Policy,
        progress: Progress | None,
        program: Program | None = None,
    ) -> Impact:
        """A new epoch; if it fails or is interrupted, the one before is the current one."""
        before, state = self.program, SparkState(self.tables)
        with through(self, program or before) as change:
            inputs, ignored = inputs_of(insert, delete, self.tables.local, policy.lenient, state)
            if change is not None:
                inputs = with_program(inputs, change, self.tables.local, state)
            impact = self._revise(inputs, change, policy, progress)
        self._changes.append((inputs, before))
        return replace(impact, ignored=ignored)

    def undo(self, policy: Policy, progress: Progress | None) -> Impact:
        changes, program = self._changes[-1]
        with through(self, program) as change:
            inputs = {name: Input(given.deleted, given.inserted) for name, given in changes.items()}
            impact = self._revise(inputs, change, policy, progress)
        self._changes.pop()
        return impact

    def _revise(
        self, inputs: dict[str, Input], change: Transition | None, policy: Policy, progress: Progress | None
    ) -> Impact:
        revision = SparkRevision(self.tables, inputs, change)

        def note_changes() -> None:
            self._changed = changed(revision) if self._keeps_changes else {}
            self._rewritten = revision.rewritten

        try:
            return revised(revision, self.controller, policy, progress, note_changes)
        except Lost as lost:
            raise WhenceError(
                "executors took part of the state with them: run the session again, or open the state that was saved"
            ) from lost

    def drop_derived(self) -> None:
        self.tables.drop_derived()

    def on_tick(self, tick: Callable[[], None]) -> None:
        self.tables.local.tick = tick

    def write_outputs(self, folder: Path) -> None:
        """Files and folders take their places when all outputs are written; what is printed comes last."""
        on_spark, here = [], []
        for directive in self.program.directives:
            if directive.kind == "output" and not self._is_written_here(directive):
                on_spark.append(directive)
            elif directive.kind == "output":
                here.append(directive)
                self.tables.here(directive.relation)
            elif directive.kind == "printsize":
                here.append(directive)
        on_spark.sort(key=sinks.staged_first)
        with staging() as staged:
            for directive in on_spark:
                relation = self.program.relations[directive.relation]
                frame = self.tables.frame(relation.name).frame
                sinks.write_output(directive, relation, self.program, frame, folder, staged)
            write_here(here, folder, self.tables.local, self.tables.rows)

    def _is_written_here(self, directive: Directive) -> bool:
        return is_text(directive) and (
            self.tables.lives_here(directive.relation)
            or self.tables.rows(directive.relation) <= self.options.driver_rows
        )

    def store(self, relation: str, writer: Writer) -> None:
        if self.tables.lives_here(relation):
            writer.write(relation, self.tables.to_arrow(relation, annotated=True))
            return
        frame = self.tables.to_spark(relation, annotated=True).toDF(*writer.schemas[relation].fields)
        with told():
            frame.write.parquet(str(writer.staging(relation)))
        writer.adopt(relation)

    def restore(self, relation: str, store: Store, epoch: int) -> None:
        """Small relations come here, as large input stays on Spark."""
        stored, declared = store.relation(relation, epoch), self.program.relations[relation]
        if stored.rows <= self.options.driver_rows and self.options.placement in (None, "driver"):
            restore(self.tables.local, declared, store.batches(relation, epoch))
            return
        with told():
            frame = restored(self.tables.spark, declared, stored.schema, store.layers(relation, epoch))
            self.tables.restore(relation, frame, stored.rows)

    def keep_changes(self) -> None:
        """From now on, what an update changes is to be stored."""
        self._keeps_changes = True

    def changed_relations(self) -> tuple[str, ...]:
        return (*self._changed, *self._rewritten)

    def store_changes(self, relation: str, writer: Writer) -> None:
        if relation in self._rewritten:
            self.store(relation, writer)
        else:
            self._changed[relation].write(self.tables.local, self.program.relations[relation], writer)

    def learned(self) -> dict[str, Any]:
        """What the elastic controller knows by now, for a state that is kept."""
        return self.controller.to_json()

    def remember(self, learned: Mapping[str, Any]) -> None:
        self.controller.remember(learned)

    def close(self) -> None:
        self.tables.close()
        self.cluster.stop()


def _is_small(directive: Directive, folder: Path) -> bool:
    """Whether it is a file on this machine's disk, or standard input, that is not worth a job."""
    if directive.parameters.get("IO") == "stdin":
        return True
    form, name = form_of(directive), filename_of(directive)
    if form not in SMALL or URI.match(name) or URI.match(str(folder)):
        return False
    path = folder / name
    if not path.exists():
        return not is_pattern(path)  # to be told at once that it is missing
    return path.is_file() and path.stat().st_size <= SMALL[form]
