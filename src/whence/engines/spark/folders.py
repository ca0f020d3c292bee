"""Files and folders, wherever Hadoop can reach, that take the place of others together, once all of them are complete.

Until then each has another name beside its own. No filesystem renames several things at once, so a process that is
killed in the midst of the renaming leaves some of them replaced; what was there before is then beside them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from whence.engines.local.replacing import Replacing, replacing
from whence.errors import WhenceError

from .reasons import explained


@dataclass(frozen=True)
class Staged:
    """What is complete at `aside`, or will be; `old` is where that which it replaces waits."""

    files: Any  # of Hadoop
    target: Any
    aside: Any
    old: Any

    def put(self) -> None:
        with explained(str(self.target), "the results cannot be moved there"):
            if self.files.exists(self.target) and not self.files.rename(self.target, self.old):
                raise WhenceError(f"{self.target}: what is there cannot be moved out of the way")
            if not self.files.rename(self.aside, self.target):
                raise WhenceError(f"{self.target}: the results cannot be moved there")

    def put_back(self) -> None:
        """Undoes as much of `put` as was done."""
        if self.files.exists(self.target) and not self.files.exists(self.aside):
            self.files.delete(self.target, True)
        if self.files.exists(self.old):
            self.files.rename(self.old, self.target)


class Staging:
    """`plain` are files of this machine that are written without Spark."""

    def __init__(self, plain: Replacing) -> None:
        self.plain = plain
        self._staged: list[Staged] = []

    def folder(self, spark: SparkSession, uri: str) -> str:
        """Where to write what goes to `uri` in the end."""
        java: Any = spark._jvm
        parent, _, name = uri.rstrip("/").rpartition("/")
        beside = f"{parent}/.{name}.{os.getpid()}"  # which Spark does not take for data
        target, aside, old = (
            java.org.apache.hadoop.fs.Path(p) for p in (uri.rstrip("/"), f"{beside}.unfinished", f"{beside}.old")
        )
        files = target.getFileSystem(spark._jsc.hadoopConfiguration())
        self._staged.append(Staged(files, target, aside, old))
        return f"{beside}.unfinished"

    def file(self, spark: SparkSession, uri: str, here: Path) -> None:
        """A file of this machine goes to `uri` in the end."""
        java: Any = spark._jvm
        self.folder(spark, uri)
        staged = self._staged[-1]
        staged.files.copyFromLocalFile(True, True, java.org.apache.hadoop.fs.Path(f"file:{here}"), staged.aside)

    def finish(self) -> None:
        begun: list[Staged] = []
        try:
            for staged in self._staged:
                begun.append(staged)
                staged.put()
        except BaseException:
            for staged in begun:
                staged.put_back()
            raise
        for staged in self._staged:
            staged.files.delete(staged.old, True)

    def drop(self) -> None:
        for staged in self._staged:
            with suppress(Exception):  # what failed before is what is told
                staged.files.delete(staged.aside, True)


@contextmanager
def staging() -> Iterator[Staging]:
    """What is written in the block is put in place at its end, if that is reached."""
    with replacing() as plain:
        staging = Staging(plain)
        try:
            yield staging
            staging.finish()
        except BaseException:
            staging.drop()
            raise
