"""The newest tuples of a relation in the making, while an iteration adds few: they stay in the driver's process.

What is sent to Spark for a small iteration is then a delta that its query holds, and what comes back is the next one.
Nothing is cached, no chunk is added that would have to be merged, and whether a tuple is among the newest is asked
here.
"""

from __future__ import annotations

import pyarrow
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from whence.engines.local.table import Table
from whence.engines.local.tables import LocalTables

from .batches import Typed, rows_of


class Tail:
    """Carried, annotated tuples, iteration by iteration; `tables` encode them."""

    def __init__(self, tables: LocalTables, columns: list[Typed], schema: StructType, spark: SparkSession) -> None:
        self._tables = tables
        self._columns = columns
        self._schema = schema
        self._spark = spark
        self.clear()

    def clear(self) -> None:
        self._deltas: list[pyarrow.Table] = []
        self._set = Table(self._tables.kernel, len(self._columns), counted=False)

    def __len__(self) -> int:
        return len(self._set)

    def add(self, found: pyarrow.Table) -> int:
        """Adds the tuples that are not there yet, as the newest iteration, and says how many they are."""
        before = len(self)
        arrays = found.columns[: len(self._columns)]
        rows = rows_of(self._tables, self._columns, arrays, found.num_rows).reshape(-1)
        unknown = self._set.locate(rows, found.num_rows) < 0
        self._set.insert(rows, found.num_rows)
        if len(self) > before:
            schema = pyarrow.schema([(field.name, field.type) for field in found.schema])  # all may be null, or none
            self._deltas.append(found.filter(pyarrow.array(unknown)).cast(schema))
        return len(self) - before

    def newest(self) -> DataFrame:
        return self._frame(self._deltas[-1:])

    def everything(self) -> DataFrame:
        return self._frame(self._deltas)

    def before_newest(self) -> DataFrame:
        return self._frame(self._deltas[:-1])

    def _frame(self, deltas: list[pyarrow.Table]) -> DataFrame:
        return self._spark.createDataFrame(pyarrow.concat_tables(deltas), self._schema)
