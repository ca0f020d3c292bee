"""Starting a streaming query that keeps a state current."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whence.errors import WhenceError
from whence.streaming.follower import Follower
from whence.streaming.frames import Events, Files

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

FILES = "path string, modificationTime timestamp, length bigint, content binary"
CHECKPOINT = "stream"  # in the folder of the state, so that both are kept, moved and removed together


def stream(
    state: str | os.PathLike[str],
    frame: DataFrame,
    relation: str | None = None,
    *,
    op: str = "op",
    feed: str | os.PathLike[str] | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    trigger: Mapping[str, Any] | None = None,
    engine: str = "local",
    strategy: str = "elastic",
    share: float = 0.2,
    lenient: bool = False,
) -> StreamingQuery:
    """Starts a query that makes every micro-batch of a streaming DataFrame an epoch of a state.

    With a `relation`, the frame has its columns, and `op`, which is `+` or `-`; without, it is one of files of changes,
    as `whence.streaming.change_files` makes them. `trigger` is what `DataStreamWriter.trigger` takes, such as
    `{"availableNow": True}`. Where Spark notes its progress, `checkpoint`, is a folder of the state unless it is given.
    """
    if not frame.isStreaming:
        raise WhenceError("this is not a streaming DataFrame; make one with spark.readStream, or use session.update")
    source = Files() if relation is None else Events(relation, op)
    follower = Follower(
        state,
        source,
        feed,
        lenient=lenient,
        update={"strategy": strategy, "share": share},
        opened={"engine": engine, **({"spark": frame.sparkSession} if engine == "spark" else {})},
    )
    return started(frame, follower, checkpoint, trigger or {})


def started(
    frame: DataFrame, follower: Follower, checkpoint: str | os.PathLike[str] | None, trigger: Mapping[str, Any]
) -> StreamingQuery:
    folder = os.fspath(checkpoint) if checkpoint is not None else str(follower.store.root.absolute() / CHECKPOINT)
    writer = frame.writeStream.foreachBatch(follower).option("checkpointLocation", folder)
    return (writer.trigger(**trigger) if trigger else writer).start()


def change_files(spark: SparkSession, folder: str | os.PathLike[str], most: int | None = None) -> DataFrame:
    """The files of changes in a folder, those there are and those that come; at most so many in a micro-batch.

    A file has to appear as a whole: write it elsewhere, or under a name that begins with a `.`, and move it.
    """
    path = os.fspath(folder)
    if "://" not in path and not Path(path).is_dir():
        raise WhenceError(f"{path}: there is no such folder of changes")
    reader = spark.readStream.format("binaryFile").schema(FILES)
    if most is not None:
        reader = reader.option("maxFilesPerTrigger", most)
    return reader.load(path if "://" in path else os.path.abspath(path))
