"""Facts from files, and results to files: Soufflé's `.facts` and `.csv`.

One tuple a line, a delimiter between columns, symbols verbatim, records as `[1, [2, nil]]`, `()` for the tuple without
columns.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from typing import BinaryIO, cast

import numpy as np

from whence.lang.program import Kind, Relation, Type

from .kernel import text_layout as layout
from .kernel.text_layout import (
    W_ARITY,
    W_BUFFER,
    W_COLUMNS,
    W_COUNT,
    W_DELIMITER,
    W_DELIMITER_LENGTH,
    W_FORMAT,
    W_NEED,
    W_ROOM,
    W_ROW,
    W_ROWS,
    W_USED,
)
from .numerals import IN_FILES, address_of, in_c_locale
from .order import sorted_rows
from .reading import BYTE_ORDER_MARK, KINDS, FactsError, LineReader
from .record_text import Records, texts_of
from .replacing import Replacing, replacing
from .symbols import SymbolTable
from .table import Rows, Words

__all__ = ["FactsError", "read_facts", "write_facts"]

Target = str | os.PathLike[str] | BinaryIO

BUFFER = 1 << 22  # bytes of text that are written at once
GZIP_MARK = b"\x1f\x8b"


def read_facts(
    source: Target,
    name: str,
    relation: Relation,
    types: Mapping[str, Type],
    symbols: SymbolTable,
    records: Records,
    *,
    delimiter: str = "\t",
    headers: bool = False,
    columns: str | Sequence[int] | None = None,
) -> tuple[Words, int]:
    """The rows of a file, one after the other in a flat array, and how many they are; errors call the file `name`.

    `columns` says for each column of the relation which one of the file it is, counted from 0: `"0:2:1"`, or a
    sequence. The file may then have others. Without it, a line has exactly the columns of the relation.
    """
    if not delimiter or "\n" in delimiter:
        raise FactsError(name, 0, 0, f"{delimiter!r} cannot be a delimiter", "use a tab, a comma or other characters")
    places = _places(columns, relation, name)
    with _opened(source, name, relation) as stream:
        if relation.arity == 0:
            return np.empty(0, np.int64), _read_nullary(stream, name, relation, headers)
        reader = LineReader(name, relation, types, symbols, records, delimiter, places, exact=not columns)
        with in_c_locale():
            return reader.read(stream, headers)


def write_facts(
    target: Target,
    relation: Relation,
    types: Mapping[str, Type],
    rows: Rows,
    symbols: SymbolTable,
    records: Records,
    *,
    delimiter: str = "\t",
    headers: bool = False,
    sort: bool = True,
    files: Replacing | None = None,
) -> None:
    """Write rows as lines. A file is replaced at once, when all of it is written, or as one of `files`.

    `sort` orders tuples by value.
    """
    with _written(target, files) as stream:
        if headers:
            stream.write((delimiter.join(column.name for column in relation.columns) + "\n").encode())
        if relation.arity == 0:
            stream.write(b"()\n" if len(rows) else b"")
            return
        kinds = [column.kind for column in relation.columns]
        tables = [symbols] * relation.arity
        if "record" in kinds:
            rows = rows.copy()  # the caller's stay as they are
        for i, column in enumerate(relation.columns):
            if column.kind == "record":
                tables[i] = SymbolTable(symbols.kernel)
                rows[:, i] = _as_texts(rows[:, i], column.type, types, symbols, records, tables[i])
        if sort:
            rows = sorted_rows(rows, kinds, tables)
        _write_lines(stream, rows, kinds, tables, delimiter)


def _write_lines(
    stream: BinaryIO, rows: Rows, kinds: Sequence[Kind], tables: Sequence[SymbolTable], delimiter: str
) -> None:
    rows = np.ascontiguousarray(rows)
    kernel = tables[0].kernel
    separator = np.frombuffer(delimiter.encode(), np.uint8)
    columns = np.array(
        [word for kind, table in zip(kinds, tables, strict=True) for word in (KINDS[kind], table.address)], np.int64
    )
    buffer = np.empty(BUFFER, np.uint8)
    words = np.zeros(layout.WRITER_WORDS, np.int64)
    words[W_ROWS] = rows.ctypes.data
    words[W_ARITY] = len(kinds)
    words[W_COUNT] = len(rows)
    words[W_COLUMNS] = columns.ctypes.data
    words[W_DELIMITER] = separator.ctypes.data
    words[W_DELIMITER_LENGTH] = len(separator)
    words[W_FORMAT] = address_of(IN_FILES)
    while words[W_ROW] < len(rows):
        words[W_BUFFER] = buffer.ctypes.data
        words[W_ROOM] = len(buffer)
        words[W_USED] = 0
        with in_c_locale():
            kernel.write_rows(words.ctypes.data)
        if words[W_USED]:
            stream.write(buffer.data[: words[W_USED]])
        else:
            buffer = np.empty(words[W_NEED], np.uint8)  # a tuple longer than the buffer


def _as_texts(
    codes: Words, type_name: str, types: Mapping[str, Type], symbols: SymbolTable, records: Records, to: SymbolTable
) -> Words:
    """The texts of records, as symbols of the table `to`."""
    distinct, places = np.unique(codes, return_inverse=True)
    texts = texts_of(distinct, type_name, types, symbols, records)
    result: Words = to.encode(texts)[places]
    return result


# Parameters and files


def _places(columns: str | Sequence[int] | None, relation: Relation, name: str) -> list[int]:
    """For each column of the relation, the column of the file."""
    if not columns:
        return list(range(relation.arity))
    try:
        places = [int(part) for part in (columns.split(":") if isinstance(columns, str) else columns)]
    except ValueError:
        places = []
    if len(places) != relation.arity or len(set(places)) != len(places) or min(places, default=0) < 0:
        shown = columns if isinstance(columns, str) else ":".join(map(str, columns))
        message = f'columns="{shown}" does not say which columns of the file are those of {relation.name}'
        hint = f"give {relation.arity} different numbers, from 0 on, with `:` between them"
        raise FactsError(name, 0, 0, message, hint)
    return places


@contextmanager
def _opened(source: Target, name: str, relation: Relation) -> Iterator[BinaryIO]:
    """The file as bytes, without the gzip it may be compressed with."""
    if not isinstance(source, str | os.PathLike):
        yield source
        return
    with ExitStack() as stack:
        try:
            file = stack.enter_context(open(source, "rb"))
            stream = cast(BinaryIO, file)
            if file.peek(2)[:2] == GZIP_MARK:
                import gzip

                stream = cast(BinaryIO, stack.enter_context(gzip.GzipFile(fileobj=file)))
            yield stream
        except FileNotFoundError:
            folder = os.path.dirname(os.fspath(source)) or "the current folder"
            message = f"there is no such file to read {relation.name} from"
            hint = f"{os.path.basename(source)} was looked for in {folder}; -F names the folder of facts"
            raise FactsError(name, 0, 0, message, hint) from None
        except (OSError, EOFError, zlib.error) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise FactsError(name, 0, 0, f"the file cannot be read: {reason}") from None


def _read_nullary(stream: BinaryIO, name: str, relation: Relation, headers: bool) -> int:
    """A relation without columns holds if its file has a line."""
    holds = 0
    for number, line in enumerate(stream, 1):
        if number == 1:
            line = line.removeprefix(BYTE_ORDER_MARK)
            if headers:
                continue
        if line.strip() not in (b"()", b""):
            message = f"{relation.name} has no columns, but this line is not ()"
            raise FactsError(name, number, 1, message, "a line of () says that the relation holds")
        holds = 1
    return holds


@contextmanager
def _written(target: Target, files: Replacing | None) -> Iterator[BinaryIO]:
    if not isinstance(target, str | os.PathLike):
        yield target
        return
    try:
        with replacing() if files is None else nullcontext(files) as among, among.open(target) as stream:
            yield stream
    except OSError as error:
        message = f"the file cannot be written: {error.strerror or error}"
        raise FactsError(os.fspath(target), 0, 0, message, "-D names the folder of results; it has to exist") from None
