"""Queries on a stored epoch: only what can match is read, and nothing of the program is evaluated again."""

from __future__ import annotations

import heapq
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from whence.lang import compile_text
from whence.lang.program import Atom, Const, Program, Stratum, Var
from whence.lang.query import Query, compile_query
from whence.results import in_order
from whence.store import Schema, Store
from whence.store.parquet import TYPES

if TYPE_CHECKING:
    from whence.session import Session


@dataclass(frozen=True)
class Answer:
    """The tuples that a query found, in order of their values. `found` is how many there are without a limit."""

    columns: tuple[str, ...]
    tuples: tuple[tuple[Any, ...], ...]
    found: int

    def to_json(self) -> dict[str, Any]:
        return {"columns": list(self.columns), "tuples": [list(values) for values in self.tuples]}


def query(
    state: str | os.PathLike[str] | Store,
    text: str,
    epoch: int | None = None,
    *,
    limit: int | None = None,
    announce: Callable[[str], None] | None = None,
) -> Answer:
    """The answer to a query such as `path(1, X)` or `path(1, X), !edge(1, X), X > 3` in an epoch, by default the last.

    Of a single atom these are the tuples that match; of any other body, the values of its variables.
    """
    store = state if isinstance(state, Store) else Store.open(state)
    described = store.epoch(epoch)
    program = compile_text(store.program_text(described.number), described.file)
    asked = compile_query(text, program)
    plain = asked.pattern is not None and all(column.kind != "record" for column in asked.answer.columns)
    if plain:
        tuples = _matching_tuples(store, described.number, asked)
    else:
        tuples = _derived_tuples(store, described.number, asked, program, announce)
    columns = tuple(column.name for column in asked.answer.columns)
    return _answer(columns, tuples, limit)


def ask(session: Session, text: str, *, limit: int | None = None) -> Answer:
    """The same of a session, as it is now."""
    from whence.engines.local.engine import LocalEngine
    from whence.engines.local.tables import LocalTables
    from whence.results import Result

    asked = compile_query(text, session.program)
    alone = _alone(asked, session.program)
    held: Any = session.engine.tables
    if not isinstance(held, LocalTables):  # what is on Spark is copied here
        for name in alone.relations.keys() - {asked.answer.name}:
            held.here(name)
        held = held.local
    tables = LocalTables(alone, counts=False)
    tables.symbols, tables.records, tables.values = held.symbols, held.records, held.values
    tables.stored |= {name: held.stored[name] for name in alone.relations if name != asked.answer.name}
    LocalEngine(alone, False, lambda message: None, None, tables=tables).run(None)
    return _answer(tuple(c.name for c in asked.answer.columns), iter(Result(asked.answer, tables)), limit)


def _alone(asked: Query, program: Program) -> Program:
    """The program of a query: what it reads, and the answer."""
    read = dict.fromkeys(atom.relation for atom in asked.atoms())
    relations = {name: program.relations[name] for name in read} | {asked.answer.name: asked.answer}
    stratum = Stratum((asked.answer.name,), asked.rules, False)
    return Program(program.types, relations, asked.rules, (), (stratum,), ())


def _answer(columns: tuple[str, ...], tuples: Iterable[tuple[Any, ...]], limit: int | None) -> Answer:
    found = 0

    def counted() -> Iterator[tuple[Any, ...]]:
        nonlocal found
        for values in tuples:
            found += 1
            yield values

    kept = sorted(counted(), key=in_order) if limit is None else heapq.nsmallest(limit, counted(), key=in_order)
    return Answer(columns, tuple(kept), found)


def _matching_tuples(store: Store, epoch: int, asked: Query) -> Iterator[tuple[Any, ...]]:
    """A pattern needs no engine: its tuples are picked out of the batches as they are read."""
    pattern = asked.pattern
    assert pattern is not None
    schema = store.relation(pattern.relation, epoch).schema
    for batch in store.batches(pattern.relation, epoch):
        chosen = matching(batch, schema, [pattern])
        columns = [chosen.column(column.field).to_pylist() for column in schema.columns]
        yield from zip(*columns, strict=True) if columns else [()] * chosen.num_rows


def _derived_tuples(
    store: Store, epoch: int, asked: Query, program: Program, announce: Callable[[str], None] | None
) -> Iterator[tuple[Any, ...]]:
    from whence.engines.local.engine import LocalEngine
    from whence.engines.local.restoring import restore
    from whence.results import Result

    read: dict[str, list[Atom]] = {}
    for atom in asked.atoms():
        read.setdefault(atom.relation, []).append(atom)
    alone = _alone(asked, program)
    engine = LocalEngine(alone, False, lambda message: None, announce)
    for name, atoms in read.items():
        schema = store.relation(name, epoch).schema
        batches = (matching(batch, schema, atoms) for batch in store.batches(name, epoch))
        restore(engine.tables, alone.relations[name], batches)
    engine.run(None)
    return iter(Result(asked.answer, engine.tables))


def matching(batch: Any, schema: Schema, atoms: Sequence[Atom]) -> Any:
    """The rows of a batch that one of the atoms may be about: they have its constants, and equal values where it
    repeats a variable."""
    chosen = None
    for atom in atoms:
        mask = _mask(batch, schema, atom)
        if mask is None:
            return batch
        chosen = mask if chosen is None else pc.or_(chosen, mask)
    return batch.filter(chosen)


def _mask(batch: Any, schema: Schema, atom: Atom) -> Any:
    conditions = []
    first: dict[str, Any] = {}
    for argument, column in zip(atom.args, schema.columns, strict=True):
        values = batch.column(column.field)
        if column.kind == "float":  # by their bits, as everywhere
            values = values.view(pa.int64())
        if isinstance(argument, Const):
            conditions.append(pc.equal(values, _scalar(argument)))
        elif isinstance(argument, Var):
            if argument.name in first:
                conditions.append(pc.equal(values, first[argument.name]))
            first[argument.name] = values
    if not conditions:
        return None
    mask = conditions[0]
    for condition in conditions[1:]:
        mask = pc.and_(mask, condition)
    return mask


def _scalar(constant: Const) -> Any:
    if constant.kind == "float":
        return pa.array([constant.value], pa.float64()).view(pa.int64())[0]
    return pa.scalar("nil" if constant.value is None else constant.value, TYPES[constant.kind])
