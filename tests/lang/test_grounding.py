"""Groundedness: where a variable may get its values from, and what is said when it does not."""

from __future__ import annotations

import pytest

from lang.shown import compiled, errors, refused
from whence.lang.closure import Closure

DECLARED = """
.type List = [head: number, tail: List]
.decl a(x: number)
.decl e(x: number, y: number)
.decl l(x: List)
.decl p(x: number)
"""


@pytest.mark.parametrize(
    "clause",
    [
        "p(x) :- a(x).",
        "p(x) :- x = 1.",
        "p(x) :- x = y, y = z, z = 1.",
        "p(z) :- z = y * 2, y = x + 1, a(x).",
        "p(x) :- l(y), y = [x, _].",
        "p(x) :- l([x, _]).",
        "p(x) :- a(y), [x, _] = r, r = [y, nil], !l(r).",
        "p(n) :- n = count : { a(_) }.",
        "p(n) :- a(x), n = count : { e(x, _) }.",
        "p(x) :- a(x), !e(x, _).",
        "p(x) :- n = max y : { e(y, x) }, n > 1.",
        "p(x) :- e(x + 1, y), a(y), a(x).",
    ],
)
def test_bound(clause: str) -> None:
    assert compiled(DECLARED + clause).rules


@pytest.mark.parametrize(
    ("clause", "variables"),
    [
        ("p(x) :- a(y), y > 0.", ["x"]),
        ("p(x) :- !a(x).", ["x"]),
        ("p(x) :- x > 1.", ["x"]),
        ("p(x) :- x != 1.", ["x"]),
        ("p(x) :- x = y.", ["y"]),
        ("p(x) :- x = y, y = z + 1.", ["z"]),
        ("p(x) :- z + 1 = y, y = x.", ["z"]),
        ("p(x) :- x * 2 = y, a(y).", ["x"]),
        ("p(x + y) :- a(x).", ["y"]),
        ("p(x) :- a(x), !e(x, y), y > z.", ["y", "z"]),
        ("p(x) :- e(x + 1, _).", ["x"]),
        ("p(n) :- n = sum z : { a(x), x > 1 }.", ["z"]),
        ("p(n) :- n = count : { a(x), x > z }.", ["z"]),
        ("p(n) :- n = count : { e(x, _) }, x > 1.", ["x"]),
        ("p(1) :- l([x + 1, nil]).", ["x"]),
        ("p(x) :- a(x), strlen(y) = x.", ["y"]),
    ],
)
def test_not_bound(clause: str, variables: list[str]) -> None:
    found = errors(DECLARED + clause)
    assert [message.split(" ", 1)[1] for message in found] == [
        f"the variable `{name}` is not bound" for name in variables
    ]


@pytest.mark.parametrize(
    ("clause", "hint"),
    [
        ("p(x) :- a(1).", "use `x` in a positive atom of the body"),
        ("p(1) :- !a(x).", "a negated atom binds nothing: use `x` in a positive atom, or write `_` instead"),
        ("p(1) :- x > 1.", "use `x` in a positive atom of the body, or set it equal to something that is bound"),
        ("p(n) :- n = sum z : { a(1) }.", "use `z` in a positive atom inside the aggregate"),
        ("p(n) :- n = count : { e(x, 1) }, x > 1.", "what is bound inside `count` is not visible outside it"),
    ],
)
def test_the_hint_says_why(clause: str, hint: str) -> None:
    assert f"hint: {hint}" in refused(DECLARED + clause)


def test_a_fact_with_variables() -> None:
    assert errors(DECLARED + "e(x, _).\nl([1, y]).") == [
        "7:3 a fact with a variable: `x`",
        "7:6 a fact with a variable: `_`",
        "8:7 a fact with a variable: `y`",
    ]


def test_a_closure_is_closed_whatever_the_order() -> None:
    closure = Closure()
    closure.imply(["b"], ["c"])
    closure.imply(["a"], ["b"])
    closure.imply(["c", "d"], ["e"])
    closure.add(["a"])
    assert closure.holds == {"a", "b", "c"}
    closure.imply([], ["d"])
    closure.imply(["e", "a"], ["f"])
    assert closure.holds == {"a", "b", "c", "d", "e", "f"}
