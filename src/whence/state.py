"""A session and the store that holds its state: an epoch is opened as it was committed, without evaluating again; a
change becomes the next one."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from whence.changes import Change
from whence.errors import WhenceError
from whence.history import program_changes, sizes_to_json
from whence.lang import Diagnostic, Program, compile_text
from whence.maintain.impact import Impact
from whence.saving import save
from whence.session import Session
from whence.session import open as open_session
from whence.store import Store
from whence.tables import Progress

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from whence.engines.spark.options import Options


def open_state(
    state: str | os.PathLike[str] | Store,
    epoch: int | None = None,
    *,
    engine: str = "local",
    spark: SparkSession | None = None,
    options: Options | None = None,
    warn: Callable[[Diagnostic | str], None] | None = None,
    announce: Callable[[str], None] | None = None,
) -> Session:
    """Opens a session on an epoch of a state, by default the last: all relations with iterations and counts.

    `state` is the folder of a store, or the store. The other parameters are those of `whence.open`.
    """
    store = state if isinstance(state, Store) else Store.open(state)
    described = store.epoch(epoch)
    uncounted = [name for name, stored in described.relations.items() if not stored.counted]
    if uncounted:
        missing = f"epoch {described.number} of the store {store.root} has no derivation counts of {uncounted[0]!r}"
        raise WhenceError(f"{missing}; evaluate the program again: whence run {described.file} --state …")

    def heard(message: Diagnostic | str) -> None:
        if warn is not None and isinstance(message, str):  # what the compiler warns of was told when the state was made
            warn(message)

    session = open_session(
        text=store.program_text(described.number),
        file=described.file,
        engine=engine,
        spark=spark,
        options=options,
        warn=heard,
        announce=announce,
    )
    try:
        session.restore(store, described.number)
    except BaseException:
        session.close()
        raise
    return session


@dataclass(frozen=True)
class Applied:
    """A change that was committed: the number of its epoch in the store, and what it did.

    `rules` are the texts of clauses and declarations that came and went.
    """

    epoch: int
    change: Change
    impact: Impact
    rules: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        sizes = {"change": sizes_to_json(self.change.sizes), **({"program": self.rules} if self.rules else {})}
        return {**self.impact.to_json(), "epoch": self.epoch, **sizes}


def apply_change(
    session: Session,
    change: Change,
    *,
    strategy: str = "elastic",
    share: float = 0.2,
    lenient: bool = False,
    progress: Progress | None = None,
    summary: Mapping[str, Any] | None = None,
) -> Applied:
    """Updates a session that is opened on the last epoch of a store, and commits what has changed as a new one.

    Its cost on the disk is that of the change. `summary` is added to what the epoch says of itself. If the epoch cannot
    be committed, the session is ahead of the store and should be given up.
    """
    assert session.saved is not None, "the session is not opened on a state"
    session.saved.must_be_latest()
    before = session.program
    impact = session.apply(change, strategy=strategy, share=share, lenient=lenient, progress=progress)
    epoch = save(session, session.saved.store.root, change=change.sizes, summary=summary)
    rules = {} if session.program is before else program_changes(before, session.program)
    return Applied(epoch.number, change, impact, rules)


def impact_of(store: Store, epoch: int) -> tuple[dict[str, list[Any]], dict[str, list[Any]]]:
    """The tuples that an epoch inserted and deleted, by relation, from what the store holds of it and its parent."""
    from whence.engines.local.arrow import rows_of
    from whence.engines.local.tables import LocalTables
    from whence.store.difference import difference

    described = store.epoch(epoch)
    programs = [_program(store, epoch)]
    if described.parent is not None:
        before = store.epoch(described.parent)
        if before.program != described.program:
            programs.append(_program(store, before.number))
    sides: tuple[dict[str, list[Any]], dict[str, list[Any]]] = ({}, {})
    for program in programs:
        tables = LocalTables(replace(program, rules=(), facts=(), strata=(), directives=()))
        for name, relation in program.relations.items():
            if program is not programs[0] and name in programs[0].relations:
                continue
            for side, table in zip(sides, difference(store, name, epoch), strict=True):
                if table.num_rows:
                    rows = rows_of(tables, relation, table.columns[: relation.arity]).reshape(
                        len(table), relation.arity
                    )
                    columns = [tables.values.decode(rows[:, i], c.type, c.kind) for i, c in enumerate(relation.columns)]
                    side[name] = list(zip(*columns, strict=True)) if columns else [()] * table.num_rows
    return sides


def _program(store: Store, epoch: int) -> Program:
    return compile_text(store.program_text(epoch), store.epoch(epoch).file)
