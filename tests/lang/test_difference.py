"""Two programs compared: which rules and relations came and went."""

from __future__ import annotations

from whence.lang import compile_text
from whence.lang.difference import difference

DECLARED = ".decl e(x: number, y: number)\n.decl p(x: number, y: number)\n"


def texts(before: str, after: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    return difference(compile_text(DECLARED + before), compile_text(DECLARED + after)).clauses


def test_rules_are_the_same_whatever_their_place_their_variables_and_their_plan() -> None:
    one = "p(x, y) :- e(x, y).\np(x, z) :- p(x, y), e(y, z), !e(z, _), n = count : { e(w, x), w != z }, n > 0.\n"
    two = "p(A, C) :- p(A, B),\n  e(B, C), !e(C, _), N = count : { e(W, A), W != C }, N > 0. .plan 1:(2,1)\n"
    two += "p(X, Y) :- e(X, Y)."
    assert texts(one, two) == ((), ())


def test_rules_that_differ() -> None:
    assert texts("p(x, y) :- e(x, y).", "p(x, y) :- e(y, x).") == (("p(x, y) :- e(y, x).",), ("p(x, y) :- e(x, y).",))
    assert texts("p(x, y) :- e(x, y), x < 1.", "p(x, y) :- e(x, y), x < 2.")[0] == ("p(x, y) :- e(x, y), x < 2.",)
    assert texts("p(x, y) :- e(x, y).", "p(x, x) :- e(x, x).") != ((), ())


def test_a_rule_that_is_there_twice_counts_twice() -> None:
    rule = "p(x, y) :- e(x, y).\n"
    assert texts(rule, rule + rule) == ((rule.strip(),), ())
    assert texts(rule + rule + rule, rule) == ((), (rule.strip(),) * 2)


def test_a_clause_that_stands_for_several_rules_is_told_once() -> None:
    clause = "p(x, y), p(y, x) :- e(x, y); e(x, y), x > 1."
    assert texts("", clause) == ((clause,), ())
    one = compile_text(DECLARED + "p(x, y) :- e(x, y).")
    assert len(difference(one, compile_text(DECLARED + clause)).added) == 3


def test_relations() -> None:
    changed = difference(compile_text(DECLARED), compile_text(DECLARED.replace("e(", "f(")))
    assert [relation.name for relation in changed.relations_added] == ["f"]
    assert [relation.name for relation in changed.relations_removed] == ["e"]
    assert changed
    assert not difference(compile_text(DECLARED), compile_text(DECLARED))
