"""Input tuples from what a Python user has at hand."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from whence.errors import WhenceError
from whence.lang.program import Directive, Relation

from .facts import read_facts
from .forms import IMPLIED
from .table import Words
from .tables import LocalTables
from .values import ValueMismatch

DTYPES = {"number": "iu", "unsigned": "iu", "float": "iuf"}


def encoded(relation: Relation, source: Any, tables: LocalTables) -> tuple[Words, int]:
    """The rows of tuples, the path of a `.facts` file, a NumPy array, or anything that hands out Arrow data.

    They are one after the other, with how many they are.
    """
    if isinstance(source, str | os.PathLike):
        return from_file(relation, source, tables)
    if hasattr(source, "__arrow_c_stream__"):
        return from_arrow(relation, source, tables)
    if hasattr(source, "dtype") and hasattr(source, "shape"):
        return from_array(relation, source, tables)
    if hasattr(source, "toArrow"):  # a Spark DataFrame
        return from_arrow(relation, source.toArrow(), tables)
    return from_tuples(relation, source, tables)


def from_file(relation: Relation, path: str | os.PathLike[str], tables: LocalTables) -> tuple[Words, int]:
    name = os.fspath(path)
    if name.endswith(tuple(IMPLIED)):
        from .formats import read_format

        return read_format(Directive("input", relation.name, {"filename": name}, relation.origin), Path(), tables)
    return read_facts(path, name, relation, tables.program.types, tables.symbols, tables.records)


def from_tuples(relation: Relation, source: Iterable[Any], tables: LocalTables) -> tuple[Words, int]:
    try:
        tuples = list(source)
    except TypeError:
        raise WhenceError(f"{relation.name} cannot be loaded from {type(source).__name__}: give tuples") from None
    for row, given in enumerate(tuples):
        if not isinstance(given, tuple | list) or len(given) != relation.arity:
            shape = f"a tuple of {relation.arity} value" + "s" * (relation.arity != 1)
            raise WhenceError(f"{relation.name}: tuple {row} is {given!r:.60}; it should be {shape}")
    try:
        return tables.encode(relation.name, tuples), len(tuples)
    except ValueMismatch as error:
        raise WhenceError(f"{relation.name}: tuple {error.row}: {error}") from None


def from_array(relation: Relation, array: Any, tables: LocalTables) -> tuple[Words, int]:
    """A NumPy array with a row for each tuple; only for columns of numbers."""
    if array.ndim != 2 or array.shape[1] != relation.arity:
        wanted = f"(…, {relation.arity})"
        raise WhenceError(f"{relation.name}: an array of shape {array.shape} was given; it should be {wanted}")
    for column in relation.columns:
        if array.dtype.kind not in DTYPES.get(column.kind, ""):
            message = f"{relation.name}: an array of {array.dtype} does not fit the column {column.name}: {column.type}"
            raise WhenceError(f"{message}; give tuples or an Arrow table")
    rows = np.empty(array.shape, np.int64)
    for i, column in enumerate(relation.columns):
        rows[:, i] = array[:, i].astype(np.float64).view(np.int64) if column.kind == "float" else array[:, i]
    return rows.reshape(-1), len(rows)


def from_arrow(relation: Relation, source: Any, tables: LocalTables) -> tuple[Words, int]:
    """Anything that hands out Arrow data: its columns are those of the relation, in order."""
    import pyarrow

    from .arrow import rows_of

    table = pyarrow.table(source)
    if table.num_columns != relation.arity:
        message = f"{relation.name} has {relation.arity} columns, the table that was given {table.num_columns}"
        raise WhenceError(f"{message}: {', '.join(table.column_names)}")
    for column, given in zip(relation.columns, table.columns, strict=True):
        if given.null_count:
            raise WhenceError(f"{relation.name}: the column {column.name} has {given.null_count} nulls; remove them")
    try:
        rows = rows_of(tables, relation, table.columns)
    except ValueMismatch as error:
        raise WhenceError(f"{relation.name}: row {error.row}: {error}") from None
    return rows, table.num_rows
