"""Rules that come and go (002, 6.4.4): after any change of facts and rules the state is that of Bootstrap on both."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from random import Random

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from maintain.changing import opened, state, steps, with_inputs
from oracle.evaluate import Model, TooLarge, evaluate
from oracle.generate import programs
from oracle.reduce import mentions, reduce
from oracle.render import fact, render
from oracle.rules import Program, Rule
from whence.lang import compile_text

STEPS = 60_000
STRATEGIES = ("update", "elastic", "bootstrap", "dense")


@dataclass(frozen=True)
class Epoch:
    """A change of facts, and the program that it leaves."""

    insert: dict[str, list[tuple[object, ...]]]
    delete: dict[str, list[tuple[object, ...]]]
    program: Program


def part(random: Random, program: Program) -> Program:
    """The program with some of its rules; relations that nothing needs may not be declared."""
    share = random.choice((0.3, 0.6, 0.9, 1.0))
    rules: tuple[Rule, ...] = tuple(rule for rule in program.rules if random.random() < share)
    relations = dict(program.relations)
    for name in program.relations:
        if name not in program.facts and not mentions(rules, name) and random.random() < 0.5:
            del relations[name]
    return replace(program, rules=tuple(random.sample(rules, len(rules))), relations=relations)


def epochs(program: Program, random: Random, count: int) -> Iterator[Epoch]:
    """Rules change in most epochs, facts in many."""
    current = part(random, program)
    for step in steps(program, random, count):
        chosen = part(random, program) if random.random() < 0.8 else current
        current = replace(chosen, facts=step.program.facts)
        yield Epoch(step.insert, step.delete, current)


def mistakes(program: Program, seed: int, strategy: str, count: int) -> list[str]:
    """Where sessions and the oracle disagree, epoch by epoch, and where an impact is not the difference."""
    random = Random(seed)
    session = opened(part(random, program), strategy=strategy)
    states = [state(session)]
    lines: list[str] = []
    for number, epoch in enumerate(epochs(program, random, count), 1):
        before = states[-1]
        after = compile_text(with_inputs(epoch.program))
        impact = session.update(epoch.insert, epoch.delete, program=after)
        wanted, got = evaluate(epoch.program, STEPS), state(session)
        lines += apart(wanted, got, f"epoch {number}", epoch.program)
        for name in before.keys() | got.keys():
            old, new = before.get(name, {}).keys(), got.get(name, {}).keys()
            for what, told, found in (("inserted", impact.inserted, new - old), ("deleted", impact.deleted, old - new)):
                listed = list(told.get(name, ()))
                if set(listed) != found or len(listed) != len(found):
                    lines.append(f"epoch {number}: {name}: {what} are {sorted(found, key=repr)}, not {listed}")
        states.append(got)
        if lines:
            shown = [render(epoch.program, set()), f"insert {epoch.insert}", f"delete {epoch.delete}"]
            return [*lines, *shown]
    for number in reversed(range(len(states) - 1)):
        session.undo()
        lines += apart(states[number], state(session), f"undone to {number}", program)
    return lines


def apart(wanted: Model, got: Model, when: str, program: Program) -> Iterator[str]:
    if wanted.keys() != got.keys():
        yield f"{when}: there should be {sorted(wanted)}, and are {sorted(got)}"
    for name in wanted.keys() & got.keys():
        for row in sorted(wanted[name].keys() | got[name].keys(), key=repr):
            one, other = wanted[name].get(row), got[name].get(row)
            if one != other:
                yield f"{when}: {fact(name, row, program)} should have (iteration, count) {one}, has {other}"


def check(program: Program, seed: int, strategy: str, count: int = 4) -> None:
    try:
        evaluate(program, STEPS)
        found = mistakes(program, seed, strategy, count)
    except TooLarge:
        assume(False)
        raise
    if found:
        small = reduce(program, lambda p: bool(mistakes(p, seed, strategy, count)))
        pytest.fail("\n".join([render(small), *mistakes(small, seed, strategy, count)]))


seeds = st.integers(0, 2**32 - 1)


@settings(max_examples=60, deadline=None)
@given(programs(), seeds)
def test_update_equals_bootstrap_on_the_changed_program(program: Program, seed: int) -> None:
    check(program, seed, "update")


@settings(max_examples=15, deadline=None)
@given(programs(), seeds, st.sampled_from(["elastic", "bootstrap", "dense"]))
def test_every_strategy_gives_the_same_state(program: Program, seed: int, strategy: str) -> None:
    check(program, seed, strategy)


@pytest.mark.slow
@settings(max_examples=3_000, deadline=None)
@given(programs(), seeds, st.sampled_from(STRATEGIES))
def test_on_many_more_programs(program: Program, seed: int, strategy: str) -> None:
    check(program, seed, strategy, count=6)
