"""A stratum of any size, by semi-naive iteration of DataFrame joins.

The tuples of a relation are kept in *chunks*, each spread by the hash of the whole tuple, sorted, and checkpointed: its
lineage is cut and it stays where it is. A derived tuple moves once, to where its equals would be; there a merge with
the chunks tells whether it is new. Chunks are merged until each is twice as large as the next, so there are few of
them, and each tuple is rewritten a logarithmic number of times.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import reduce
from typing import Any

from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import LongType, StructField, StructType

from whence.lang.program import Program, Stratum
from whence.plan.steps import RuleVersion, View

from .columns import ANNOTATION, COUNT, ITERATION, carried_names, carried_schema
from .joining import STAMP, UNIT, Joining, Viewed

ROWS_A_PARTITION = 2_000_000


@dataclass
class Chunked:
    """A relation in the making: its chunks, largest first, and the derivations of the iteration under way."""

    keys: list[str]
    chunks: list[Viewed] = field(default_factory=list)
    new: Viewed | None = None
    derived: list[DataFrame] = field(default_factory=list)

    @property
    def rows(self) -> int:
        return sum(chunk.rows for chunk in self.chunks)


class Exchange:
    """One stratum while it is evaluated. `given` are the frames of its relations' input, carried and annotated."""

    def __init__(
        self,
        stratum: Stratum,
        program: Program,
        spark: SparkSession,
        given: dict[str, Viewed],
        storage: StorageLevel,
        partitions: int,
    ) -> None:
        self.program = program
        self.spark = spark
        self.storage = storage
        self.partitions = partitions
        spark.conf.set("spark.sql.shuffle.partitions", str(partitions))
        self.relations = {name: Chunked(carried_names(program.relations[name].arity) or [UNIT]) for name in given}
        for name, viewed in given.items():
            if viewed.rows:
                chunked = self.relations[name]
                chunked.chunks.append(self.kept(self.arranged(chunked, self.with_unit(name, viewed.frame))))

    def with_unit(self, name: str, frame: DataFrame) -> DataFrame:
        return frame if self.program.relations[name].arity else frame.withColumn(UNIT, F.lit(0).cast("bigint"))

    # What a version reads

    def view(self, name: str, view: View) -> Viewed:
        chunked = self.relations[name]
        if view is View.NEW:
            return chunked.new or self.nothing(name)
        chunks = [chunk for chunk in chunked.chunks if view is View.ALL or chunk is not chunked.new]
        return _union(chunks) if chunks else self.nothing(name)

    def nothing(self, name: str) -> Viewed:
        schema = carried_schema(self.program.relations[name])
        if not self.program.relations[name].arity:
            schema = StructType([StructField(UNIT, LongType()), *ANNOTATION])
        return Viewed(self.spark.createDataFrame([], schema), 0)

    # The iterations

    def derive(self, version: RuleVersion, joining: Joining) -> None:
        self.relations[version.rule.head.relation].derived.append(joining.derivations(version))

    def advance(self) -> int:
        """What was derived and is not there yet becomes new. Returns how many tuples are."""
        fresh = {name: self.kept(self.fresh(c)) for name, c in self.relations.items() if c.derived}
        for name, chunked in self.relations.items():
            chunked.derived = []
            self.merge(chunked)  # of what is old now; nothing refers to these chunks any more
            found = fresh.get(name)
            chunked.new = found if found is not None and found.rows else None
            if chunked.new is not None:
                chunked.chunks.append(chunked.new)
        return sum(viewed.rows for viewed in fresh.values())

    def fresh(self, chunked: Chunked) -> DataFrame:
        # One text, because Spark looks at every step of a frame that is put together step by step. The stamp is a
        # column, not a number in the query, so that what is compiled for one iteration serves all.
        listed = ", ".join(chunked.keys)
        reduce(DataFrame.unionAll, chunked.derived).createOrReplaceTempView("derived")
        views = [f"chunk{i}" for i in range(len(chunked.chunks))]
        for view, chunk in zip(views, chunked.chunks, strict=True):
            chunk.frame.createOrReplaceTempView(view)
        hint = f"/*+ MERGE({', '.join(views)}) */" if views else ""
        known = " ".join(f"LEFT ANTI JOIN {view} USING ({listed})" for view in views)
        return self.spark.sql(
            f"SELECT {hint} {listed}, CAST({STAMP} + 1 AS INT) AS {ITERATION}, {COUNT} FROM "
            f"(SELECT {listed}, MAX({STAMP}) AS {STAMP}, COUNT(1) AS {COUNT} FROM derived GROUP BY {listed}) "
            f"{known} SORT BY {listed}"
        )

    def merge(self, chunked: Chunked) -> None:
        """Few chunks: a chunk is at least twice as large as the next one. The partitions follow the size."""
        chunks = chunked.chunks
        first = len(chunks) - 1
        while first > 0 and chunks[first - 1].rows < 2 * sum(chunk.rows for chunk in chunks[first:]):
            first -= 1
        if chunked.rows > self.partitions * ROWS_A_PARTITION:
            self.spread(chunked.rows)
        elif 0 <= first < len(chunks) - 1:
            chunked.chunks = [*chunks[:first], self.merged(chunked, chunks[first:])]

    def spread(self, rows: int) -> None:
        """More partitions, for all relations alike, so that their chunks still fit what is derived."""
        while rows > self.partitions * ROWS_A_PARTITION:
            self.partitions *= 2
        self.spark.conf.set("spark.sql.shuffle.partitions", str(self.partitions))
        for chunked in self.relations.values():
            new = [chunk for chunk in chunked.chunks if chunk is chunked.new]
            old = [chunk for chunk in chunked.chunks if chunk is not chunked.new]
            chunked.chunks = [*([self.merged(chunked, old)] if old else []), *new]

    def merged(self, chunked: Chunked, chunks: list[Viewed]) -> Viewed:
        merged = self.kept(self.arranged(chunked, _union(chunks).frame))
        for chunk in chunks:
            release(chunk.frame)
        return merged

    def arranged(self, chunked: Chunked, frame: DataFrame) -> DataFrame:
        keys = chunked.keys
        columns = [*keys, ITERATION, COUNT]
        return frame.select(*columns).repartition(self.partitions, *keys).sortWithinPartitions(*keys)

    def kept(self, frame: DataFrame) -> Viewed:
        """The rows, computed now and once; what they came from is forgotten."""
        checkpointed = frame.localCheckpoint(eager=False, storageLevel=self.storage)
        return Viewed(checkpointed, _rows_of(checkpointed).count())  # which is the job that computes them

    def results(self) -> dict[str, Viewed]:
        """The relations as they are now, carried and annotated."""
        found = {}
        for name, chunked in self.relations.items():
            viewed = _union(chunked.chunks) if chunked.chunks else self.nothing(name)
            columns = [*carried_names(self.program.relations[name].arity), ITERATION, COUNT]
            found[name] = Viewed(viewed.frame.select(*columns), viewed.rows)
        return found


def _union(chunks: list[Viewed]) -> Viewed:
    return Viewed(reduce(DataFrame.unionAll, (chunk.frame for chunk in chunks)), sum(chunk.rows for chunk in chunks))


def release(checkpointed: DataFrame) -> None:
    """Gives up the memory of a checkpoint at once; Spark itself would wait for its garbage collector."""
    _rows_of(checkpointed).unpersist(False)


def _rows_of(checkpointed: DataFrame) -> Any:
    """The rows as Spark keeps them, behind its query engine."""
    return checkpointed._jdf.queryExecution().logical().rdd()
