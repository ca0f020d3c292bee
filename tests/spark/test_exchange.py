"""An exchanged stratum begins in the driver's process, goes to Spark as it grows, and comes back when little is new;
its tuples, iterations and counts are the same wherever an iteration was evaluated."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import SparkSession

import whence
from whence.engines.spark.exchanged import Chunked, Exchange
from whence.engines.spark.options import Options

DECLARED = ".decl edge(x: symbol, y: symbol)\n.decl path(x: symbol, y: symbol)\npath(x, y) :- edge(x, y).\n"
LINEAR = DECLARED + "path(x, z) :- path(x, y), edge(y, z).\n"
BOTH_SIDES = DECLARED + "path(x, z) :- path(x, y), path(y, z).\n"
NOTHING = DECLARED + "path(x, y) :- path(x, y), !edge(x, y).\n"
CROSSING = DECLARED + ".decl flag()\nflag() :- path(x, y), path(y, x).\npath(x, y) :- flag(), edge(y, x).\n"

# Everyone in a crowd reaches everyone, and then one after the other of a path; at its end, little is new.
CROWD, PATH = 6, 16
AROUND = [(f"c{i}", f"c{(i + step) % CROWD}") for i in range(CROWD) for step in (1, 2)]
EDGES = [*AROUND, ("c0", "p0"), *((f"p{i}", f"p{i + 1}") for i in range(PATH))]


class Watched(Exchange):
    """Notes of each iteration where it was derived, whether there were chunks, and where what is new went."""

    seen: list[tuple[str, bool, str]]

    def found(self, chunked: Chunked, comes_from_few: bool) -> Any:
        where, chunks = "here" if chunked.here else "on Spark", bool(chunked.chunks)
        found = super().found(chunked, comes_from_few)
        self.seen.append((where, chunks, "tail" if isinstance(found, tuple) else "chunk"))
        return found


def evaluated(text: str, spark: SparkSession | None, options: Options | None = None, **facts: Any) -> dict[str, Any]:
    where: dict[str, Any] = {} if spark is None else {"engine": "spark", "spark": spark, "options": options}
    with whence.open(text=text, **where) as session:
        session.load(**facts)
        session.run()
        return {name: sorted(session[name].tuples(annotated=True)) for name in session}


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (LINEAR, {("here", False, "tail"), ("here", True, "chunk"), ("here", True, "tail")}),
        (BOTH_SIDES, {("here", False, "tail"), ("on Spark", True, "chunk")}),
    ],
    ids=["linear", "both sides"],
)
def test_iterations_are_where_they_fit(
    text: str, wanted: set[tuple[str, bool, str]], spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Watched, "seen", [], raising=False)
    monkeypatch.setattr("whence.engines.spark.tables.Exchange", Watched)
    found = evaluated(text, spark, Options(placement="exchanged", tail_rows=8), edge=EDGES)
    assert found == evaluated(text, None, edge=EDGES)
    assert wanted <= set(Watched.seen), Watched.seen


@pytest.mark.parametrize("text", [LINEAR, BOTH_SIDES, NOTHING, CROSSING])
@pytest.mark.parametrize("edges", [[], [("a", "b")], [("a", "b"), ("b", "a"), ("a", "a")]], ids=len)
def test_small_strata_stay(text: str, edges: list[tuple[str, str]], spark: SparkSession) -> None:
    found = evaluated(text, spark, Options(placement="exchanged"), edge=edges)
    assert found == evaluated(text, None, edge=edges)


def test_what_is_too_much_for_one_process_is_left_to_spark(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A version is given up in the middle; what others had derived for the same relation goes to Spark with it."""
    text = """
    .decl n(x: number)
    .decl pair(x: number, y: number)
    pair(x, x) :- n(x).
    pair(x, y) :- n(x), n(y).
    pair(y, x) :- pair(x, y), y < 3.
    """
    monkeypatch.setattr(Watched, "seen", [], raising=False)
    monkeypatch.setattr("whence.engines.spark.tables.Exchange", Watched)
    numbers = [(i,) for i in range(30)]
    found = evaluated(text, spark, Options(placement="exchanged", tail_rows=10), n=numbers)
    assert found == evaluated(text, None, n=numbers)
    assert Watched.seen[0] == ("on Spark", False, "chunk")


def test_what_was_evaluated_here_can_be_changed(spark: SparkSession) -> None:
    with whence.open(text=LINEAR, engine="spark", spark=spark, options=Options(placement="exchanged")) as session:
        session.load(edge=EDGES)
        session.run()
        impact = session.update(delete={"edge": [("p3", "p4")]}, insert={"edge": [("p3", "p5")]})
        assert len(impact.deleted["path"]) == CROWD + 4
        left = [edge for edge in EDGES if edge != ("p3", "p4")] + [("p3", "p5")]
        found = {name: sorted(session[name].tuples(annotated=True)) for name in session}
    assert found == evaluated(LINEAR, None, edge=left)
