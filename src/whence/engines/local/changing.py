"""A change as rows: what users give, checked against the state that it is to change."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np

from whence.errors import WhenceError
from whence.lang.difference import facts_apart
from whence.lang.program import Program, Relation
from whence.maintain.transition import Transition
from whence.plan.text import tuple_text

from .kernel.layout import ITERATION, NOW
from .loading import encoded
from .revision import Input
from .table import Rows, Table
from .tables import LocalTables, Stored

Sources = Mapping[str, Any]


class State(Protocol):
    """What a change is checked against."""

    def holding(self, relation: str, rows: Rows) -> Stored:
        """Where these rows are, if they are tuples of the relation."""
        ...

    def has_input(self, relation: str) -> bool: ...

    def given(self, relation: str) -> Rows:
        """All input tuples of a relation."""
        ...


class LocalState:
    def __init__(self, tables: LocalTables) -> None:
        self.tables = tables

    def holding(self, relation: str, rows: Rows) -> Stored:
        return self.tables.stored[relation]

    def has_input(self, relation: str) -> bool:
        return len(self.tables.stored[relation].given) > 0

    def given(self, relation: str) -> Rows:
        return self.tables.stored[relation].given.copy()


def inputs_of(
    insert: Sources, delete: Sources, tables: LocalTables, lenient: bool, state: State | None = None
) -> tuple[dict[str, Input], int]:
    """The rows to insert and to delete, by relation, and how many were left out because they change nothing.

    `tables` encode them; the state is theirs unless another is given.
    """
    state = state or LocalState(tables)
    inputs: dict[str, Input] = {}
    ignored = 0
    for name in dict.fromkeys([*insert, *delete]):
        relation = tables.program.relations[name]
        _must_be_input(relation, tables.program, state)
        inserted, deleted = _rows(relation, insert, tables), _rows(relation, delete, tables)
        given = np.concatenate([inserted, deleted])
        found = Table(tables.kernel, relation.arity, counted=False)
        places = np.empty(len(given), np.int64)
        found.insert(given.reshape(-1), len(given), found=places)
        comes = np.zeros(len(found), np.bool_)
        comes[places[: len(inserted)]] = True
        both = places[len(inserted) :][comes[places[len(inserted) :]]]
        if len(both):
            raise WhenceError(f"{shown(relation, found.rows[both[:1]], tables)} is both inserted and deleted; do one")
        stored = state.holding(name, given)
        there = is_input(stored, inserted)
        missing = ~is_input(stored, deleted)
        if not lenient and there.any():
            text = shown(relation, inserted[there][:1], tables)
            raise WhenceError(f"{text} cannot be inserted: it is there; leave it out, or use lenient")
        if not lenient and missing.any():
            text = shown(relation, deleted[missing][:1], tables)
            raise WhenceError(f"{text} cannot be deleted: {_why(stored, deleted[missing][:1])}")
        ignored += int(there.sum()) + int(missing.sum())
        inputs[name] = Input(inserted[~there], deleted[~missing])
    return {name: given for name, given in inputs.items() if len(given.inserted) or len(given.deleted)}, ignored


def with_program(
    inputs: dict[str, Input], transition: Transition, tables: LocalTables, state: State
) -> dict[str, Input]:
    """A change together with what another program itself brings: facts in its text, and relations that it has no more.

    A fact that comes or goes with the text may be there or not; what it changes is told by the state.
    """
    inputs = dict(inputs)
    came, went = map(tables.encoded_facts, facts_apart(transition.before, transition.after))
    for name in dict.fromkeys([*came, *went]):
        relation = tables.program.relations[name]
        none: Rows = np.empty((0, relation.arity), np.int64)
        inserted, deleted = came.get(name, none), went.get(name, none)
        stored = state.holding(name, np.concatenate([inserted, deleted]))
        given = inputs.get(name, Input(none, none))
        inputs[name] = Input(
            _distinct(np.concatenate([given.inserted, inserted[~is_input(stored, inserted)]]), tables),
            _distinct(np.concatenate([given.deleted, deleted[is_input(stored, deleted)]]), tables),
        )
    for relation in transition.going:
        inputs[relation.name] = Input(np.empty((0, relation.arity), np.int64), state.given(relation.name))
    return {name: given for name, given in inputs.items() if len(given.inserted) or len(given.deleted)}


def is_input(stored: Stored, rows: Rows) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Which of the rows are input tuples of the relation."""
    found = stored.table.locate(np.ascontiguousarray(rows).reshape(-1), len(rows))
    there = found >= 0
    if stored.table.stamped:
        there[there] = (stored.table.stamps[found[there]] & (ITERATION | NOW)) == NOW
        return there
    return there & (found < len(stored.given))


def shown(relation: Relation, row: Rows, tables: LocalTables) -> str:
    """A tuple as users write it."""
    decoded = [tables.values.decode(row[:, i], c.type, c.kind)[0] for i, c in enumerate(relation.columns)]
    return tuple_text(relation.name, decoded)


def _rows(relation: Relation, sources: Sources, tables: LocalTables) -> Rows:
    """The tuples of a source, each once."""
    if relation.name not in sources:
        return np.empty((0, relation.arity), np.int64)
    distinct = Table(tables.kernel, relation.arity, counted=False)
    distinct.insert(*encoded(relation, sources[relation.name], tables))
    return distinct.rows.copy()


def _distinct(rows: Rows, tables: LocalTables) -> Rows:
    distinct = Table(tables.kernel, rows.shape[1], counted=False)
    distinct.insert(np.ascontiguousarray(rows).reshape(-1), len(rows))
    return distinct.rows.copy()


def _must_be_input(relation: Relation, program: Program, state: State) -> None:
    name = relation.name
    if not any(rule.head.relation == name for rule in program.rules):
        return
    if any(d.relation == name for d in program.directives_of("input")) or state.has_input(name):
        return
    if any(fact.atom.relation == name for fact in program.facts):
        return
    raise WhenceError(f"{name} is derived by rules: change what it is derived from, or give it an `.input {name}`")


def _why(stored: Stored, row: Rows) -> str:
    found = int(stored.table.locate(np.ascontiguousarray(row).reshape(-1), 1)[0])
    if found >= 0 and (not stored.table.stamped or stored.table.stamps[found] & NOW):
        return "it is derived, and not in the input; change what it is derived from"
    return "it is not there; leave it out, or use lenient"
