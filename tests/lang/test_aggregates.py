"""Aggregates: where they may stand, which variables they see, and the witnesses of minima and maxima."""

from __future__ import annotations

import pytest

from lang.shown import compiled, errors, rules

DECLARED = """
.decl a(x: number)
.decl e(x: number, y: number)
.decl f(x: float)
.input a, e, f
.decl p(x: number)
.decl m(x: float)
.output p, m
"""


def lowered(clause: str) -> str:
    [rule] = rules(DECLARED + clause)
    return rule


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("n = count : { a(_) }", "v 1:n = count : { a(_ 1:n) }"),
        ("n = count : a(_)", "v 1:n = count : { a(_ 1:n) }"),
        ("n = sum x : { a(x) }", "v 1:n = sum x:n : { a(x:n) }"),
        ("n = max x * 2 : { a(x) }", "v 1:n = max mul(x:n, 2:n):n : { a(x:n) }"),
        ("n = min (x + 1) : { a(x) }", "v 1:n = min add(x:n, 1:n):n : { a(x:n) }"),
        ("n = sum (x) + 1 : { a(x) }", "v 1:n = sum add(x:n, 1:n):n : { a(x:n) }"),
        ("n = sum x : { a(x), x > 1, !e(x, _) }", "v 1:n = sum x:n : { a(x:n), x:n > 1:n, !e(x:n, _ 1:n) }"),
    ],
)
def test_forms(written: str, read: str) -> None:
    assert lowered(f"p(n) :- {written}.") == f"p(n:n) :- {read}, n:n = v 1:n."


def test_mean_is_over_floats() -> None:
    assert lowered("m(mean x : { f(x) }).") == "m(v 1:f) :- v 1:f = mean x:f : { f(x:f) }."
    [error] = errors(DECLARED + "m(y) :- y = mean x : { a(x) }.")
    assert error == "9:18 `mean` takes a `float`, but `x` is a `number`"


def test_an_aggregate_may_stand_wherever_a_value_may() -> None:
    assert lowered("p(x) :- a(x), x > 1 + count : { a(_) }.") == (
        "p(x:n) :- a(x:n), v 1:n = count : { a(_ 1:n) }, x:n > add(1:n, v 1:n):n."
    )
    assert lowered("p(x + sum y : { a(y) }) :- a(x).") == (
        "p(add(x:n, v 1:n):n) :- a(x:n), v 1:n = sum y:n : { a(y:n) }."
    )
    assert lowered("p(x) :- e(x, max y : { a(y) }).") == (
        "p(x:n) :- e(x:n, v 2:n), v 1:n = max y:n : { a(y:n) }, v 2:n = v 1:n."
    )


def test_variables_of_the_rule_are_visible_inside() -> None:
    assert lowered("p(n) :- a(x), n = count : { e(x, y), y > x }.") == (
        "p(n:n) :- a(x:n), v 1:n = count : { e(x:n, y:n), y:n > x:n } given x:n, n:n = v 1:n."
    )


def test_what_an_aggregate_binds_is_its_own() -> None:
    assert lowered("p(n) :- n = count : { e(x, _) }, n = count : { a(x) }.") == (
        "p(n:n) :- v 1:n = count : { e(x:n, _ 1:n) }, n:n = v 1:n, v 2:n = count : { a(x 2:n) }, n:n = v 2:n."
    )


def test_the_variable_that_is_aggregated_is_always_its_own() -> None:
    assert lowered("p(x) :- a(x), x = sum x : { a(x) }.") == (
        "p(x:n) :- a(x:n), v 1:n = sum x 2:n : { a(x 2:n) }, x:n = v 1:n."
    )


def test_nested_aggregates_see_all_around_them() -> None:
    assert lowered("p(n) :- a(x), n = count : { e(x, y), y = max z : { e(x, z), z < y } }.") == (
        "p(n:n) :- a(x:n), "
        "v 2:n = count : { e(x:n, y:n), "
        "v 1:n = max z:n : { e(x:n, z:n), z:n < y:n } given x:n, y:n, y:n = v 1:n } given x:n, "
        "n:n = v 2:n."
    )


def test_an_aggregated_expression_may_use_a_variable_of_the_rule() -> None:
    assert lowered("p(n) :- a(x), n = sum x * y : { a(y) }.") == (
        "p(n:n) :- a(x:n), v 1:n = sum mul(x:n, y:n):n : { a(y:n) } given x:n, n:n = v 1:n."
    )


def test_a_witness_is_where_the_maximum_is_reached() -> None:
    assert lowered("p(y) :- n = max x : { e(x, y) }, n > 1.") == (
        "p(y:n) :- v 1:n = max x:n : { e(x:n, y 3:n) }, n:n = v 1:n, n:n > 1:n, e(x 2:n, y:n), x 2:n = v 1:n."
    )


def test_a_witness_that_the_rule_uses_again() -> None:
    assert lowered("p(z) :- _ = min x : { e(x, y) }, e(y, z).").count("given") == 1
    assert "given" not in lowered("p(y) :- _ = min x : { e(x, y) }.")


def test_atoms_for_witnesses_come_last_in_a_plan() -> None:
    [rule] = compiled(DECLARED + "p(y) :- a(n), n = max x : { e(x, y) }, e(_, n).\n.plan 0:(2,1)").rules
    assert rule.plan == {0: (2, 1, 3)}


def test_count_and_sum_have_no_witnesses() -> None:
    assert errors(DECLARED + "p(y) :- n = count : { e(n, y) }, n > 0.")[0].endswith("the variable `y` is not bound")


def test_no_disjunction_inside() -> None:
    assert errors(DECLARED + "p(n) :- n = count : { a(x); e(x, _) }.") == [
        "9:23 the body of an aggregate cannot be a disjunction"
    ]
