"""Lines in hand, sieved: the rows of those that are right, and for each of the others what is wrong with it.

Where `LineReader` stops at the first wrong line, this goes on after it. Rows come as Arrow columns in the carried form
of the Spark engine: int64 for numbers of any kind, strings for symbols, and for a record its one text, so that equal
records are equal strings.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import pyarrow
import pyarrow.compute

from whence.lang.program import Column, Kind, Relation, Span, Type

from .kernel.library import load
from .kernel.text_layout import R_COUNT, R_FIELDS, R_LINE, R_PLAN, R_POSITION
from .numerals import in_c_locale
from .reading import NEWLINE, FactsError, LineReader
from .record_text import RecordReader, RecordTextError, texts_of
from .records import RecordTables
from .symbol_columns import strings_of
from .symbols import SymbolTable
from .table import Words

TOO_LARGE = 1 << 26  # bytes of symbols after which a new table is begun


class Misfit(NamedTuple):
    """What is wrong with a row, which is counted from 0; `column` is a character of its line from 1, or 0."""

    row: int
    column: int
    message: str
    hint: str


@dataclass(frozen=True)
class Sieved:
    """The columns of the right rows, how many they are, and the wrong ones in order."""

    columns: Sequence[pyarrow.Array]
    count: int
    misfits: Sequence[Misfit]


class LineSieve:
    """Lines of Soufflé's files, a batch after the other, in the form that `.input` says."""

    def __init__(
        self, relation: Relation, types: Mapping[str, Type], delimiter: str, places: Sequence[int], exact: bool
    ) -> None:
        self.relation = relation
        self.types = types
        self._kernel = load()
        self._form = (delimiter, places, exact)
        self._reader: _Reader | None = None

    def sieve(self, lines: pyarrow.Array) -> Sieved:
        """`lines` are bytes without the newline at their end."""
        if not self.relation.arity:
            return _sieve_nullary(lines, self.relation)
        if self._reader is None or self._reader.symbols.nbytes > TOO_LARGE:
            symbols, records = SymbolTable(self._kernel), RecordTables(self._kernel)
            self._reader = _Reader("", self.relation, self.types, symbols, records, *self._form)
        with in_c_locale():
            return self._reader.sieve(lines)


class _Reader(LineReader):
    """The reader of files, handed a buffer of lines and started again after each wrong one."""

    def sieve(self, lines: pyarrow.Array) -> Sieved:
        self._buffer = _joined(lines)
        fields = self._fields
        fields[R_COUNT] = 0
        fields[R_LINE] = 1
        misfits: list[Misfit] = []
        position = 0
        while True:
            try:
                self._take(position, len(self._buffer))
                break
            except FactsError as error:
                misfits.append(Misfit(error.line - 1, error.column, error.message, error.hint))
                position = self._buffer.index(b"\n", fields[R_POSITION]) + 1
                fields[R_LINE] += 1
        count = fields[R_COUNT]
        rows = self._rows.view[: count * self.relation.arity].reshape(count, self.relation.arity)
        right = np.ones(len(lines), bool)
        right[[misfit.row for misfit in misfits]] = False
        places = np.flatnonzero(right)  # of each row, its line
        columns = [np.ascontiguousarray(rows[:, i]) for i in range(self.relation.arity)]
        texts, wrong = self._canonical(columns, places)
        arrays = [
            texts[i]
            if column.kind == "record"
            else strings_of(self.symbols, columns[i])
            if column.kind == "symbol"
            else pyarrow.array(columns[i])
            for i, column in enumerate(self.relation.columns)
        ]
        if wrong:
            good = np.ones(len(lines), bool)
            good[list(wrong)] = False
            arrays = [array.filter(pyarrow.array(good[places])) for array in arrays]
            misfits = sorted([*misfits, *wrong.values()])
        return Sieved(arrays, len(lines) - len(misfits), misfits)

    def _read_records(self, row: int, line: int, start: int) -> None:
        """Rows keep the codes of the texts, as lines may have been left out."""

    def _canonical(self, columns: Sequence[Words], places: Words) -> tuple[dict[int, pyarrow.Array], dict[int, Misfit]]:
        """By column the texts of records as they are printed, and by line what is no record."""
        texts: dict[int, pyarrow.Array] = {}
        wrong: dict[int, Misfit] = {}
        for i, column in enumerate(self.relation.columns):
            if column.kind != "record":
                continue
            distinct, where = np.unique(columns[i], return_inverse=True)
            found = canonical(self._texts.decode(distinct), column.type, self.types, self.kernel)
            errors = {code: text for code, text in enumerate(found) if isinstance(text, RecordTextError)}
            printed = pyarrow.array(["" if code in errors else text for code, text in enumerate(found)], "string")
            texts[i] = printed.take(pyarrow.array(where))
            if errors:
                ends = np.flatnonzero(np.frombuffer(self._buffer, np.uint8) == NEWLINE)
                for row in np.flatnonzero(np.isin(where, list(errors))).tolist():
                    line = int(places[row])
                    if line not in wrong:
                        start = int(ends[line - 1]) + 1 if line else 0
                        wrong[line] = self._misfit(line, start, i, errors[int(where[row])])
        return texts, wrong

    def _misfit(self, line: int, start: int, target: int, record_error: RecordTextError) -> Misfit:
        fields = self._fields
        plan, needed = fields[R_PLAN], fields[R_FIELDS]
        error = self._record_error(line + 1, start, 0, target, record_error)
        fields[R_PLAN], fields[R_FIELDS] = plan, needed
        return Misfit(line, error.column, error.message, error.hint)


def canonical(
    texts: Sequence[str], type_name: str, types: Mapping[str, Type], kernel: SimpleNamespace
) -> list[str | RecordTextError]:
    """For each text of a record the one that stands for it, or why it is none."""
    symbols, records = SymbolTable(kernel), RecordTables(kernel)

    def printed(some: Sequence[str]) -> list[str]:
        codes = RecordReader(types, symbols, records).read(some, type_name, lambda _, error: error)
        return texts_of(codes, type_name, types, symbols, records)

    try:
        return list(printed(texts))
    except RecordTextError:
        found: list[str | RecordTextError] = []
        for text in texts:
            try:
                found += printed([text])
            except RecordTextError as error:
                found.append(error)
        return found


def number_sieve(column: Column, relation_name: str, types: Mapping[str, Type]) -> LineSieve:
    """For strings that should be numbers: each is a line with one column, and has no newline and no NUL."""
    nowhere = Span("", 0, 0, 0, 0)
    return LineSieve(Relation(relation_name, (column,), nowhere), types, "\0", [0], exact=True)


def carried_type(kind: Kind) -> pyarrow.DataType:
    return pyarrow.string() if kind in ("symbol", "record") else pyarrow.int64()


def _joined(lines: pyarrow.Array) -> bytearray:
    """The lines one after the other, with a newline at the end of each."""
    if not len(lines):
        return bytearray()
    lines = lines.cast(pyarrow.large_binary())
    every = pyarrow.LargeListArray.from_arrays([0, len(lines)], lines)
    joined = pyarrow.compute.binary_join(every, pyarrow.scalar(b"\n", pyarrow.large_binary()))[0].as_buffer()
    buffer = bytearray(joined)
    buffer.append(NEWLINE)
    return buffer


def _sieve_nullary(lines: pyarrow.Array, relation: Relation) -> Sieved:
    message = f"{relation.name} has no columns, but this line is not ()"
    hint = "a line of () says that the relation holds"
    wrong = [row for row, line in enumerate(lines.to_pylist()) if line.strip() not in (b"()", b"")]
    return Sieved((), len(lines) - len(wrong), [Misfit(row, 1, message, hint) for row in wrong])
