"""One way of evaluating a program on Spark, measured in a process of its own, after Spark has started.

python -m bench.spark_side local|driver|decomposed|exchanged|joins|loop PROGRAM FOLDER LIMIT OUTPUT…

`run`: from input in memory to results that are held; `frame`: until the results can be read as DataFrames on Spark.
`joins` is `exchanged` with every iteration on Spark. `loop` is what one writes without Whence, by hand for the program:
joins of DataFrames until nothing is new. After LIMIT seconds a run is given up; what its iterations took is told.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from threading import Event, Thread

import numpy as np
from pyspark.sql import DataFrame, SparkSession

import whence
from bench.workloads import PROGRAMS
from whence.engines.spark.cluster import Setting, start
from whence.engines.spark.options import PLACES, Options


class GivenUp(Exception):
    """It takes too long."""


class Iterations:
    """How many there were, and how long one took in the median."""

    def __init__(self, limit: float) -> None:
        self.times = [time.perf_counter()]
        self.limit = limit

    def stratum(self, *_: object) -> None: ...

    def placed(self, *_: object) -> None: ...

    def iteration(self, *_: object) -> None:
        self.times.append(time.perf_counter())
        if self.times[-1] - self.times[0] > self.limit:
            raise GivenUp

    @property
    def median(self) -> float:
        return float(np.median(np.diff(self.times))) if len(self.times) > 1 else 0.0


class Memory:
    """The most memory that this process and those it started, Spark's and its workers, have had at once, in bytes.

    What they share is counted for each of them.
    """

    def __init__(self) -> None:
        self.peak = 0
        self._done = Event()
        self._thread = Thread(target=self._watch, daemon=True)
        self._thread.start()

    def _watch(self) -> None:
        while not self._done.wait(0.2):
            self.peak = max(self.peak, self._now())

    def _now(self) -> int:
        resident, parents = {}, {}
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
            except OSError:  # it has ended
                continue
            parents[int(folder.name)], resident[int(folder.name)] = int(fields[1]), int(fields[21])
        own = {os.getpid()}
        while more := {child for child, parent in parents.items() if parent in own} - own:
            own |= more
        return sum(resident.get(process, 0) for process in own) * os.sysconf("SC_PAGE_SIZE")

    def stop(self) -> int:
        self._done.set()
        self._thread.join()
        return max(self.peak, self._now())


def warmed_up() -> SparkSession:
    """A Spark whose first jobs, and the workers of its tasks, are not what is measured."""
    spark = start(Setting())
    wide = spark.range(1000).selectExpr("id % 7 AS a", "id AS b").repartition(2)
    wide.groupBy("a").count().join(wide, "a").mapInArrow(lambda batches: batches, "a long, n long, b long").count()
    text = ".decl a(x: number)\n.decl b(x: number)\na(1).\nb(x) :- a(x).\nb(x) :- b(x), a(x).\n"
    with whence.open(text=text, engine="spark", spark=spark, options=Options(placement="decomposed")) as session:
        session.run()
    return spark


def by_whence(
    way: str, program: str, facts: dict[str, np.ndarray], outputs: list[str], limit: float
) -> dict[str, object]:
    path = PROGRAMS / f"{program}.dl"
    if way == "local":
        session = whence.open(path)
    elif way == "joins":
        options = Options(placement="exchanged", tail_rows=0)
        session = whence.open(path, engine="spark", spark=warmed_up(), options=options)
    else:
        place = next(place for place in PLACES if place == way)
        session = whence.open(path, engine="spark", spark=warmed_up(), options=Options(placement=place))
    session.load(**facts)
    progress = Iterations(limit)
    began = time.perf_counter()
    try:
        session.run(progress)
    except GivenUp:
        return told(False, began, None, progress, {})
    ran = time.perf_counter()
    sizes = {name: len(session[name]) for name in outputs}
    if way != "local":
        assert {name: session[name].to_spark().count() for name in outputs} == sizes
    return told(True, began, ran, progress, sizes) | {"frame": time.perf_counter() - began if way != "local" else None}


def by_a_loop(program: str, facts: dict[str, np.ndarray], outputs: list[str], limit: float) -> dict[str, object]:
    """The closure as it is usually written in PySpark."""
    assert program == "closure", "only the closure has a loop"
    spark = warmed_up()
    edge = spark.createDataFrame([tuple(map(int, row)) for row in facts["edge"]], "x long, y long").cache()
    edge.count()
    progress = Iterations(limit)
    began = time.perf_counter()
    step = edge.selectExpr("x AS y", "y AS z")
    everything: DataFrame = edge.distinct().cache()
    new = everything
    try:
        while True:
            found = new.join(step, "y").select("x", "z").distinct().withColumnRenamed("z", "y")
            new = found.subtract(everything).cache()
            if not new.count():
                break
            everything = everything.union(new).cache()
            everything.count()
            progress.iteration()
    except GivenUp:
        return told(False, began, None, progress, {})
    ran = time.perf_counter()
    return told(True, began, ran, progress, {outputs[0]: everything.count()})


def told(done: bool, began: float, ran: float | None, progress: Iterations, sizes: dict[str, int]) -> dict[str, object]:
    return {
        "done": done,
        "run": (ran or time.perf_counter()) - began,
        "frame": None,
        "iterations": len(progress.times) - 1,
        "iteration": progress.median,
        "sizes": sizes,
    }


def main() -> None:
    way, program, folder, seconds, *outputs = sys.argv[1:]
    limit = float(seconds)
    facts = {path.stem: np.load(path) for path in Path(folder).glob("*.npy")}
    memory = Memory()
    measured = (
        by_a_loop(program, facts, outputs, limit) if way == "loop" else by_whence(way, program, facts, outputs, limit)
    )
    measured["peak"] = memory.stop()
    print(json.dumps(measured))


if __name__ == "__main__":
    main()
