"""The local engine behind a session: everything in this process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whence.lang.program import Program
from whence.maintain import bootstrap
from whence.tables import Progress

from . import loading
from .directives import read_input, write_outputs
from .restoring import restore
from .tables import LocalTables

if TYPE_CHECKING:
    from whence.store import Store, Writer


class LocalEngine:
    def __init__(
        self,
        program: Program,
        counts: bool,
        warn: Callable[[str], None],
        announce: Callable[[str], None] | None,
    ) -> None:
        self.program = program
        self.tables = LocalTables(program, counts, warn, announce)
        self.bad_rows: dict[str, int] = {}  # none: a row that does not fit is an error

    def load(self, relation: str, source: Any) -> None:
        loading.load(self.program.relations[relation], source, self.tables)

    def read_inputs(self, folder: Path) -> None:
        for directive in self.program.directives_of("input"):
            read_input(directive, folder, self.tables)

    def run(self, progress: Progress | None) -> None:
        bootstrap(self.program, self.tables, progress)

    def drop_derived(self) -> None:
        self.tables.drop_derived()

    def on_tick(self, tick: Callable[[], None]) -> None:
        self.tables.tick = tick

    def write_outputs(self, folder: Path) -> None:
        write_outputs(self.program.directives, folder, self.tables, self.tables.rows)

    def store(self, relation: str, writer: Writer) -> None:
        writer.write(relation, self.tables.to_arrow(relation, annotated=True))

    def restore(self, relation: str, store: Store, epoch: int) -> None:
        restore(self.tables, self.program.relations[relation], store.batches(relation, epoch))

    def close(self) -> None:
        """Nothing is held but memory."""
