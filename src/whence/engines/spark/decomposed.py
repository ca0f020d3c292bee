"""A stratum that falls apart by the value of a column: each task runs the whole fixpoint of its part in the kernel.

What the parts begin with, input tuples and what rules without a recursive atom derive, is sent to the part of its
value; what rules with a recursive atom read from lower strata goes to every task.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
import pyarrow
import pyarrow.parquet
from pyspark import Broadcast, StorageLevel, TaskContext
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import IntegerType, LongType, StringType, StructField, StructType

from whence.engines.local.table import Table
from whence.engines.local.tables import LocalTables, Stored
from whence.lang.program import Program, Relation, Stratum
from whence.maintain.bootstrap import evaluate
from whence.plan.decompose import Decomposition

from .batches import ARROW, rows_of, typed, without_rules
from .columns import CARRIED, COUNT, ITERATION, carried_names, carried_schema
from .hearing import Warn
from .joining import Viewed
from .transfer import arrow_schema, blocks, is_local, scratch

RELATION = "relation"
Task = Callable[[Iterator[pyarrow.RecordBatch]], Iterator[pyarrow.RecordBatch]]
Solve = Callable[[Iterator[pyarrow.RecordBatch]], LocalTables]


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
    warn: Warn,
) -> tuple[dict[str, Viewed], int]:
    """The relations of the stratum, and how many iterations the longest part took.

    `seeds` have iteration 0 (input) or 1 (derived without recursion).
    """
    wide = Wide(tuple(program.relations[name] for name in stratum.relations))
    parts = [
        wide.widened(i, frame).withColumn("part", F.col(wide.name(i, decomposition.columns[relation.name])))
        for i, relation in enumerate(wide.relations)
        for frame in seeds.get(relation.name, ())
    ]
    together = reduce(DataFrame.unionAll, parts).repartition(partitions, "part").drop("part")
    broadcast = spark.sparkContext.broadcast({name: _packed(table) for name, table in sent.items()})
    lower = {name: program.relations[name] for name in sent}
    solve = solving(stratum, program, wide, lower, broadcast, warn)
    if is_local(spark):
        return _through_files(wide, together.mapInArrow(_filed(solve, wide, scratch(spark)), FILED), spark)
    found = together.mapInArrow(_yielded(solve, wide), wide.schema).persist(StorageLevel.MEMORY_AND_DISK)
    told = found.groupBy(RELATION).agg(F.count(F.lit(1)), F.max(ITERATION)).collect()
    rows = {row[0]: row[1] for row in told}
    frames = {r.name: Viewed(wide.narrowed(i, found), rows.get(i, 0)) for i, r in enumerate(wide.relations)}
    return frames, 1 + max((row[2] for row in told), default=0)


FILED = StructType(
    [
        StructField(RELATION, IntegerType()),
        StructField("path", StringType()),
        StructField("rows", LongType()),
        StructField("iterations", LongType()),
    ]
)


def _through_files(wide: Wide, filed: DataFrame, spark: SparkSession) -> tuple[dict[str, Viewed], int]:
    """Tasks on this machine leave their tuples in files, which Spark reads faster than it takes rows from Python."""
    files = filed.collect()
    found = {}
    for i, relation in enumerate(wide.relations):
        own = [file for file in files if file[RELATION] == i and file["rows"]]
        frame = spark.createDataFrame([], carried_schema(relation))
        if own:
            frame = spark.read.schema(carried_schema(relation)).parquet(*(file["path"] for file in own))
        found[relation.name] = Viewed(frame, sum(file["rows"] for file in own))
    return found, max((file["iterations"] for file in files), default=1)


def _filed(solve: Solve, wide: Wide, folder: str) -> Task:
    def file(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        context = TaskContext.get()
        assert context is not None
        tables = solve(batches)
        relations, paths, rows = [], [], []
        for i, relation in enumerate(wide.relations):
            path = f"{folder}/{i}-{context.partitionId()}.parquet"
            unfinished = f"{path}.{context.taskAttemptId()}"
            strings = [
                name
                for name, (kind, _) in zip(carried_names(relation.arity), typed(relation), strict=True)
                if kind in ("symbol", "record")
            ]
            with pyarrow.parquet.ParquetWriter(
                unfinished, arrow_schema(relation), compression="lz4", use_dictionary=strings, write_statistics=False
            ) as writer:
                for batch in blocks(tables, relation):
                    writer.write_batch(batch)
            os.replace(unfinished, path)
            relations.append(i)
            paths.append(path)
            rows.append(tables.rows(relation.name))
        yield pyarrow.record_batch(
            [
                pyarrow.array(relations, pyarrow.int32()),
                pyarrow.array(paths),
                pyarrow.array(rows, pyarrow.int64()),
                pyarrow.array([tables.iteration] * len(rows), pyarrow.int64()),
            ],
            FILED.names,
        )

    return file


def _yielded(solve: Solve, wide: Wide) -> Task:
    schema = wide.arrow_schema

    def give_back(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        tables = solve(batches)
        for i, relation in enumerate(wide.relations):
            first = wide.start(i)
            for batch in blocks(tables, relation):
                columns = [pyarrow.nulls(batch.num_rows, field.type) for field in schema]
                columns[0] = pyarrow.array(np.full(batch.num_rows, i, np.int32))
                columns[1:3] = batch.columns[relation.arity :]
                columns[first : first + relation.arity] = batch.columns[: relation.arity]
                yield pyarrow.record_batch(columns, schema=schema)

    return give_back


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
    warn: Warn,
) -> Solve:
    """The fixpoint of one part, from the batches that it begins with."""
    rest = recursive_rules(stratum)
    relations = {**{relation.name: relation for relation in wide.relations}, **lower}
    small = without_rules(program.types, relations)
    key = uuid.uuid4().hex

    def solve(batches: Iterator[pyarrow.RecordBatch]) -> LocalTables:
        tables = _with_lower(key, small, lower, broadcast)
        tables.warn = warn
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
        return tables

    return solve


# The lower relations, made ready once for all tasks of a worker process: their indexes are the dear part
_ready: dict[str, LocalTables] = {}


def _with_lower(
    key: str, program: Program, lower: Mapping[str, Relation], broadcast: Broadcast[dict[str, bytes]]
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
