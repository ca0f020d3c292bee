"""From flat clauses to core rules: arguments of atoms become variables or constants, aggregates become literals."""

from __future__ import annotations

from lang.shown import errors, facts, rules

DECLARED = """
.type List = [head: number, tail: List]
.type Pair = [left: List, right: symbol]
.decl a(x: number)
.decl e(x: number, y: number)
.decl l(x: List)
.decl pair(x: Pair)
.input a, e, l, pair
.decl p(x: number)
.decl r(x: List)
.output p, r
"""


def lowered(clause: str) -> str:
    [rule] = rules(DECLARED + clause)
    return rule


def test_anonymous_variables_are_numbered() -> None:
    assert lowered("p(x) :- e(x, _), e(_, x).") == "p(x:n) :- e(x:n, _ 1:n), e(_ 2:n, x:n)."


def test_constants_and_repeated_variables_stay_in_atoms() -> None:
    assert lowered("p(1) :- e(1, -2), e(x, x).") == "p(1:n) :- e(1:n, -2:n), e(x:n, x:n)."


def test_a_computed_argument_of_an_atom_becomes_an_equation_behind_it() -> None:
    assert lowered("p(x) :- a(x), e(x + 1, _).") == ("p(x:n) :- a(x:n), e(v 1:n, _ 1:n), v 1:n = add(x:n, 1:n):n.")


def test_a_computed_argument_of_a_negation_becomes_an_equation_in_front_of_it() -> None:
    assert lowered("p(x) :- a(x), !e(x + 1, _).") == ("p(x:n) :- a(x:n), v 1:n = add(x:n, 1:n):n, !e(v 1:n, _ 1:n).")


def test_a_head_keeps_its_terms() -> None:
    assert lowered("r([x + 1, nil]) :- a(x).") == "r(List[add(x:n, 1:n):n, nil:r]) :- a(x:n)."


def test_records_take_apart() -> None:
    assert lowered("p(x) :- l([x, [_, nil]]).") == "p(x:n) :- l(v 1:r), v 1:r = List[x:n, List[_ 1:n, nil:r]]."
    assert lowered("r(t) :- pair([[_, t], _]).") == "r(t:r) :- pair(v 1:r), v 1:r = Pair[List[_ 1:n, t:r], _ 2:s]."
    assert lowered("p(h) :- l(x), [h, _] = x.") == "p(h:n) :- l(x:r), List[h:n, _ 1:n] = x:r.".replace("_ 1:n", "_ 1:r")


def test_a_computed_field_of_a_pattern_is_an_equation() -> None:
    assert lowered("p(x) :- a(x), l([x + 1, nil]).") == (
        "p(x:n) :- a(x:n), l(v 2:r), v 1:n = add(x:n, 1:n):n, v 2:r = List[v 1:n, nil:r]."
    )


def test_nil_is_a_constant() -> None:
    assert lowered("r(x) :- l(x), x != nil.") == "r(x:r) :- l(x:r), x:r != nil:r."
    assert lowered("p(1) :- l(nil).") == "p(1:n) :- l(nil:r)."


def test_facts_keep_ground_terms() -> None:
    assert facts(DECLARED + "r([1, [2, nil]]). p(1 + 2).") == [
        "r(List[1:n, List[2:n, nil:r]])",
        "p(add(1:n, 2:n):n)",
    ]


def test_a_fact_with_an_aggregate_is_a_rule() -> None:
    assert lowered("p(count : { a(_) }).") == "p(v 1:n) :- v 1:n = count : { a(_ 1:n) }."


def test_a_cast_is_its_value() -> None:
    assert lowered("p(as(x, number)) :- a(x).") == "p(x:n) :- a(x:n)."


def test_an_anonymous_variable_has_no_value() -> None:
    assert errors(DECLARED + "p(_) :- a(_).") == ["12:3 `_` in the head of a rule"]
    assert errors(DECLARED + "p(x) :- a(x), x = _.") == ["12:19 `_` has no value, so it cannot be used in a comparison"]
    assert errors(DECLARED + "p(x) :- a(x), x > 1 + _.") == [
        "12:23 `_` has no value, so it cannot be used in the arguments of `+`"
    ]
    assert errors(DECLARED + "p(1) :- l(x), !l([_, x]).") == ["12:19 `_` in a record of a negated atom"]


def test_a_body_that_stands_for_too_many_rules() -> None:
    body = ", ".join(["(a(x); p(x))"] * 13)
    assert errors(DECLARED + f"p(x) :- {body}.") == ["12:9 this body stands for more than 4096 rules"]
