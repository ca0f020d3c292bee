"""Proofs and absences of what the language has beyond plain rules, in the user's words."""

from __future__ import annotations

import pytest

import whence
from explain.test_figures import parts, tree


def ran(text: str, **facts: list[tuple[object, ...]]) -> whence.Session:
    session = whence.open(text=text)
    session.load(**facts)
    session.run()
    return session


ORDERS = """
.decl ordered(who: symbol, amount: number)
.decl total(who: symbol, n: number, all: number)
total(who, n, s) :- ordered(who, _), n = count : { ordered(who, _) }, s = sum a : { ordered(who, a) }.
.decl best(who: symbol, amount: number)
best(who, m) :- m = max a : { ordered(who, a) }.
"""
ORDERED: list[tuple[object, ...]] = [("ann", 3), ("ann", 5), ("bob", 4)]


def test_an_aggregate_shows_what_it_ranges_over() -> None:
    session = ran(ORDERS, ordered=ORDERED)
    explanation = session.explain('total("ann", _, _)')
    assert explanation.text(width=60) == (
        '> 1  total("ann", 2, 8)\n\n'
        'total("ann", 2, 8)  (R1)\n'
        '├─ ordered("ann", 3)  input\n'
        '├─ 2 = count : { ordered("ann", _) }\n'
        '│  ├─ ordered("ann", 3)  input\n'
        '│  └─ ordered("ann", 5)  input\n'
        '└─ 8 = sum a : { ordered("ann", a) }\n'
        '   ├─ ordered("ann", 3)  input\n'
        '   └─ ordered("ann", 5)  input\n\n'
        "R1  total(who, n, s) :- ordered(who, _), n = count : {\n"
        "    ordered(who, _) }, s = sum a : { ordered(who, a) }.\n"
        "    <program>:4"
    )
    assert explanation.height == 1
    assert explanation.size == 2


def test_a_maximum_shows_first_who_reaches_it_and_its_witness_is_a_tuple() -> None:
    explanation = ran(ORDERS, ordered=ORDERED).explain("best(_, 5)")
    aggregate = next(child for child in explanation.proof.children if child.kind == "aggregate")
    assert aggregate.text == "5 = max a : { ordered(who, a) }"
    assert aggregate.children[0].text == 'ordered("ann", 5)'
    assert 'ordered("ann", 5)' in [child.text for child in explanation.proof.children]


def test_a_total_that_is_not_so_says_what_it_is() -> None:
    found = parts(ran(ORDERS, ordered=ORDERED), 'total("ann", 3, 8)')[1]
    assert ("3 = 2", "fails") in found
    assert ('2 = count : { ordered("ann", _) }', "holds") in found


def test_many_members_are_cut() -> None:
    session = ran(ORDERS, ordered=[("ann", amount) for amount in range(30)])
    assert "… 20 more" in session.explain('total("ann", _, _)').text()


DISTANCES = """
.decl edge(x: number, y: number)
.decl distance(x: number, y: number, d: number)
distance(x, y, 1) :- edge(x, y).
distance(x, z, d + 1) :- distance(x, y, d), edge(y, z), d < 10.
"""


def test_computed_heads() -> None:
    session = ran(DISTANCES, edge=[(1, 2), (2, 3), (3, 1)])
    assert tree(session.explain("distance(1, 1, 3)")) == [
        "distance(1, 1, 3)",
        2,
        ["distance(1, 3, 2)", 2, ["distance(1, 2, 1)", 1, "edge(1, 2)"], "edge(2, 3)", "1 < 10"],
        "edge(3, 1)",
        "2 < 10",
    ]


def test_a_constant_that_stands_in_the_way() -> None:
    answer = ran(DISTANCES, edge=[(1, 2), (2, 3)]).why_not("distance(1, 3, 4)")
    blocked = {attempt.rule.number: attempt.blocked for attempt in answer.why.attempts}
    assert blocked == {1: "column 3 of its head is 1, not 4", 2: None}
    assert "(R1) cannot match: column 3 of its head is 1, not 4" in answer.text()


def test_a_repeated_variable_that_stands_in_the_way() -> None:
    session = ran(".decl e(x: number)\n.decl same(x: number, y: number)\nsame(x, x) :- e(x).", e=[(1,)])
    [attempt] = session.why_not("same(1, 2)").why.attempts
    assert attempt.blocked == "its head has `x` in column 2 too: 1, not 2"
    [attempt] = session.why_not("same(2, 2)").why.attempts
    assert [(part.text, part.status) for part in attempt.parts] == [("e(2)", "fails")]


LISTS = """
.type List = [head: number, tail: List]
.decl list(l: List)
.decl longer(l: List)
longer([1, l]) :- list(l).
longer([2, [x, t]]) :- longer([x, t]), x = 1.
"""


def test_records_are_shown_as_they_are_written() -> None:
    session = ran(LISTS, list=[(None,), ((7, None),)])
    assert tree(session.explain("longer([2, [1, nil]])")) == [
        "longer([2, [1, nil]])",
        2,
        ["longer([1, nil])", 1, "list(nil)"],
        "1 = 1",
    ]
    [first, second] = session.why_not("longer([1, [8, nil]])").why.attempts
    assert [(part.text, part.status, part.ask) for part in first.parts] == [
        ("list([8, nil])", "fails", "list([8, nil])")
    ]
    assert second.blocked == "column 1 of its head is [2, [x, t]], which [1, [8, nil]] cannot be"


def test_a_disjunction_and_several_heads_are_one_rule_to_the_user() -> None:
    session = ran(
        ".decl e(x: number, y: number)\n.decl a(x: number)\n.decl b(x: number)\n"
        "a(x), b(y) :- (e(x, y) ; e(y, x)), x < 10.\n",
        e=[(1, 2)],
    )
    assert tree(session.explain("b(1)")) == ["b(1)", 1, "e(1, 2)", "2 < 10"]
    assert len(session.explain("b(1)").proofs(10)) == 1
    attempts = session.why_not("a(20)").why.attempts
    assert {attempt.rule.number for attempt in attempts} == {1}


def test_a_division_that_the_order_of_evaluation_avoided() -> None:
    """Read backward, y is bound before x; the rule divides only once all else holds."""
    session = ran(
        ".decl p(x: number, y: number)\n.decl q(y: number)\n.decl r(y: number, z: number)\n"
        "r(y, x / y) :- q(y), p(x, y).\n",
        p=[(8, 2), (5, 0), (9, 3)],
        q=[(2,), (3,)],
    )
    assert tree(session.explain("r(2, 4)")) == ["r(2, 4)", 1, "q(2)", "p(8, 2)"]
    assert "r(0, 4)" in session.why_not("r(0, 4)").text()


def test_input_that_could_also_be_derived_is_input() -> None:
    session = ran(
        ".decl e(x: number)\n.decl p(x: number)\np(x) :- e(x).\n.input p\n",
        e=[(1,)],
        p=[(1,)],
    )
    explanation = session.explain("p(1)")
    assert tree(explanation) == "p(1)"
    assert [node.rule is not None for node in explanation.derivations().trees] == [True]


def test_relations_without_columns_and_strange_symbols() -> None:
    session = ran(
        '.decl on()\n.decl s(x: symbol)\n.decl t(x: symbol)\non() :- s(_).\nt(x) :- s(x), on(), x != "".\n',
        s=[('a "b"\n<c>', )],
    )  # fmt: skip
    explanation = session.explain("t(_)")
    symbol = '"a \\"b\\"\\n<c>"'
    assert tree(explanation) == [f"t({symbol})", 2, f"s({symbol})", ["on()", 1, f"s({symbol})"], f'{symbol} != ""']
    assert "&lt;c&gt;" in explanation.html()
    assert "<c>" not in explanation.svg()


def test_questions_that_make_no_sense() -> None:
    session = ran(DISTANCES, edge=[(1, 2)])
    for ask, message in [
        (lambda: session.explain("distance(1, 9, X)"), "nothing matches distance"),
        (lambda: session.explain("edge(1, X)", choose=2), "there is no number 2"),
        (lambda: session.why_not("edge(1, X)"), r"edge\(1, 2\) is there; ask why"),
        (lambda: session.why_not("distance(1, 9, 1)", rule=7), "there is no rule 7 of distance; its rules are 1, 2"),
        (lambda: session.why_not("distance(1, 9, 1)", values={"nobody": 1}), "has nobody"),
        (lambda: session.why_not("distance(1, 9, 1)", values={"y": "a"}), "y: 'a' is not a whole number"),
        (lambda: session.explain("edge(1, X)", metric="beauty"), "there is no metric 'beauty'"),
        (lambda: session.explain("edge(1, 2)").next(), "there is no other proof"),
        (lambda: session.explain("edges(1, X)"), "edges"),
    ]:
        with pytest.raises(whence.WhenceError, match=message):
            ask()
    with pytest.raises(whence.WhenceError, match="run the session first"):
        whence.open(text=DISTANCES).explain("edge(1, 2)")
