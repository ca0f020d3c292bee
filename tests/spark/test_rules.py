"""Rules that come and go on Spark: wherever relations live, the state is that of Bootstrap of the new program."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from maintain.changing import state, with_inputs
from maintain.test_rules import apart, epochs, part
from oracle.evaluate import TooLarge, evaluate
from oracle.generate import programs
from oracle.rules import Program
from spark.test_update import few, many, opened, seeds
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


@pytest.mark.parametrize("strategy", ["update", "bootstrap"])
@few
@given(program=programs(), seed=seeds)
def test_update_equals_bootstrap_on_the_changed_program(
    program: Program, seed: int, strategy: str, spark: SparkSession
) -> None:
    check(program, seed, strategy, 2, spark)


@pytest.mark.slow
@many
@given(program=programs(), seed=seeds, strategy=st.sampled_from(["update", "elastic", "bootstrap"]))
def test_on_many_more_programs(program: Program, seed: int, strategy: str, spark: SparkSession) -> None:
    check(program, seed, strategy, 4, spark)
