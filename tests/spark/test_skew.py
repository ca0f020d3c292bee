"""A value that most tuples have does not make one task do most of a join."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from pyspark.sql import SparkSession

import whence
from whence.engines.spark import cluster
from whence.engines.spark.options import Options

ROWS, PARTITIONS = 40_000, 8
TEXT = """
.decl follows(who: number, whom: number)
.decl tagged(whom: number, tag: number)
.decl sees(who: number, tag: number)
sees(x, z) :- follows(x, y), tagged(y, z).
.decl plain(who: number, whom: number)
plain(x, y) :- follows(x, y), !tagged(x, y).
"""


def rows_moved_to_tasks(spark: SparkSession) -> dict[int, list[int]]:
    """By stage, how many rows each task has read of those that moved."""
    context: Any = spark.sparkContext._jsc.sc()
    jvm: Any = spark._jvm
    context.listenerBus().waitUntilEmpty()
    nothing = jvm.java.util.Collections.emptyList()
    none = spark.sparkContext._gateway.new_array(jvm.double, 0)  # type: ignore[union-attr]
    store = context.statusStore()
    stages = store.stageList(nothing, False, False, none, nothing)
    moved = {}
    for stage in map(stages.apply, range(stages.size())):
        tasks = store.taskList(stage.stageId(), stage.attemptId(), 1000)
        metrics = [tasks.apply(i).taskMetrics() for i in range(tasks.size())]
        moved[stage.stageId()] = [m.get().shuffleReadMetrics().recordsRead() for m in metrics if m.isDefined()]
    return moved


def test_a_heavy_value_is_spread_over_tasks(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    small = {key: "3" if key.endswith("Factor") else "20k" for key in cluster.SKEW}
    monkeypatch.setattr(cluster, "SKEW", small)
    random = np.random.default_rng(5)
    whom = np.where(random.random(ROWS) < 0.8, 7, random.integers(0, 4_000, ROWS))
    facts = {
        "follows": np.stack([np.arange(ROWS), whom], axis=1),
        "tagged": np.stack([np.arange(4_000), random.integers(0, 50, 4_000)], axis=1),
    }
    local = whence.open(text=TEXT)
    local.load(**facts)
    local.run()
    options = Options(placement="exchanged", broadcast_rows=0, partitions=PARTITIONS, tail_rows=0)
    with whence.open(text=TEXT, engine="spark", spark=spark, options=options) as session:
        # From several parts, as large relations come: a part of a join is split by where its rows come from.
        frames = {name: spark.createDataFrame(local[name].to_arrow()) for name in facts}
        session.load(**{name: frame.repartition(PARTITIONS) for name, frame in frames.items()})
        before = rows_moved_to_tasks(spark)
        session.run()
        moved = [rows for stage, tasks in rows_moved_to_tasks(spark).items() if stage not in before for rows in tasks]
        assert sorted(session["sees"].tuples()) == sorted(local["sees"].tuples())
        assert len(session["plain"]) == len(local["plain"])
    assert sum(moved) > 2 * ROWS
    assert max(moved) < ROWS / 3, sorted(moved)[-10:]
