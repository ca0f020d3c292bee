"""Tuples on their way into a store and out of it. A row is a tuple's values, then its iteration and its count."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa

from whence.lang.program import Kind
from whence.store import Store
from whence.store.parquet import TYPES

Row = tuple[Any, ...]


def arrow(kinds: str, rows: Iterable[Row]) -> pa.Table:
    """Rows of columns of some kinds, "number symbol", as a store takes them; nothing names the columns."""
    types: list[Any] = [*(TYPES[kind_named(name)] for name in kinds.split()), pa.int32(), pa.int64()]
    columns = list(zip(*rows, strict=True)) or [()] * len(types)
    arrays = [pa.array(values, type, from_pandas=False) for values, type in zip(columns, types, strict=True)]
    return pa.table(arrays, [f"c{place}" for place in range(len(types))])


def kind_named(name: str) -> Kind:
    return next(kind for kind in TYPES if kind == name)


def found(store: Store, relation: str, epoch: int | None = None) -> list[Row]:
    """The rows of a relation, sorted."""
    return sorted(zip(*(column.to_pylist() for column in store.read(relation, epoch).columns), strict=True), key=bits)


def bits(row: Row) -> tuple[Any, ...]:
    """What tells two rows apart: a float is its bits, so NaN is NaN and 0.0 is not -0.0."""
    return tuple(
        struct.pack(">d", value) if isinstance(value, float) else -1 if value is None else value for value in row
    )


def files_in(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def files_of(store: Store) -> set[str]:
    """What should be in the directory of a store, and nothing else."""
    named = {"manifest.json", "lock"}
    for epoch in store.epochs:
        named |= {f"epochs/{epoch.number}.json", epoch.program.path}
        named |= {file.path for stored in epoch.relations.values() for file in stored.files}
    return named
