"""Records as text, `[1, [2, nil]]`, the way Soufflé's files have them.

Each distinct text or record is handled once, in Python, with no recursion: a list of a million elements is a record
a million levels deep.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from whence.lang.program import Kind, Type

from .symbols import SymbolTable
from .table import Rows, Words


class Records(Protocol):
    """The record table: a code for each distinct record of an arity; 0 is nil."""

    def pack(self, arity: int, fields: Words) -> Words: ...

    def fields(self, arity: int, codes: Words) -> Rows: ...


class RecordTextError(Exception):
    """Text that is no record of its type: what was expected, and at which character."""

    def __init__(self, message: str, position: int) -> None:
        super().__init__(message)
        self.message = message
        self.position = position


# Each takes the white space around it along; a symbol without quotes goes on to the end of its field.
_BEGIN = re.compile(r"\s*(?:(nil)|\[)\s*", re.ASCII)
_SPACE = re.compile(r"\s*", re.ASCII)
_TOKENS: Mapping[Kind, re.Pattern[str]] = {
    "number": re.compile(r"\s*([+-]?[0-9]+)\s*", re.ASCII),
    "unsigned": re.compile(r"\s*\+?(0x[0-9a-fA-F]+|0b[01]+|[0-9]+)\s*", re.ASCII),
    "float": re.compile(
        r"\s*([+-]?(?:inf(?:inity)?|nan|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?))\s*", re.ASCII | re.IGNORECASE
    ),
    "symbol": re.compile(r'\s*(?:"((?:[^"\\]|\\.)*)"\s*|([^,\]]*))', re.ASCII | re.DOTALL),
}
_AMBIGUOUS = re.compile(r'[,\]]|\A["\s]', re.ASCII)
_TO_ESCAPE = re.compile(r'["\\]')
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_NAMES: Mapping[Kind, str] = {"number": "a number", "unsigned": "an unsigned number", "float": "a float"}


@dataclass(slots=True)
class _Shape:
    """A type of records, and all that were met of it: their values one after the other, their numbers, their levels.

    For a field that is a record the value is its number, for one that is a symbol its place among those met.
    """

    name: str
    fields: Sequence[tuple[Kind, str]]
    values: list[int] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    levels: list[int] = field(default_factory=list)


@dataclass(slots=True)
class _Open:
    """A record whose end is not reached yet."""

    shape: _Shape
    values: list[int]
    level: int = 0


class RecordReader:
    """Parses texts into records. A record's level is 1 more than those in it, so that they can be packed level by
    level."""

    def __init__(self, types: Mapping[str, Type], symbols: SymbolTable, records: Records) -> None:
        self.types = types
        self.symbols = symbols
        self.records = records
        self._shapes: dict[str, _Shape] = {}
        self._texts: dict[str, int] = {}
        self._count = 0  # of records met; nil has the number 0

    def read(self, texts: Iterable[str], type_name: str, failed: Callable[[int, RecordTextError], Exception]) -> Words:
        """The code of each text's record; an error is raised as `failed(number of the text, error)` makes it."""
        tops = []
        for number, text in enumerate(texts):
            try:
                tops.append(self._parse(text, type_name))
            except RecordTextError as error:
                raise failed(number, error) from None
        return self._pack()[np.array(tops, np.int64)]

    def _shape(self, type_name: str) -> _Shape:
        shape = self._shapes.get(type_name)
        if shape is None:
            fields = [(self.types[name].kind, name) for _, name in self.types[type_name].fields or ()]
            shape = self._shapes[type_name] = _Shape(type_name, fields)
        return shape

    def _parse(self, text: str, type_name: str) -> int:
        """The number of the record that the text is."""
        shape = self._shape(type_name)
        stack: list[_Open] = []
        position = 0
        while True:
            # A record of this shape begins here, or nil.
            begin = _BEGIN.match(text, position)
            if begin is None:
                raise RecordTextError("a record begins with `[`, or is `nil`", _skip(text, position))
            position = begin.end()
            done, level = 0, 0
            if begin[1] is None:
                stack.append(_Open(shape, []))
                done = -1
            # Fields, and ends of records, until the next nested record begins.
            while True:
                if done >= 0:
                    if not stack:
                        if position < len(text):
                            raise RecordTextError("a record ends with its last `]`", position)
                        return done
                    stack[-1].values.append(done)
                    stack[-1].level = max(stack[-1].level, level)
                    done = -1
                inner = stack[-1]
                filled, needed = len(inner.values), len(inner.shape.fields)
                if filled == needed:
                    if not text.startswith("]", position):
                        count = f"{needed} field" + "s" * (needed != 1)
                        raise RecordTextError(f"a record of type {inner.shape.name} has {count} and then `]`", position)
                    position = _skip(text, position + 1)
                    level = inner.level + 1
                    done = self._keep(stack.pop(), level)
                    continue
                if filled:
                    if not text.startswith(",", position):
                        message = f"a record of type {inner.shape.name} has {needed} fields with `,` between them"
                        raise RecordTextError(message, position)
                    position += 1
                kind, name = inner.shape.fields[filled]
                if kind == "record":
                    shape = self._shape(name)
                    break
                found = _TOKENS[kind].match(text, position)
                if found is None:
                    raise RecordTextError(f"{_NAMES[kind]} is needed here", _skip(text, position))
                inner.values.append(self._scalar(found, kind))
                position = found.end()

    def _keep(self, complete: _Open, level: int) -> int:
        shape = complete.shape
        self._count += 1
        shape.values += complete.values
        shape.numbers.append(self._count)
        shape.levels.append(level)
        return self._count

    def _scalar(self, found: re.Match[str], kind: Kind) -> int:
        token = found[1]
        if kind == "symbol":
            text = found[2] if token is None else _ESCAPED.sub(r"\1", token)
            return self._texts.setdefault(text, len(self._texts))
        if kind == "float":
            number = float(token)
            if np.isinf(number) and "i" not in token.lower():
                raise RecordTextError(f"{token[:40]} is out of range", found.start(1))
            return int(np.float64(number).view(np.int64))
        base = {"0x": 16, "0b": 2}.get(token[:2], 10)
        integer = int(token, base) if len(token) < 100 else 2**64
        low, high = (-(2**63), 2**63) if kind == "number" else (0, 2**64)
        if not low <= integer < high:
            raise RecordTextError(f"{token[:40]} is out of range", found.start(1))
        return integer - 2**64 if integer >= 2**63 else integer

    def _pack(self) -> Words:
        """The code of each record met, by number."""
        codes = np.zeros(self._count + 1, np.int64)
        texts = self.symbols.encode(self._texts)
        waiting: list[tuple[int, _Shape, Rows, Words]] = []  # by level: the records of a shape, and their numbers
        for shape in self._shapes.values():
            rows = np.array(shape.values, np.int64).reshape(len(shape.numbers), len(shape.fields))
            for i, (kind, _) in enumerate(shape.fields):
                if kind == "symbol":
                    rows[:, i] = texts[rows[:, i]]
            levels = np.array(shape.levels, np.int64)
            order = np.argsort(levels, kind="stable")
            rows, numbers = rows[order], np.array(shape.numbers, np.int64)[order]
            distinct, begins = np.unique(levels[order], return_index=True)
            ends = np.append(begins, len(order))[1:]
            for level, begin, end in zip(distinct.tolist(), begins.tolist(), ends.tolist(), strict=True):
                waiting.append((level, shape, rows[begin:end], numbers[begin:end]))
        for _, shape, rows, numbers in sorted(waiting, key=lambda group: group[0]):
            for i, (kind, _) in enumerate(shape.fields):
                if kind == "record":
                    rows[:, i] = codes[rows[:, i]]
            codes[numbers] = self.records.pack(len(shape.fields), rows.reshape(-1))
        return codes


def symbol_in_record(text: str) -> str:
    """A symbol as a field of a record: verbatim, or in quotes where it would not be read back."""
    return '"' + _TO_ESCAPE.sub(r"\\\g<0>", text) + '"' if _AMBIGUOUS.search(text) else text


def texts_of(
    codes: Words, type_name: str, types: Mapping[str, Type], symbols: SymbolTable, records: Records
) -> list[str]:
    """The text of each record, as it can be read back."""

    def scalar(values: Words, kind: Kind) -> list[str]:
        if kind == "symbol":
            return [symbol_in_record(text) for text in symbols.decode(values)]
        if kind == "float":
            return [f"{value:.17g}" for value in values.view(np.float64).tolist()]
        return [str(value) for value in (values.view(np.uint64) if kind == "unsigned" else values).tolist()]

    return record_texts(codes.tolist(), type_name, types, records, scalar)


def record_texts(
    codes: Sequence[int],
    type_name: str,
    types: Mapping[str, Type],
    records: Records,
    scalar: Callable[[Words, Kind], list[str]],
) -> list[str]:
    """The text of each record. `scalar` prints columns of values that are no records."""
    opened: dict[str, dict[int, tuple[str | int, ...]]] = {}
    _open(np.array(codes, np.int64), type_name, types, records, scalar, opened)
    return [_join(code, type_name, types, opened) for code in codes]


def _open(
    codes: Words,
    type_name: str,
    types: Mapping[str, Type],
    records: Records,
    scalar: Callable[[Words, Kind], list[str]],
    opened: dict[str, dict[int, tuple[str | int, ...]]],
) -> None:
    """Fetch the fields of all records that can be reached, a level at a time. Fields that are records stay codes."""
    waiting = [(type_name, codes)]
    while waiting:
        name, some = waiting.pop()
        known = opened.setdefault(name, {})
        new = [code for code in dict.fromkeys(some.tolist()) if code and code not in known]
        if not new:
            continue
        fields = types[name].fields or ()
        table = records.fields(len(fields), np.array(new, np.int64))
        columns: list[Sequence[str | int]] = []
        for i, (_, field_type) in enumerate(fields):
            column = np.ascontiguousarray(table[:, i])
            if types[field_type].kind == "record":
                columns.append(column.tolist())
                waiting.append((field_type, column))
            else:
                columns.append(scalar(column, types[field_type].kind))
        known.update(zip(new, zip(*columns, strict=True) if columns else [()] * len(new), strict=True))


def _join(
    code: int, type_name: str, types: Mapping[str, Type], opened: Mapping[str, Mapping[int, tuple[str | int, ...]]]
) -> str:
    parts: list[str] = []
    stack: list[tuple[str, int] | str] = [(type_name, code)]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            parts.append(item)
            continue
        name, value = item
        if value == 0:
            parts.append("nil")
            continue
        pieces: list[tuple[str, int] | str] = ["["]
        for (_, field_type), part in zip(types[name].fields or (), opened[name][value], strict=True):
            if len(pieces) > 1:
                pieces.append(", ")
            pieces.append((field_type, part) if isinstance(part, int) else part)
        pieces.append("]")
        stack.extend(reversed(pieces))
    return "".join(parts)


def _skip(text: str, position: int) -> int:
    found = _SPACE.match(text, position)
    return found.end() if found else position
