"""Rows from a stream of lines: blocks of whole lines go to one kernel, which is given room when it asks for it.

Numbers are parsed and symbols interned where they lie, so memory is bounded by the tuples, not by the file. Whatever is
wrong is said with file, line and column.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import BinaryIO, NoReturn

import numpy as np

from whence.errors import WhenceError
from whence.lang.program import Kind, Relation, Type

from .kernel import text_layout as layout
from .kernel.text_layout import (
    R_ARITY,
    R_AT,
    R_BRACKETS,
    R_CAPACITY,
    R_COUNT,
    R_DELIMITER,
    R_DELIMITER_LENGTH,
    R_END,
    R_EXACT,
    R_FIELD,
    R_FIELDS,
    R_LENGTH,
    R_LINE,
    R_PLAIN,
    R_PLAN,
    R_POSITION,
    R_ROWS,
    R_SCRATCH,
    R_SYMBOLS,
    R_TEXT,
    R_TEXTS,
)
from .memory import Array
from .record_text import RecordReader, Records, RecordTextError
from .symbols import SymbolTable
from .table import Words

BLOCK = 1 << 23  # bytes of a file that are read at once
FIRST_ROWS = 1024
SHOWN = 40  # characters of a bad field that are shown

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
NEWLINE = ord("\n")

KINDS: Mapping[Kind, int] = {
    "number": layout.NUMBER,
    "unsigned": layout.UNSIGNED,
    "float": layout.FLOAT,
    "symbol": layout.SYMBOL,
    "record": layout.RECORD,
}

_NAMES: Mapping[Kind, str] = {"number": "a number", "unsigned": "an unsigned number", "float": "a float"}
_FORMS: Mapping[Kind, str] = {
    "number": "numbers are integers from -9223372036854775808 to 9223372036854775807, in decimal",
    "unsigned": "unsigned numbers are integers from 0 to 18446744073709551615, in decimal, as 0x… or as 0b…",
    "float": "floats are written 12, -1.5 or 2e10, up to about 1.8e308",
}


class FactsError(WhenceError):
    """What is wrong with a file of facts, and where; line and column count from 1, or are 0 for the file as a whole."""

    def __init__(self, file: str, line: int, column: int, message: str, hint: str = "") -> None:
        super().__init__(file, line, column, message, hint)
        self.file = file
        self.line = line
        self.column = column
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}:{self.column}" if self.line else self.file
        return f"{place}: {self.message}"


class LineReader:
    """One pass over a stream. `places` says for each column of the relation which one of the file it is."""

    def __init__(
        self,
        name: str,
        relation: Relation,
        types: Mapping[str, Type],
        symbols: SymbolTable,
        records: Records,
        delimiter: str,
        places: Sequence[int],
        exact: bool,
    ) -> None:
        self.name = name
        self.relation = relation
        self.types = types
        self.symbols = symbols
        self.records = records
        self.delimiter = delimiter
        self.places = places
        self.kernel = symbols.kernel
        self._buffer = bytearray(BLOCK + 1)  # one for a newline at the end
        self._rows = Array(np.int64, FIRST_ROWS * relation.arity)
        self._texts = SymbolTable(self.kernel)  # of records, until the block is read
        self._record_codes: dict[str, Words] = {}  # by type: the record of each text, or -1
        self._delimiter = np.frombuffer(delimiter.encode(), np.uint8)
        self._scratch = np.zeros(layout.SCRATCH // 8, np.int64)
        self._plan = np.full(max(places) + 1, layout.SKIPPED, np.int64)
        for target, place in enumerate(places):
            self._plan[place] = KINDS[relation.columns[target].kind] | target << layout.KIND_BITS
        self._words = np.zeros(layout.READER_WORDS, np.int64)
        self._fields = fields = self._words.data
        fields[R_LINE] = 1
        fields[R_ROWS] = self._rows.address
        fields[R_ARITY] = relation.arity
        fields[R_CAPACITY] = FIRST_ROWS
        fields[R_PLAN] = self._plan.ctypes.data
        fields[R_FIELDS] = len(self._plan)
        fields[R_EXACT] = exact
        fields[R_DELIMITER] = self._delimiter.ctypes.data
        fields[R_DELIMITER_LENGTH] = len(self._delimiter)
        fields[R_PLAIN] = len(self._delimiter) == 1 and delimiter not in "0123456789-"
        fields[R_BRACKETS] = "," in delimiter  # which then also stands between the fields of a record
        fields[R_SYMBOLS] = symbols.address
        fields[R_TEXTS] = self._texts.address
        fields[R_SCRATCH] = self._scratch.ctypes.data

    def read(self, stream: BinaryIO, headers: bool) -> tuple[Words, int]:
        first = True
        filled = 0
        while True:
            got = _fill(stream, self._buffer, filled)
            filled += got
            if not got and first and self._buffer[:filled] == BYTE_ORDER_MARK:
                break
            if not got and filled and self._buffer[filled - 1] != NEWLINE:  # the last line may lack its end
                self._buffer[filled] = NEWLINE
                filled += 1
            stop = self._buffer.rfind(b"\n", 0, filled) + 1
            if stop:
                self._take(self._start(headers) if first else 0, stop)
                first = False
                rest = filled - stop
                self._buffer[:rest] = self._buffer[stop:filled]
                filled = rest
            elif filled == len(self._buffer) - 1:  # a line longer than the buffer
                self._buffer.extend(bytes(len(self._buffer)))
            if not got:
                break
        count = self._fields[R_COUNT]
        return self._rows.view[: count * self.relation.arity], count

    def _start(self, headers: bool) -> int:
        """Where the first tuple is in the first block."""
        if headers:
            self._fields[R_LINE] = 2
            return self._buffer.index(b"\n") + 1
        return len(BYTE_ORDER_MARK) if self._buffer.startswith(BYTE_ORDER_MARK) else 0

    def _take(self, start: int, stop: int) -> None:
        """Read the lines of the buffer from `start` to `stop`."""
        fields = self._fields
        row, line = fields[R_COUNT], fields[R_LINE]
        text = np.frombuffer(self._buffer, np.uint8)
        fields[R_TEXT] = text.ctypes.data
        fields[R_LENGTH] = stop
        fields[R_POSITION] = start
        while (status := self.kernel.read_rows(self._words.ctypes.data)) != layout.READ:
            if status == layout.FULL_ROWS:
                self._rows.grow(2 * len(self._rows))
                fields[R_ROWS] = self._rows.address
                fields[R_CAPACITY] *= 2
            elif status == layout.FULL_SYMBOLS:
                self.symbols.make_room()
            elif status == layout.FULL_TEXTS:
                self._texts.make_room()
            else:
                self._fail(status)
        self._read_records(row, line, start)

    # Records

    def _read_records(self, row: int, line: int, start: int) -> None:
        """In the rows of this block, put records for the texts of records."""
        count = self._fields[R_COUNT]
        rows = self._rows.view[: count * self.relation.arity].reshape(count, self.relation.arity)[row:]
        for target, column in enumerate(self.relation.columns):
            if column.kind != "record" or not len(rows):
                continue
            codes = self._record_codes.get(column.type, np.empty(0, np.int64))
            codes = np.concatenate([codes, np.full(len(self._texts) - len(codes), -1)])
            used = np.zeros(len(codes), bool)
            used[rows[:, target]] = True
            new = np.flatnonzero(used & (codes < 0))

            def failed(number: int, error: RecordTextError, target: int = target, new: Words = new) -> FactsError:
                first = int(np.argmax(rows[:, target] == new[number]))
                return self._record_error(line + first, start, first, target, error)

            reader = RecordReader(self.types, self.symbols, self.records)
            codes[new] = reader.read(self._texts.decode(new), column.type, failed)
            self._record_codes[column.type] = codes
            rows[:, target] = codes[rows[:, target]]

    def _record_error(self, line: int, start: int, number: int, target: int, error: RecordTextError) -> FactsError:
        """Find the field again, in the line that is `number` lines after `start`."""
        position = start
        for _ in range(number):
            position = self._buffer.index(b"\n", position) + 1
        place = self.places[target]
        plan = np.full(place + 1, layout.SKIPPED, np.int64)
        plan[place] = layout.WANTED
        fields = self._fields
        fields[R_PLAN] = plan.ctypes.data
        fields[R_FIELDS] = len(plan)
        fields[R_POSITION] = position
        fields[R_COUNT] = 0
        self.kernel.read_rows(self._words.ctypes.data)
        column = self._column(fields[R_AT]) + error.position
        return FactsError(
            self.name,
            line,
            column,
            f"column {self._column_name(target)} of {self.relation.name} should be a record: {error.message}",
            "records are written [1, x, nil], as their type says",
        )

    # Errors

    def _fail(self, status: int) -> NoReturn:
        at, end, field = self._fields[R_AT], self._fields[R_END], self._fields[R_FIELD]
        text = self._buffer[at:end].decode(errors="replace")
        shown = f"`{text}`" if len(text) <= SHOWN else f"`{text[:SHOWN]}…`"
        name = self.relation.name
        needed = len(self._plan)
        hint = ""
        if needed > 1 and at == end == self._line_start(at) and self._buffer[end] in b"\r\n":
            message = f"{name} needs {_counted(needed, 'column')}, but this line is empty"
            hint = "delete the line"
        elif status in (layout.TOO_FEW, layout.TOO_MANY):
            found = field if status == layout.TOO_FEW else self._count_fields()
            message = f"{name} needs {_counted(needed, 'column')}, but this line has {found}"
            hint = f"columns are separated by {_described(self.delimiter)}; another delimiter can be set in .input"
        else:
            target = self.places.index(field)
            kind = self.relation.columns[target].kind
            column = f"column {self._column_name(target)} of {name}"
            if status == layout.NOT_A_NUMBER:
                message = f"{column} should be {_NAMES[kind]}, not {shown if text else 'nothing'}"
                hint = _FORMS[kind]
            elif status == layout.OUT_OF_RANGE:
                message = f"{shown} does not fit {column}, which is {_NAMES[kind]}"
                hint = _FORMS[kind]
            elif status == layout.NOT_UTF8:
                message = f"{column} has bytes that are not UTF-8, in {shown}"
                hint = "save the file as UTF-8"
            else:
                message = f"{column} should be a record, but in {shown} brackets do not match"
                hint = "records are written [1, x, nil], as their type says"
        raise FactsError(self.name, self._fields[R_LINE], self._column(at), message, hint)

    def _column_name(self, target: int) -> str:
        return self.relation.columns[target].name

    def _line_start(self, at: int) -> int:
        start = self._buffer.rfind(b"\n", 0, at) + 1
        return start or (len(BYTE_ORDER_MARK) if self._buffer.startswith(BYTE_ORDER_MARK) else 0)

    def _column(self, at: int) -> int:
        """The column of a byte in its line, in characters from 1."""
        return len(self._buffer[self._line_start(at) : at].decode(errors="replace")) + 1

    def _count_fields(self) -> int:
        at = self._fields[R_AT]
        rest = self._buffer[at : self._buffer.index(b"\n", at)]
        return len(self._plan) + 1 + rest.count(self.delimiter.encode())


def _fill(stream: BinaryIO, buffer: bytearray, start: int) -> int:
    """Read into the buffer, leaving its last byte; return how many bytes came, 0 at the end."""
    with memoryview(buffer)[start:-1] as room:
        if hasattr(stream, "readinto"):
            return int(stream.readinto(room) or 0)
        data = stream.read(len(room))
        room[: len(data)] = data
        return len(data)


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _described(delimiter: str) -> str:
    names = {"\t": "a tab", " ": "a space", ",": "a comma", ";": "a semicolon", "|": "a bar"}
    return names.get(delimiter) or f"`{delimiter}`"
