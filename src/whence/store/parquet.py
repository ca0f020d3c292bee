"""A relation as Parquet: a column for each of its own, then `iteration`, then `count`.

Every file has the `iteration`, so that a relation without columns has its tuple too. Where derivations were not
counted, `count` is null. A relation without tuples is a file without rows: whoever reads it still learns its columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from whence.lang.program import Kind
from whence.store.errors import StoreError
from whence.store.manifest import COUNT, ITERATION, Schema

GROUP_ROWS = 1 << 20  # of a row group: what is held in memory at once, and the least a task reads
FILE_ROWS = 1 << 24

TYPES: Mapping[Kind, Any] = {
    "number": pa.int64(),
    "unsigned": pa.uint64(),
    "float": pa.float64(),
    "symbol": pa.string(),
    "record": pa.string(),
}
SPARK_UNSIGNED = pa.decimal128(20, 0)  # Spark has no unsigned numbers; it writes, and reads them as, decimals


@dataclass(frozen=True)
class Written:
    """A file that was written, before it belongs to a store. `counted` is None if it has no rows to tell."""

    path: Path
    rows: int
    counted: bool | None


def arrow_schema(schema: Schema) -> Any:
    own = [pa.field(column.field, TYPES[column.kind], nullable=False) for column in schema.columns]
    return pa.schema([*own, pa.field(ITERATION, pa.int32(), nullable=False), pa.field(COUNT, pa.int64())])


def deletion_schema(schema: Schema) -> Any:
    """That of deleted tuples. Their iteration is of no interest and 0, but without columns there would be no rows."""
    return pa.schema(list(arrow_schema(schema))[:-1])


# Writing


def write(folder: Path, prefix: str, wanted: Any, data: Any, relation: str) -> list[Written]:
    """Writes the rows into files `prefix-00000.parquet`, …: at least one."""
    written: list[Written] = []
    tables = grouped(conforming(batch, wanted, relation) for batch in batches_of(data))
    table = next(tables, wanted.empty_table())
    while table is not None:
        path = folder / f"{prefix}-{len(written):05}.parquet"
        rows, counted = 0, None
        with pq.ParquetWriter(path, wanted, compression="zstd", compression_level=1) as writer:
            while table is not None and rows < FILE_ROWS:
                writer.write_table(table, row_group_size=GROUP_ROWS)
                rows += table.num_rows
                counted = agreed(counted, has_counts(table, relation), relation)
                table = next(tables, None)
        written.append(Written(path, rows, counted))
    return written


def batches_of(data: Any) -> Iterator[Any]:
    """Record batches or tables, whatever Arrow data comes as."""
    if isinstance(data, pa.Table | pa.RecordBatch):
        yield data
    elif hasattr(data, "__arrow_c_stream__"):
        yield from pa.RecordBatchReader.from_stream(data)
    else:
        yield from data


def conforming(batch: Any, wanted: Any, relation: str) -> Any:
    """The rows as a table of the wanted types; columns are taken in their order, whatever their names."""
    given = list(batch.columns)
    if len(given) == len(wanted) - 1 and wanted.names[-1] == COUNT:
        given.append(pa.nulls(batch.num_rows, pa.int64()))
    if len(given) != len(wanted):
        expected = ", ".join(wanted.names)
        raise StoreError(f"the tuples of {relation!r} come with {len(given)} columns; they should have {expected}")
    columns: list[Any] = []
    for column, field in zip(given, wanted, strict=True):
        if not pa.types.is_null(column.type) and _is_text(column.type) != _is_text(field.type):
            raise StoreError(f"column {field.name!r} of {relation!r} is {column.type}, which does not fit {field.type}")
        try:
            columns.append(column if column.type == field.type else column.cast(field.type))
        except pa.ArrowException as error:
            message = (
                f"column {field.name!r} of {relation!r} is {column.type}, which does not fit {field.type}: {error}"
            )
            raise StoreError(message) from None
        if not field.nullable and column.null_count:
            raise StoreError(f"column {field.name!r} of {relation!r} has nulls; every value of a tuple must be there")
    return pa.table(columns, schema=wanted)


def _is_text(type: Any) -> bool:
    """Arrow would turn text into numbers and back without a word."""
    plain = type.value_type if pa.types.is_dictionary(type) else type
    return any(is_kind(plain) for is_kind in (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view))


def deletions(data: Any, schema: Schema, relation: str) -> Iterator[Any]:
    """Tuples, with or without iteration and count, as what `deletion_schema` wants."""
    arity = len(schema.columns)
    for batch in batches_of(data):
        if not arity <= batch.num_columns <= arity + 2:
            given = f"the deleted tuples of {relation!r} come with {batch.num_columns} columns"
            raise StoreError(f"{given}; they should have {', '.join(schema.fields[:arity])}")
        zeros = pa.repeat(pa.scalar(0, pa.int32()), batch.num_rows)
        yield pa.table([*batch.columns[:arity], zeros], [*map(str, range(arity)), ITERATION])


def grouped(tables: Iterable[Any]) -> Iterator[Any]:
    """The same rows in tables of `GROUP_ROWS` rows; empty ones are left out."""
    waiting: list[Any] = []
    rows = 0
    for table in tables:
        while table.num_rows:
            part = table.slice(0, GROUP_ROWS - rows)
            table = table.slice(part.num_rows)
            waiting.append(part)
            rows += part.num_rows
            if rows == GROUP_ROWS:
                yield pa.concat_tables(waiting)
                waiting, rows = [], 0
    if rows:
        yield pa.concat_tables(waiting)


def has_counts(table: Any, relation: str) -> bool | None:
    if COUNT not in table.column_names or not table.num_rows:
        return None
    nulls = table.column(COUNT).null_count
    return _all_or_none(nulls, table.num_rows, relation)


def agreed(one: bool | None, other: bool | None, relation: str) -> bool | None:
    if one is not None and other is not None and one != other:
        raise _mixed(relation)
    return other if one is None else one


def _all_or_none(nulls: int, rows: int, relation: str) -> bool:
    if nulls not in (0, rows):
        raise _mixed(relation)
    return nulls == 0


def _mixed(relation: str) -> StoreError:
    return StoreError(f"some tuples of {relation!r} have a count and some have none; give all of them one, or none")


# Files that Spark has written


def inspected(path: Path, schema: Schema, relation: str) -> Written:
    """A file that somebody else has written, if it has the columns of the relation and no nulls in them."""
    wanted = arrow_schema(schema)
    try:
        file = pq.ParquetFile(path)
    except (pa.ArrowException, OSError) as error:
        raise StoreError(f"{path} is not a Parquet file: {error}") from None
    with file:
        given = file.schema_arrow
        if given.names not in (wanted.names, wanted.names[:-1]):
            columns = f"columns {', '.join(given.names)}; those of {relation!r} are {', '.join(wanted.names)}"
            raise StoreError(f"{path} has the {columns}")
        for field in given:
            expected = wanted.field(field.name).type
            if field.type != expected and not (expected == pa.uint64() and field.type == SPARK_UNSIGNED):
                raise StoreError(f"column {field.name!r} of {path} is {field.type}; in {relation!r} it is {expected}")
        rows = file.metadata.num_rows
        nulls = {field.name: _nulls(file, index, field.name) for index, field in enumerate(given)}
    for name in wanted.names[:-1]:
        if nulls[name]:
            raise StoreError(f"column {name!r} of {path} has nulls; every value of a tuple must be there")
    return Written(path, rows, _all_or_none(nulls.get(COUNT, rows), rows, relation) if rows else None)


def _nulls(file: Any, index: int, name: str) -> int:
    metadata = file.metadata
    total = 0
    for group in range(metadata.num_row_groups):
        statistics = metadata.row_group(group).column(index).statistics
        if statistics is None or not statistics.has_null_count:
            total += file.read_row_group(group, columns=[name]).column(0).null_count
        else:
            total += statistics.null_count
    return total


# Reading


def read(path: Path, wanted: Any) -> Iterator[Any]:
    """The record batches of a file, with the types of the schema whoever wrote it."""
    with pq.ParquetFile(path) as file:
        names = [name for name in wanted.names if name in file.schema_arrow.names]
        for batch in file.iter_batches(batch_size=GROUP_ROWS, columns=names):
            yield _as_wanted(batch, wanted)


def matching(path: str, wanted: Any, condition: Any) -> Iterator[Any]:
    """Like `read`, of the rows for which a condition on columns holds; what cannot have such rows is not read."""
    import pyarrow.dataset as ds

    file = ds.dataset(path, format="parquet")
    names = [name for name in wanted.names if name in file.schema.names]
    for batch in file.to_batches(columns=names, filter=condition):
        if batch.num_rows:
            yield _as_wanted(batch, wanted)


def _as_wanted(batch: Any, wanted: Any) -> Any:
    names = batch.schema.names
    columns = [
        batch.column(field.name).cast(field.type) if field.name in names else pa.nulls(len(batch), field.type)
        for field in wanted
    ]
    return pa.record_batch(columns, schema=wanted)


def together(table: Any, batches: Iterable[Any]) -> Any:
    """A table with more rows."""
    return pa.concat_tables([table, pa.Table.from_batches(batches, table.schema)])


def without(batch: Any, deleted: Any, schema: Schema) -> Any:
    """The rows of a batch whose tuples are not among the deleted ones. Floats are compared by their bits."""
    if not deleted.num_rows or not batch.num_rows:
        return batch
    if not schema.columns:
        return batch.slice(0, 0)
    names = [column.field for column in schema.columns]
    keys = [f"key {place}" for place in range(len(names))]
    numbers = pa.array(np.arange(len(batch)))
    rows = pa.table([*(_key(batch.column(name)) for name in names), numbers], [*keys, "row"])
    gone = pa.table([_key(deleted.column(name)) for name in names], keys)
    left = rows.join(gone, keys, join_type="left anti").column("row")
    return batch.take(left.combine_chunks().sort())


def _key(column: Any) -> Any:
    if not pa.types.is_floating(column.type):
        return column
    return (column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column).view(pa.int64())
