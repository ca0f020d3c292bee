"""On random programs and changes: answers do what they say, and are as small as they say."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from random import Random

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from maintain.changing import opened, state, with_inputs
from oracle.evaluate import TooLarge
from oracle.generate import programs
from oracle.render import fact, render
from oracle.rules import Aggregate, Atom, Not, Program, Rule, Var, Wild
from repair.oracle import RULE, Case, Part, case_of
from whence.lang import compile_text
from whence.repair import Answer
from whence.repair.trial import delta_debugging

PARTS = 5
X, Y, Z = (Var(name, "number") for name in "XYZ")
CLOSURE = (
    Rule((Atom("path", (X, Y)),), (Atom("edge", (X, Y)),)),
    Rule((Atom("path", (X, Z)),), (Atom("path", (X, Y)), Atom("path", (Y, Z)))),
)
APART = Rule((Atom("apart", (X, Y)),), (Atom("node", (X,)), Atom("node", (Y,)), Not(Atom("path", (X, Y)))))
ALONE = Rule((Atom("alone", (X,)),), (Atom("node", (X,)), Not(Atom("apart", (Var("X", "number"), Wild("number"))))))
BOTH = Rule((Atom("path", (X, Y)),), (Atom("path", (Y, X)), Atom("node", (X,))))
GRAPHS = {
    "closure": CLOSURE,
    "one negation": (*CLOSURE, APART),
    "two negations": (*CLOSURE, APART, ALONE),
    "both ways": (*CLOSURE, BOTH),
}
quick = settings(max_examples=20, deadline=None)
thorough = settings(max_examples=400, deadline=None)
seeds = st.integers(0, 2**32 - 1)


def on_a_graph(name: str, random: Random) -> Program:
    nodes = range(4)
    edges = [(one, other) for one in nodes for other in nodes if random.random() < 0.4]
    relations = {"edge": ("number",) * 2, "node": ("number",), "path": ("number",) * 2}
    relations |= {"apart": ("number",) * 2, "alone": ("number",)}
    facts = {"edge": tuple(edges), "node": tuple((node,) for node in nodes)}
    return Program(relations, GRAPHS[name], facts, {})


def check(program: Program, seed: int, rules: bool = False) -> None:
    try:
        case = case_of(program, Random(seed), PARTS, rules)
        assume(case is not None)
        assert case is not None
        complaint = complaints(case)
    except TooLarge:
        assume(False)
        raise
    assert not complaint, f"{complaint}\n{told(case)}"


def complaints(case: Case) -> str:
    session = opened(case.before)
    changed: list[tuple[bool, Rule]] = [(inserted, row[0]) for inserted, name, row in case.parts if name == RULE]
    rules = [one for one in case.before.rules if (False, one) not in changed] + [one for sign, one in changed if sign]
    after = with_inputs(replace(case.before, rules=tuple(rules)))  # type: ignore[arg-type]
    session.update(case.insert, case.delete, program=compile_text(after) if changed else None)
    before = state(session)
    repair = session.repair(
        unwanted=[fact(*wish, case.before) for wish in case.unwanted],
        missing=[fact(*wish, case.before) for wish in case.missing],
    )
    suggestion, localisation = parts(repair.suggestion, case), parts(repair.localisation, case)
    if state(session) != before:
        return "the session is not as it was"
    if not case.is_repaired(case.without(suggestion)):
        return f"the suggestion {suggestion} leaves a fault"
    if not case.is_faulty(case.with_only(localisation)):
        return f"the localisation {localisation} does not bring all faults"
    for what, answer, least in (
        ("suggestion", repair.suggestion, case.smallest_suggestion()),
        ("localisation", repair.localisation, case.smallest_localisation()),
    ):
        if answer.smallest and len(answer) != least:
            return f"the {what} {answer.tuples} is said to be the smallest, which has {least} parts"
        if is_positive(case.before) and all(plain(one) for _, one in changed) and not answer.smallest:
            return f"the {what} {answer.tuples} is not known to be the smallest: {answer.reason}"
    debugged = delta_debugging(case.parts, lambda chosen: case.is_repaired(case.without(chosen)))
    if len(suggestion) > len(debugged):
        return f"delta debugging finds {debugged}, which is smaller than {suggestion}"
    return ""


def parts(answer: Answer, case: Case) -> list[Part]:
    """The parts of an answer, found in the case by their text."""
    named = {bare(case.text(part)): part for part in case.parts}
    return [named[bare(text)] for text in answer.tuples]


def bare(text: str) -> str:
    return "".join(text.split())


def is_positive(program: Program) -> bool:
    return all(map(plain, program.rules))


def plain(rule: Rule) -> bool:
    """Whether a rule has neither a negation nor an aggregate."""

    def inside(node: object) -> bool:
        if isinstance(node, Not | Aggregate):
            return False
        if isinstance(node, tuple):
            return all(map(inside, node))
        return not is_dataclass(node) or all(inside(getattr(node, one.name)) for one in fields(node))

    return inside(rule.body)


def positive(program: Program) -> Program:
    return replace(program, rules=tuple(filter(plain, program.rules)))


def told(case: Case | None) -> str:
    assert case is not None
    signed = "\n".join(map(case.text, case.parts))
    return f"{render(case.before)}\n\nchange:\n{signed}\nunwanted: {case.unwanted}\nmissing: {case.missing}"


@quick
@given(programs(), seeds)
def test_answers_are_right_and_as_small_as_they_say(program: Program, seed: int) -> None:
    check(program, seed)


@quick
@given(programs().map(positive), seeds)
def test_answers_on_positive_programs_are_the_smallest(program: Program, seed: int) -> None:
    check(program, seed)


@pytest.mark.slow
@thorough
@given(programs().map(positive), seeds)
def test_on_many_more_positive_programs(program: Program, seed: int) -> None:
    check(program, seed)


@quick
@given(st.sampled_from(sorted(GRAPHS)), seeds)
def test_answers_on_graphs_with_cycles(name: str, seed: int) -> None:
    """Many proofs of each tuple, tuples that support each other, and changes that replace one proof by another."""
    check(on_a_graph(name, Random(seed)), seed)


@pytest.mark.slow
@thorough
@given(st.sampled_from(sorted(GRAPHS)), seeds)
def test_on_many_more_graphs(name: str, seed: int) -> None:
    check(on_a_graph(name, Random(seed)), seed)


@quick
@given(programs(), seeds)
def test_answers_where_rules_change_too(program: Program, seed: int) -> None:
    check(program, seed, rules=True)


@pytest.mark.slow
@thorough
@given(programs(), seeds)
def test_on_many_more_changes_of_rules(program: Program, seed: int) -> None:
    check(program, seed, rules=True)


@pytest.mark.slow
@thorough
@given(programs(), seeds)
def test_on_many_more_programs(program: Program, seed: int) -> None:
    check(program, seed)
