"""A session and the store that holds its state: an epoch is opened as it was committed, without evaluating again; a
change becomes the next one."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from whence.changes import Change
from whence.errors import WhenceError
from whence.history import sizes_to_json
from whence.lang import Diagnostic, compile_text
from whence.maintain.impact import Impact
from whence.session import Session
from whence.session import open as open_session
from whence.store import Store
from whence.tables import Progress

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from whence.engines.spark.options import Options

INHERITED = ("streams",)  # what a summary takes over from the epoch before


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
    if uncounted and engine != "local":
        raise WhenceError(
            f"the state in {store.root} has no derivation counts of {', '.join(uncounted)}; open it with engine='local'"
        )

    def heard(message: Diagnostic | str) -> None:
        if warn is not None and isinstance(message, str):  # what the compiler warns of was told when the state was made
            warn(message)

    session = open_session(
        text=store.program_text(described.number),
        file=described.file,
        engine=engine,
        counts=not uncounted,
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
    """A change that was committed: the number of its epoch in the store, and what it did."""

    epoch: int
    change: Change
    impact: Impact

    def to_json(self) -> dict[str, Any]:
        sizes = {"change": sizes_to_json(self.change.sizes)}
        return {**self.impact.to_json(), "epoch": self.epoch, **sizes}


def apply_change(
    session: Session,
    store: Store,
    change: Change,
    *,
    strategy: str = "elastic",
    share: float = 0.2,
    lenient: bool = False,
    progress: Progress | None = None,
    summary: Mapping[str, Any] | None = None,
) -> Applied:
    """Updates a session that is on the last epoch of a store, and commits what has changed as a new epoch.

    Its cost on the disk is that of the change. `summary` is added to what the epoch says of itself. If the epoch cannot
    be committed, the session is ahead of the store and should be given up.
    """
    if session.epoch != store.latest.number:
        raise WhenceError(
            f"the session is opened at epoch {session.epoch} and the store is at {store.latest.number}; "
            f"only the last epoch can be changed"
        )
    impact = session.update(
        insert=change.insert, delete=change.delete, strategy=strategy, share=share, lenient=lenient, progress=progress
    )
    parent = store.latest.summary
    told = {
        **{key: parent[key] for key in INHERITED if key in parent},
        "change": sizes_to_json(change.sizes),
        "impact": sizes_to_json(impact_sizes(impact)),
        "strata": [stratum.to_json() for stratum in impact.strata],
        "learned": session.engine.learned(),
        **(summary or {}),
    }
    with store.commit(strategy=impact.strategy, seconds=impact.seconds, summary=told) as writer:
        for relation in session.engine.changed_relations():
            session.engine.store_changes(relation, writer)
        writer.keep_others()
    session.stored_as(store.latest.number)
    return Applied(store.latest.number, change, impact)


def impact_sizes(impact: Impact) -> dict[str, tuple[int, int]]:
    names = dict.fromkeys([*impact.inserted, *impact.deleted])
    return {name: (len(impact.inserted.get(name, ())), len(impact.deleted.get(name, ()))) for name in names}


def impact_of(store: Store, epoch: int) -> tuple[dict[str, list[Any]], dict[str, list[Any]]]:
    """The tuples that an epoch inserted and deleted, by relation, from what the store holds of it and its parent."""
    from whence.engines.local.arrow import rows_of
    from whence.engines.local.tables import LocalTables
    from whence.store.difference import difference

    described = store.epoch(epoch)
    program = compile_text(store.program_text(epoch), described.file)
    tables = LocalTables(replace(program, rules=(), facts=(), strata=(), directives=()))
    sides: tuple[dict[str, list[Any]], dict[str, list[Any]]] = ({}, {})
    for name, relation in program.relations.items():
        for side, table in zip(sides, difference(store, name, epoch), strict=True):
            if table.num_rows:
                rows = rows_of(tables, relation, table.columns[: relation.arity]).reshape(len(table), relation.arity)
                columns = [tables.values.decode(rows[:, i], c.type, c.kind) for i, c in enumerate(relation.columns)]
                side[name] = list(zip(*columns, strict=True)) if columns else [()] * table.num_rows
    return sides
