"""A stratum that falls apart by the value of a column: each task runs the whole fixpoint of its part in the kernel.

What the parts begin with, input tuples and what rules without a recursive atom derive, is sent to the part of its
value; what rules with a recursive atom read from lower strata goes to every task.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow
from pyspark import Broadcast
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import IntegerType, LongType, StructField, StructType

from whence.engines.local.table import Table
from whence.engines.local.tables import LocalTables, Stored
from whence.lang.program import Program, Relation, Stratum
from whence.maintain.bootstrap import evaluate
from whence.plan.decompose import Decomposition

from .batches import ARROW, arrays_of, rows_of, typed, without_rules
from .columns import CARRIED, COUNT, ITERATION, carried_names

RELATION = "relation"
OUTPUT_ROWS = 1 << 17  # of a batch that goes back to Spark


@dataclass(frozen=True)
class Wide:
    """All relations of a stratum in one schema: a number that says which, iteration, count, and the columns of each."""

    relations: tuple[Relation, ...]

    @property
    def schema(self) -> StructType:
        own = [
            StructField(self.name(i, place), CARRIED[column.kind])
            for i, relation in enumerate(self.relations)
            for place, column in enumerate(relation.columns)
        ]
        annotation = [StructField(RELATION, IntegerType()), StructField(ITERATION, IntegerType())]
        return StructType([*annotation, StructField(COUNT, LongType()), *own])

    @property
    def arrow_schema(self) -> pyarrow.Schema:
        own = [
            (self.name(i, place), ARROW[column.kind])
            for i, relation in enumerate(self.relations)
            for place, column in enumerate(relation.columns)
        ]
        numbers = [(RELATION, pyarrow.int32()), (ITERATION, pyarrow.int32()), (COUNT, pyarrow.int64())]
        return pyarrow.schema([*numbers, *own])

    def name(self, i: int, place: int) -> str:
        return f"r{i}c{place}"

    def start(self, i: int) -> int:
        """Where the columns of relation i begin."""
        return 3 + sum(relation.arity for relation in self.relations[:i])

    def widened(self, i: int, frame: DataFrame) -> DataFrame:
        """A carried, annotated frame of relation i."""
        columns = [F.lit(i).alias(RELATION), F.col(ITERATION), F.col(COUNT)]
        for j, relation in enumerate(self.relations):
            for place, column in enumerate(relation.columns):
                value = F.col(f"c{place}") if i == j else F.lit(None).cast(CARRIED[column.kind])
                columns.append(value.alias(self.name(j, place)))
        return frame.select(*columns)

    def narrowed(self, i: int, frame: DataFrame) -> DataFrame:
        names = carried_names(self.relations[i].arity)
        own = [F.col(self.name(i, place)).alias(name) for place, name in enumerate(names)]
        return frame.where(F.col(RELATION) == i).select(*own, ITERATION, COUNT)


def decomposed(
    stratum: Stratum,
    program: Program,
    decomposition: Decomposition,
    seeds: Mapping[str, Sequence[DataFrame]],
    sent: Mapping[str, pyarrow.Table],
    spark: SparkSession,
    partitions: int,
) -> tuple[Wide, DataFrame]:
    """The relations of the stratum, wide. `seeds` have iteration 0 (input) or 1 (derived without recursion)."""
    wide = Wide(tuple(program.relations[name] for name in stratum.relations))
    parts = [
        wide.widened(i, frame).withColumn("part", F.col(wide.name(i, decomposition.columns[relation.name])))
        for i, relation in enumerate(wide.relations)
        for frame in seeds.get(relation.name, ())
    ]
    together = parts[0]
    for part in parts[1:]:
        together = together.unionAll(part)
    together = together.repartition(partitions, "part").drop("part")
    broadcast = spark.sparkContext.broadcast({name: _packed(table) for name, table in sent.items()})
    lower = {name: program.relations[name] for name in sent}
    return wide, together.mapInArrow(solving(stratum, program, wide, lower, broadcast), wide.schema)


def recursive_rules(stratum: Stratum) -> Stratum:
    """The stratum without the rules that read none of its relations."""
    own = set(stratum.relations)
    rules = tuple(rule for rule in stratum.rules if any(getattr(a, "relation", None) in own for a in rule.body))
    return Stratum(stratum.relations, rules, stratum.recursive)


def solving(
    stratum: Stratum,
    program: Program,
    wide: Wide,
    lower: Mapping[str, Relation],
    broadcast: Broadcast[dict[str, bytes]],
) -> Callable[[Iterator[pyarrow.RecordBatch]], Iterator[pyarrow.RecordBatch]]:
    rest = recursive_rules(stratum)
    relations = {**{relation.name: relation for relation in wide.relations}, **lower}
    small = without_rules(program.types, relations)
    schema = wide.arrow_schema
    key = broadcast.id if hasattr(broadcast, "id") else id(broadcast)

    def solve(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        tables = _with_lower(key, small, lower, broadcast)
        for relation in wide.relations:
            tables.stored[relation.name] = Stored(Table(tables.kernel, relation.arity))
        derived = []
        for batch in batches:
            for i, relation, iteration, part in _split(batch, wide):
                rows = rows_of(tables, typed(relation), part.columns[wide.start(i) :][: relation.arity], part.num_rows)
                if iteration == 0:
                    tables.insert(relation.name, rows.reshape(-1), len(rows))
                else:
                    derived.append((relation.name, rows, part.column(2).to_numpy()))
        tables.begin(rest)
        for name, rows, counts in derived:
            tables.add(name, rows.reshape(-1), len(rows), counts)
        evaluate(rest, tables)
        tables.end()
        for i, relation in enumerate(wide.relations):
            yield from _results(tables, i, relation, wide, schema)

    return solve


# The lower relations, made ready once for all tasks of a worker process: their indexes are the dear part
_ready: dict[int, LocalTables] = {}


def _with_lower(
    key: int, program: Program, lower: Mapping[str, Relation], broadcast: Broadcast[dict[str, bytes]]
) -> LocalTables:
    tables = _ready.get(key)
    if tables is None:
        _ready.clear()
        tables = LocalTables(program)
        for name, relation in lower.items():
            table = pyarrow.ipc.open_stream(broadcast.value[name]).read_all()
            rows = rows_of(tables, typed(relation), table.columns, table.num_rows)
            tables.insert(name, rows.reshape(-1), len(rows))
        _ready[key] = tables
    return tables


def _packed(table: pyarrow.Table) -> bytes:
    sink = pyarrow.BufferOutputStream()
    with pyarrow.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    packed: bytes = sink.getvalue().to_pybytes()
    return packed


def _split(batch: pyarrow.RecordBatch, wide: Wide) -> Iterator[tuple[int, Relation, int, pyarrow.RecordBatch]]:
    """The rows of a batch by relation and iteration."""
    kinds = batch.column(0).to_numpy() * 2 + batch.column(1).to_numpy()
    for kind in np.unique(kinds).tolist():
        part = batch.filter(pyarrow.array(kinds == kind))
        yield kind // 2, wide.relations[kind // 2], kind % 2, part


def _results(
    tables: LocalTables, i: int, relation: Relation, wide: Wide, schema: pyarrow.Schema
) -> Iterator[pyarrow.RecordBatch]:
    table = tables.stored[relation.name].table
    iterations = tables.iterations(relation.name)
    for start in range(0, len(table), OUTPUT_ROWS):
        rows = table.rows[start : start + OUTPUT_ROWS]
        count = len(rows)
        annotation = [
            pyarrow.array(np.full(count, i, np.int32)),
            pyarrow.array(iterations[start : start + count].astype(np.int32)),
            pyarrow.array(table.counts[start : start + count].astype(np.int64)),
        ]
        own = arrays_of(tables, typed(relation), rows)
        first = wide.start(i) - 3
        columns = [pyarrow.nulls(count, field.type) for field in list(schema)[3:]]
        columns[first : first + relation.arity] = own
        yield pyarrow.record_batch([*annotation, *columns], schema=schema)
