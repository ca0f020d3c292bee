"""On random programs: every proof is one and as small as it can be, and no part is said to fail that holds."""

from __future__ import annotations

import ast
import json
import re
from random import Random

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import whence
from explain.checker import Checker, height, instantiations, least, size, tuple_of, tuples_below
from maintain.changing import opened, steps
from oracle.evaluate import Model, TooLarge, evaluate
from oracle.generate import programs
from oracle.render import fact, render
from oracle.rules import Program
from oracle.scope import DOMAINS
from oracle.values import holds

STEPS = 20_000
quick = settings(max_examples=25, deadline=None)
thorough = settings(max_examples=2_000, deadline=None)
TUPLES = 12  # of a program that are looked at


def evaluated(program: Program) -> tuple[Model, whence.Session]:
    try:
        model = evaluate(program, STEPS)
    except TooLarge:
        assume(False)
        raise
    return model, opened(program)


def some_tuples(model: Model, random: Random) -> list[tuple[str, tuple[object, ...]]]:
    every = [(name, row) for name, rows in sorted(model.items()) for row in sorted(rows, key=repr)]
    return random.sample(every, min(len(every), TUPLES))


def proof_of(session: whence.Session, query: str, metric: str | None = None) -> dict[str, object]:
    return json.loads(session.explain(query, metric=metric, depth=1000).json())  # type: ignore[no-any-return]


def check_proofs(program: Program, seed: int) -> None:
    model, session = evaluated(program)
    checker = Checker(program, model)
    heights = least(program, model, 0, lambda values: 1 + max(values, default=0))
    sizes = least(program, model, 1, lambda values: 1 + sum(values))
    for name, row in some_tuples(model, Random(seed)):
        query = fact(name, row, program)
        proof = proof_of(session, query)
        assert list(checker.complaints(proof)) == [], f"{query} in\n{render(program)}"
        assert checker.height_in_stratum(proof) == model[name][row][0], f"{query} in\n{render(program)}"
        for metric, measure, least_values in (("height", height, heights), ("size", size, sizes)):
            smallest = proof_of(session, query, metric)
            assert list(checker.complaints(smallest)) == [], f"{query} by {metric} in\n{render(program)}"
            assert measure(smallest) == least_values[name, row], f"{query} by {metric} in\n{render(program)}"


@quick
@given(programs(), st.integers(0, 2**32 - 1))
def test_proofs_are_valid_and_minimal(program: Program, seed: int) -> None:
    check_proofs(program, seed)


@pytest.mark.slow
@thorough
@given(programs(), st.integers(0, 2**32 - 1))
def test_proofs_of_many_more_programs(program: Program, seed: int) -> None:
    check_proofs(program, seed)


@quick
@given(programs(), st.integers(0, 2**32 - 1))
def test_alternatives_are_valid_and_distinct_and_derivations_are_all(program: Program, seed: int) -> None:
    model, session = evaluated(program)
    checker = Checker(program, model)
    all_steps = instantiations(program, model)
    for name, row in some_tuples(model, Random(seed))[:4]:
        explanation = session.explain(fact(name, row, program))
        proofs = [proof.json() for proof in explanation.proofs(5)]
        assert len(set(proofs)) == len(proofs)
        for proof in proofs:
            assert list(checker.complaints(json.loads(proof))) == [], (
                f"{fact(name, row, program)} in\n{render(program)}"
            )
        steps = [
            (step["rule"]["line"], *((child["relation"], tuple_of(child["values"])) for child in tuples_below(step)))
            for step in json.loads(explanation.derivations().json())
        ]
        assert len(set(steps)) == len(steps)
        assert set(steps) == {(line, *body) for line, head, body in all_steps if head == (name, row)}


@settings(max_examples=15, deadline=None)
@given(programs(), st.integers(0, 2**32 - 1), st.sampled_from(["update", "elastic", "dense"]))
def test_after_updates_proofs_are_those_of_the_current_epoch(program: Program, seed: int, strategy: str) -> None:
    evaluated(program)
    session = opened(program, strategy=strategy)
    for step in steps(program, Random(seed), 3):
        session.update(step.insert, step.delete)
        try:
            model = evaluate(step.program, STEPS)
        except TooLarge:
            return
        checker = Checker(step.program, model)
        for name, row in some_tuples(model, Random(seed))[:6]:
            query = fact(name, row, program)
            for metric in (None, "height"):
                assert list(checker.complaints(proof_of(session, query, metric))) == [], (
                    f"{query} in\n{render(program)}"
                )
        for name in model:
            gone = [row for row in step.delete.get(name, ()) if row not in model[name]]
            for row in gone[:2]:
                assert session.why_not(fact(name, row, program)).why.relation == name
                with pytest.raises(whence.WhenceError, match="nothing matches"):
                    session.explain(fact(name, row, program))


# Why not


def value_pattern(text: str) -> tuple[str, list[object]]:
    """`r(1, _, X1)` as its relation and its values, `...` for an open column, a set for a variable."""
    relation, _, rest = text.partition("(")
    inside = re.sub(r"\bnil\b", "None", re.sub(r"(?<![\w\"])_(?![\w\"])", "...", rest.removesuffix(")")))
    inside = re.sub(r"\bX(\d+)\b", r"{\1}", inside)
    return relation, [tuple_of(value) for value in ast.literal_eval(f"[{inside}]")]


def matches(text: str, model: Model) -> bool:
    relation, pattern = value_pattern(text)
    return any(fits(pattern, row) for row in model[relation])


def fits(pattern: list[object], row: tuple[object, ...]) -> bool:
    values: dict[str, object] = {}
    for wanted, value in zip(pattern, row, strict=True):
        expected = values.setdefault(str(wanted), value) if isinstance(wanted, set) else wanted
        if expected is not ... and expected != value:
            return False
    return True


def comparison_holds(text: str) -> bool | None:
    """Whether a comparison of two literals holds; None if it is something else."""
    for operator in (" <= ", " >= ", " != ", " = ", " < ", " > "):
        left, found, right = text.partition(operator)
        if found:
            try:
                return holds(operator.strip(), ast.literal_eval(left), ast.literal_eval(right))
            except (ValueError, SyntaxError):
                return None
    return None


def check_why_not(program: Program, seed: int) -> None:
    model, session = evaluated(program)
    random = Random(seed)
    derived = sorted({head.relation for rule in program.rules for head in rule.heads})
    for _ in range(6):
        name = random.choice(derived)
        row = tuple(random.choice(DOMAINS[kind]) for kind in program.relations[name])
        if row in model[name]:
            continue
        query = fact(name, row, program)
        answer = json.loads(session.why_not(query).json())
        told = f"{query} in\n{render(program)}"
        assert answer["attempts"], told
        for attempt in answer["attempts"]:
            parts = attempt["children"]
            assert attempt["blocked"] or any(part["status"] != "holds" for part in parts), told
            for part in parts:
                text, status = part["text"], part["status"]
                if part["kind"] == "atom" and status != "open":
                    assert matches(part.get("ask", text), model) == (status == "holds"), f"{text} {status}: {told}"
                elif part["kind"] == "negation" and status != "open":
                    assert matches(part.get("ask", text[1:]), model) == (status == "fails"), f"{text} {status}: {told}"
                elif part["kind"] == "constraint" and status != "open" and comparison_holds(text) is not None:
                    assert comparison_holds(text) == (status == "holds"), f"{text} {status}: {told}"


@quick
@given(programs(), st.integers(0, 2**32 - 1))
def test_why_not_never_says_that_a_part_fails_that_holds(program: Program, seed: int) -> None:
    check_why_not(program, seed)


@pytest.mark.slow
@thorough
@given(programs(), st.integers(0, 2**32 - 1))
def test_why_not_on_many_more_programs(program: Program, seed: int) -> None:
    check_why_not(program, seed)
