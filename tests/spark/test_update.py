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
from whence.engines.spark.options import Options

STEPS = 2_000
ON_SPARK = Options(placement="exchanged", driver_rows=0, tail_rows=3)


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


few = settings(max_examples=4, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
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
