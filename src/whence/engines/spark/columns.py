"""The two forms that a relation has on Spark.

*Natural*, as users see it: the relation's own column names; number is bigint, unsigned decimal(20,0), float double,
symbol and record string. *Carried*, between the parts of the engine: columns `c0`, `c1`, …; number, unsigned and float
are the int64 of the kernel (their bits), so that Spark calls equal what the kernel calls equal (0.0 and -0.0 are two
values); symbols are strings, records their text, `[1, nil]`.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

import pyarrow
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.functions import arrow_udf
from pyspark.sql.types import (
    DataType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
)

from whence.lang.program import Kind, Relation

ITERATION, COUNT = "iteration", "count"
ANNOTATION = (StructField(ITERATION, IntegerType(), False), StructField(COUNT, LongType(), False))

CARRIED: dict[Kind, DataType] = {
    "number": LongType(),
    "unsigned": LongType(),
    "float": LongType(),
    "symbol": StringType(),
    "record": StringType(),
}


def carried_names(arity: int) -> list[str]:
    return [f"c{i}" for i in range(arity)]


def carried_schema(relation: Relation, annotated: bool = True) -> StructType:
    """The schema of a relation's carried form, followed by iteration and count if it is annotated."""
    names = carried_names(relation.arity)
    fields = [StructField(n, CARRIED[c.kind], False) for n, c in zip(names, relation.columns, strict=True)]
    return StructType([*fields, *(ANNOTATION if annotated else ())])


def natural(relation: Relation, frame: DataFrame, annotated: bool = False) -> DataFrame:
    """A carried frame as users see it; annotated, with iteration and count after the relation's own columns."""
    columns = [
        _to_natural(F.col(name), column.kind).alias(column.name)
        for name, column in zip(carried_names(relation.arity), relation.columns, strict=True)
    ]
    return frame.select(*columns, *((ITERATION, COUNT) if annotated else ()))


def _to_natural(column: Column, kind: Kind) -> Column:
    if kind == "float":
        return viewed("double", "float64")(column)
    if kind == "unsigned":
        wide = column.cast("decimal(20,0)")
        return F.when(column < 0, wide + F.lit(Decimal(1 << 64))).otherwise(wide).cast("decimal(20,0)")
    return column


def viewed(spark_type: str, arrow_type: str) -> Callable[[Column], Column]:
    """The same bits as another type: Spark has no expression for that, Arrow does it without touching them."""

    def view(values: pyarrow.Array) -> pyarrow.Array:
        return values.view(arrow_type)

    udf: Callable[[Column], Column] = arrow_udf(view, returnType=spark_type)  # type: ignore[call-overload]
    return udf
