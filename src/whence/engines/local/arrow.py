"""Tuples as Arrow columns, and back, without a Python object for each value.

Numbers are copied, symbols go by way of their distinct values, records are texts such as `[1, nil]`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow
import pyarrow.compute

from whence.lang.program import Column, Relation

from .record_text import RecordReader, RecordTextError, texts_of
from .table import Rows, Words
from .tables import LocalTables
from .values import CALLED, ValueMismatch

TYPES = {
    "number": pyarrow.int64(),
    "unsigned": pyarrow.uint64(),
    "float": pyarrow.float64(),
    "symbol": pyarrow.string(),
    "record": pyarrow.string(),
}

ANNOTATION = [pyarrow.field("iteration", pyarrow.int32()), pyarrow.field("count", pyarrow.int64())]


def schema(relation: Relation, annotated: bool = False) -> pyarrow.Schema:
    own = [pyarrow.field(column.name, TYPES[column.kind]) for column in relation.columns]
    return pyarrow.schema([*own, *(ANNOTATION if annotated else ())])


def table_of(tables: LocalTables, relation: Relation, annotated: bool) -> pyarrow.Table:
    """A relation's tuples; annotated, with iteration and count."""
    stored = tables.stored[relation.name]
    columns = columns_of(tables, relation, stored.rows)
    if annotated:
        iterations, counts = stored.annotations
        columns += [pyarrow.array(iterations, pyarrow.int32()), pyarrow.array(counts)]
    return pyarrow.Table.from_arrays(columns, schema=schema(relation, annotated))


def columns_of(tables: LocalTables, relation: Relation, rows: Rows) -> list[pyarrow.Array]:
    """The columns of encoded rows."""
    return [_decoded(tables, column, np.ascontiguousarray(rows[:, i])) for i, column in enumerate(relation.columns)]


def rows_of(tables: LocalTables, relation: Relation, columns: list[Any]) -> Words:
    """Arrow columns, encoded, row after row in a flat array."""
    count = len(columns[0]) if columns else 0
    rows = np.empty((count, relation.arity), np.int64)
    for i, column in enumerate(relation.columns):
        rows[:, i] = _encoded(tables, column, columns[i])
    return rows.reshape(-1)


def _decoded(tables: LocalTables, column: Column, codes: Words) -> pyarrow.Array:
    match column.kind:
        case "number":
            return pyarrow.array(codes)
        case "unsigned":
            return pyarrow.array(codes.view(np.uint64))
        case "float":
            return pyarrow.array(codes.view(np.float64))
        case "symbol":
            distinct, places = np.unique(codes, return_inverse=True)
            return pyarrow.array(tables.symbols.decode(distinct), pyarrow.string()).take(pyarrow.array(places))
    distinct, places = np.unique(codes, return_inverse=True)
    texts = texts_of(distinct, column.type, tables.program.types, tables.symbols, tables.records)
    return pyarrow.array(texts, pyarrow.string()).take(pyarrow.array(places))


def _encoded(tables: LocalTables, column: Column, given: Any) -> Words:
    if isinstance(given, pyarrow.ChunkedArray):
        given = given.combine_chunks()
    kind = given.type
    if column.kind == "symbol" and (pyarrow.types.is_string(kind) or pyarrow.types.is_large_string(kind)):
        encoded = given.dictionary_encode()
        codes = tables.symbols.encode(encoded.dictionary.to_pylist())
        return codes[encoded.indices.to_numpy(zero_copy_only=False)] if len(codes) else codes
    if column.kind == "record" and (pyarrow.types.is_string(kind) or pyarrow.types.is_large_string(kind)):
        return _records(tables, column, given)
    if column.kind == "number" and pyarrow.types.is_signed_integer(kind):
        return np.asarray(given.to_numpy(zero_copy_only=False), np.int64)
    if column.kind == "unsigned" and pyarrow.types.is_unsigned_integer(kind):
        return np.asarray(given.to_numpy(zero_copy_only=False), np.uint64).view(np.int64)
    if column.kind == "float" and pyarrow.types.is_floating(kind):
        return np.asarray(given.to_numpy(zero_copy_only=False), np.float64).view(np.int64)
    values = given.to_pylist()
    if column.kind == "unsigned" and pyarrow.types.is_decimal(kind):
        values = [int(value) for value in values]
    return tables.values.encode(values, column.type, column.kind)


def _records(tables: LocalTables, column: Column, given: pyarrow.Array) -> Words:
    encoded = given.dictionary_encode()
    texts = encoded.dictionary.to_pylist()
    reader = RecordReader(tables.program.types, tables.symbols, tables.records)

    def failed(number: int, error: RecordTextError) -> Exception:
        places = pyarrow.compute.index(encoded.indices, number).as_py()
        return ValueMismatch(places, texts[number], CALLED["record"])

    codes = reader.read(texts, column.type, failed)
    return codes[encoded.indices.to_numpy(zero_copy_only=False)] if len(codes) else codes
