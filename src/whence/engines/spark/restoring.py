"""Relations of a stored epoch as frames: the Parquet files of its layers are read by Spark, where they are."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from functools import reduce

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, DecimalType, DoubleType, IntegerType, LongType, StringType, StructType

from whence.lang.program import Kind, Relation
from whence.store import Layer, Schema

from .columns import COUNT, ITERATION, carried_names, viewed

STORED: dict[Kind, DataType] = {
    "number": LongType(),
    "unsigned": DecimalType(20, 0),
    "float": DoubleType(),
    "symbol": StringType(),
    "record": StringType(),
}
LAYER = "layer"


def restored(spark: SparkSession, relation: Relation, schema: Schema, layers: Sequence[Layer]) -> DataFrame:
    """The tuples of a relation, carried and annotated: those that no later layer deletes.

    Deletions are one frame, whatever the number of layers, so that tuples go through one join.
    """
    names = carried_names(relation.arity)
    held = [_carried(spark, schema, layer.held, relation, number) for number, layer in enumerate(layers) if layer.held]
    deleted = [
        _carried(spark, schema, layer.deleted, relation, number).select(*names, LAYER)
        for number, layer in enumerate(layers)
        if layer.deleted
    ]
    frame = reduce(DataFrame.unionAll, held)
    if deleted:
        gone = reduce(DataFrame.unionAll, deleted).groupBy(*names).agg(F.max(LAYER).alias("last"))
        gone = gone.select(*(F.col(name).alias(f"gone {name}") for name in names), "last")
        matches = [F.col(name) == F.col(f"gone {name}") for name in names]
        frame = frame.join(gone, [*matches, F.col(LAYER) < F.col("last")], "left_anti")
    return frame.select(*names, ITERATION, COUNT)


def _carried(spark: SparkSession, schema: Schema, paths: Sequence[str], relation: Relation, layer: int) -> DataFrame:
    wanted = StructType()
    for column in schema.columns:
        wanted = wanted.add(column.field, STORED[column.kind])
    wanted = wanted.add(ITERATION, IntegerType()).add(COUNT, LongType())
    names = carried_names(relation.arity)
    columns = [_to_carried(F.col(f"`{c.field}`"), c.kind).alias(n) for n, c in zip(names, schema.columns, strict=True)]
    count = F.coalesce(COUNT, F.lit(1).cast("bigint")).alias(COUNT)
    read = spark.read.schema(wanted).parquet(*paths)
    return read.select(*columns, ITERATION, count, F.lit(layer).alias(LAYER))


def _to_carried(column: Column, kind: Kind) -> Column:
    """The other way of `columns.natural`."""
    if kind == "float":
        return viewed("bigint", "int64")(column)
    if kind == "unsigned":
        wrapped = F.when(column >= F.lit(Decimal(1 << 63)), column - F.lit(Decimal(1 << 64)))
        return wrapped.otherwise(column).cast("bigint")
    return column
