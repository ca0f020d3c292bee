"""Which two epochs of a session a repair is about, and the change between them: of input, and of rules."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from whence.changes.reading import changeable
from whence.engines.local.engine import LocalEngine
from whence.engines.local.revision import Input
from whence.engines.local.tables import LocalTables
from whence.engines.local.trying import Difference, Differences, tried
from whence.errors import WhenceError
from whence.lang import compile_text
from whence.lang.program import Program, Relation
from whence.maintain import Controller, Policy
from whence.plan import View
from whence.repair.change import Epochs, Members, in_turn, parts_of, undoing
from whence.repair.rules import evaluated, guarded, same_rules

if TYPE_CHECKING:
    from whence.session import Session
    from whence.store import Store


@dataclass(frozen=True)
class Setting:
    """Two epochs, what maintains them, and the number of the earlier one. `guards` are the relations that stand for
    rules."""

    epochs: Epochs
    controller: Controller
    since: int
    guards: frozenset[str] = frozenset()


def setting_of(session: Session, since: int | None) -> Setting:
    """The session's epoch beside an earlier one, by default the one before."""
    engine = session.engine
    if not isinstance(engine, LocalEngine):
        raise WhenceError("repairing works in process: save the session, and open the state with engine='local'")
    if not engine.tables.counts:
        raise WhenceError("derivations were not counted: open the session with counts=True to repair it")
    tables, controller = engine.tables, engine.controller
    numbers = [impact.epoch for impact in session.epochs]
    wanted = since if since is not None else numbers[-2] if len(numbers) > 1 else None
    known: Differences | None = None
    if wanted in numbers[:-1]:
        changes, before, known = engine.changes(len(numbers) - 1 - numbers.index(wanted))
        inputs = in_turn(changes, tables)
    elif session.saved is not None and len(numbers) == 1:
        store = session.saved.store
        wanted = store.epoch(session.saved.epoch).parent if wanted is None else wanted
        if wanted is None:
            raise WhenceError(f"epoch {session.epoch} is the first, so no change led to it")
        if wanted == session.saved.epoch:
            raise WhenceError(f"epoch {wanted} is the one that is to be repaired; compare it with another")
        before = _program(store, wanted, session)
        inputs = stored_change(store, wanted, before, tables)
    elif wanted is None:
        raise WhenceError("there was no update in this session yet, so there is no change to take back")
    else:
        raise WhenceError(f"there is no epoch {wanted} before epoch {session.epoch} in this session")
    texts: Mapping[str, str] = {}
    if not same_rules(before, session.program):
        both = guarded(before, session.program)
        tables, controller, inputs = evaluated(both, tables, inputs)
        texts, known = both.texts, None
    parts = parts_of(inputs, tables, texts)
    if known is None:
        known = _differences(tables, controller, Epochs(tables, parts, {}))
    return Setting(Epochs(tables, parts, known), controller, wanted, frozenset(texts))


def _program(store: Store, epoch: int, session: Session) -> Program:
    """The program of an epoch: that of the session, if it is the same."""
    text = store.program_text(epoch)
    return session.program if text == session.text[0] else compile_text(text, store.epoch(epoch).file)


def _differences(tables: LocalTables, controller: Controller, epochs: Epochs) -> Differences:
    """What the change did, found by taking it back for a moment."""
    arities = {name: relation.arity for name, relation in tables.program.relations.items()}
    with tried(tables, controller, undoing(epochs.parts, arities), Policy()) as revision:
        sides = {name: (revision.rows_of(name, View.LOST), revision.rows_of(name, View.GAINED)) for name in arities}
    return {name: Difference(came, went) for name, (came, went) in sides.items() if len(came) or len(went)}


def stored_change(store: Store, epoch: int, before: Program, tables: LocalTables) -> dict[str, Input]:
    """How the input in some tables differs from that of an epoch of a store, whose program is `before`."""
    found = {}
    for name in sorted(changeable(before) | changeable(tables.program)):
        relation = tables.program.relations.get(name) or before.relations[name]
        none = np.empty((0, relation.arity), np.int64)
        was = _stored_input(store, relation, epoch, tables) if name in before.relations else none
        given = np.ascontiguousarray(tables.stored[name].given) if name in tables.stored else none
        inserted = given[~Members(tables, was).has(given)]
        deleted = was[~Members(tables, given).has(was)]
        if len(inserted) or len(deleted):
            found[name] = Input(inserted, deleted)
    return found


def _stored_input(
    store: Store, relation: Relation, epoch: int, tables: LocalTables
) -> np.ndarray[Any, np.dtype[np.int64]]:
    """The tuples of iteration 0."""
    import pyarrow.compute as pc

    from whence.engines.local.arrow import rows_of

    blocks = [np.empty((0, relation.arity), np.int64)]
    for batch in store.batches(relation.name, epoch):
        given = batch.filter(pc.equal(batch.column(relation.arity), 0))
        blocks.append(rows_of(tables, relation, given.columns[: relation.arity]).reshape(len(given), relation.arity))
    return np.concatenate(blocks)
