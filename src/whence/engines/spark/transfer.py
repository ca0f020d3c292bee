"""Relations between the driver's process and Spark, as Arrow."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pyarrow.parquet
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.classic.dataframe import DataFrame as ClassicDataFrame

from whence.engines.local.tables import LocalTables
from whence.lang.program import Relation

from .batches import ARROW, arrays_of, typed
from .cluster import Setting
from .cluster import start as start_spark
from .columns import COUNT, ITERATION, carried_names, carried_schema, natural

AT_ONCE = 1 << 20  # rows that Spark's driver process collects in its own memory
BLOCK = 1 << 18


def is_local(spark: SparkSession) -> bool:
    """Whether executors share this machine's disk."""
    return (spark.sparkContext.master or "").startswith("local")


def in_session(frame: DataFrame, spark: SparkSession) -> DataFrame:
    """The same frame under the settings and views of another session, which is that of all that is made from it."""
    jvm: Any = spark._jvm
    rows = jvm.org.apache.spark.sql.classic.Dataset.ofRows(spark._jsparkSession, frame._jdf.logicalPlan())
    return ClassicDataFrame(rows, spark)


def arrow_schema(relation: Relation) -> pyarrow.Schema:
    own = [(n, ARROW[c.kind]) for n, c in zip(carried_names(relation.arity), relation.columns, strict=True)]
    return pyarrow.schema([*own, (ITERATION, pyarrow.int32()), (COUNT, pyarrow.int64())])


def blocks(tables: LocalTables, relation: Relation) -> Iterator[pyarrow.RecordBatch]:
    """The rows of a local relation, carried and annotated."""
    schema = arrow_schema(relation)
    for rows, iterations, counts in tables.encoded(relation.name):
        annotation = [pyarrow.array(iterations.astype(np.int32)), pyarrow.array(counts)]
        yield pyarrow.record_batch([*arrays_of(tables, typed(relation), rows), *annotation], schema=schema)


def to_spark(tables: LocalTables, relation: Relation, spark: SparkSession) -> DataFrame:
    """A local relation as a carried, annotated frame."""
    if tables.rows(relation.name) <= AT_ONCE or not is_local(spark):
        table = pyarrow.Table.from_batches(blocks(tables, relation), arrow_schema(relation))
        return spark.createDataFrame(table, carried_schema(relation))
    folder = scratch(spark)
    path = Path(folder) / "tuples.parquet"
    with pyarrow.parquet.ParquetWriter(path, arrow_schema(relation), compression="lz4") as writer:
        for batch in blocks(tables, relation):
            writer.write_batch(batch)
    return spark.read.schema(carried_schema(relation)).parquet(str(path))


def natural_frame(tables: LocalTables, relation: Relation, annotated: bool) -> DataFrame:
    """A local relation as users see it, on the Spark session that is running, or a new one."""
    spark = SparkSession.getActiveSession() or start_spark(Setting())
    return natural(relation, to_spark(tables, relation, spark), annotated)


def from_spark(frame: DataFrame, rows: int) -> Iterator[pyarrow.RecordBatch]:
    """The rows of a frame. Many of them go by way of the disk, past the memory of Spark's driver process."""
    spark = frame.sparkSession
    if rows <= AT_ONCE or not is_local(spark):
        yield from frame.toArrow().to_batches()
        return
    folder = scratch(spark)
    try:
        frame.write.parquet(f"{folder}/tuples", compression="lz4")
        for path in sorted(Path(folder, "tuples").glob("*.parquet")):
            yield from pyarrow.parquet.ParquetFile(path).iter_batches(batch_size=BLOCK)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def scratch(spark: SparkSession) -> str:
    """A new folder that goes away with this process."""
    folder = tempfile.mkdtemp(prefix="whence-", dir=spark.sparkContext.getConf().get("spark.local.dir"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder
