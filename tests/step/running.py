"""Queries reduced to their answers, by whichever steps, and what a naive evaluator says the answers are."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from random import Random

import whence
from oracle.evaluate import Model
from oracle.render import constant
from oracle.rules import Program
from whence.lang.program import Const
from whence.step.machine import Machine
from whence.step.query import Asked, asked
from whence.step.state import State

Choose = Callable[[State], bool]


class TooLong(Exception):
    """More steps than a test should take."""


def machine_of(session: whence.Session, query: str) -> tuple[Machine, Asked, State]:
    question = asked(query, session.program)
    machine = Machine(session.engine.tables, question.program)  # type: ignore[arg-type]
    return machine, question, machine.start(question.atom)


def answer(session: whence.Session, query: str, over: Choose, most: int = 100_000) -> set[tuple[object, ...]]:
    """What a query is reduced to; `over` says of a state whether its next step is one over."""
    machine, question, state = machine_of(session, query)
    while not state.done:
        state = machine.step(state, over(state))
        if state.steps > most:
            raise TooLong
    assert not state.active, "queries are still active"
    return values(session, question, state)


def values(session: whence.Session, question: Asked, state: State) -> set[tuple[object, ...]]:
    """The tuples that the answer is about, whole."""
    assert state.answer is not None
    decode = session.engine.tables.values.decode
    columns = question.program.relations[question.atom.relation].columns
    decoded = [
        [term.value] * len(state.answer)
        if isinstance(term, Const)
        else decode(state.answer.column(term), column.type, column.kind)
        for term, column in zip(question.atom.args, columns, strict=True)
    ]
    return set(zip(*decoded, strict=True)) if decoded else {()} if len(state.answer) else set()


def some_query(program: Program, model: Model, random: Random) -> tuple[str, set[tuple[object, ...]]]:
    """An atom with some columns given, of a relation that has tuples if there is one, and its answer."""
    names = [name for name in program.relations if not name.startswith("no")]
    name = random.choice([n for n in names if n.startswith("r") and model[n]] or names)
    kinds = program.relations[name]
    rows: Iterable[tuple[object, ...]] = model[name]
    like = random.choice(sorted(rows, key=repr)) if model[name] else None
    given = [like is not None and random.random() < 0.4 for _ in kinds]
    args = [constant(like[i], k, program.records) if given[i] else f"V{i}" for i, k in enumerate(kinds)]  # type: ignore[index]
    found = {row for row in rows if like is None or all(same(row[i], like[i]) for i in range(len(kinds)) if given[i])}
    return f"{name}({', '.join(args)})", found


def same(one: object, other: object) -> bool:
    return one == other and repr(one) == repr(other)  # 0.0 is not -0.0
