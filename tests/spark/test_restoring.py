"""A stored epoch opened on Spark: layers of Parquet files as frames, the same tuples as in process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import whence
from whence.changes import Change
from whence.state import apply_change, open_state
from whence.store import Store

PROGRAM = """
.type List = [head: number, tail: List]
.decl edge(x: number, y: number)
.decl path(x: number, y: number)
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
.decl item(iteration: symbol, u: unsigned, f: float, l: List)
.decl flag()
"""
ITEMS = [("a", 2**64 - 1, -0.0, (1, (2, None))), ("b", 2**63, 0.0, None), ("c", 7, float("inf"), None)]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """Four epochs; tuples come, go, and come again, so that layers lie over each other."""
    folder = tmp_path_factory.mktemp("restoring") / "state"
    more = [(str(i), i, float(i), None) for i in range(60)]
    with whence.open(text=PROGRAM) as session:
        session.load(edge=[(i, i + 1) for i in range(30)], item=[*ITEMS, *more], flag=[()])
        session.run()
        session.save(folder)
    store = Store.open(folder)
    with open_state(store) as session:
        apply_change(session, Change({}, {"item": (ITEMS[0], ITEMS[1]), "flag": ((),)}))
        apply_change(session, Change({"item": (ITEMS[0],), "edge": ((50, 51),)}, {"item": (ITEMS[2],)}))
        apply_change(session, Change({"item": (ITEMS[1],)}, {"item": (ITEMS[0],), "edge": ((29, 30),)}))
    assert len(store.layers("item")) > 2
    return store


def annotated(session: whence.Session, relation: str) -> list[Any]:
    return sorted(session[relation].tuples(annotated=True), key=repr)


def test_frames_of_an_epoch(spark: SparkSession, store: Store) -> None:
    """`driver_rows=1` leaves every relation on Spark that has more tuples."""
    options = whence.Options(driver_rows=1)
    for epoch in (1, 3):
        with open_state(store, epoch, engine="spark", spark=spark, options=options) as there:
            here = open_state(store, epoch)
            for relation in ("item", "path", "flag"):
                assert annotated(there, relation) == annotated(here, relation), relation
            assert len(there["item"]) == len(here["item"])
            assert not there.engine.tables.lives_here("item")


def test_what_is_small_comes_here(spark: SparkSession, store: Store) -> None:
    with open_state(store, engine="spark", spark=spark) as there, open_state(store) as here:
        assert all(there.engine.tables.lives_here(relation) for relation in there)
        assert annotated(there, "path") == annotated(here, "path")


def test_files_of_both_engines_in_one_relation(spark: SparkSession, tmp_path: Path) -> None:
    """Spark writes unsigned numbers as decimals, Arrow as they are; a relation may have files of both."""
    with whence.open(text=PROGRAM, engine="spark", spark=spark, options=whence.Options(driver_rows=1)) as session:
        session.load(
            item=spark.createDataFrame(
                [(str(i), i, float(i), "nil") for i in range(40)], "a string, b long, c double, d string"
            )
        )
        session.run()
        session.save(tmp_path / "state")
    store = Store.open(tmp_path / "state")
    with open_state(store) as session:
        apply_change(session, Change({"item": (ITEMS[0],)}, {"item": (("7", 7, 7.0, None),)}))
    options = whence.Options(driver_rows=1)
    with open_state(store, engine="spark", spark=spark, options=options) as there, open_state(store) as here:
        assert annotated(there, "item") == annotated(here, "item")
        assert len(here["item"]) == 40
