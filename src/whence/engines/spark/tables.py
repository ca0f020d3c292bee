"""The Spark engine's tables: each relation lives in the driver's process or as a frame, and is copied when the other
side reads it. A stratum is placed when it begins, by the sizes that its input then has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress

import numpy as np
import pyarrow
from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from whence.engines.local.arrow import schema as natural_arrow_schema
from whence.engines.local.table import Rows, Words
from whence.engines.local.tables import LocalTables
from whence.engines.local.values import Value, ValueMismatch, Values
from whence.lang.program import Program, Stratum
from whence.plan import RuleVersion, View, first_versions, planned
from whence.tables import Progress

from .batches import arrays_of, rows_of, typed
from .cluster import Cluster, engine_session
from .columns import COUNT, ITERATION, carried_names, carried_schema, natural
from .decomposed import decomposed, recursive_rules
from .exchanged import Exchange, release
from .failures import told
from .hearing import Hearing
from .joining import STAMP, Joining, Viewed
from .layers import Layer
from .options import Options
from .placement import Placement, place, reads
from .sizes import Sizes
from .transfer import arrow_schema, blocks, from_spark, in_session, is_local, to_spark

TASKS_A_CORE = 4  # of a decomposed stratum, whose parts are not equally large


class SparkTables:
    def __init__(
        self,
        program: Program,
        cluster: Cluster,
        options: Options,
        warn: Callable[[str], None] = lambda message: None,
        announce: Callable[[str], None] | None = None,
    ) -> None:
        self.program = program
        self.local = LocalTables(program, True, warn, announce)
        self.options = options
        self.placements: dict[tuple[str, ...], Placement] = {}
        self._cluster = cluster
        self._engine_session: SparkSession | None = None
        self._hearing: Hearing | None = None
        self._given: dict[str, list[Viewed]] = {}  # input that was read by Spark, carried, not annotated
        self._frames: dict[str, Viewed] = {}  # relations that live on Spark, carried and annotated
        self._copies: dict[str, Viewed] = {}  # on Spark, of relations that live here
        self._copied: set[str] = set()  # relations that live on Spark and were copied here
        self._exchange: Exchange | None = None
        self._sizes = Sizes(self)
        self._kept: dict[str, list[DataFrame]] = {}  # input that Spark caches
        self.checkpoints: dict[str, list[DataFrame]] = {}  # that frames of relations are made of
        self.layers: dict[str, Layer] = {}  # of relations on Spark that have been revised
        self.stays = False  # what is on Spark is not brought here
        self.revised: Callable[[str], Viewed | None] = unrevised  # relations that live here and are being changed

    @property
    def spark(self) -> SparkSession:
        if self._engine_session is None:
            self._engine_session = engine_session(self._cluster.session())
            self._engine_session.conf.set("spark.sql.shuffle.partitions", str(self.partitions_for(0)))
        return self._engine_session

    @property
    def hearing(self) -> Hearing:
        if self._hearing is None:
            self._hearing = Hearing(self.spark, self.local.warn)
        return self._hearing

    counts = True

    # Input

    def give(self, relation: str, frame: DataFrame, rows: int) -> None:
        """Input tuples that are on Spark, carried."""
        self._given.setdefault(relation, []).append(Viewed(in_session(frame, self.spark), rows))

    def restore(self, relation: str, frame: DataFrame, rows: int) -> None:
        """A relation that is on Spark, carried and annotated, in place of what it holds. It is read where it lies."""
        self.local.forget(relation)
        self._frames[relation] = Viewed(in_session(frame, self.spark), rows)

    def settle(self) -> None:
        """Gives every relation one home: small input comes here, large input stays on Spark."""
        for name, given in self._given.items():
            relation = self.program.relations[name]
            total = sum(viewed.rows for viewed in given)
            if total <= self.options.driver_rows and self.options.placement in (None, "driver"):
                for viewed in given:
                    self._insert(name, viewed)
                continue
            frames = [viewed.frame for viewed in given]
            if self.local.rows(name):
                here = to_spark(self.local, relation, self.spark)
                frames.append(here.select(*carried_names(relation.arity)))
            together = frames[0]
            for frame in frames[1:]:
                together = together.unionAll(frame)
            annotation = (F.lit(0).alias(ITERATION), F.lit(1).cast("bigint").alias(COUNT))
            self._frames[name] = self._persisted(name, together.distinct().select("*", *annotation))
        self._given.clear()

    def _insert(self, name: str, viewed: Viewed) -> None:
        relation = self.program.relations[name]
        with told():
            for batch in from_spark(viewed.frame, viewed.rows):
                columns = batch.columns[: relation.arity]
                rows = rows_of(self.local, typed(relation), columns, batch.num_rows)
                self.local.insert(name, rows.reshape(-1), len(rows))

    def drop_derived(self) -> None:
        derived = {name for stratum in self.program.strata if stratum.rules for name in stratum.relations}
        for name, viewed in self._frames.items():
            given, rows = viewed.frame.select(*carried_names(self.program.relations[name].arity)), viewed.rows
            if name in derived:
                given = viewed.frame.where(F.col(ITERATION) == 0).select(*given.columns)
                with told():
                    rows = given.count()
            if rows:
                self._given.setdefault(name, []).append(Viewed(given, rows))
        self._frames.clear()
        self.layers.clear()
        self.local.drop_derived()
        for name in self._copied:  # a copy is not input
            self.local.forget(name)
        self._copies.clear()
        self._copied.clear()
        self._sizes.known.clear()

    def take_program(self, program: Program) -> None:
        """The tables of another program: relations that it has too stay as they are, others are empty or go."""
        for name in self.program.relations.keys() - program.relations.keys():
            self._frames.pop(name, None)
            self.layers.pop(name, None)
            self._copies.pop(name, None)
            self._copied.discard(name)
            self.release(self.checkpoints.pop(name, []))
            for frame in self._kept.pop(name, []):
                frame.unpersist()
        self.program = program
        self.local.take_program(program)

    # Where relations are

    def rows(self, name: str) -> int:
        """How many tuples a relation has so far."""
        if name in self._frames:
            return self._frames[name].rows
        revised = self.revised(name)
        return self.local.rows(name) if revised is None else revised.rows

    def lives_here(self, name: str) -> bool:
        return name not in self._frames

    def here(self, name: str) -> None:
        """Makes the tuples of a relation readable in this process."""
        if name in self._frames and name not in self._copied:
            self.local.forget(name)
            self._insert(name, self._frames[name])
            self._copied.add(name)

    def frame(self, name: str) -> Viewed:
        """A relation on Spark, carried and annotated."""
        if name in self._frames:
            return self._frames[name]
        revised = self.revised(name)
        if revised is not None:
            return revised
        rows = self.local.rows(name)
        known = self._copies.get(name)
        if known is None or known.rows != rows:
            with told():
                frame = to_spark(self.local, self.program.relations[name], self.spark)
                known = self._copies[name] = Viewed(frame, rows)
        return known

    def _persisted(self, name: str, frame: DataFrame) -> Viewed:
        frame = frame.persist(StorageLevel.MEMORY_AND_DISK)
        self._kept.setdefault(name, []).append(frame)
        with told():
            return Viewed(frame, frame.count())

    # Relations that are kept current (see `revision`)

    def is_readable_here(self, name: str) -> bool:
        return name not in self._frames or name in self._copied

    def copy(self, name: str, viewed: Viewed) -> None:
        """A relation that lives on Spark, as it is in some epoch, in this process too."""
        self.local.forget(name)
        self._insert(name, viewed)
        self._copied.add(name)

    def move(self, name: str) -> None:
        """A relation that lives here lives on Spark from now on; what is here is a copy."""
        self._frames[name] = self.frame(name)
        self._copied.add(name)

    def layer(self, name: str) -> Layer:
        """A relation that lives on Spark, ready to be revised."""
        if name not in self.layers:
            if name not in self.checkpoints and name not in self._kept:
                self._frames[name] = self._checkpointed(name)
            self.layers[name] = Layer(self.program.relations[name], self._frames[name], self.local, self.spark)
        return self.layers[name]

    def make_bases(self) -> None:
        """Layers that have become large are made frames."""
        for name, layer in list(self.layers.items()):
            if layer.is_heavy(self.options.tail_rows):
                old, kept = self.checkpoints.get(name, []), self._kept.pop(name, [])
                self._frames[name] = self._checkpointed(name)
                del self.layers[name]
                self.release(old)
                for frame in kept:
                    frame.unpersist()

    def _checkpointed(self, name: str) -> Viewed:
        """The rows of a relation, computed now; what they came from is forgotten."""
        viewed = self._frames[name]
        storage = StorageLevel.MEMORY_AND_DISK if is_local(self.spark) else StorageLevel.MEMORY_AND_DISK_2
        with told():
            frame = viewed.frame.localCheckpoint(eager=True, storageLevel=storage)
        self.checkpoints[name] = [frame]
        return Viewed(frame, viewed.rows)

    def release(self, checkpoints: list[DataFrame]) -> None:
        for frame in checkpoints:
            release(frame)

    def become(self, name: str, viewed: Viewed) -> None:
        """A relation that lives on Spark is this from now on."""
        self._frames[name] = viewed

    def follows(self, name: str) -> bool:
        """Whether there is a copy here of a relation that lives on Spark."""
        return name in self._frames and name in self._copied

    def sent(self, name: str) -> Viewed | None:
        """Takes away the copy on Spark of a relation that lives here and has changed."""
        return self._copies.pop(name, None)

    def put_back(self, frames: Mapping[str, Viewed | None], sent: Mapping[str, Viewed]) -> None:
        """Relations are where they were; those that were here have no frame."""
        self._exchange = None
        for name, viewed in frames.items():
            if viewed is None:
                del self._frames[name]
                self.layers.pop(name, None)
                self._copied.discard(name)
            else:
                self._frames[name] = viewed
        self.resend(sent)

    def resend(self, sent: Mapping[str, Viewed]) -> None:
        self._copies |= {name: viewed for name, viewed in sent.items() if name not in self._frames}

    def distinct_on_spark(self, relation: str, columns: tuple[int, ...]) -> float:
        return self._sizes.distinct(relation, columns)

    def forget_statistics(self, relations: Sequence[str]) -> None:
        self._sizes.known = {key: number for key, number in self._sizes.known.items() if key[0] not in relations}

    # Evaluation

    def solve(self, stratum: Stratum, progress: Progress) -> bool:
        self._exchange = None
        placement = place(stratum, self.program, self.rows, self.lives_here, self.options)
        if self.stays and placement.place == "driver":
            placement = Placement("exchanged", "its relations are on Spark")
        self.placements[stratum.relations] = placement
        progress.placed(placement.place, placement.reason)
        if placement.place != "decomposed":
            return False
        assert placement.decomposition is not None
        own = {name: [self.frame(name).frame] for name in stratum.relations if self.rows(name)}
        recursive = recursive_rules(stratum).rules
        exits = Stratum(stratum.relations, tuple(r for r in stratum.rules if r not in recursive), False)
        joining = self._joining()
        for version in first_versions(exits):
            derived = joining.derivations(planned(version, self._sizes)).drop(STAMP)
            annotation = (F.lit(1).alias(ITERATION), F.lit(1).cast("bigint").alias(COUNT))
            own.setdefault(version.rule.head.relation, []).append(derived.select("*", *annotation))
        if not own:
            self._frames |= {name: self._empty(name) for name in stratum.relations}
            return True
        total = sum(map(self.rows, {*stratum.relations, *reads(exits.rules)}))
        with told():
            found, iterations = decomposed(
                stratum,
                self.program,
                placement.decomposition,
                own,
                {name: self._carried_table(name) for name in placement.decomposition.broadcast},
                self.spark,
                max(self.partitions_for(total), TASKS_A_CORE * self.cores),
                self.hearing.in_tasks,
            )
        self.hearing.tell()
        self._frames |= found
        for iteration in range(1, iterations + 1):  # told when all is done
            last = iteration == iterations
            progress.iteration(iteration, sum(viewed.rows for viewed in found.values()) if last else 0)
        return True

    def begin(self, stratum: Stratum) -> None:
        if self.placements[stratum.relations].place == "driver":
            for name in reads(stratum.rules) - set(stratum.relations):
                self.here(name)
            for name in stratum.relations:
                if name in self._frames:  # its input comes here, to stay
                    self.here(name)
                    del self._frames[name]
                    self._copied.discard(name)
            self.local.begin(stratum)
            return
        total = sum(map(self.rows, {*stratum.relations, *reads(stratum.rules)}))
        storage = StorageLevel.MEMORY_AND_DISK if is_local(self.spark) else StorageLevel.MEMORY_AND_DISK_2
        with told():
            self._exchange = Exchange(
                stratum,
                self.program,
                self.spark,
                self,
                self.local.beside(),
                storage,
                self.partitions_for(total),
                self.options.tail_rows,
            )

    def bring_near(self, tables: LocalTables, name: str) -> bool:
        """Makes a relation readable in these tables too, if it is in this process or small enough to come."""
        if not self.lives_here(name):
            if self.stays or self.rows(name) > self.options.broadcast_rows:
                return False
            self.here(name)
        tables.stored[name] = self.local.stored[name]
        return True

    def derive(self, version: RuleVersion) -> None:
        if self._exchange is None:
            self.local.derive(version)
        else:
            self._exchange.derive(version, self._joining())

    def advance(self) -> int:
        if self._exchange is None:
            return self.local.advance()
        with told():
            new = self._exchange.advance()
        self.hearing.tell()
        return new

    def end(self) -> None:
        if self._exchange is None:
            self.local.end()
            return
        copies = {} if self.stays else self._exchange.whole()
        with told():
            self._frames |= self._exchange.results()
        self.local.stored |= copies
        self._copied |= copies.keys()
        self.checkpoints |= self._exchange.checkpoints()
        self._exchange = None

    def _joining(self) -> Joining:
        return Joining(
            self.program, self.spark, self._sizes, self.view, self.options.broadcast_rows, self.hearing.in_tasks
        )

    def _empty(self, name: str) -> Viewed:
        return Viewed(self.spark.createDataFrame([], carried_schema(self.program.relations[name])), 0)

    def _carried_table(self, name: str) -> pyarrow.Table:
        """All tuples of a relation, carried, in this process."""
        relation = self.program.relations[name]
        batches = blocks(self.local, relation)
        if not self.lives_here(name):
            batches = from_spark(self._frames[name].frame, self._frames[name].rows)
        schema = arrow_schema(relation)
        same = (pyarrow.record_batch(batch.columns, schema=schema) for batch in batches)
        return pyarrow.Table.from_batches(same, schema).select(carried_names(relation.arity))

    def close(self) -> None:
        """Gives up what Spark keeps for these relations."""
        with suppress(Exception):  # Spark may have been stopped by others
            for kept in self._kept.values():
                for frame in kept:
                    frame.unpersist()
            for checkpoints in self.checkpoints.values():
                self.release(checkpoints)
        self._kept.clear()
        self.checkpoints.clear()

    # Statistics, for the planner

    def view(self, name: str, view: View) -> Viewed:
        if self._exchange is not None and name in self._exchange.relations:
            return self._exchange.view(name, view)
        return self.frame(name)

    def rows_of_view(self, name: str, view: View) -> int:
        if self._exchange is not None and name in self._exchange.relations:
            return self._exchange.rows(name, view)
        return self.rows(name)

    def is_growing(self, name: str) -> bool:
        return self._exchange is not None and name in self._exchange.relations

    def size(self, relation: str, view: View) -> float:
        return self.local.size(relation, view) if self._exchange is None else self._sizes.size(relation, view)

    def distinct(self, relation: str, columns: tuple[int, ...]) -> float:
        if self._exchange is None:
            return self.local.distinct(relation, columns)
        return self._sizes.distinct(relation, columns)

    @property
    def cores(self) -> int:
        return max(1, self._cluster.session().sparkContext.defaultParallelism)

    def partitions_for(self, rows: int) -> int:
        """As many as there are cores, and more for more data."""
        return self.options.partitions or max(self.cores, -(-rows // 2_000_000))

    # Results

    @property
    def values(self) -> Values:
        return self.local.values

    def has(self, relation: str, row: tuple[Value, ...]) -> bool:
        if self.lives_here(relation):
            return self.local.has(relation, row)
        columns = self.program.relations[relation].columns
        found = self._frames[relation].frame
        for i, (value, column) in enumerate(zip(row, columns, strict=True)):
            try:
                code = self.values.encode([value], column.type, column.kind)
            except ValueMismatch:
                return False
            [same] = arrays_of(self.local, [(column.kind, column.type)], code.reshape(1, 1))
            found = found.where(F.col(f"c{i}") == F.lit(same[0].as_py()))
        with told():
            return not found.isEmpty()

    def encoded(self, name: str) -> Iterator[tuple[Rows, Words, Words]]:
        """Blocks of rows with iterations and counts, encoded by the tables of this process."""
        if self.lives_here(name):
            yield from self.local.encoded(name)
            return
        relation, viewed = self.program.relations[name], self._frames[name]
        with told():
            for batch in from_spark(viewed.frame, viewed.rows):
                rows = rows_of(self.local, typed(relation), batch.columns[: relation.arity], batch.num_rows)
                iterations, counts = (column.to_numpy() for column in batch.columns[relation.arity :])
                yield rows, iterations.astype(np.int64), counts

    def nbytes(self, name: str) -> int:
        return self.local.nbytes(name) if self.lives_here(name) else 0

    def to_arrow(self, name: str, annotated: bool) -> pyarrow.Table:
        if self.lives_here(name):
            return self.local.to_arrow(name, annotated)
        schema = natural_arrow_schema(self.program.relations[name], annotated)
        frame = self.to_spark(name, annotated)
        with told():
            batches = [batch.cast(schema) for batch in from_spark(frame, self.rows(name))]
        return pyarrow.Table.from_batches(batches, schema)

    def to_spark(self, name: str, annotated: bool) -> DataFrame:
        """A relation as users see it; nothing is collected."""
        frame = natural(self.program.relations[name], self.frame(name).frame, annotated)
        return in_session(frame, self._cluster.session())  # whose settings are the user's


def unrevised(name: str) -> Viewed | None:
    """Nothing is being changed."""
    return None
