"""A stratum of any size, by semi-naive iteration of DataFrame joins.

The tuples of a relation are kept in *chunks*, each spread by the hash of the whole tuple, sorted, and checkpointed: its
lineage is cut and it stays where it is. A derived tuple moves once, to where its equals would be; there a merge with
the chunks tells whether it is new. Chunks are merged until each is twice as large as the next, so there are few of
them, and each tuple is rewritten a logarithmic number of times. Iterations that add little go through a *tail* in the
driver's process instead, and become a chunk together.

Where two sides move to be joined, a value that many tuples have would make one task do most of the work. Such an
iteration is planned adaptively: Spark looks at what has moved and splits the large parts.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

import pyarrow
from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import LongType, StructField, StructType

from whence.engines.local.tables import LocalTables
from whence.lang.program import Program, Stratum
from whence.plan.steps import RuleVersion, View

from .batches import NUMBER, typed, without_rules
from .cluster import engine_session
from .columns import ANNOTATION, COUNT, ITERATION, carried_names, carried_schema
from .joining import STAMP, UNIT, Joining, Viewed
from .tail import Tail
from .transfer import in_session

ROWS_A_PARTITION = 2_000_000
DELTAS_A_TAIL = 4  # of the largest that pass through the driver, before they become a chunk
PLACE_IN_PARTITION = (1 << 33) - 1  # the bits of monotonically_increasing_id that number a partition's rows


@dataclass
class Chunked:
    """A relation in the making: its chunks, largest first, its tail, and the derivations of the iteration under way.

    What is new is the last chunk, or the newest of the tail, or nothing.
    """

    name: str
    keys: list[str]
    tail: Tail
    chunks: list[Viewed] = field(default_factory=list)
    new: Viewed | None = None
    derived: list[DataFrame] = field(default_factory=list)
    both_move: bool = False  # in what was derived, something was joined with neither side sent to every task

    @property
    def rows(self) -> int:
        return sum(chunk.rows for chunk in self.chunks) + len(self.tail)

    @property
    def new_is_chunk(self) -> bool:
        return self.new is not None and any(chunk is self.new for chunk in self.chunks)


class Exchange:
    """One stratum while it is evaluated. `given` are the frames of its relations' input, carried and annotated;
    `tail_rows` is the most new tuples of a relation that an iteration takes to the driver's process."""

    def __init__(
        self,
        stratum: Stratum,
        program: Program,
        spark: SparkSession,
        given: dict[str, Viewed],
        storage: StorageLevel,
        partitions: int,
        tail_rows: int,
    ) -> None:
        self.program = program
        self.spark = spark
        self.storage = storage
        self.tail_rows = tail_rows
        self.adaptive = engine_session(spark, adaptive=True)
        self.partition(partitions)
        tables = LocalTables(without_rules(program.types))
        self.relations = {}
        for name, viewed in given.items():
            relation = program.relations[name]
            tail = Tail(tables, typed(relation) or [NUMBER], self.schema(name), spark)
            chunked = self.relations[name] = Chunked(name, carried_names(relation.arity) or [UNIT], tail)
            if viewed.rows:
                chunked.chunks.append(self.kept(self.arranged(chunked, self.with_unit(name, viewed.frame))))

    def partition(self, partitions: int) -> None:
        self.partitions = partitions
        for session in (self.spark, self.adaptive):
            session.conf.set("spark.sql.shuffle.partitions", str(partitions))

    def schema(self, name: str) -> StructType:
        if self.program.relations[name].arity:
            return carried_schema(self.program.relations[name])
        return StructType([StructField(UNIT, LongType(), False), *ANNOTATION])

    def with_unit(self, name: str, frame: DataFrame) -> DataFrame:
        return frame if self.program.relations[name].arity else frame.withColumn(UNIT, F.lit(0).cast("bigint"))

    # What a version reads

    def rows(self, name: str, view: View) -> int:
        chunked = self.relations[name]
        new = chunked.new.rows if chunked.new else 0
        return {View.ALL: chunked.rows, View.OLD: chunked.rows - new, View.NEW: new}[view]

    def view(self, name: str, view: View) -> Viewed:
        chunked, rows = self.relations[name], self.rows(name, view)
        if not rows:
            return Viewed(self.spark.createDataFrame([], self.schema(name)), 0)
        if view is View.NEW and chunked.new is not None:
            return chunked.new
        frames = [chunk.frame for chunk in chunked.chunks if view is View.ALL or chunk is not chunked.new]
        if view is View.ALL or chunked.new is None or chunked.new_is_chunk:
            frames += [chunked.tail.everything()] if len(chunked.tail) else []
        elif len(chunked.tail) > chunked.new.rows:
            frames.append(chunked.tail.before_newest())
        return Viewed(reduce(DataFrame.unionAll, frames), rows)

    # The iterations

    def derive(self, version: RuleVersion, joining: Joining) -> None:
        chunked = self.relations[version.rule.head.relation]
        chunked.derived.append(joining.derivations(version))
        chunked.both_move |= joining.both_move

    def advance(self) -> int:
        """What was derived and is not there yet becomes new. Returns how many tuples are."""
        derived = [chunked for chunked in self.relations.values() if chunked.derived]
        with ThreadPoolExecutor(max(1, len(derived))) as threads:  # Spark waits more than it works
            found = dict(zip((c.name for c in derived), threads.map(self.found, derived), strict=True))
        new = 0
        for name, chunked in self.relations.items():
            chunked.derived, chunked.both_move = [], False
            self.merge(chunked)  # of what is old now; nothing refers to these chunks any more
            self.renew(chunked, found.get(name))
            new += chunked.new.rows if chunked.new else 0
        return new

    def found(self, chunked: Chunked) -> Viewed | pyarrow.Table:
        """What was derived and is in no chunk: in the driver's process, and to be compared with the tail, if it is
        little and comes from little; else on Spark."""
        if not any(relation.new_is_chunk for relation in self.relations.values()) and any(
            relation.new for relation in self.relations.values()
        ):
            bound = f"(monotonically_increasing_id() & {PLACE_IN_PARTITION}) <= {self.tail_rows}"
            few = self.fresh(chunked, "").where(bound).toArrow()
            if few.num_rows <= self.tail_rows:
                return few
        self.end_tail(chunked)
        fresh = self.fresh(chunked, f"SORT BY {', '.join(chunked.keys)}")
        found = self.kept(in_session(fresh, self.adaptive) if chunked.both_move else fresh)
        if found.rows > self.tail_rows:
            # Spark does not know of what it planned adaptively how it is spread.
            return self.merged(chunked, [found]) if chunked.both_move else found
        few = found.frame.toArrow()
        release(found.frame)
        return few

    def renew(self, chunked: Chunked, found: Viewed | pyarrow.Table | None) -> None:
        chunked.new = None
        if isinstance(found, Viewed):
            chunked.new = found
            chunked.chunks.append(found)
        elif found is not None and (count := chunked.tail.add(found)):
            chunked.new = Viewed(chunked.tail.newest(), count)

    def fresh(self, chunked: Chunked, order: str) -> DataFrame:
        # One text, because Spark looks at every step of a frame that is put together step by step. The stamp is a
        # column, not a number in the query, so that what is compiled for one iteration serves all.
        listed = ", ".join(chunked.keys)
        frames: dict[str, Any] = {f"chunk{i}": chunk.frame for i, chunk in enumerate(chunked.chunks)}
        hint = f"/*+ MERGE({', '.join(frames)}) */" if frames else ""
        known = " ".join(f"LEFT ANTI JOIN {{{name}}} AS {name} USING ({listed})" for name in frames)
        return self.spark.sql(
            f"SELECT {hint} {listed}, CAST({STAMP} + 1 AS INT) AS {ITERATION}, {COUNT} FROM "
            f"(SELECT {listed}, MAX({STAMP}) AS {STAMP}, COUNT(1) AS {COUNT} FROM {{derived}} GROUP BY {listed}) "
            f"{known} {order}",
            derived=reduce(DataFrame.unionAll, chunked.derived),
            **frames,
        )

    def end_tail(self, chunked: Chunked) -> None:
        """The tail becomes a chunk."""
        if len(chunked.tail):
            chunked.chunks.append(self.kept(self.arranged(chunked, chunked.tail.everything())))
            chunked.tail.clear()

    def merge(self, chunked: Chunked) -> None:
        """Few chunks: a chunk is at least twice as large as the next one. The partitions follow the size."""
        if len(chunked.tail) > DELTAS_A_TAIL * self.tail_rows:
            self.end_tail(chunked)
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
        partitions = self.partitions
        while rows > partitions * ROWS_A_PARTITION:
            partitions *= 2
        self.partition(partitions)
        for chunked in self.relations.values():
            new = [chunk for chunk in chunked.chunks if chunk is chunked.new]
            old = [chunk for chunk in chunked.chunks if chunk is not chunked.new]
            chunked.chunks = [*([self.merged(chunked, old)] if old else []), *new]

    def merged(self, chunked: Chunked, chunks: list[Viewed]) -> Viewed:
        merged = self.kept(in_session(self.arranged(chunked, _union(chunks).frame), self.spark))
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
            self.end_tail(chunked)
            chunked.new = None
            viewed = self.view(name, View.ALL)
            columns = [*carried_names(self.program.relations[name].arity), ITERATION, COUNT]
            found[name] = Viewed(viewed.frame.select(*columns), viewed.rows)
        return found

    def checkpoints(self) -> dict[str, list[DataFrame]]:
        """What the results are made of."""
        return {name: [chunk.frame for chunk in chunked.chunks] for name, chunked in self.relations.items()}


def _union(chunks: list[Viewed]) -> Viewed:
    return Viewed(reduce(DataFrame.unionAll, (chunk.frame for chunk in chunks)), sum(chunk.rows for chunk in chunks))


def release(checkpointed: DataFrame) -> None:
    """Gives up the memory of a checkpoint at once; Spark itself would wait for its garbage collector."""
    _rows_of(checkpointed).unpersist(False)


def _rows_of(checkpointed: DataFrame) -> Any:
    """The rows as Spark keeps them, behind its query engine."""
    return checkpointed._jdf.queryExecution().logical().rdd()
