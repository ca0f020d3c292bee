"""Rows of a source checked inside tasks: those that are right in carried form, the others flagged; and, where there
are such, a second look that says of each what is wrong and where it stands.

Only the second look carries the file and the block of each row: where a row stands in its file is where it stands in
its block, after all rows of the blocks before it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyarrow
from pyspark import TaskContext
from pyspark.sql import DataFrame
from pyspark.sql.types import BooleanType, IntegerType, LongType, StringType, StructField, StructType

from whence.engines.local.fitting import sieve_columns
from whence.engines.local.json_lines import sieve_json
from whence.engines.local.sieve import LineSieve, Misfit, Sieved, carried_type
from whence.lang.program import Relation, Type

from .columns import carried_names, carried_schema

BAD = "bad"
FILE, BLOCK = "file", "block"
OF_THE_TASK = -1  # as a block: whatever this task reads, where there are no files
Sieve = Callable[[pyarrow.RecordBatch], Sieved]
Task = Callable[[Iterator[pyarrow.RecordBatch]], Iterator[pyarrow.RecordBatch]]


class Form(Protocol):
    """The form of a source. It goes to tasks, and there is opened."""

    @property
    def relation(self) -> Relation: ...

    def sieve(self) -> Sieve: ...

    def text(self, batch: pyarrow.RecordBatch, row: int) -> str:
        """A row as it was given."""


@dataclass(frozen=True)
class Lines:
    """Lines of Soufflé's files, as bytes."""

    relation: Relation
    types: Mapping[str, Type]
    delimiter: str
    places: Sequence[int]
    exact: bool

    def sieve(self) -> Sieve:
        lines = LineSieve(self.relation, self.types, self.delimiter, self.places, self.exact)
        return lambda batch: lines.sieve(batch.column(0))

    def text(self, batch: pyarrow.RecordBatch, row: int) -> str:
        return bytes(batch.column(0)[row].as_py()).decode(errors="replace").removesuffix("\r")


@dataclass(frozen=True)
class JsonLines:
    """JSON, an object or an array a line, as bytes."""

    relation: Relation
    types: Mapping[str, Type]

    def sieve(self) -> Sieve:
        return lambda batch: sieve_json(batch.column(0).to_pylist(), self.relation, self.types)

    def text(self, batch: pyarrow.RecordBatch, row: int) -> str:
        return bytes(batch.column(0)[row].as_py()).decode(errors="replace")


@dataclass(frozen=True)
class Columns:
    """Typed columns, in the order of the relation's."""

    relation: Relation
    types: Mapping[str, Type]

    def sieve(self) -> Sieve:
        arity = self.relation.arity
        return lambda batch: sieve_columns(self.relation, self.types, batch.columns[:arity], batch.num_rows)

    def text(self, batch: pyarrow.RecordBatch, row: int) -> str:
        values = []
        for i in range(self.relation.arity):
            try:
                values.append(batch.column(i)[row].as_py())
            except UnicodeDecodeError:
                values.append(batch.column(i)[row].as_buffer().to_pybytes().decode(errors="replace"))
        return json.dumps(values, ensure_ascii=False, default=str)


# The first look


def sifted(frame: DataFrame, form: Form, headers: bool) -> DataFrame:
    """Carried columns and BAD: true for each row that is wrong, whose columns then say nothing.

    With `headers`, the frame has FILE and BLOCK, and the first row of every file is left out.
    """
    schema = StructType([*carried_schema(form.relation, annotated=False), StructField(BAD, BooleanType(), False)])
    return frame.mapInArrow(_sift(form, headers), schema)


def _sift(form: Form, headers: bool) -> Task:
    def task(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        sieve = form.sieve()
        if headers:
            batches = (run.rows.slice(run.is_first) for run in _runs(batches))
        for batch in batches:
            yield _flagged(form.relation, sieve(batch))

    return task


def _flagged(relation: Relation, sieved: Sieved) -> pyarrow.RecordBatch:
    bad = len(sieved.misfits)
    flags = np.zeros(sieved.count + bad, bool)
    flags[sieved.count :] = True
    arrays = list(sieved.columns)
    if bad:
        for i, column in enumerate(relation.columns):
            kind = carried_type(column.kind)
            nothing = pyarrow.array(["" if kind == pyarrow.string() else 0] * bad, kind)
            arrays[i] = pyarrow.concat_arrays([arrays[i].cast(kind), nothing])
    return pyarrow.record_batch([*arrays, pyarrow.array(flags)], [*carried_names(relation.arity), BAD])


# The second look

ROWS, ROW, COLUMN, TEXT, MESSAGE, HINT = "rows", "row", "column", "text", "message", "hint"
FOUND = StructType(
    [
        StructField(FILE, StringType()),
        StructField(BLOCK, LongType()),
        StructField(ROWS, LongType()),  # how many of the block are accounted for here; null where one is wrong
        StructField(ROW, LongType()),  # the place of a wrong one in its block, from 0
        StructField(COLUMN, IntegerType()),
        StructField(TEXT, StringType()),
        StructField(MESSAGE, StringType()),
        StructField(HINT, StringType()),
    ]
)
_FOUND = pyarrow.schema(
    [
        (FILE, pyarrow.string()),
        (BLOCK, pyarrow.int64()),
        (ROWS, pyarrow.int64()),
        (ROW, pyarrow.int64()),
        (COLUMN, pyarrow.int32()),
        (TEXT, pyarrow.string()),
        (MESSAGE, pyarrow.string()),
        (HINT, pyarrow.string()),
    ]
)


def found(frame: DataFrame, form: Form, headers: bool, every: bool) -> DataFrame:
    """How many rows each block has, and what is wrong: every such row, or the first of each block.

    The frame has FILE and BLOCK after its other columns.
    """
    return frame.mapInArrow(_find(form, headers, every), FOUND)


def _find(form: Form, headers: bool, every: bool) -> Task:
    def task(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        sieve = form.sieve()
        known: tuple[str, int] | None = None  # the block whose first wrong row is known
        for run in _runs(batches):
            skipped = int(headers and run.is_first)
            rows = run.rows.slice(skipped)
            misfits = sieve(rows).misfits
            if not every:
                misfits = [] if known == (run.file, run.block) else misfits[:1]
                known = (run.file, run.block) if misfits else known
            start = run.before + skipped
            counted = (run.file, run.block, run.rows.num_rows, None, None, None, None, None)
            wrong = [_described(run, start, form.text(rows, misfit.row), misfit) for misfit in misfits]
            yield pyarrow.record_batch([list(column) for column in zip(counted, *wrong, strict=True)], schema=_FOUND)

    return task


def _described(run: _Run, start: int, text: str, misfit: Misfit) -> tuple[object, ...]:
    row = start + misfit.row
    texts = [part.encode(errors="replace").decode() for part in (text, misfit.message, misfit.hint)]
    return (run.file, run.block, None, row, misfit.column, *texts)


@dataclass(frozen=True)
class _Run:
    """Rows of one block that follow each other; `before` are the rows of the block before them in this task."""

    file: str
    block: int
    before: int
    rows: pyarrow.RecordBatch

    @property
    def is_first(self) -> bool:
        """Whether the file begins here."""
        return self.block == 0 and self.before == 0


def _runs(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[_Run]:
    file, block, before = "", OF_THE_TASK, 0
    context = TaskContext.get()
    task = context.partitionId() if context else 0
    for batch in batches:
        count = batch.num_rows
        files = batch.column(batch.num_columns - 2).dictionary_encode()
        blocks = batch.column(batch.num_columns - 1).to_numpy()
        codes = files.indices.to_numpy()
        changes = np.flatnonzero((codes[1:] != codes[:-1]) | (blocks[1:] != blocks[:-1])) + 1
        for start, end in zip([0, *changes.tolist()], [*changes.tolist(), count], strict=True):
            if start == end:
                continue
            name = files.dictionary[int(codes[start])].as_py()
            number = int(blocks[start]) if blocks[start] != OF_THE_TASK else task
            if (name, number) != (file, block):
                file, block, before = name, number, 0
            yield _Run(file, block, before, batch.slice(start, end - start))
            before += end - start
