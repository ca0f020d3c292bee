"""A relation on Spark that is kept current: a frame that stays, and over it, in this process, what was touched since.

Changes are small beside what they change, so the frame is not written anew for each: the tuples that updates have
looked at are rows of a table as the local engine has them, with stamps, and the kernel revises them. What the relation
is now is the frame without those of its tuples that have changed, and with those that came: one join and one union,
however many updates there were. When the table has grown large beside the frame, both become a new frame.
"""

from __future__ import annotations

import numpy as np
import pyarrow
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from whence.engines.local.kernel.layout import BEFORE, CHANGED, MOST_DERIVATIONS, NOW
from whence.engines.local.kernel.layout import ITERATION as ITERATION_BITS
from whence.engines.local.revised import FAR
from whence.engines.local.table import Halves, Rows, Table, Words
from whence.engines.local.tables import LocalTables, Stored
from whence.lang.program import Relation
from whence.plan.steps import View

from .batches import arrays_of, rows_of, typed
from .columns import COUNT, ITERATION, carried_names, carried_schema
from .failures import told
from .joining import Viewed
from .transfer import arrow_schema

NOT_THERE = -1
Numbers = Halves | Words
Flags = np.ndarray[tuple[int], np.dtype[np.bool_]]


class Layer:
    """`base` is the frame, carried and annotated; `stored` has the touched tuples, `origins` what each is in `base`."""

    def __init__(self, relation: Relation, base: Viewed, tables: LocalTables, spark: SparkSession) -> None:
        self.relation = relation
        self.base = Viewed(base.frame.select(*self.names, ITERATION, COUNT), base.rows)
        self.tables = tables
        self.spark = spark
        self.stored = Stored(Table(tables.kernel, relation.arity))
        self.stored.table.stamp(np.empty(0, np.int32))
        self.origin_iterations: Halves = np.empty(0, np.int32)
        self.origin_counts: Halves = np.empty(0, np.int32)

    @property
    def names(self) -> list[str]:
        return carried_names(self.relation.arity)

    def touch(self, rows: Rows) -> None:
        """Makes these tuples rows of the table, as they are in the base: dead if they are not there."""
        table = self.stored.table
        flat = np.ascontiguousarray(rows).reshape(-1)
        unknown = rows[table.locate(flat, len(rows)) < 0]
        if not len(unknown):
            return
        distinct = Table(self.tables.kernel, self.relation.arity, counted=False)
        distinct.insert(np.ascontiguousarray(unknown).reshape(-1), len(unknown))
        unknown = distinct.rows
        iterations = np.full(len(unknown), NOT_THERE, np.int32)
        counts = np.zeros(len(unknown), np.int32)
        if self.base.rows:
            found, at, many = self._look_up(unknown)
            places = distinct.locate(np.ascontiguousarray(found).reshape(-1), len(found))
            iterations[places] = at
            counts[places] = np.minimum(many, MOST_DERIVATIONS)
        first = len(table)
        table.insert(np.ascontiguousarray(unknown).reshape(-1), len(unknown), FAR)
        table.stamps[first:] = np.where(iterations >= 0, iterations | NOW | BEFORE, 0)
        table.counts[first:] = counts
        self.stored.stop = len(table)
        self.stored.live += int((iterations >= 0).sum())
        self.origin_iterations = np.concatenate([self.origin_iterations, iterations])
        self.origin_counts = np.concatenate([self.origin_counts, counts])

    def _look_up(self, rows: Rows) -> tuple[Rows, Words, Words]:
        frame = self.base.frame
        if self.names:
            frame = frame.join(F.broadcast(self.of_rows(rows).select(*self.names)), self.names)
        with told():
            found = frame.select(*self.names, ITERATION, COUNT).toArrow()
        arity = self.relation.arity
        located = rows_of(self.tables, typed(self.relation), found.columns[:arity], found.num_rows)
        return located, found.column(arity).to_numpy(), found.column(arity + 1).to_numpy()

    # The relation as frames

    def view(self, view: View, own: bool) -> Viewed:
        """Of the stratum's own relations, the iteration is one more column."""
        stamps = self.stored.table.stamps
        now, before = (stamps & NOW) != 0, (stamps & BEFORE) != 0
        if own:
            there = now & ((stamps & CHANGED) == 0) if view is View.KEPT else now
            viewed = self._with(there, (stamps & ITERATION_BITS) == self.origin_iterations)
            level = F.col(ITERATION).cast("bigint").alias(f"c{self.relation.arity}")
            return Viewed(viewed.frame.select(*self.names, level), viewed.rows)
        there = {View.ALL: now, View.BEFORE: before, View.KEPT: now & before, View.EITHER: now | before}[view]
        return self._with(there, np.ones(len(stamps), np.bool_))

    def current(self) -> Viewed:
        """Carried and annotated."""
        table = self.stored.table
        now, same = (table.stamps & NOW) != 0, (table.stamps & ITERATION_BITS) == self.origin_iterations
        return self._with(now, same & (table.counts == self.origin_counts))

    def _with(self, there: Flags, same: Flags) -> Viewed:
        """The base with the touched tuples that are `there`, which are in the base already if they are the `same`."""
        in_base = self.origin_iterations != NOT_THERE
        gone, come = in_base & ~(there & same), there & ~(in_base & same)
        frame, table = self.base.frame, self.stored.table
        if gone.any():
            frame = without(frame, self.of_rows(table.rows[gone]), self.names)
        if come.any():
            more = self.of_rows(table.rows[come], table.stamps[come] & ITERATION_BITS, table.counts[come])
            frame = frame.unionAll(more)
        return Viewed(frame, self.base.rows - int(gone.sum()) + int(come.sum()))

    def of_rows(self, rows: Rows, iterations: Halves | None = None, counts: Halves | None = None) -> DataFrame:
        none = np.zeros(len(rows), np.int32)
        return frame_of_rows(
            self.tables, self.relation, self.spark, rows, none if iterations is None else iterations,
            none if counts is None else counts,
        )  # fmt: skip

    # A new base

    def is_heavy(self, most: int) -> bool:
        return len(self.stored.table) > max(most, self.base.rows // 4)


def frame_of_rows(
    tables: LocalTables, relation: Relation, spark: SparkSession, rows: Rows, iterations: Numbers, counts: Numbers
) -> DataFrame:
    """Rows as a carried, annotated frame that the query holds."""
    annotation = [pyarrow.array(iterations.astype(np.int32)), pyarrow.array(counts.astype(np.int64))]
    arrays = [*arrays_of(tables, typed(relation), rows), *annotation]
    table = pyarrow.Table.from_arrays(arrays, schema=arrow_schema(relation))
    return spark.createDataFrame(table, carried_schema(relation))


def without(frame: DataFrame, gone: DataFrame, names: list[str]) -> DataFrame:
    """A frame without few of its tuples."""
    if not names:
        return frame.where(F.lit(False))
    return frame.join(F.broadcast(gone.select(*names)), names, "left_anti")
