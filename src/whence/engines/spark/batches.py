"""Arrow data in carried form to the rows of the kernel, and back. Runs in tasks as well as on the driver."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow

from whence.engines.local.record_text import RecordReader, RecordTextError, texts_of
from whence.engines.local.table import Rows, Words
from whence.engines.local.tables import LocalTables
from whence.lang.program import Kind, Program, Relation, Type

ARROW: Mapping[Kind, pyarrow.DataType] = {
    "number": pyarrow.int64(),
    "unsigned": pyarrow.int64(),
    "float": pyarrow.int64(),
    "symbol": pyarrow.string(),
    "record": pyarrow.string(),
}
Typed = tuple[Kind, str]  # of a column: its kind and, for a record, its type
NUMBER: Typed = ("number", "number")


def without_rules(types: Mapping[str, Type], relations: Mapping[str, Relation] | None = None) -> Program:
    """A program that only says what there is, so that a task can make tables for it."""
    return Program(types, relations or {}, (), (), (), ())


def typed(relation: Relation) -> list[Typed]:
    return [(column.kind, column.type) for column in relation.columns]


def rows_of(tables: LocalTables, columns: Sequence[Typed], arrays: Sequence[pyarrow.Array], count: int) -> Rows:
    rows = np.empty((count, len(columns)), np.int64)
    for i, ((kind, type_name), array) in enumerate(zip(columns, arrays, strict=True)):
        rows[:, i] = _codes(tables, kind, type_name, array)
    return rows


def arrays_of(tables: LocalTables, columns: Sequence[Typed], rows: Rows) -> list[pyarrow.Array]:
    return [_array(tables, kind, name, np.ascontiguousarray(rows[:, i])) for i, (kind, name) in enumerate(columns)]


def _codes(tables: LocalTables, kind: Kind, type_name: str, array: pyarrow.Array) -> Words:
    if kind not in ("symbol", "record"):
        numbers: Words = array.to_numpy(zero_copy_only=False)
        return numbers
    if isinstance(array, pyarrow.ChunkedArray):
        array = array.combine_chunks()
    encoded = array.dictionary_encode()
    texts = encoded.dictionary.to_pylist()
    if kind == "symbol":
        codes = tables.symbols.encode(texts)
    else:
        reader = RecordReader(tables.program.types, tables.symbols, tables.records)
        codes = reader.read(texts, type_name, _unreadable)
    return codes[encoded.indices.to_numpy(zero_copy_only=False)] if len(codes) else codes


def _unreadable(number: int, error: RecordTextError) -> Exception:
    return AssertionError(f"a record that the engine wrote itself cannot be read: {error.message}")


def _array(tables: LocalTables, kind: Kind, type_name: str, codes: Words) -> pyarrow.Array:
    if kind not in ("symbol", "record"):
        return pyarrow.array(codes)
    if kind == "symbol" and len(tables.symbols) <= len(codes):
        every = np.arange(len(tables.symbols))
        return pyarrow.array(tables.symbols.decode(every), pyarrow.string()).take(pyarrow.array(codes))
    distinct, places = np.unique(codes, return_inverse=True)
    if kind == "symbol":
        texts = tables.symbols.decode(distinct)
    else:
        texts = texts_of(distinct, type_name, tables.program.types, tables.symbols, tables.records)
    return pyarrow.array(texts, pyarrow.string()).take(pyarrow.array(places))
