"""What can be written: every construct of the grammar, seen through the core program it becomes."""

from __future__ import annotations

import pytest

from lang.shown import compiled, errors, facts, refused, rules

DECLARED = """
.decl a(x: number)
.decl b(x: number)
.decl e(x: number, y: number)
.input a, b, e
.decl p(x: number)
.decl q(x: number, y: number)
.output p, q
"""


def value(expression: str) -> str:
    """The core term of an expression."""
    [fact] = facts(f".decl r(x: number)\nr({expression}).")
    return fact.removeprefix("r(").removesuffix(")").replace(":n", "")


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("2 + 3 * 4", "add(2, mul(3, 4))"),
        ("(2 + 3) * 4", "mul(add(2, 3), 4)"),
        ("10 - 4 - 3", "sub(sub(10, 4), 3)"),
        ("2 ^ 3 ^ 2", "pow(2, pow(3, 2))"),
        ("-2 ^ 2", "neg(pow(2, 2))"),
        ("(-2) ^ 2", "pow(-2, 2)"),
        ("2 ^ -1", "pow(2, -1)"),
        ("5 -3", "sub(5, 3)"),
        ("5 - -3", "sub(5, -3)"),
        ("--3", "neg(-3)"),
        ("bnot 1 band 2", "band(bnot(1), 2)"),
        ("1 lor 2 lxor 3 land 4", "lor(1, lxor(2, land(3, 4)))"),
        ("1 bor 2 bxor 3 band 4", "bor(1, bxor(2, band(3, 4)))"),
        ("1 + 2 bshl 3", "bshl(add(1, 2), 3)"),
        ("1 bshl 2 bshr 3 bshru 4", "bshru(bshr(bshl(1, 2), 3), 4)"),
        ("6 / 2 % 4 * 5", "mul(mod(div(6, 2), 4), 5)"),
        ("lnot 1 + 2", "add(lnot(1), 2)"),
        ("max(1, 2, 3)", "max(1, 2, 3)"),
        ("min(1, 2) + 1", "add(min(1, 2), 1)"),
        ('strlen(cat("a", "b", "c"))', 'strlen(cat("a":s, "b":s, "c":s):s)'),
        ('strlen(substr("abc", 0, 2))', 'strlen(substr("abc":s, 0, 2):s)'),
        ('ord("a")', 'ord("a":s)'),
        ('to_number("1")', 'to_number("1":s)'),
        ("to_number(1.5)", "to_number(1.5:f)"),
        ("strlen(to_string(1))", "strlen(to_string(1):s)"),
    ],
)
def test_expressions(written: str, read: str) -> None:
    assert value(written) == read


def test_a_rule_with_several_heads_is_several_rules() -> None:
    assert rules(DECLARED + "p(x), p(y), q(y, x) :- e(x, y).") == [
        "p(x:n) :- e(x:n, y:n).",
        "p(y:n) :- e(x:n, y:n).",
        "q(y:n, x:n) :- e(x:n, y:n).",
    ]


def test_disjunction_binds_less_than_conjunction() -> None:
    assert rules(DECLARED + "p(x) :- a(x), x > 1; b(x).") == ["p(x:n) :- a(x:n), x:n > 1:n.", "p(x:n) :- b(x:n)."]


def test_nested_disjunction_is_multiplied_out() -> None:
    assert rules(DECLARED + "p(x) :- (a(x); b(x)), (x = 1; x = 2, (x < 3; x > 4)).") == [
        "p(x:n) :- a(x:n), x:n = 1:n.",
        "p(x:n) :- a(x:n), x:n = 2:n, x:n < 3:n.",
        "p(x:n) :- a(x:n), x:n = 2:n, x:n > 4:n.",
        "p(x:n) :- b(x:n), x:n = 1:n.",
        "p(x:n) :- b(x:n), x:n = 2:n, x:n < 3:n.",
        "p(x:n) :- b(x:n), x:n = 2:n, x:n > 4:n.",
    ]


def test_negation_goes_inwards() -> None:
    assert rules(DECLARED + "p(x) :- a(x), !(b(x); x > 1).") == ["p(x:n) :- a(x:n), !b(x:n), x:n <= 1:n."]
    assert rules(DECLARED + "p(x) :- a(x), !(b(x), x = 1).") == [
        "p(x:n) :- a(x:n), !b(x:n).",
        "p(x:n) :- a(x:n), x:n != 1:n.",
    ]
    assert rules(DECLARED + "p(x) :- !!a(x), !(!b(x)).") == ["p(x:n) :- a(x:n), b(x:n)."]


def test_negated_predicates() -> None:
    assert rules('.decl w(s: symbol)\n.decl p(s: symbol)\np(s) :- w(s), !match("a.*", s), !contains("b", s).') == [
        'p(s:s) :- w(s:s), "a.*":s not match s:s, "b":s not contains s:s.'
    ]


def test_parentheses_around_literals_and_around_terms() -> None:
    assert rules(DECLARED + "p(x) :- ((a(x))), ((x) + 1) * 2 = (4), (x > 1).") == [
        "p(x:n) :- a(x:n), mul(add(x:n, 1:n):n, 2:n):n = 4:n, x:n > 1:n."
    ]


def test_true_and_false() -> None:
    assert rules(DECLARED + "p(x) :- a(x), true.") == ["p(x:n) :- a(x:n)."]
    assert rules(".decl r()\nr() :- true.") == ["r() :- 0:n = 0:n."]
    assert rules(DECLARED + "p(x) :- a(x), !true.") == ["p(x:n) :- a(x:n), 0:n != 0:n."]


def test_relations_without_columns() -> None:
    text = ".decl r()\n.decl s()\nr().\ns() :- r(), !s2().\n.decl s2()"
    assert facts(text) == ["r()"]
    assert rules(text) == ["s() :- r(), !s2()."]


def test_a_declaration_may_name_several_relations_and_have_qualifiers() -> None:
    program = compiled(".decl r, s(x: number) brie no_inline magic\n.decl t(x: number) inline overridable btree")
    assert {name: relation.arity for name, relation in program.relations.items()} == {"r": 1, "s": 1, "t": 1}


def test_old_qualifiers_are_directives() -> None:
    program = compiled(".decl r(x: number) input output\n.decl s(x: number) printsize")
    found = [(directive.kind, directive.relation) for directive in program.directives]
    assert found == [("input", "r"), ("output", "r"), ("printsize", "s")]


def test_old_type_declarations() -> None:
    program = compiled(".symbol_type A\n.number_type B\n.type C")
    assert {name: program.types[name].kind for name in "ABC"} == {"A": "symbol", "B": "number", "C": "symbol"}


def test_plans() -> None:
    [rule] = compiled(DECLARED + "q(x, z) :- e(x, y), e(y, z), x < z.\n.plan 0:(2,1), 1:(1,2)").rules
    assert rule.plan == {0: (2, 1), 1: (1, 2)}


def test_a_plan_orders_every_atom() -> None:
    assert errors(".decl a(x: number)\na(x) :- a(x), a(x).\n.plan 0:(1)") == [
        "3:1 a plan orders all atoms of the body, here 2"
    ]
    assert errors(".decl a(x: number)\na(1).\n.plan 0:(1)") == ["3:1 there is no rule in front of this `.plan`"]


def test_rules_know_their_text() -> None:
    [rule] = compiled("// first\n.decl a(x: number)\n a(x) :-\n  a(x). // last").rules
    assert rule.text == "a(x) :-\n  a(x)."
    assert (rule.origin.line, rule.origin.column, rule.origin.end_line, rule.origin.end_column) == (3, 2, 4, 8)


def test_items_need_no_gap() -> None:
    text = '.decl a(x:symbol).decl b(x:symbol)a("1").a("2").b(x):-a(x).b("3").'
    assert facts(text) == ['a("1":s)', 'a("2":s)', 'b("3":s)']


def test_windows_line_ends() -> None:
    assert facts(".decl a(x: number)\r\na(1).\r\n") == ["a(1:n)"]


@pytest.mark.parametrize(
    ("clause", "hint"),
    [
        ("p(x) :- a(x), x == 1.", "equality is written `=`"),
        ("p(x) :- a(x), x <> 1.", "inequality is written `!=`"),
        ("p(x) :- a(x) and b(x).", "conjunction is written `,` and disjunction `;`"),
        ("p(x) :- a(x) b(x).", "literals are separated by `,`"),
        ("p(x) :- not a(x).", "negation is written `!`"),
        ("p(x) <- a(x).", "a rule is written `head :- body.`"),
        ("p(x) := a(x).", "a rule is written `head :- body.`"),
        ("p(x) :- a(x),.", "remove the `,` in front of `.`"),
        ("p(x) :- a.", "a condition compares (`a = 1`); an atom has parentheses (`a()`)"),
        ("p :- a(1).", "an atom has parentheses: `p(…)` or `p()`"),
        ("p(x :- a(x).", "arguments are separated by `,`, and `)` is behind the last"),
        ("!p(1).", "a head cannot be negated"),
        (":- p(1).", "a rule needs a head in front of `:-`"),
        ("p(x), p(y).", "write each fact with a `.` of its own"),
        ("count(1).", "`count` is a reserved word; choose another name"),
        ("p(x) :- a(x), x = count.", "an aggregate is written `count : { … }`"),
        ("p(x) :- a(x), x = sum : { a(_) }.", "write `sum x : { … }`"),
        ("p(x) :- a(x), x = count y : { a(y) }.", "write `count : { … }`: it counts instances"),
        ("p(x) :- a(x), x = sum(x).", "an aggregate is written `sum x : { … }`"),
        ("p(x) :- a(x), x = foo(x).", "the functors are cat, max, min, ord, strlen"),
        ("p(x) :- a(x), x = strln(x).", "did you mean `strlen`?"),
        ("p(x) :- a(x), x = b(x).", "`b` is a relation: use it as a condition"),
        ("p(x) :- a(x), match(x).", "write `match(pattern, text)`"),
        ("p(-1u).", "write it without the `u`"),
        ("p(strlen()).", "write `strlen(text)`"),
        ('p(substr("a", 1)).', "write `substr(text, from, length)`"),
        ("p(max(1)).", "write `max(value, value, …)`"),
        (".decl max(x: number)", "`max` is a reserved word; choose another name"),
        (".decl r(x number)", "write `x: type`, such as `x: number`"),
        (".decl r(x: number) outputt", "did you mean `output`?"),
        (".outputt p", "did you mean `.output`?"),
        (".output p.", "a directive has no `.` at its end"),
        (".decl r(x: number), s(x: number)", "relations with the same columns are written"),
        (".output p(filename)", 'write `filename="value"`'),
    ],
)
def test_hints_for_usual_mistakes(clause: str, hint: str) -> None:
    said = refused(DECLARED + clause)
    assert f"hint: {hint}" in said
    assert said.count("error:") == 1, said


@pytest.mark.parametrize("unfinished", ["-", "p(1) :- -", "p(1) :- a(x), x = -", "p(1) :- a(x), x = bnot", "p(-"])
def test_a_text_that_ends_after_an_operator(unfinished: str) -> None:
    assert refused(DECLARED + unfinished).count("error:") == 1


def test_a_long_name_does_not_make_a_long_message() -> None:
    assert len(refused("x" * 100_000 + "(1).")) < 2000
    assert len(refused(f".decl {'x' * 100_000}(a: number)\n" * 2)) < 3000
