"""Python values to the int64 that stand for them, and back, a column at a time.

Numbers are themselves, floats and unsigned their bits, symbols and records their codes. In Python a record is a tuple
and nil is None.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from whence.lang.program import Column, Kind, Type

from .records import RecordTables
from .symbols import SymbolTable
from .table import Rows, Words

Value = int | float | str | tuple[Any, ...] | None
RANGES = {"number": (-(2**63), 2**63), "unsigned": (0, 2**64)}
CALLED = {
    "number": "a whole number from -2^63 to 2^63 - 1",
    "unsigned": "a whole number from 0 to 2^64 - 1",
    "float": "a number",
    "symbol": "a string",
    "record": "a tuple, or None for nil",
}


class ValueMismatch(ValueError):
    """A value that is not of its column's type; `row` is its place."""

    def __init__(self, row: int, value: object, wanted: str) -> None:
        shown = repr(value)
        super().__init__(f"{shown if len(shown) < 60 else shown[:57] + '…'} is not {wanted}")
        self.row = row


@dataclass(frozen=True)
class EncodedTuples:
    """Tuples of a relation, decoded when they are asked for."""

    values: Values
    columns: tuple[Column, ...]
    rows: Rows

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        if not self.columns:
            return iter([()] * len(self.rows))
        decode = self.values.decode
        decoded = [decode(self.rows[:, i], column.type, column.kind) for i, column in enumerate(self.columns)]
        return zip(*decoded, strict=True)


class Values:
    """The symbols and records of a session, and how values are told by them."""

    def __init__(self, types: Mapping[str, Type], symbols: SymbolTable, records: RecordTables) -> None:
        self.types = types
        self.symbols = symbols
        self.records = records

    def encode(self, column: Sequence[Any], type_name: str, kind: Kind) -> Words:
        try:
            return self._encode(column, type_name, kind)
        except (TypeError, ValueError, OverflowError, RecursionError):
            for row, value in enumerate(column):
                try:
                    self._encode((value,), type_name, kind)
                except (TypeError, ValueError, OverflowError, RecursionError):
                    raise ValueMismatch(row, value, CALLED[kind]) from None
            raise

    def _encode(self, column: Sequence[Any], type_name: str, kind: Kind) -> Words:
        if kind == "symbol":
            if not all(isinstance(value, str) for value in column):
                raise TypeError
            return self.symbols.encode(column)
        if kind == "record":
            return self._pack(column, type_name)
        if kind == "float":
            if any(isinstance(value, str | bytes) for value in column):
                raise TypeError
            return np.array(column, np.float64).view(np.int64)
        if not all(isinstance(value, int | np.integer) for value in column):
            raise TypeError
        if kind == "unsigned":
            return np.array(column, np.uint64).view(np.int64)
        return np.array(column, np.int64)

    def _pack(self, column: Sequence[Any], type_name: str) -> Words:
        fields = self.types[type_name].fields or ()
        there = [i for i, value in enumerate(column) if value is not None]
        codes = np.zeros(len(column), np.int64)
        if not there:
            return codes
        tuples = [column[i] for i in there]
        if any(not isinstance(value, tuple | list) or len(value) != len(fields) for value in tuples):
            raise TypeError
        if not fields:
            codes[there] = self.records.pack(0, codes[:0])
            return codes
        flat = np.empty((len(there), len(fields)), np.int64)
        for i, (_, field_type) in enumerate(fields):
            flat[:, i] = self._encode([value[i] for value in tuples], field_type, self.types[field_type].kind)
        codes[there] = self.records.pack(len(fields), flat.reshape(-1))
        return codes

    def decode(self, column: Words, type_name: str, kind: Kind) -> list[Any]:
        column = np.ascontiguousarray(column)
        if kind == "symbol":
            return self.symbols.decode(column)
        if kind == "float":
            return column.view(np.float64).tolist()
        if kind == "unsigned":
            return column.view(np.uint64).tolist()
        if kind == "number":
            return column.tolist()
        return self._unpack(column, type_name)

    def _unpack(self, codes: Words, type_name: str) -> list[Any]:
        """Records as nested tuples, built from the innermost out, however deep they are."""
        fields = self._open(codes, type_name)
        done: dict[tuple[str, int], Any] = {}
        for start in fields:
            stack = [start]
            while stack:
                key = stack[-1]
                inner = [(i, (t, fields[key][i])) for i, t in self._nested(key[0])]
                unfinished = [k for _, k in inner if k[1] and k not in done]
                if unfinished:
                    stack += unfinished
                    continue
                parts = list(fields[key])
                for i, k in inner:
                    parts[i] = done[k] if k[1] else None
                done[key] = tuple(parts)
                stack.pop()
        return [done[type_name, code] if code else None for code in codes.tolist()]

    def _open(self, codes: Words, type_name: str) -> dict[tuple[str, int], tuple[Any, ...]]:
        """The fields of every record that can be reached, by type and code; fields that are records stay codes."""
        fields: dict[tuple[str, int], tuple[Any, ...]] = {}
        waiting = [(type_name, codes)]
        while waiting:
            name, some = waiting.pop()
            new = [code for code in np.unique(some).tolist() if code and (name, code) not in fields]
            if not new:
                continue
            types = [field_type for _, field_type in self.types[name].fields or ()]
            rows = self.records.fields(len(types), np.array(new, np.int64))
            columns: list[list[Any]] = []
            for i, field_type in enumerate(types):
                kind = self.types[field_type].kind
                if kind == "record":
                    waiting.append((field_type, rows[:, i]))
                    columns.append(rows[:, i].tolist())
                else:
                    columns.append(self.decode(rows[:, i], field_type, kind))
            found = zip(*columns, strict=True) if columns else [()] * len(new)
            fields.update(((name, code), row) for code, row in zip(new, found, strict=True))
        return fields

    def _nested(self, type_name: str) -> list[tuple[int, str]]:
        fields = self.types[type_name].fields or ()
        return [(i, t) for i, (_, t) in enumerate(fields) if self.types[t].kind == "record"]
