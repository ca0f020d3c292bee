"""What functors warn of inside tasks comes to the driver, by an accumulator, and is told there once."""

from __future__ import annotations

from collections.abc import Callable

from pyspark import AccumulatorParam
from pyspark.sql import SparkSession

MOST = 100  # messages that are kept: a functor can warn of as many values as there are tuples
Warn = Callable[[str], None]


class Messages(AccumulatorParam[frozenset[str]]):
    def zero(self, value: frozenset[str]) -> frozenset[str]:
        return frozenset()

    def addInPlace(self, value1: frozenset[str], value2: frozenset[str]) -> frozenset[str]:
        return value1 if len(value1) >= MOST else value1 | value2


class Hearing:
    def __init__(self, spark: SparkSession, warn: Warn) -> None:
        nothing: frozenset[str] = frozenset()
        self._messages = spark.sparkContext.accumulator(nothing, Messages())
        self._warn = warn
        self._told: set[str] = set()

    @property
    def in_tasks(self) -> Warn:
        """What a task calls with a message; it can be sent there."""
        messages = self._messages

        def warn(message: str) -> None:
            messages.add(frozenset([message]))

        return warn

    def tell(self) -> None:
        """Passes on what tasks have warned of since."""
        for message in sorted(self._messages.value - self._told):
            self._told.add(message)
            self._warn(message)
