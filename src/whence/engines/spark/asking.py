"""What an Update of a stratum on Spark asks: versions over relations as they are at that moment, answered together.

Frames do not change, so a version that is asked before changes take effect and one that is asked after can be answered
by the same query: one for each relation of the stratum and iteration. The answers come to this process; changes, and
sets of keys, go out as rows that the query holds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import reduce

import numpy as np
import pyarrow
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import LongType, StructField, StructType

from whence.engines.local.table import Rows
from whence.lang.program import Column, Relation
from whence.plan.statistics import Statistics
from whence.plan.steps import RuleVersion, View
from whence.tables import Refused

from .batches import ARROW, NUMBER, Typed, arrays_of, rows_of, typed
from .columns import CARRIED, carried_names
from .exchanged import PLACE_IN_PARTITION
from .failures import told
from .joining import STAMP, UNIT, Joining, Viewed
from .tables import SparkTables

MOST_EVENTS = 1 << 20  # derivations that change in an iteration, and are brought here
SIGN = "sign"
SIGNS = (View.LOST, View.GAINED, View.MISSING)


class Asking:
    """`relation_view` gives the views of relations; those of sets of keys are here."""

    def __init__(
        self, tables: SparkTables, statistics: Statistics, relation_view: Callable[[str, View], Viewed]
    ) -> None:
        self.tables = tables
        self.relation_view = relation_view
        self.declared = dict(tables.program.relations)
        self.keys: dict[str, Viewed] = {}
        self._asked: dict[str, list[DataFrame]] = {}
        self._views: dict[tuple[str, View], Viewed] = {}
        self._joining = Joining(
            replace(tables.program, relations=self.declared),
            tables.spark,
            statistics,
            self._view,
            tables.options.broadcast_rows,
            tables.hearing.in_tasks,
            driven=True,
        )

    def _view(self, relation: str, view: View) -> Viewed:
        if relation in self.keys:
            return self.keys[relation]
        if (relation, view) not in self._views:
            self._views[relation, view] = self.relation_view(relation, view)
        return self._views[relation, view]

    def changed(self) -> None:
        """Views are to be made anew."""
        self._views.clear()

    def forget(self) -> None:
        """The stratum is done with."""
        self._views.clear()
        self._asked.clear()
        for name in self.keys:
            self.declared.pop(name, None)
        self.keys.clear()

    # Sets of keys

    def hold(self, name: str, columns: Sequence[Typed], rows: Rows) -> None:
        """A set of keys that versions read by this name."""
        self.keys[name] = Viewed(self.frame(columns, rows), len(rows))
        self._declare(name, columns)

    def collect(self, name: str, versions: Iterable[RuleVersion]) -> None:
        """A set of keys that versions derive."""
        found = [self._joining.keys(version) for version in versions]
        if not found:
            self.keys[name] = Viewed(self.frame([], np.empty((0, 0), np.int64)), 0)
            return
        columns = found[0][1]
        with told():
            answer = reduce(DataFrame.unionAll, (frame for frame, _ in found)).distinct().toArrow()
        self.tables.hearing.tell()
        frame = self.tables.spark.createDataFrame(answer, _schema(columns))
        self.keys[name] = Viewed(frame, answer.num_rows)
        self._declare(name, columns)

    def _declare(self, name: str, columns: Sequence[Typed]) -> None:
        origin = next(iter(self.declared.values())).origin
        described = tuple(Column(f"c{i}", type_name, kind) for i, (kind, type_name) in enumerate(columns))
        self.declared[name] = Relation(name, described, origin)

    def frame(self, columns: Sequence[Typed], rows: Rows) -> DataFrame:
        """Encoded rows as a carried frame that the query holds."""
        arrays = arrays_of(self.tables.local, columns, rows) or [pyarrow.array(np.zeros(len(rows), np.int64))]
        names = _schema(columns).names
        kinds = [ARROW[kind] for kind, _ in columns] or [pyarrow.int64()]
        table = pyarrow.Table.from_arrays(arrays, schema=pyarrow.schema(list(zip(names, kinds, strict=True))))
        return self.tables.spark.createDataFrame(table, _schema(columns))

    # Derivations

    def ask(self, version: RuleVersion, sign: View) -> None:
        derived = self._joining.derivations(version).drop(STAMP).withColumn(SIGN, F.lit(SIGNS.index(sign)))
        self._asked.setdefault(version.rule.head.relation, []).append(derived)

    def answers(self) -> dict[str, dict[View, Rows]]:
        """By relation and sign, the heads of all derivations that were asked for, each with its iteration."""
        asked, self._asked = self._asked, {}
        if not asked:
            return {}
        with told(), ThreadPoolExecutor(len(asked)) as threads:  # Spark waits more than it works
            answers = dict(zip(asked, threads.map(_answer, asked.values()), strict=True))
        self.tables.hearing.tell()
        found: dict[str, dict[View, Rows]] = {}
        for name, answer in answers.items():
            if not answer.num_rows:
                continue
            columns = [*typed(self.declared[name]), NUMBER]
            rows = rows_of(self.tables.local, columns, answer.columns[:-1], answer.num_rows)
            signs = answer.column(len(columns)).to_numpy()
            parts = {sign: rows[signs == number] for number, sign in enumerate(SIGNS)}
            found[name] = {sign: np.ascontiguousarray(part) for sign, part in parts.items() if len(part)}
        return found


def _answer(frames: list[DataFrame]) -> pyarrow.Table:
    bound = f"(monotonically_increasing_id() & {PLACE_IN_PARTITION}) <= {MOST_EVENTS}"
    answer = reduce(DataFrame.unionAll, frames).where(bound).toArrow()
    if answer.num_rows > MOST_EVENTS:
        raise Refused(f"more than {MOST_EVENTS:,} derivations change in an iteration, too many for the driver")
    return answer


def _schema(columns: Sequence[Typed]) -> StructType:
    fields = [StructField(n, CARRIED[k], False) for n, (k, _) in zip(carried_names(len(columns)), columns, strict=True)]
    return StructType(fields or [StructField(UNIT, LongType(), False)])
