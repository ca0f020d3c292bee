"""Whence agrees with the oracle on random programs, and does not depend on how a program happens to be written."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import whence
from oracle.evaluate import Model, TooLarge, evaluate
from oracle.generate import programs
from oracle.reduce import reduce
from oracle.render import fact, render
from oracle.rules import Aggregate, Either, Literal, Program, Rule

STEPS = 60_000
quick = settings(max_examples=150, deadline=None)
thorough = settings(max_examples=5_000, deadline=None)


def run(program: Program, loaded: frozenset[str] = frozenset()) -> Model:
    """Whence's model of a program; the facts of `loaded` go in as tuples, the others stand in its text."""
    session = whence.open(text=render(program, facts_of=set(program.facts) - loaded))
    session.load(**{name: list(program.facts[name]) for name in loaded})
    session.run()
    return {
        name: {row: (iteration, count) for row, iteration, count in session[name].tuples(annotated=True)}
        for name in program.relations
    }


def expected(program: Program) -> Model:
    try:
        return evaluate(program, STEPS)
    except TooLarge:
        assume(False)
        raise


def differences(wanted: Model, got: Model, program: Program) -> list[str]:
    """One line for every tuple that is missing, is too much, or has another iteration or count."""
    lines = []
    for name in wanted:
        for row in sorted(wanted[name].keys() | got[name].keys(), key=repr):
            one, other = wanted[name].get(row), got[name].get(row)
            if one != other:
                lines.append(f"{fact(name, row, program)}: (iteration, count) should be {one}, is {other}")
    return lines


def check(program: Program, loaded: frozenset[str]) -> None:
    found = differences(expected(program), run(program, loaded), program)
    if found:
        small = reduce(program, lambda p: evaluate(p) != run(p, loaded & p.facts.keys()))
        found = differences(evaluate(small), run(small, loaded & small.facts.keys()), small)
        pytest.fail("\n".join(["Whence and the oracle disagree on", render(small), *found]))


@st.composite
def programs_and_loaded(draw: st.DrawFn) -> tuple[Program, frozenset[str]]:
    program = draw(programs())
    return program, draw(st.frozensets(st.sampled_from(sorted(program.facts))))


@quick
@given(programs_and_loaded())
def test_relations_iterations_and_counts_are_those_of_naive_evaluation(case: tuple[Program, frozenset[str]]) -> None:
    check(*case)


@pytest.mark.slow
@thorough
@given(programs_and_loaded())
def test_they_are_on_many_more_programs(case: tuple[Program, frozenset[str]]) -> None:
    check(*case)


def shuffled(program: Program, random: Random) -> Program:
    """The same program with rules, heads, literals and facts in another order, and some facts twice."""
    rules = [Rule(tuple(permuted(rule.heads, random)), body(rule.body, random)) for rule in program.rules]
    facts = {
        name: tuple(permuted((*tuples, *random.choices(tuples, k=3)) if tuples else tuples, random))
        for name, tuples in program.facts.items()
    }
    return replace(program, rules=tuple(permuted(rules, random)), facts=facts)


def body(literals: tuple[Literal, ...], random: Random) -> tuple[Literal, ...]:
    return tuple(literal(part, random) for part in permuted(literals, random))


def literal(node: Literal, random: Random) -> Literal:
    match node:
        case Either(choices):
            return Either(tuple(body(choice, random) for choice in permuted(choices, random)))
        case Aggregate(body=inner):
            return replace(node, body=body(inner, random))
    return node


def permuted(parts, random: Random):  # type: ignore[no-untyped-def]
    return random.sample(parts, len(parts))


@quick
@given(programs(), st.integers(0, 2**32 - 1))
def test_order_and_duplicates_do_not_matter(program: Program, seed: int) -> None:
    expected(program)
    other = shuffled(program, Random(seed))
    found = differences(run(program), run(other), program)
    assert not found, "\n".join([render(program), "differs when written as", render(other), *found])
