"""Stepping over recursive calls: what the text of 001 leaves out."""

from __future__ import annotations

import pytest

import whence
from step.running import answer, machine_of
from whence.engines.local.tables import LocalTables

# q(5, 3) needs p(1, 2), which is known after the first iteration of p(1, Y) but is no tuple of q(5, Y).
BY_EACH_OTHER = """
.decl e(x: number, y: number)
.decl n(x: number, z: number)
.decl m(z: number, x: number)
.decl f(w: number, y: number)
e(1, 2). n(1, 5). m(5, 1). f(2, 3). f(3, 4).
.decl p(x: number, y: number)
.decl q(z: number, y: number)
p(x, y) :- e(x, y).
p(x, y) :- n(x, z), q(z, y).
q(z, y) :- m(z, x), p(x, w), f(w, y).
"""


def opened(text: str) -> whence.Session:
    session = whence.open(text=text)
    session.run()
    return session


@pytest.mark.parametrize("over", [True, False])
def test_what_follows_from_idb_is_not_lost(over: bool) -> None:
    """With IDB only added to the answer of the call, as A-OverRecursive is stated, p(1, Y) would be {2}."""
    session = opened(BY_EACH_OTHER)
    assert answer(session, "p(1, Y)", lambda state: over) == {(1, 2), (1, 3), (1, 4)}


# p(X, Y) is called while p(1, Y) is active, and adds tuples that p(1, Y) has read too few of.
TWO_ADORNMENTS = """
.decl e(x: number, y: number)
e(1, 2). e(2, 3). e(3, 1).
.decl p(x: number, y: number)
p(x, y) :- e(x, y).
p(x, y) :- e(x, z), p(z, y).
p(x, y) :- p(y, x), p(z, w), w = x, z != 7.
"""


@pytest.mark.parametrize("query", ["p(1, Y)", "p(X, 1)", "p(X, Y)", "p(2, 1)"])
@pytest.mark.parametrize("over", [True, False])
def test_a_relation_may_be_called_in_several_adornments(query: str, over: bool) -> None:
    session = opened(TWO_ADORNMENTS)
    machine, _, state = machine_of(session, query)
    adornments = set()
    while not state.done:
        state = machine.step(state)
        adornments |= set(state.active)
        assert state.steps < 20_000
    assert len(adornments) > 1
    fixed = [part.strip() for part in query[2:-1].split(",")]
    expected = {
        row for row in session["p"] if all(f in ("X", "Y") or int(f) == v for f, v in zip(fixed, row, strict=True))
    }
    assert answer(session, query, lambda state: over) == expected


def test_the_session_is_as_it_was() -> None:
    session = opened(BY_EACH_OTHER)
    before = {name: sorted(session[name].tuples(annotated=True)) for name in session}
    answer(session, "p(1, Y)", lambda state: True)
    assert {name: sorted(session[name].tuples(annotated=True)) for name in session} == before


def test_a_state_can_be_left_and_come_back_to() -> None:
    """Steps from one state in two ways: neither sees what the other derived."""
    session = opened(TWO_ADORNMENTS)
    machine, _, state = machine_of(session, "p(1, Y)")
    states = [state]
    while not states[-1].done:
        states.append(machine.step(states[-1]))
    for earlier in states[:: max(1, len(states) // 20)]:
        known = {name: seen.rows.tolist() for name, seen in earlier.known.items()}
        again = earlier
        while not again.done:
            again = machine.step(again, over=True)
        assert again.answer is not None
        assert again.answer.sets == states[-1].answer.sets  # type: ignore[union-attr]
        assert {name: seen.rows.tolist() for name, seen in earlier.known.items()} == known


def test_counting_upward_ends() -> None:
    """Top down, n + 1 would be called for ever; no relation has such values."""
    session = opened("""
    .decl low(n: number)
    low(0). low(1). low(2).
    .decl p(n: number, m: number)
    p(n, m) :- low(n), n = 2, m = n.
    p(n, m) :- k = n + 1, p(k, m), low(n).
    """)
    assert answer(session, "p(0, M)", lambda state: False) == {(0, 2)}
    assert answer(session, "p(0, M)", lambda state: True) == {(0, 2)}


def test_a_call_with_a_computed_argument_is_made_with_its_value() -> None:
    session = opened("""
    .decl upto(n: number)
    upto(20).
    upto(n - 1) :- upto(n), n > 2.
    .decl fib(n: number, value: number)
    fib(0, 0). fib(1, 1).
    fib(n, a + b) :- upto(n), fib(n - 1, b), fib(n - 2, a).
    """)
    machine, _, state = machine_of(session, "fib(10, X)")
    called = [state.frame.arguments.sets]
    while not state.done:
        over = state.frame.current is not None and state.frame.position == 4  # fib(n - 2, a)
        state = machine.step(state, over or state.stack.depth > 3)  # type: ignore[union-attr]
        if state.applied == "A-Into" and state.frame.relation == "fib":
            called.append(state.frame.arguments.sets)
    assert called[:3] == [{(10,)}, {(9,)}, {(8,)}]
    assert state.answer is not None
    assert state.answer.sets == {(55,)}


def test_tables_beside_share_symbols() -> None:
    session = opened('.decl s(x: symbol)\ns("ä").\n.decl t(x: symbol)\nt(cat(x, "!")) :- s(x).')
    assert isinstance(session.engine.tables, LocalTables)
    assert answer(session, "t(X)", lambda state: False) == {("ä!",)}
