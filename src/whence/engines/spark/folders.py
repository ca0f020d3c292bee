"""Files and folders, wherever Hadoop can reach, that take the place of others once they are complete."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from whence.errors import WhenceError


def unfinished(uri: str) -> str:
    """A name beside `uri`, which Spark does not take for data."""
    folder, _, name = uri.rstrip("/").rpartition("/")
    return f"{folder}/.{name}.{os.getpid()}.unfinished"


def replaced(spark: SparkSession, uri: str, aside: str, upload: Path | None = None) -> None:
    """What is at `aside`, or comes there from a file of this machine, goes to `uri`. Killed at any moment, the old
    content is there, if need be under the name `aside` with another ending."""
    java: Any = spark._jvm
    to_path = java.org.apache.hadoop.fs.Path
    target, source = to_path(uri.rstrip("/")), to_path(aside)
    old = to_path(aside.removesuffix("unfinished") + "old")
    files = target.getFileSystem(spark._jsc.hadoopConfiguration())
    if upload is not None:
        files.copyFromLocalFile(True, True, to_path(f"file:{upload}"), source)
    if files.exists(target) and not files.rename(target, old):
        raise WhenceError(f"{uri}: what is there cannot be moved out of the way")
    if not files.rename(source, target):
        files.rename(old, target)
        raise WhenceError(f"{uri}: the results cannot be moved there")
    files.delete(old, True)
