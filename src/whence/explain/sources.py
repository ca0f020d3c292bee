"""Where a state is: in this process, in a store, or on Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from whence.engines.local.table import Words
from whence.engines.local.tables import LocalTables
from whence.explain.state import InMemory, State
from whence.explain.window import Annotated, Window
from whence.lang import compile_text
from whence.lang.program import Relation

if TYPE_CHECKING:
    from whence.engines.spark.tables import SparkTables
    from whence.store import Store

LISTED = 10_000  # values of a column that a filter names; with more, the column is not filtered by
FILTERED = ("number", "symbol")  # kinds of columns that are the same in every file and frame


def state_of(tables: Any) -> State:
    """The state of a session, by the tables of its engine."""
    return InMemory(tables) if isinstance(tables, LocalTables) else on_spark(tables)


def in_store(store: Store, epoch: int | None = None, announce: Callable[[str], None] | None = None) -> Window:
    """The state of an epoch, which is not loaded."""
    described = store.epoch(epoch)
    program = compile_text(store.program_text(described.number), described.file)
    tables = LocalTables(replace(program, facts=()), announce=announce)
    return Window(program, tables, InStore(store, described.number), program.relations)


def on_spark(tables: SparkTables) -> Window:
    """The state of a session on Spark: relations that live there are looked up there, the others are here already."""
    own = tables.local.beside()
    own.stored |= {name: tables.local.stored[name] for name in tables.program.relations if tables.lives_here(name)}
    elsewhere = [name for name in tables.program.relations if not tables.lives_here(name)]
    return Window(tables.program, own, OnSpark(tables), elsewhere)


class InStore:
    """Parquet files of an epoch. Row groups without the values looked for are not read."""

    def __init__(self, store: Store, epoch: int) -> None:
        self.store = store
        self.epoch = epoch

    def size(self, relation: Relation) -> int:
        return sum(file.rows for file in self.store.relation(relation.name, self.epoch).files if not file.deletes)

    def read(self, relation: Relation, keys: Mapping[int, Words], tables: LocalTables) -> Iterator[Annotated]:
        from whence.engines.local.arrow import rows_of
        from whence.store import parquet

        schema = self.store.relation(relation.name, self.epoch).schema
        wanted, gone = parquet.arrow_schema(schema), parquet.deletion_schema(schema)
        filters = _values(relation, keys, tables)
        condition = _condition({schema.columns[column].field: values for column, values in filters.items()})
        deleted = gone.empty_table()
        for layer in reversed(self.store.layers(relation.name, self.epoch)):
            for path in layer.held:
                for batch in parquet.matching(path, wanted, condition):
                    left = parquet.without(batch, deleted, schema)
                    rows = rows_of(tables, relation, left.columns[: relation.arity])
                    iterations = left.column(relation.arity).to_numpy(zero_copy_only=False)
                    counts = left.column(relation.arity + 1).fill_null(0).to_numpy(zero_copy_only=False)
                    yield rows.reshape(len(left), relation.arity), iterations.astype(np.int64), counts
            for path in layer.deleted:
                deleted = parquet.together(deleted, parquet.matching(path, gone, condition))


def _condition(filters: Mapping[str, list[Any]]) -> Any:
    import pyarrow.compute as pc

    condition = None
    for name, values in filters.items():
        one = pc.field(name).isin(values)
        condition = one if condition is None else condition & one
    return condition


class OnSpark:
    """Frames of a session on Spark."""

    def __init__(self, tables: SparkTables) -> None:
        self.tables = tables

    def size(self, relation: Relation) -> int:
        return self.tables.rows(relation.name)

    def read(self, relation: Relation, keys: Mapping[int, Words], tables: LocalTables) -> Iterator[Annotated]:
        from pyspark.sql import functions as F

        from whence.engines.spark.batches import rows_of, typed
        from whence.engines.spark.failures import told
        from whence.engines.spark.transfer import from_spark

        viewed = self.tables.frame(relation.name)
        frame, rows = viewed.frame, viewed.rows
        for column, values in _values(relation, keys, tables).items():
            frame, rows = frame.where(F.col(f"c{column}").isin(values)), 0
        with told():
            for batch in from_spark(frame, rows):
                encoded = rows_of(tables, typed(relation), batch.columns[: relation.arity], batch.num_rows)
                iterations, counts = (column.to_numpy() for column in batch.columns[relation.arity :])
                yield encoded, iterations.astype(np.int64), counts


def _values(relation: Relation, keys: Mapping[int, Words], tables: LocalTables) -> dict[int, list[Any]]:
    """The values to filter by, of the columns where that can be done."""
    return {
        column: tables.values.decode(codes, relation.columns[column].type, relation.columns[column].kind)
        for column, codes in keys.items()
        if relation.columns[column].kind in FILTERED and len(codes) <= LISTED
    }
