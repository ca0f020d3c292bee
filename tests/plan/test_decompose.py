"""Which recursive strata can be evaluated partition by partition, and that doing so gives the same model."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import assume, given, settings

from oracle.evaluate import Model, TooLarge, evaluate
from oracle.generate import programs
from oracle.render import render
from oracle.rules import Compare, Const, Program, Rule, Tuple, conjunctive
from whence.lang import compile_text
from whence.lang import program as core
from whence.plan.decompose import Decomposition, Refusal, decompose

DECLARED = """
.decl e(x: number, y: number)
.decl f(x: number, y: number)
.decl s(x: symbol, y: number)
.decl w(x: float, y: float)
.decl p(x: number, y: number)
.decl q(x: number, y: number)
.decl t(x: number, y: number, z: number)
.decl u(x: unsigned, y: unsigned)
.decl v(x: symbol, y: number)
.decl h(x: float, y: float)
.decl flag()
.decl one(x: number)
"""


def recursive(text: str) -> tuple[core.Stratum, core.Program]:
    """The one recursive stratum of a program."""
    program = compile_text(DECLARED + text)
    (stratum,) = [stratum for stratum in program.strata if stratum.recursive]
    return stratum, program


def accepted(text: str) -> Decomposition:
    found = decompose(*recursive(text))
    assert isinstance(found, Decomposition), found
    return found


def refused(text: str) -> str:
    found = decompose(*recursive(text))
    assert isinstance(found, Refusal), found
    return found.reason


BASE = "p(x, y) :- e(x, y).\n"


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        pytest.param("p(x, z) :- p(x, y), e(y, z).", {"p": 0}, id="left-linear"),
        pytest.param("p(x, z) :- e(x, y), p(y, z).", {"p": 1}, id="right-linear"),
        pytest.param("p(x, y) :- p(x, z), p(x, y), e(z, y).", {"p": 0}, id="two atoms share it"),
        pytest.param("p(x, y) :- p(x, z), p(x, w), e(z, y), f(w, y).", {"p": 0}, id="two atoms of it"),
        pytest.param("q(y, x) :- p(x, y). p(x, z) :- q(y, x), e(y, z).", {"p": 0, "q": 1}, id="swapped and back"),
        pytest.param("t(x, y, z) :- p(y, x), e(x, z). p(x, z) :- t(_, x, z).", {"p": 0, "t": 1}, id="other arity"),
        pytest.param("p(x, y) :- p(z, w), x = z, e(w, y).", {"p": 0}, id="an equation of variables"),
        pytest.param("p(x, y) :- p(z, w), z = a, x = b, a = b, e(w, y).", {"p": 0}, id="a chain of equations"),
        pytest.param("p(x, x) :- p(x, y), e(y, _).", {"p": 0}, id="twice in the head"),
        pytest.param("p(x, y) :- p(x, x), e(x, y).", {"p": 0}, id="twice in the body"),
        pytest.param("p(x, y + 1) :- p(x, y), y < 9.", {"p": 0}, id="a functor elsewhere"),
        pytest.param("p(x, 3) :- p(x, 2).", {"p": 0}, id="constants elsewhere"),
        pytest.param("p(x, y) :- p(x, z), !e(z, x), f(z, y), count : { s(_, y) } < 3.", {"p": 0}, id="negation"),
        pytest.param("p(x, y) :- p(y, x), x = y.", {"p": 0}, id="swapped, but equal"),
    ],
)
def test_yes(text: str, columns: dict[str, int]) -> None:
    assert accepted(BASE + text).columns == columns


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        pytest.param(
            "p(x, z) :- p(x, y), p(y, z).",
            "`p(x, z) :- p(x, y), p(y, z)` does not carry a column of `p` unchanged into `p`",
            id="non-linear",
        ),
        pytest.param(
            "p(x, y) :- e(a, x), p(a, b), e(b, y).",
            "`p(x, y) :- e(a, x), p(a, b), e(b, y)` does not carry a column of `p` unchanged into `p`",
            id="same generation",
        ),
        pytest.param(
            "p(y, x) :- p(x, y).",
            "`p(y, x) :- p(x, y)` does not carry a column of `p` unchanged into `p`",
            id="symmetry",
        ),
        pytest.param(
            "q(y, x) :- p(x, y). p(x, z) :- q(x, y), e(y, z).",
            "`p(x, z) :- q(x, y), e(y, z)` carries another column of `p` unchanged than `q(y, x) :- p(x, y)`",
            id="swapped, not back",
        ),
        pytest.param(
            "p(x, z) :- p(x, y), e(y, z). p(x, z) :- e(x, y), p(y, z).",
            "`p(x, z) :- e(x, y), p(y, z)` carries another column of `p` unchanged than `p(x, z) :- p(x, y), e(y, z)`",
            id="left-linear and right-linear",
        ),
        pytest.param(
            "q(y, x) :- p(x, y). t(x, y, 0) :- q(x, y). p(x, y) :- t(x, _, _), e(x, y).",
            "`p(x, y) :- t(x, _, _), e(x, y)` carries another column of `p` unchanged than the rules before it",
            id="only three rules together",
        ),
        pytest.param(
            "p(1, y) :- p(1, x), e(x, y).",
            "`p(1, y) :- p(1, x), e(x, y)` does not carry a column of `p` unchanged into `p`",
            id="a constant in the head",
        ),
        pytest.param(
            "p(x, y) :- p(1, z), e(z, x), e(z, y).",
            "`p(x, y) :- p(1, z), e(z, x), e(z, y)` does not carry a column of `p` unchanged into `p`",
            id="a constant in the body",
        ),
        pytest.param(
            "p(x + 1, y) :- p(x, z), e(z, y), x < 9.",
            "`p(x + 1, y) :- p(x, z), e(z, y), x < 9` does not carry a column of `p` unchanged into `p`",
            id="a functor in the head",
        ),
        pytest.param(
            "p(x, y) :- p(z, w), x = z + 0, e(w, y).",
            "`p(x, y) :- p(z, w), x = z + 0, e(w, y)` does not carry a column of `p` unchanged into `p`",
            id="an equation that computes",
        ),
        pytest.param(
            "p(x, y) :- p(_, _), e(x, y).",
            "`p(x, y) :- p(_, _), e(x, y)` does not carry a column of `p` unchanged into `p`",
            id="it only asks whether there is one",
        ),
        pytest.param(
            "p(x, y) :- q(x, a), t(b, y, b), e(a, b). q(x, y) :- p(x, y). t(x, y, 0) :- p(x, y).",
            "`p(x, y) :- q(x, a), t(b, y, b), e(a, b)` does not carry a column of `q` and `t` unchanged into `p`",
            id="each atom another column",
        ),
        pytest.param("flag() :- p(_, _). p(1, 1) :- flag().", "`flag` has no column to partition by", id="no column"),
        pytest.param(
            "p(x, z) :- p(x, y), e(y, z). .limitsize p(n=10)",
            "the `.limitsize` of `p` is about the size of all partitions together",
            id="limitsize",
        ),
    ],
)
def test_no(text: str, reason: str) -> None:
    assert refused(BASE + text) == reason


def test_floats_are_carried_by_their_bits_but_not_by_an_equation() -> None:
    # 0.0 = -0.0 holds, but they are two values, and so in two partitions.
    assert accepted("h(x, y) :- w(x, y). h(x, z) :- h(x, y), w(y, z).").columns == {"h": 0}
    assert "does not carry" in refused("h(x, y) :- w(x, y). h(x, y) :- h(z, w), x = z, w(w, y).")


def test_the_same_bits_under_another_kind_are_another_value() -> None:
    stratum, program = recursive(BASE + "q(x, y) :- p(x, y). p(x, y) :- q(x, y).")
    (x, y) = program.relations["q"].columns
    cast = replace(program.relations["q"], columns=(replace(x, kind="unsigned"), y))
    found = decompose(stratum, replace(program, relations={**program.relations, "q": cast}))
    assert found == Decomposition({"p": 1, "q": 1}, ())


def test_a_refusal_says_where() -> None:
    stratum, program = recursive(BASE + "p(x, z) :- p(x, y), p(y, z).")
    refusal = decompose(stratum, program)
    assert isinstance(refusal, Refusal)
    assert refusal.origin == stratum.rules[1].origin


def test_a_rule_over_several_lines_is_shown_on_one() -> None:
    assert refused(BASE + "p(x, z) :-\n    p(x, y),\n    p(y, z).").startswith("`p(x, z) :- p(x, y), p(y, z)` does not")


def test_what_rules_with_a_recursive_atom_read_is_broadcast() -> None:
    text = """
    p(x, y) :- e(x, y), one(x).
    p(x, y) :- p(x, z), f(z, y), !s(_, y), count : { v(_, y), !u(_, 7) } < 3.
    """
    assert accepted(text).broadcast == ("f", "s", "v", "u")


def test_of_several_columns_the_one_with_the_most_values() -> None:
    stratum, program = recursive("t(x, y, z) :- e(x, y), e(y, z). t(x, y, z) :- t(x, y, w), e(w, z).")
    assert decompose(stratum, program) == Decomposition({"t": 0}, ("e",))
    assert decompose(stratum, program, lambda relation, column: [5.0, 90.0, 1000.0][column]) == Decomposition(
        {"t": 1}, ("e",)
    )


def test_values_of_all_relations_count() -> None:
    # Nothing is known yet of q, which comes first; p has been given tuples.
    program = "q(x, y) :- p(y, x). p(x, y) :- q(y, x). p(x, y) :- e(x, y)."
    stratum, compiled = recursive(program)
    known = {("p", 0): 3.0, ("p", 1): 80.0}
    found = decompose(stratum, compiled, lambda relation, column: known.get((relation, column), 0.0))
    assert isinstance(found, Decomposition)
    assert found.columns == {"q": 0, "p": 1}


def test_a_stratum_without_recursion_takes_any_column() -> None:
    program = compile_text(DECLARED + BASE)
    (stratum,) = [stratum for stratum in program.strata if "p" in stratum.relations]
    assert decompose(stratum, program) == Decomposition({"p": 0}, ())
    assert decompose(stratum, program, lambda relation, column: float(column)) == Decomposition({"p": 1}, ())


@pytest.mark.parametrize("carried", ["r{i}(x, y) :- r{j}(x, y).", "r{i}(x, x) :- r{j}(x, x)."])
def test_a_thousand_relations_in_one_stratum(carried: str) -> None:
    assert set(accepted(thousand(carried)).columns.values()) == {0}


def test_the_one_rule_of_a_thousand_that_is_in_the_way() -> None:
    text = thousand("r{i}(x, y) :- r{j}(x, y).") + "\nr7(y, x) :- r6(x, y), x < y."
    assert refused(text) == (
        "`r7(y, x) :- r6(x, y), x < y` carries another column of `r7` unchanged than `r7(x, y) :- r6(x, y)`"
    )


def thousand(carried: str) -> str:
    """Relations that read each other in a ring."""
    declared = "".join(f".decl r{i}(x: number, y: number)\n" for i in range(1000))
    return declared + "r0(x, y) :- e(x, y).\n" + "\n".join(carried.format(i=(i + 1) % 1000, j=i) for i in range(1000))


# The theorem: partition by partition, the model is that of the whole


def model_of(program: Program) -> Model:
    try:
        return evaluate(program, 30_000)
    except TooLarge:
        assume(False)
        raise


def partitioned(program: Program, model: Model, found: Decomposition) -> Model:
    """The relations of a stratum, evaluated for each value of its columns alone over the model of all others."""
    rules = [rule for written in program.rules for rule in conjunctive(written)]
    rules = [rule for rule in rules if rule.heads[0].relation in found.columns]
    others = {name: tuple(tuples) for name, tuples in model.items() if name not in found.columns}
    values = {row[column] for name, column in found.columns.items() for row in model[name]}
    total: Model = {name: {} for name in found.columns}
    for value in values:
        given_tuples: dict[str, tuple[Tuple, ...]] = {
            name: tuple(row for row in program.facts.get(name, ()) if row[column] == value)
            for name, column in found.columns.items()
        }
        own = tuple(restricted(rule, found, value, program) for rule in rules)
        part = model_of(replace(program, rules=own, facts=others | given_tuples))
        for name in found.columns:
            total[name] |= part[name]
    return total


def restricted(rule: Rule, found: Decomposition, value: object, program: Program) -> Rule:
    """A rule without recursive atoms derives the tuples of one value only; any other is left as it is."""
    if any(getattr(literal, "relation", None) in found.columns for literal in rule.body):
        return rule
    (head,) = rule.heads
    column = found.columns[head.relation]
    wanted = Compare("=", head.args[column], Const(value, program.relations[head.relation][column]))
    return replace(rule, body=(*rule.body, wanted))


def check(program: Program) -> int:
    """How many recursive strata of the program are decomposable, once each of them is found to be rightly so."""
    compiled = compile_text(render(program))
    decomposed = 0
    for stratum in compiled.strata:
        found = decompose(stratum, compiled)
        if stratum.recursive and isinstance(found, Decomposition):
            decomposed += 1
            model = model_of(program)
            whole = {name: model[name] for name in stratum.relations}
            assert partitioned(program, model, found) == whole, f"by {dict(found.columns)}:\n{render(program)}"
            broadcast_holds(stratum, found)
    return decomposed


def broadcast_holds(stratum: core.Stratum, found: Decomposition) -> None:
    for rule in stratum.rules:
        read = {literal.relation for literal in rule.body if isinstance(literal, core.Atom)}
        if read & found.columns.keys():
            assert read <= found.columns.keys() | set(found.broadcast)


@settings(max_examples=100, deadline=None)
@given(programs())
def test_each_partition_has_the_iterations_and_counts_of_the_whole(program: Program) -> None:
    check(program)


@pytest.mark.slow
@settings(max_examples=2_000, deadline=None)
@given(programs())
def test_it_does_on_many_more_programs(program: Program) -> None:
    check(program)
