"""What is allowed and yet warned of."""

from __future__ import annotations

import pytest

from lang.shown import warnings

DECLARED = """\
.decl a(x: number, y: number)
.input a
.decl none(x: number)
.decl p(x: number)
.output p
"""


@pytest.mark.parametrize(
    ("clause", "said"),
    [
        ("p(x) :- a(x, y).", "6:14 the variable `y` is used only once"),
        ("p(x) :- a(x, _), c = count : { a(_, y) }, c > 1.", "6:37 the variable `y` is used only once"),
        ("p(_x) :- a(_x, 1).", "6:12 the variable `_x` is marked as used once, but is used 2 times"),
        ("p(x) :- a(x, _), none(x).", "6:18 this rule cannot fire: `none` has no facts, no rules and no `.input`"),
        ("p(x) :- a(x, _), 1 > 2.", "6:1 this rule cannot fire: a condition is always false"),
        ("p(x) :- p(x).", "6:9 this rule cannot fire: `p` is always empty"),
    ],
)
def test_likely_mistakes(clause: str, said: str) -> None:
    assert said in warnings(DECLARED + clause)


@pytest.mark.parametrize(
    "clause",
    ["p(x) :- a(x, _).", "p(x) :- a(x, _y).", "p(x) :- a(x, _), x < 2.", "p(c) :- c = count : { a(_, _) }."],
)
def test_what_is_as_it_should_be(clause: str) -> None:
    assert warnings(DECLARED.replace(".decl none(x: number)\n", "") + clause) == []


def test_a_negated_relation_may_be_empty() -> None:
    assert warnings(DECLARED + "p(x) :- a(x, _), !none(x).") == []


def test_a_relation_that_only_feeds_itself_is_never_used() -> None:
    assert warnings(".decl r(x: number)\nr(1).\nr(x + 1) :- r(x), x < 9.") == ["1:7 the relation `r` is never used"]


def test_so_many_warnings_that_not_all_are_shown() -> None:
    shown = warnings("".join(f".decl r{i}(x: number)\n" for i in range(1000)))
    assert len(shown) == 101
    assert shown[-1].endswith("and 900 more warnings that are not shown")
