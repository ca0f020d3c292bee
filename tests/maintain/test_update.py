"""The central theorem (002 Theorem 5.4.5): after Update the state is that of Bootstrap on the changed input."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from maintain.changing import opened, state, steps
from oracle.evaluate import TooLarge, evaluate
from oracle.generate import programs
from oracle.reduce import reduce
from oracle.render import fact, render
from oracle.rules import Program

STEPS = 60_000
quick = settings(max_examples=100, deadline=None)
thorough = settings(max_examples=3_000, deadline=None)


def mistakes(program: Program, seed: int, strategy: str, epochs: int) -> list[str]:
    """Where sessions and the oracle disagree, epoch by epoch, and where an impact is not the difference."""
    session = opened(program, strategy=strategy)
    before = state(session)
    lines: list[str] = []
    for number, step in enumerate(steps(program, Random(seed), epochs), 1):
        impact = session.update(step.insert, step.delete)
        wanted, got = evaluate(step.program, STEPS), state(session)
        for name in wanted:
            for row in sorted(wanted[name].keys() | got[name].keys(), key=repr):
                one, other = wanted[name].get(row), got[name].get(row)
                if one != other:
                    text = fact(name, row, program)
                    lines.append(f"epoch {number}: {text} should have (iteration, count) {one}, has {other}")
            came, went = got[name].keys() - before[name].keys(), before[name].keys() - got[name].keys()
            for what, told, found in (("inserted", impact.inserted, came), ("deleted", impact.deleted, went)):
                listed = list(told.get(name, ()))
                if set(listed) != found or len(listed) != len(found):
                    lines.append(f"epoch {number}: {name}: {what} are {sorted(found, key=repr)}, not {listed}")
        if lines:
            return [*lines, f"insert {step.insert}", f"delete {step.delete}"]
        before = got
    return []


def check(program: Program, seed: int, strategy: str, epochs: int = 4) -> None:
    try:
        evaluate(program, STEPS)
        found = mistakes(program, seed, strategy, epochs)
    except TooLarge:
        assume(False)
        raise
    if found:
        small = reduce(program, lambda p: bool(mistakes(p, seed, strategy, epochs)))
        pytest.fail("\n".join([render(small), *mistakes(small, seed, strategy, epochs)]))


seeds = st.integers(0, 2**32 - 1)


@quick
@given(programs(), seeds)
def test_update_equals_bootstrap_on_the_changed_input(program: Program, seed: int) -> None:
    check(program, seed, "update")


@settings(max_examples=30, deadline=None)
@given(programs(), seeds)
def test_recomputed_strata_are_compared_with_what_they_were(program: Program, seed: int) -> None:
    check(program, seed, "bootstrap")


@settings(max_examples=60, deadline=None)
@given(programs(), seeds)
def test_dense_counting_gives_the_same_state(program: Program, seed: int) -> None:
    check(program, seed, "dense")


@pytest.mark.slow
@thorough
@given(programs(), seeds, st.sampled_from(["update", "elastic", "dense"]))
def test_on_many_more_programs(program: Program, seed: int, strategy: str) -> None:
    check(program, seed, strategy, epochs=6)
