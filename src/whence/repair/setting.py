"""Which two epochs of a session a repair is about, and the change between them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from whence.changes.reading import changeable
from whence.engines.local.engine import LocalEngine
from whence.engines.local.revision import Input
from whence.engines.local.tables import LocalTables
from whence.engines.local.trying import Difference, Differences, tried
from whence.errors import WhenceError
from whence.lang import compile_text
from whence.maintain import Controller, Policy
from whence.plan import View
from whence.repair.change import Epochs, Members, in_turn, parts_of, undoing

if TYPE_CHECKING:
    from whence.session import Session
    from whence.store import Store


def epochs_of(session: Session, since: int | None) -> tuple[Epochs, Controller, int]:
    """The session's epoch beside an earlier one, by default the one before; and the number of that."""
    engine = session.engine
    if not isinstance(engine, LocalEngine):
        raise WhenceError("repairing works in process: save the session, and open the state with engine='local'")
    if not engine.tables.counts:
        raise WhenceError("derivations were not counted: open the session with counts=True to repair it")
    numbers = [impact.epoch for impact in session.epochs]
    wanted = since if since is not None else numbers[-2] if len(numbers) > 1 else None
    known: Differences | None = None
    if wanted in numbers[:-1]:
        changes, known = engine.changes(len(numbers) - 1 - numbers.index(wanted))
        inputs = in_turn(changes, engine.tables)
    elif session.saved is not None and len(numbers) == 1:
        store = session.saved.store
        if wanted is None:
            wanted = store.epoch(session.saved.epoch).parent
            if wanted is None:
                raise WhenceError(f"epoch {session.epoch} is the first, so no change led to it")
        if wanted == session.saved.epoch:
            raise WhenceError(f"epoch {wanted} is the one that is to be repaired; compare it with another")
        inputs = stored_change(store, wanted, session.saved.epoch, engine.tables)
    elif wanted is None:
        raise WhenceError("there was no update in this session yet, so there is no change to take back")
    else:
        raise WhenceError(f"there is no epoch {wanted} before epoch {session.epoch} in this session")
    parts = parts_of(inputs, engine.tables)
    if known is None:
        known = _differences(engine.tables, engine.controller, Epochs(engine.tables, parts, {}))
    return Epochs(engine.tables, parts, known), engine.controller, wanted


def _differences(tables: LocalTables, controller: Controller, epochs: Epochs) -> Differences:
    """What the change did, found by taking it back for a moment."""
    arities = {name: relation.arity for name, relation in tables.program.relations.items()}
    with tried(tables, controller, undoing(epochs.parts, arities), Policy()) as revision:
        sides = {name: (revision.rows_of(name, View.LOST), revision.rows_of(name, View.GAINED)) for name in arities}
    return {name: Difference(came, went) for name, (came, went) in sides.items() if len(came) or len(went)}


def stored_change(store: Store, before: int, after: int, tables: LocalTables) -> dict[str, Input]:
    """How the input of two epochs of a store differs; `tables` hold the later one."""
    described = store.epoch(before)
    texts = [store.program_text(number) for number in (before, after)]
    if texts[0] != texts[1]:
        programs = [compile_text(text, described.file) for text in texts]
        if set(map(_meaning, programs[0].rules)) != set(map(_meaning, programs[1].rules)):
            raise WhenceError(
                f"the rules of epochs {before} and {after} differ; only changes of the input can be repaired so far"
            )
    found = {}
    for name in sorted(changeable(tables.program)):
        stored, now = described.relations.get(name), store.epoch(after).relations.get(name)
        if stored is not None and now is not None and stored.files == now.files:
            continue
        old = _stored_input(store, name, before, tables) if stored is not None else None
        arity = tables.program.relations[name].arity
        was = np.empty((0, arity), np.int64) if old is None else old
        given = np.ascontiguousarray(tables.stored[name].given)
        inserted = given[~Members(tables, was).has(given)]
        deleted = was[~Members(tables, given).has(was)]
        if len(inserted) or len(deleted):
            found[name] = Input(inserted, deleted)
    return found


def _stored_input(store: Store, name: str, epoch: int, tables: LocalTables) -> np.ndarray[Any, np.dtype[np.int64]]:
    """The tuples of iteration 0."""
    import pyarrow.compute as pc

    from whence.engines.local.arrow import rows_of

    relation = tables.program.relations[name]
    blocks = [np.empty((0, relation.arity), np.int64)]
    for batch in store.batches(name, epoch):
        given = batch.filter(pc.equal(batch.column(relation.arity), 0))
        blocks.append(rows_of(tables, relation, given.columns[: relation.arity]).reshape(len(given), relation.arity))
    return np.concatenate(blocks)


def _meaning(rule: Any) -> Any:
    """A rule, wherever in the text it stands."""
    return replace(rule, origin=None, text="", plan={}).__repr__()
