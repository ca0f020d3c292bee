"""Update on Spark: wherever relations live, an update leaves what Bootstrap on the changed input gives."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

import whence
from maintain.changing import state, steps, with_inputs
from oracle.evaluate import TooLarge, evaluate
from oracle.generate import programs
from oracle.render import render
from oracle.rules import Program
from test_papers import ALIASES, POINTS_TO, iterations, once
from whence.engines.spark.options import Options
from whence.errors import WhenceError

STEPS = 2_000
ON_SPARK = Options(placement="exchanged", driver_rows=0, tail_rows=50)


def opened(spark: SparkSession, text: str, options: Options = ON_SPARK, **given: Any) -> whence.Session:
    """A session whose input is on Spark too, where it can be."""
    session = whence.open(text=text, engine="spark", spark=spark, options=options)
    for name, rows in given.items():
        session.load(**{name: on_spark(spark, session, name, rows) if options.placement else rows})
    session.run()
    return session


def on_spark(spark: SparkSession, session: whence.Session, name: str, rows: list[Any]) -> Any:
    columns = session.program.relations[name].columns
    if not rows or not all(column.kind in ("number", "symbol") for column in columns):
        return rows
    types = {"number": "bigint", "symbol": "string"}
    return spark.createDataFrame(rows, ", ".join(f"`{c.name}` {types[c.kind]}" for c in columns))


def check(program: Program, seed: int, strategy: str, epochs: int, spark: SparkSession) -> None:
    try:
        evaluate(program, STEPS)
        wanted = [(step, evaluate(step.program, STEPS)) for step in steps(program, Random(seed), epochs)]
    except TooLarge:
        assume(False)
    facts = {name: list(rows) for name, rows in program.facts.items()}
    with opened(spark, with_inputs(program), **facts) as session:
        before = state(session)
        for number, (step, model) in enumerate(wanted, 1):
            impact = session.update(step.insert, step.delete, strategy=strategy)
            after = state(session)
            for name in program.relations:
                told = f"epoch {number}, {name}, {step.insert}, {step.delete}\n{render(program)}"
                assert after[name] == model[name], told
                assert set(impact.inserted.get(name, ())) == after[name].keys() - before[name].keys(), told
                assert set(impact.deleted.get(name, ())) == before[name].keys() - after[name].keys(), told
            before = after


few = settings(max_examples=2, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
many = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
seeds = st.integers(0, 2**32 - 1)


@pytest.mark.parametrize("strategy", ["update", "bootstrap"])
@few
@given(program=programs(), seed=seeds)
def test_update_equals_bootstrap_on_the_changed_input(
    program: Program, seed: int, strategy: str, spark: SparkSession
) -> None:
    check(program, seed, strategy, 2, spark)


@pytest.mark.slow
@many
@given(program=programs(), seed=seeds, strategy=st.sampled_from(["update", "elastic", "bootstrap"]))
def test_on_many_more_programs(program: Program, seed: int, strategy: str, spark: SparkSession) -> None:
    check(program, seed, strategy, 4, spark)


CLOSURE = """
.decl edge(x: number, y: number)
.input edge
.decl path(x: number, y: number)
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
"""


def test_the_worked_example_of_the_elastic_paper(spark: SparkSession) -> None:
    """000 section 3.2: assign(b, a) goes, store(d, f, c) comes."""
    given = {
        "new": [("a", "L1"), ("c", "L3"), ("d", "L4")],
        "assign": [("a", "b"), ("b", "a")],
        "store": [("c", "f", "a")],
        "load": [("e", "d", "f"), ("b", "c", "f")],
    }
    with opened(spark, POINTS_TO + ALIASES, **given) as session:
        impact = session.update(insert={"store": [("d", "f", "c")]}, delete={"assign": [("b", "a")]}, strategy="update")
        assert not session.engine.tables.lives_here("vpt")  # type: ignore[attr-defined]
        assert iterations(session, "vpt") == {
            1: once(("a", "L1"), ("c", "L3"), ("d", "L4")),
            2: once(("b", "L1"), ("e", "L3")),
        }
        assert {name: set(rows) for name, rows in impact.inserted.items()} == {
            "store": {("d", "f", "c")},
            "vpt": {("e", "L3")},
            "alias": {("c", "e"), ("e", "c"), ("e", "e")},
        }
        assert {name: set(rows) for name, rows in impact.deleted.items()} == {"assign": {("b", "a")}}


EVERYTHING = """
.type List = [head: symbol, tail: List]
.decl word(w: symbol, n: number)
.input word
.decl on()
.input on
.decl list(l: List)
list(nil) :- on().
list([w, nil]) :- word(w, _).
list([w, l]) :- word(w, n), n > 1, list(l), l != nil, l = [v, nil], v != w.
.decl even(n: number)
.decl odd(n: number)
even(0) :- on().
odd(n + 1) :- even(n), n < 6, word(_, n).
even(n + 1) :- odd(n), n < 6.
.decl unused(n: number)
unused(n) :- word(_, n), !odd(n), !even(n).
.decl most(w: symbol, n: number)
most(w, n) :- word(w, _), n = max m : { word(w, m), !unused(m) }.
.decl lists(c: number)
lists(c) :- c = count : { list(_) }.
.decl quiet()
quiet() :- !on().
"""


def test_records_strings_negation_aggregates_and_mutual_recursion(spark: SparkSession) -> None:
    words = [("a", 0), ("b", 2), ("c", 3), ("b", 4)]
    with opened(spark, EVERYTHING, word=words, on=[()]) as session, whence.open(text=EVERYTHING) as local:
        local.load(word=words, on=[()])
        local.run()
        for insert, delete in [
            ({"word": [("c", 4), ("d \t'", 2)]}, {"word": [("a", 0)]}),
            ({}, {"on": [()], "word": [("b", 2)]}),
            ({"on": [()]}, {"word": [("b", 4), ("c", 3), ("c", 4), ("d \t'", 2)]}),
        ]:
            wanted = local.update(insert, delete)
            got = session.update(insert, delete, strategy="update")
            assert state(session) == state(local)
            for one, other in ((got.inserted, wanted.inserted), (got.deleted, wanted.deleted)):
                assert {n: sorted(map(repr, r)) for n, r in one.items()} == {
                    n: sorted(map(repr, r)) for n, r in other.items()
                }
        session.undo()
        local.undo()
        assert state(session) == state(local)


@pytest.mark.parametrize("options", [ON_SPARK, Options()], ids=["on Spark", "here"])
def test_what_cannot_be_done_leaves_the_epoch_as_it_was(options: Options, spark: SparkSession) -> None:
    class Interrupting:
        def stratum(self, number: int, of: int, stratum: Any) -> None: ...

        def placed(self, place: str, reason: str) -> None: ...

        def iteration(self, iteration: int, new: int) -> None:
            if iteration == self.at:
                raise KeyboardInterrupt

        at = 0

    text = CLOSURE + ".decl ends(x: number)\nends(y) :- path(_, y), !path(y, _).\n"
    with opened(spark, text, options, edge=[(1, 2), (2, 3), (3, 4)]) as session:
        before = state(session)
        for insert, delete, message in [
            ([(2, 3)], [], r"edge\(2, 3\) cannot be inserted: it is there"),
            ([], [(9, 9)], r"edge\(9, 9\) cannot be deleted: it is not there"),
            ([(7, 7)], [(7, 7)], "both inserted and deleted"),
        ]:
            with pytest.raises(WhenceError, match=message):
                session.update(insert={"edge": insert}, delete={"edge": delete})
        with pytest.raises(WhenceError, match="path is derived by rules"):
            session.update(insert={"path": [(5, 5)]})
        interrupting = Interrupting()
        for at, strategy in ((0, "update"), (2, "update"), (2, "bootstrap")):
            interrupting.at = at
            with pytest.raises(KeyboardInterrupt):
                session.update({"edge": [(4, 1)]}, {"edge": [(1, 2)]}, strategy=strategy, progress=interrupting)
            assert state(session) == before
        lenient = session.update({"edge": [(2, 3)]}, {"edge": [(3, 4)]}, strategy="update", lenient=True)
        assert lenient.ignored == 1
        assert set(session["ends"].tuples()) == {(3,)}
        session.undo()
        assert state(session) == before


def test_strata_here_and_on_spark_in_one_epoch(spark: SparkSession) -> None:
    """What uses `ord` is here, and reads from Spark; what is above it is on Spark, and reads from here."""
    text = """
    .decl name(x: symbol, y: symbol)
    .input name
    .decl reach(x: symbol, y: symbol)
    reach(x, y) :- name(x, y).
    reach(x, z) :- reach(x, y), name(y, z).
    .decl numbered(x: symbol, n: number)
    numbered(x, n) :- reach(x, _), n = ord(x) - ord(x) + strlen(x).
    .decl same(x: symbol, y: symbol)
    same(x, y) :- numbered(x, n), numbered(y, n), reach(x, y), !reach(y, x).
    """
    given = [("a", "b"), ("b", "cc"), ("cc", "d"), ("d", "e")]
    with opened(spark, text, name=given) as session, whence.open(text=text) as local:
        tables: Any = session.engine.tables
        assert [name for name in session if tables.lives_here(name)] == ["numbered"]
        local.load(name=given)
        local.run()
        for strategy, insert, delete in [
            ("update", [("e", "a")], [("b", "cc")]),
            ("bootstrap", [("b", "cc")], [("e", "a")]),
        ]:
            for each in (local, session):
                each.update({"name": insert}, {"name": delete}, strategy=strategy)
            assert state(session) == state(local)


def test_many_updates_keep_the_plan_and_the_caches_small(spark: SparkSession) -> None:
    edges = [(i, i + 1) for i in range(4)]
    with opened(spark, CLOSURE, Options(placement="exchanged", driver_rows=0, tail_rows=8), edge=edges) as session:
        held, plans = [], []
        for number in range(8):
            edge = [(100 + number // 2, 200)]
            session.update(**{"delete" if number % 2 else "insert": {"edge": edge}}, strategy="update")
            plans.append(str(session["path"].to_spark()._jdf.queryExecution().logical()).count("\n"))  # type: ignore[operator]
            held.append(spark.sparkContext._jsc.getPersistentRDDs().size())  # type: ignore[union-attr]
        assert max(plans[4:]) <= max(plans[:4])
        assert max(held[4:]) <= max(held[:4])
        assert set(session["path"].tuples()) == {(x, y) for x in range(5) for y in range(x + 1, 5)}


@pytest.mark.slow
def test_thirty_updates_do_not_slow_down(spark: SparkSession) -> None:
    edges = [(i, i + 1) for i in range(6)]
    with opened(spark, CLOSURE, edge=edges) as session:
        seconds = []
        for number in range(30):
            edge = [(3, 4)] if number // 2 % 2 else [(1, 2)]
            impact = session.update(**{"insert" if number % 2 else "delete": {"edge": edge}}, strategy="update")
            seconds.append(impact.seconds)
        assert sorted(seconds[20:])[5] < 2 * sorted(seconds[5:15])[5]
        assert len(session["path"]) == 21
