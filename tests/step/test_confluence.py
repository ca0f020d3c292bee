"""Confluence (001, theorem 1): stepping into every call, over every call, or into some and over others, a query is
reduced to the answer that naive evaluation gives."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import whence
from oracle.evaluate import TooLarge, evaluate
from oracle.generate import programs
from oracle.render import render
from oracle.rules import Program
from step.running import TooLong, answer, some_query

STEPS = 60_000
quick = settings(max_examples=60, deadline=None)
thorough = settings(max_examples=2_000, deadline=None)


def check(program: Program, seed: int, most: int) -> None:
    try:
        model = evaluate(program, STEPS)
    except TooLarge:
        assume(False)
        raise
    random = Random(seed)
    query, expected = some_query(program, model, random)
    session = whence.open(text=render(program))
    session.run()
    ways = {
        "into": lambda state: False,
        "over": lambda state: True,
        "mixed": lambda state: random.random() < 0.5,
        "mostly over": lambda state: random.random() < 0.9,
    }
    for way, over in ways.items():
        try:
            found = answer(session, query, over, most)
        except TooLong:
            continue
        assert found == expected, f"{query}, {way}: {render(program)}"


@quick
@given(programs(), st.integers(0, 2**32 - 1))
def test_any_mix_of_steps_gives_the_answer_of_bottom_up_evaluation(program: Program, seed: int) -> None:
    check(program, seed, 1_500)


@pytest.mark.slow
@thorough
@given(programs(), st.integers(0, 2**32 - 1))
def test_it_does_on_many_more_programs(program: Program, seed: int) -> None:
    check(program, seed, 10_000)
