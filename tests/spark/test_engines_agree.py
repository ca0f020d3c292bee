"""Every program gives the same relations, iterations and counts in process and wherever Spark evaluates its strata."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

import whence
from oracle.evaluate import TooLarge, evaluate
from oracle.generate import programs
from oracle.render import render
from oracle.rules import Program
from whence.engines.spark.options import PLACES, Options, Place
from whence.lang import load
from whence.plan.decompose import Decomposition, decompose


def can_be_decomposed(path: Path) -> bool:
    program = load(path)
    strata = [stratum for stratum in program.strata if stratum.recursive]
    return any(isinstance(decompose(stratum, program), Decomposition) for stratum in strata)


TESTS = Path(__file__).parent.parent
PROGRAMS = [
    *(path for path in sorted(TESTS.glob("programs/*/program.dl")) if path.parent.name != "directive_standard_streams"),
    *sorted(TESTS.parent.glob("examples/*/*.dl")),
]
CASES = [
    (path, place)
    for path in PROGRAMS
    for place in PLACES
    # Where nothing can be decomposed, everything is exchanged.
    if place != "decomposed" or can_be_decomposed(path)
]
Model = dict[str, dict[Any, tuple[int, int]]]


def model(session: whence.Session) -> Model:
    return {
        name: {repr(row): (iteration, count) for row, iteration, count in session[name].tuples(annotated=True)}
        for name in session
    }


def on_spark(spark: SparkSession, options: Options, **program: Any) -> whence.Session:
    return whence.open(**program, engine="spark", spark=spark, options=options)


@pytest.mark.parametrize(("path", "place"), CASES, ids=lambda part: part if isinstance(part, str) else part.parent.name)
def test_programs(path: Path, place: Place, spark: SparkSession, tmp_path: Path) -> None:
    facts = path.parent / "facts"
    generate = path.parent / "generate.py"
    if generate.exists():
        facts = tmp_path
        subprocess.run([sys.executable, generate, facts, "--packages", "1500"], check=True, capture_output=True)
    local = whence.open(path)
    local.read_inputs(facts)
    local.run()
    tail_rows = 50 if generate.exists() else 0  # what is small is to be evaluated on Spark too
    with on_spark(spark, Options(placement=place, tail_rows=tail_rows), program=path) as session:
        session.read_inputs(facts)
        session.run()
        assert model(session) == model(local)


def check_random(program: Program, place: Place, tail_rows: int, spark: SparkSession) -> None:
    try:
        wanted = evaluate(program, 2_000)
    except TooLarge:
        assume(False)
    text = render(program, facts_of=set(program.facts))
    with on_spark(spark, Options(placement=place, tail_rows=tail_rows), text=text) as session:
        session.run()
        for name in program.relations:
            found = {row: (iteration, count) for row, iteration, count in session[name].tuples(annotated=True)}
            assert found == wanted[name], f"{name} in\n{text}"


# What these programs derive is small: all of it stays on Spark, or some of it goes through the driver's process.
tails = st.sampled_from([0, 1, 3])
few = settings(max_examples=4, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
many = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))


@pytest.mark.parametrize("place", ["decomposed", "exchanged"])
@few
@given(program=programs(), tail_rows=tails)
def test_random_programs(program: Program, place: Place, tail_rows: int, spark: SparkSession) -> None:
    check_random(program, place, tail_rows, spark)


@pytest.mark.slow
@pytest.mark.parametrize("place", ["decomposed", "exchanged"])
@many
@given(program=programs(), tail_rows=tails)
def test_many_random_programs(program: Program, place: Place, tail_rows: int, spark: SparkSession) -> None:
    check_random(program, place, tail_rows, spark)


WARNING = """
.decl word(w: symbol, n: number)
word("one", 9). word("three", 1). word("(", 0).
.decl part(w: symbol, p: symbol)
part(w, substr(w, n, 2)) :- word(w, n).
part(w, p) :- part(w, p), word(w, n), !match(w, p).
"""


@pytest.mark.parametrize("place", PLACES)
def test_what_functors_warn_of_is_heard(place: Place, spark: SparkSession) -> None:
    def heard_from(**where: Any) -> set[str]:
        heard: set[str] = set()
        with whence.open(text=WARNING, warn=lambda message: heard.add(str(message)), **where) as session:
            session.run()
        return heard

    wanted = heard_from()
    assert any("substr" in message for message in wanted)
    assert any("no regular expression" in message for message in wanted)
    assert heard_from(engine="spark", spark=spark, options=Options(placement=place)) == wanted
