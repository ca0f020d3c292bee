"""The newest tuples of a relation in the making, while they are few: they stay in the driver's process.

A version that reads nothing but such tails, and lower relations that are in this process too, is evaluated here by the
kernel. Else what is sent to Spark for a small iteration is a delta that its query holds, and what comes back is the
next one. Either way nothing is cached for it, and no chunk is added that would have to be merged.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pyarrow
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from whence.engines.local.table import Halves, Rows, Table, Words
from whence.engines.local.tables import LocalTables
from whence.lang.program import Relation
from whence.plan.steps import RuleVersion

from .batches import arrays_of, rows_of, typed

Flags = np.ndarray[tuple[int], np.dtype[np.bool_]]

DERIVATIONS = 20  # a tuple that may be kept: more are left to Spark, whose tasks are many


class TooMany(Exception):
    """What a version derives is not for one process."""


class Tail:
    """A table of `tables`: tuples in order of iteration, of which the newest lie between `old` and `stop`.

    `derived` are those of the iteration under way.
    """

    def __init__(self, tables: LocalTables, relation: Relation, schema: StructType, spark: SparkSession) -> None:
        self._tables = tables
        self._relation = relation
        self._schema = schema
        self._spark = spark
        self._stored = tables.stored[relation.name]
        self._frames: dict[tuple[int, int], DataFrame] = {}
        self.derived = Table(tables.kernel, relation.arity)

    def __len__(self) -> int:
        return len(self._stored.table)

    @property
    def new(self) -> int:
        return self._stored.stop - self._stored.old

    def clear(self) -> None:
        self._frames.clear()
        self._stored.table.clear()
        self._stored.marks.clear()
        self._stored.old = self._stored.stop = 0

    # Tuples

    def give(self, blocks: Iterable[tuple[Rows, Words, Words]]) -> None:
        """Input."""
        for rows, _, _ in blocks:
            self._tables.insert(self._relation.name, np.ascontiguousarray(rows).reshape(-1), len(rows))

    def advance(self, iteration: int, rows: Rows, counts: Words) -> None:
        """Those of these tuples that are not there yet are the newest from now on."""
        self._frames.clear()
        stored = self._stored
        stored.table.insert(np.ascontiguousarray(rows).reshape(-1), len(rows), stored.stop, counts)
        stored.old, stored.stop = stored.stop, len(stored.table)
        if self.new:
            stored.marks.append((iteration, stored.old))

    def derive(self, version: RuleVersion, most: int) -> None:
        """Evaluates a version here; TooMany if it derives more than so many tuples, or these in very many ways."""
        left = DERIVATIONS * most
        for buffer, count in self._tables.emitted(version):
            self.derived.insert_from(buffer.address, count, 0, buffer.weights_address)
            left -= count
            if left < 0 or len(self.derived) > most:
                raise TooMany

    def take_derived(self) -> tuple[Rows, Words]:
        """The derived tuples that are not in the tail, and their counts; they are forgotten."""
        rows = self.derived.rows
        unknown = self._stored.table.locate(rows.reshape(-1), len(rows)) < 0
        found, counts = rows[unknown], self.derived.counts[unknown].astype(np.int64)
        self.derived.clear()
        return found, counts

    def are_among(self, rows: Rows, others: Rows) -> Flags:
        """Which of the rows are among others."""
        table = Table(self._tables.kernel, self._relation.arity, counted=False)
        table.insert(np.ascontiguousarray(others).reshape(-1), len(others))
        found: Flags = table.locate(np.ascontiguousarray(rows).reshape(-1), len(rows)) >= 0
        return found

    # As Arrow and as frames, carried and annotated

    def rows_of(self, found: pyarrow.Table) -> Rows:
        """Tuples that Spark has sent."""
        arity = self._relation.arity
        return rows_of(self._tables, typed(self._relation), found.columns[:arity], found.num_rows)

    def frame_of(self, rows: Rows, iterations: Halves | int, counts: Halves | Words) -> DataFrame:
        arrays = arrays_of(self._tables, typed(self._relation), rows) or [pyarrow.array(np.zeros(len(rows), np.int64))]
        each = np.broadcast_to(np.asarray(iterations, np.int32), len(rows))
        annotation = [pyarrow.array(each), pyarrow.array(counts.astype(np.int64))]
        table = pyarrow.Table.from_arrays([*arrays, *annotation], self._schema.names)
        return self._spark.createDataFrame(table, self._schema)

    def newest(self) -> DataFrame:
        return self._frame(self._stored.old, self._stored.stop)

    def everything(self) -> DataFrame:
        return self._frame(0, self._stored.stop)

    def before_newest(self) -> DataFrame:
        return self._frame(0, self._stored.old)

    def _frame(self, start: int, stop: int) -> DataFrame:
        if (start, stop) not in self._frames:
            stored, part = self._stored, slice(start, stop)
            self._frames[start, stop] = self.frame_of(
                stored.table.rows[part], stored.iterations[part].astype(np.int32), stored.table.counts[part]
            )
        return self._frames[start, stop]
