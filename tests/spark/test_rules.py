"""Rules that come and go on Spark: wherever relations live, the state is that of Bootstrap of the new program."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from pyspark.sql import SparkSession

import whence
from maintain.changing import state, with_inputs
from maintain.test_rules import apart, epochs, part
from oracle.evaluate import TooLarge, evaluate
from oracle.generate import programs
from oracle.rules import Program
from spark.test_update import many, opened, seeds
from whence.errors import WhenceError
from whence.lang import compile_text

STEPS = 2_000


def check(program: Program, seed: int, strategy: str, count: int, spark: SparkSession) -> None:
    random = Random(seed)
    first = part(random, program)
    try:
        evaluate(program, STEPS)
        wanted = [(epoch, evaluate(epoch.program, STEPS)) for epoch in epochs(program, random, count)]
    except TooLarge:
        assume(False)
    facts = {name: list(rows) for name, rows in first.facts.items()}
    with opened(spark, with_inputs(first), **facts) as session:
        before = state(session)
        for number, (epoch, model) in enumerate(wanted, 1):
            after = compile_text(with_inputs(epoch.program))
            impact = session.update(epoch.insert, epoch.delete, program=after, strategy=strategy)
            got = state(session)
            assert not list(apart(model, got, f"epoch {number}", epoch.program))
            for name in got:
                assert set(impact.inserted.get(name, ())) == got[name].keys() - before.get(name, {}).keys()
            before = got


CLOSURE = """\
.decl edge(x: number, y: number)
.input edge
.decl path(x: number, y: number)
path(x, y) :- edge(x, y).
.decl back(x: number, y: number)
back(x, y) :- path(y, x).
"""
PATHS = CLOSURE[: CLOSURE.index(".decl back")]
EDGES = [(1, 2), (2, 3), (3, 4), (4, 4)]


def test_a_rule_comes_and_goes(spark: SparkSession) -> None:
    step = "path(x, z) :- path(x, y), edge(y, z)."
    with whence.open(text=PATHS) as here, opened(spark, PATHS, edge=EDGES) as session:
        here.load(edge=EDGES)
        here.run()
        session.add_rule(step, strategy="update")
        here.add_rule(step)
        assert state(session) == state(here)
        assert not session.engine.tables.lives_here("path")  # type: ignore[attr-defined]
        session.undo()
        here.undo()
        assert state(session) == state(here)


@pytest.mark.slow
def test_rules_come_and_go(spark: SparkSession) -> None:
    with whence.open(text=CLOSURE) as here, opened(spark, CLOSURE, edge=EDGES) as session:
        here.load(edge=EDGES)
        here.run()
        before = state(session)
        for change in (
            "+ path(x, z) :- path(x, y), edge(y, z).\n- edge(1, 2).",
            ".decl far(x: number)\n+ far(x) :- path(x, y), y > x + 1.\n+ path(x, y) :- back(x, y).",
            "- path(x, y) :- edge(x, y).\n- .decl far\n- far(x) :- path(x, y), y > x + 1.",
        ):
            impact, wanted = session.apply(change, strategy="update"), here.apply(change)
            assert state(session) == state(here)
            for told, same in ((impact.inserted, wanted.inserted), (impact.deleted, wanted.deleted)):
                assert {name: set(rows) for name, rows in told.items()} == {n: set(r) for n, r in same.items()}
        assert not session.engine.tables.lives_here("path")  # type: ignore[attr-defined]
        with pytest.raises(WhenceError, match="depends on itself"):
            session.add_rule("path(x, y) :- edge(x, y), !back(x, y).")
        for _ in range(3):
            session.undo()
        assert state(session) == before
        assert set(session.query("path(1, X)").tuples) == {(1, 2)}


@pytest.mark.slow
@many
@given(program=programs(), seed=seeds, strategy=st.sampled_from(["update", "elastic", "bootstrap"]))
def test_on_many_more_programs(program: Program, seed: int, strategy: str, spark: SparkSession) -> None:
    check(program, seed, strategy, 4, spark)
