"""A stratum of any size, by semi-naive iteration of DataFrame joins.

The tuples of a relation are kept in *chunks*, each spread by the hash of the whole tuple, sorted, and checkpointed: its
lineage is cut and it stays where it is. A derived tuple moves once, to where its equals would be; there a merge with
the chunks tells whether it is new. Chunks are merged until each is twice as large as the next, so there are few of
them, and each tuple is rewritten a logarithmic number of times.

Iterations that add little go through a *tail* in the driver's process instead, and become a chunk together. What reads
only tails, and lower relations that can be sent to every task anyway, is derived there by the kernel, and Spark is
asked which of it is in a chunk. So a stratum begins there, goes to Spark when it has grown, and comes back, iteration
by iteration, when little is new.

Where two sides move to be joined, a value that many tuples have would make one task do most of the work. Such an
iteration is planned adaptively: Spark looks at what has moved and splits the large parts.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial, reduce
from threading import Lock
from typing import Any, Protocol

import numpy as np
import pyarrow
from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import LongType, StructField, StructType

from whence.engines.local.table import Rows, Words
from whence.engines.local.tables import LocalTables, Stored
from whence.lang.program import Aggregate, Program, Stratum
from whence.plan.steps import RuleVersion, View

from .cluster import engine_session
from .columns import ANNOTATION, COUNT, ITERATION, carried_names, carried_schema
from .joining import STAMP, UNIT, Joining, Viewed
from .placement import reads
from .tail import Tail, TooMany
from .transfer import in_session

ROWS_A_PARTITION = 2_000_000
DELTAS_A_TAIL = 4  # of the largest that pass through the driver, before they become a chunk
DELTAS_HELD = 20  # of the same, while a relation has no chunk and all that reads it is evaluated in the driver
NOTHING = np.empty((0, 0), np.int64), np.empty(0, np.int64)
PLACE_IN_PARTITION = (1 << 33) - 1  # the bits of monotonically_increasing_id that number a partition's rows


@dataclass
class Chunked:
    """A relation in the making: its chunks, largest first, its tail, and the derivations of the iteration under way.

    What is new is the last chunk, or the newest of the tail, or nothing. What is derived is either all on Spark, in
    `derived`, or all in the tail, by the versions that are `here`.
    """

    name: str
    keys: list[str]
    tail: Tail
    chunks: list[Viewed] = field(default_factory=list)
    new_chunk: Viewed | None = None
    derived: list[DataFrame] = field(default_factory=list)
    both_move: bool = False  # in what was derived, something was joined with neither side sent to every task
    here: list[RuleVersion] = field(default_factory=list)

    @property
    def rows(self) -> int:
        return sum(chunk.rows for chunk in self.chunks) + len(self.tail)

    @property
    def new_rows(self) -> int:
        return self.new_chunk.rows if self.new_chunk else self.tail.new


class Below(Protocol):
    """Where the input of a stratum and what else it reads are."""

    def rows(self, name: str) -> int: ...

    def frame(self, name: str) -> Viewed:
        """Carried and annotated."""
        ...

    def encoded(self, name: str) -> Iterator[tuple[Rows, Words, Words]]:
        """Its rows in this process, with iterations and counts."""
        ...

    def bring_near(self, tables: LocalTables, name: str) -> bool:
        """Makes a relation readable in these tables, if it is in this process or small enough to come."""
        ...


class Exchange:
    """One stratum while it is evaluated. Tails are in `tables`; `tail_rows` is the most new tuples of a relation that
    an iteration takes from Spark to the driver's process."""

    def __init__(
        self,
        stratum: Stratum,
        program: Program,
        spark: SparkSession,
        below: Below,
        tables: LocalTables,
        storage: StorageLevel,
        partitions: int,
        tail_rows: int,
    ) -> None:
        self.program = program
        self.spark = spark
        self.below = below
        self.tables = tables
        self.storage = storage
        self.tail_rows = tail_rows
        self.iteration = 0
        self.encoding = Lock()  # symbols and records of the driver's process are for one thread at a time
        self.all_here = True  # everything so far was derived in the driver's process
        self.adaptive = engine_session(spark, adaptive=True)
        self.partition(partitions)
        self.relations = {}
        for name in stratum.relations:
            relation, rows = program.relations[name], below.rows(name)
            tail = Tail(tables, relation, self.schema(name), spark)
            chunked = self.relations[name] = Chunked(name, carried_names(relation.arity) or [UNIT], tail)
            if rows > DELTAS_HELD * tail_rows:
                frame = self.with_unit(name, below.frame(name).frame)
                chunked.chunks.append(self.kept(self.arranged(chunked, frame)))
            elif rows:
                tail.give(below.encoded(name))

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
        new = chunked.new_rows
        return {View.ALL: chunked.rows, View.OLD: chunked.rows - new, View.NEW: new}[view]

    def view(self, name: str, view: View) -> Viewed:
        chunked, rows = self.relations[name], self.rows(name, view)
        if not rows:
            return Viewed(self.spark.createDataFrame([], self.schema(name)), 0)
        tail = chunked.tail
        if view is View.NEW:
            return chunked.new_chunk or Viewed(tail.newest(), rows)
        frames = [chunk.frame for chunk in chunked.chunks if view is View.ALL or chunk is not chunked.new_chunk]
        if len(tail) and view is View.ALL:
            frames.append(tail.everything())
        elif len(tail) > tail.new:
            frames.append(tail.before_newest())
        return Viewed(reduce(DataFrame.unionAll, frames), rows)

    def is_here(self, version: RuleVersion) -> bool:
        """Whether all that a version reads is in the driver's process."""
        if not self.tail_rows or any(isinstance(literal, Aggregate) for literal in version.rule.body):
            return False
        for atom, view in zip(version.atoms, version.views, strict=True):
            own = self.relations.get(atom.relation)
            if own is not None and own.chunks and (view is not View.NEW or own.new_chunk is not None):
                return False
        return all(self.below.bring_near(self.tables, name) for name in reads([version.rule]) - set(self.relations))

    # The iterations

    def derive(self, version: RuleVersion, joining: Joining) -> None:
        chunked = self.relations[version.rule.head.relation]
        chunked.here.append(version)
        if not chunked.derived and self.is_here(version):
            try:
                chunked.tail.derive(version, DELTAS_HELD * self.tail_rows)
                return
            except TooMany:
                pass
        self.all_here = False
        for each in chunked.here:
            chunked.derived.append(joining.derivations(each))
        chunked.both_move |= joining.both_move
        chunked.here.clear()
        chunked.tail.derived.clear()

    def advance(self) -> int:
        """What was derived and is not there yet becomes new. Returns how many tuples are."""
        self.iteration += 1
        derived = [chunked for chunked in self.relations.values() if chunked.derived or chunked.here]
        found_of = partial(self.found, comes_from_few=self.little_is_new())
        with ThreadPoolExecutor(max(1, len(derived))) as threads:  # Spark waits more than it works
            found = dict(zip((c.name for c in derived), threads.map(found_of, derived), strict=True))
        for name, chunked in self.relations.items():
            chunked.derived, chunked.both_move = [], False
            chunked.here.clear()
            self.merge(chunked)  # of what is old now; nothing refers to these chunks any more
            self.renew(chunked, found.get(name))
        return sum(chunked.new_rows for chunked in self.relations.values())

    def little_is_new(self) -> bool:
        relations = self.relations.values()
        return any(relation.new_rows for relation in relations) and not any(
            relation.new_chunk or relation.new_rows > self.tail_rows for relation in relations
        )

    def found(self, chunked: Chunked, comes_from_few: bool) -> Viewed | tuple[Rows, Words]:
        """What was derived and is in no chunk: tuples and their counts in the driver's process, to be compared with
        the tail, if they are few and come from few; else on Spark."""
        if chunked.here:
            return self.found_here(chunked)
        if comes_from_few:
            bound = f"(monotonically_increasing_id() & {PLACE_IN_PARTITION}) <= {self.tail_rows}"
            few = self.fresh(chunked, "").where(bound).toArrow()
            if few.num_rows <= self.tail_rows:
                return self.decoded(chunked, few)
        self.end_tail(chunked)
        fresh = self.fresh(chunked, f"SORT BY {', '.join(chunked.keys)}")
        found = self.kept(in_session(fresh, self.adaptive) if chunked.both_move else fresh)
        if found.rows > self.tail_rows:
            # Spark does not know of what it planned adaptively how it is spread.
            return self.merged(chunked, [found]) if chunked.both_move else found
        few = found.frame.toArrow()
        release(found.frame)
        return self.decoded(chunked, few)

    def decoded(self, chunked: Chunked, few: pyarrow.Table) -> tuple[Rows, Words]:
        with self.encoding:
            return chunked.tail.rows_of(few), few.column(COUNT).to_numpy()

    def found_here(self, chunked: Chunked) -> Viewed | tuple[Rows, Words]:
        """What the tail has derived, without what is in a chunk."""
        with self.encoding:
            rows, counts = chunked.tail.take_derived()
            if not chunked.chunks or not len(rows):
                return rows, counts
            asked = chunked.tail.frame_of(rows, self.iteration, counts)
        listed = ", ".join(chunked.keys)
        known = self.spark.sql(
            f"SELECT /*+ BROADCAST(asked) */ {listed} FROM {{known}} "
            f"LEFT SEMI JOIN {{asked}} AS asked USING ({listed})",
            known=_union(chunked.chunks).frame,
            asked=asked,
        ).toArrow()
        with self.encoding:
            unknown = ~chunked.tail.are_among(rows, chunked.tail.rows_of(known))
            rows, counts = rows[unknown], counts[unknown]
            if len(rows) <= self.tail_rows:
                return rows, counts
            frame = chunked.tail.frame_of(rows, self.iteration, counts)
        return self.kept(self.arranged(chunked, frame))

    def renew(self, chunked: Chunked, found: Viewed | tuple[Rows, Words] | None) -> None:
        chunked.new_chunk = None
        rows, counts = NOTHING
        if isinstance(found, Viewed):
            chunked.new_chunk = found
            chunked.chunks.append(found)
        elif found is not None:
            rows, counts = found
        chunked.tail.advance(self.iteration, rows, counts)

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
            with self.encoding:
                everything = chunked.tail.everything()
            chunked.chunks.append(self.kept(self.arranged(chunked, everything)))
            chunked.tail.clear()

    def merge(self, chunked: Chunked) -> None:
        """Few chunks: a chunk is at least twice as large as the next one. The partitions follow the size."""
        held = DELTAS_HELD if self.all_here and not chunked.chunks else DELTAS_A_TAIL
        if len(chunked.tail) > held * self.tail_rows:
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
            new = [chunk for chunk in chunked.chunks if chunk is chunked.new_chunk]
            old = [chunk for chunk in chunked.chunks if chunk is not chunked.new_chunk]
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

    def whole(self) -> dict[str, Stored]:
        """The relations that are in the driver's process as a whole; nothing of them is new any more."""
        found = {name: self.tables.stored[name] for name, chunked in self.relations.items() if not chunked.chunks}
        for stored in found.values():
            stored.old = 0
        return found

    def results(self) -> dict[str, Viewed]:
        """The relations as they are now, carried and annotated; their tails stay."""
        found = {}
        for name, chunked in self.relations.items():
            if len(chunked.tail):
                chunked.chunks.append(self.kept(self.arranged(chunked, chunked.tail.everything())))
            chunks = chunked.chunks or [Viewed(self.spark.createDataFrame([], self.schema(name)), 0)]
            columns = [*carried_names(self.program.relations[name].arity), ITERATION, COUNT]
            viewed = _union(chunks)
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
