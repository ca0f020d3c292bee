"""Strata: relations defined together, each after all that it reads; no negation or aggregation through recursion."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lang.shown import compiled, errors, strata
from whence.lang.strata import connected_components

DECLARED = "".join(f".decl {name}(x: number)\n" for name in "abcd")


def test_each_relation_comes_after_what_it_reads() -> None:
    assert strata(DECLARED + "a(x) :- b(x), !c(x).\nb(x) :- d(x).\nc(x) :- d(x).") == [("d",), ("b",), ("c",), ("a",)]


def test_relations_that_need_each_other_are_one_stratum() -> None:
    program = compiled(DECLARED + "a(x) :- b(x).\nb(x) :- a(x).\na(x) :- c(x).\nd(x) :- a(x).")
    found = [(stratum.relations, stratum.recursive, len(stratum.rules)) for stratum in program.strata]
    assert found == [(("c",), False, 0), (("a", "b"), True, 3), (("d",), False, 1)]


def test_a_relation_that_reads_itself_is_recursive() -> None:
    assert [stratum.recursive for stratum in compiled(DECLARED + "a(x) :- a(x).").strata] == [True, False, False, False]


def test_aggregates_may_read_what_is_complete() -> None:
    assert strata(DECLARED + "a(n) :- n = count : { b(x), c(x) }.\nb(x) :- d(x).").index(("a",)) == 3


@pytest.mark.parametrize(
    ("clauses", "error"),
    [
        ("a(x) :- b(x), !a(x).", "5:16 `a` depends on itself through negation: a → !a"),
        ("a(x) :- b(x).\nb(x) :- c(x), !a(x).", "6:16 `b` depends on itself through negation: b → !a → b"),
        (
            "a(x) :- b(x), !c(x).\nc(x) :- d(x).\nd(x) :- a(x).",
            "5:16 `a` depends on itself through negation: a → !c → d → a",
        ),
        ("a(n) :- n = count : { a(_) }.", "5:23 `a` depends on itself through `count`: a → count {a}"),
        ("a(max x : { b(x) }).\nb(x) :- a(x).", "5:13 `a` depends on itself through `max`: a → max {b} → a"),
        ("a(x) :- b(x), !(c(x); a(x)).", "5:23 `a` depends on itself through negation: a → !a"),
        (
            "a(x) :- b(x), x = sum y : { c(y), !a(y) }.",
            "5:36 `a` depends on itself through `sum`: a → sum {a}",
        ),
    ],
)
def test_negation_or_aggregation_through_recursion_shows_the_cycle(clauses: str, error: str) -> None:
    assert errors(DECLARED + clauses) == [error]


def test_two_negations_are_none() -> None:
    assert compiled(DECLARED + "a(x) :- b(x), !!a(x).").strata


def test_a_long_cycle_is_cut() -> None:
    names = [f"r{number}" for number in range(20)]
    text = "".join(f".decl {name}(x: number)\n" for name in names)
    text += "".join(f"{one}(x) :- {other}(x).\n" for one, other in pairwise(names))
    assert errors(text + "r19(x) :- r0(x), !r0(x).")[0].endswith(
        "`r19` depends on itself through negation: r19 → !r0 → r1 → r2 → … → r16 → r17 → r18 → r19"
    )


@given(st.dictionaries(st.integers(0, 8), st.sets(st.integers(0, 8))))
def test_components_are_in_topological_order(graph: dict[int, set[int]]) -> None:
    nodes = [str(number) for number in range(9)]
    successors = {name: dict.fromkeys(map(str, graph.get(int(name), ()))) for name in nodes}
    reach = {name: {name} for name in nodes}
    for _ in nodes:
        for name in nodes:
            reach[name] |= {far for near in successors[name] for far in reach[near]}
    components = connected_components(nodes, successors)
    assert sorted(name for component in components for name in component) == nodes
    seen: set[str] = set()
    for component in components:
        assert all(reach[one] >= set(component) for one in component)
        seen |= set(component)
        assert all(set(successors[name]) <= seen for name in component)
