"""The oracle on examples worked out by hand."""

from __future__ import annotations

import pytest

from oracle.evaluate import Model, TooLarge, evaluate
from oracle.rules import Aggregate, Atom, Call, Compare, Const, Either, Not, Program, Record, Rule, Var, Wild
from oracle.strata import Unstratified

X, Y, Z, N = (Var(name, "number") for name in "xyzn")
ANY = Wild("number")


def number(value: int) -> Const:
    return Const(value, "number")


def rule(head: Atom, *body: object) -> Rule:
    return Rule((head,), body)  # type: ignore[arg-type]


def model(arities: dict[str, int], rules: list[Rule], **facts: list[tuple[int, ...]]) -> Model:
    relations = {name: ("number",) * arity for name, arity in arities.items()}
    return evaluate(Program(relations, tuple(rules), {name: tuple(rows) for name, rows in facts.items()}))


def edge(left: object, right: object) -> Atom:
    return Atom("edge", (left, right))  # type: ignore[arg-type]


def path(left: object, right: object) -> Atom:
    return Atom("path", (left, right))  # type: ignore[arg-type]


CLOSURE = [rule(path(X, Y), edge(X, Y)), rule(path(X, Z), path(X, Y), edge(Y, Z))]


def test_closure_of_a_diamond_counts_both_ways_round() -> None:
    diamond = [(1, 2), (1, 3), (2, 4), (3, 4), (4, 5)]
    found = model({"edge": 2, "path": 2}, CLOSURE, edge=diamond)
    assert found["edge"] == dict.fromkeys(diamond, (0, 1))
    direct = dict.fromkeys(diamond, (1, 1))
    assert found["path"] == direct | {(1, 4): (2, 2), (2, 5): (2, 1), (3, 5): (2, 1), (1, 5): (3, 1)}


def test_only_derivations_of_the_first_iteration_count() -> None:
    # path(1, 3) is an edge, and later also two steps long.
    found = model({"edge": 2, "path": 2}, CLOSURE, edge=[(1, 2), (2, 3), (1, 3)])
    assert found["path"][1, 3] == (1, 1)


def test_a_nonlinear_rule_counts_every_split() -> None:
    rules = [rule(path(X, Y), edge(X, Y)), rule(path(X, Z), path(X, Y), path(Y, Z))]
    found = model({"edge": 2, "path": 2}, rules, edge=[(i, i + 1) for i in range(5)])
    assert found["path"][0, 2] == (2, 1)
    assert found["path"][0, 3] == (3, 2)  # 0-1 1-3, 0-2 2-3
    assert found["path"][0, 4] == (3, 1)  # 0-2 2-4; the other splits need a path of iteration 3
    assert found["path"][0, 5] == (4, 4)


def test_facts_of_a_derived_relation_are_iteration_zero() -> None:
    found = model({"edge": 2, "path": 2}, CLOSURE, edge=[(1, 2)], path=[(1, 2), (0, 1)])
    assert found["path"] == {(1, 2): (0, 1), (0, 1): (0, 1), (0, 2): (1, 1)}


def test_each_anonymous_variable_counts_but_not_under_negation() -> None:
    rules = [
        rule(Atom("some", (X,)), edge(X, ANY)),
        rule(Atom("sink", (Y,)), edge(ANY, Y), Not(edge(Y, ANY))),
        rule(Atom("pairs", ()), edge(ANY, ANY), edge(ANY, ANY)),
    ]
    found = model({"edge": 2, "some": 1, "sink": 1, "pairs": 0}, rules, edge=[(1, 2), (1, 3), (2, 3)])
    assert found["some"] == {(1,): (1, 2), (2,): (1, 1)}
    assert found["sink"] == {(3,): (1, 2)}
    assert found["pairs"] == {(): (1, 9)}


def test_a_rule_written_twice_counts_twice_and_choices_add_up() -> None:
    same = rule(Atom("p", (X,)), edge(X, ANY))
    either = rule(Atom("q", (X,)), Either(((edge(X, ANY),), (edge(ANY, X),))))
    found = model({"edge": 2, "p": 1, "q": 1}, [same, same, either], edge=[(1, 2), (2, 1)])
    assert found["p"] == {(1,): (1, 2), (2,): (1, 2)}
    assert found["q"] == {(1,): (1, 2), (2,): (1, 2)}


def test_several_heads_are_as_many_rules() -> None:
    both = Rule((Atom("p", (X,)), Atom("p", (Y,))), (edge(X, Y),))
    found = model({"edge": 2, "p": 1}, [both], edge=[(1, 2), (2, 2)])
    assert found["p"] == {(1,): (1, 1), (2,): (1, 3)}


def test_negation_over_three_strata() -> None:
    node = Atom("node", (X,))
    rules = [
        rule(node, edge(X, ANY)),
        rule(node, edge(ANY, X)),
        *CLOSURE,
        rule(Atom("acyclic", (X,)), node, Not(path(X, X))),
        rule(Atom("cyclic", (X,)), node, Not(Atom("acyclic", (X,)))),
    ]
    arities = {"cyclic": 1, "acyclic": 1, "path": 2, "node": 1, "edge": 2}
    found = model(arities, rules, edge=[(1, 2), (2, 1), (2, 3)])
    assert found["acyclic"] == {(3,): (1, 1)}
    assert found["cyclic"] == {(1,): (1, 1), (2,): (1, 1)}


def test_negation_through_recursion_is_refused() -> None:
    rules = [rule(Atom("p", (X,)), edge(X, ANY), Not(Atom("q", (X,)))), rule(Atom("q", (X,)), Atom("p", (X,)))]
    with pytest.raises(Unstratified):
        model({"edge": 2, "p": 1, "q": 1}, rules, edge=[])


@pytest.mark.parametrize(
    ("operator", "target", "wanted"),
    [
        ("count", None, {(1, 2), (2, 1), (3, 0)}),
        ("sum", Y, {(1, 14), (2, 7), (3, 0)}),
        ("min", Y, {(1, 7), (2, 7)}),
        ("max", Y, {(1, 7), (2, 7)}),
        ("mean", Y, {(1, 7.0), (2, 7.0)}),
    ],
)
def test_aggregates_see_outer_variables_and_equal_values(operator: str, target: Var, wanted: set[tuple]) -> None:
    # w(1, 7, 0), w(1, 7, 1): the value 7 counts for each of them.
    body = (Atom("w", (X, Y, ANY)),)
    rules = [rule(Atom("r", (X, N)), Atom("key", (X,)), Aggregate(operator, N, target, body))]
    weights = [(1, 7, 0), (1, 7, 1), (2, 7, 0)]
    found = model({"key": 1, "w": 3, "r": 2}, rules, key=[(1,), (2,), (3,)], w=weights)
    assert found["r"] == dict.fromkeys(wanted, (1, 1))


def test_two_aggregates_may_use_the_same_local_name() -> None:
    low = Aggregate("min", X, Y, (Atom("p", (Y,)),))
    high = Aggregate("max", Z, Y, (Atom("p", (Y,)), Compare("<", Y, number(9))))
    found = model({"p": 1, "r": 2}, [rule(Atom("r", (X, Z)), low, high)], p=[(3,), (8,), (9,)])
    assert found["r"] == {(3, 8): (1, 1)}


def test_numbers_wrap_and_divide_as_in_c() -> None:
    def computed(*calls: Call) -> list[object]:
        return [next(iter(model({"r": 1}, [rule(Atom("r", (call,)))])["r"]))[0] for call in calls]

    def call(functor: str, *args: int) -> Call:
        return Call(functor, tuple(map(number, args)), "number")

    assert computed(call("/", -7, 2), call("/", 7, -2), call("%", -7, 2), call("%", 7, -2)) == [-3, -3, -1, 1]
    assert computed(call("+", 2**63 - 1, 1), call("*", 2**62, 4), call("-", -(2**63))) == [-(2**63), 0, -(2**63)]
    assert computed(call("bshr", -8, 1), call("bshru", -8, 1), call("bshl", 1, 65)) == [-4, 2**63 - 4, 2]
    assert computed(call("lxor", 2, 3), call("land", 2, 4), call("lnot", 0), call("bnot", 0)) == [0, 1, 1, -1]


def test_records_are_taken_apart_and_nil_is_no_record() -> None:
    tail = Var("l", "List")
    relations = {"list": ("List",), "head": ("number",)}
    rules = (
        rule(Atom("list", (tail,)), Atom("list", (Record((ANY, tail), "List"),))),
        rule(Atom("head", (X,)), Atom("list", (Record((X, Wild("List")), "List"),))),
    )
    found = evaluate(Program(relations, rules, {"list": ((((1, (2, None)),)),)}, {"List": ("number", "List")}))
    assert found["list"] == {((1, (2, None)),): (0, 1), ((2, None),): (1, 1), (None,): (2, 1)}
    assert found["head"] == {(1,): (1, 1), (2,): (1, 1)}


def test_a_program_that_does_not_end_is_given_up() -> None:
    grow = rule(Atom("n", (Call("+", (X, number(1)), "number"),)), Atom("n", (X,)))
    with pytest.raises(TooLarge):
        evaluate(Program({"n": ("number",)}, (grow,), {"n": ((0,),)}), limit=1_000)
