"""Types: subtypes, unions, equivalences, records, and what is inferred of terms."""

from __future__ import annotations

import pytest

from lang.shown import compiled, errors, facts, rules

PLACES = """
.type City <: symbol
.type Town <: symbol
.type Capital <: City
.type Place = City | Town
.type Spot = Place
.decl city(x: City)
.decl town(x: Town)
.decl capital(x: Capital)
.decl place(x: Place)
.decl spot(x: Spot)
.decl text(x: symbol)
"""


def accepted(clause: str) -> bool:
    return len(compiled(PLACES + clause).rules) == 1


def test_kinds_of_declared_types() -> None:
    program = compiled(
        ".type A <: number\n.type B <: A\n.type C = A | B\n.type D = C\n.type R = [x: A, r: R]\n.type S = R"
    )
    assert {name: program.types[name].kind for name in "ABCDRS"} == dict.fromkeys("ABCD", "number") | {
        "R": "record",
        "S": "record",
    }
    assert program.types["S"].fields == (("x", "A"), ("r", "R"))


def test_columns_know_type_and_kind() -> None:
    [column] = compiled(".type A <: float\n.decl a(x: A)").relations["a"].columns
    assert (column.name, column.type, column.kind) == ("x", "A", "float")


def test_types_may_be_declared_after_their_use() -> None:
    assert facts(".decl a(x: B)\n.type B = C\n.type C <: number\na(1).") == ["a(1:n)"]


@pytest.mark.parametrize(
    "clause",
    [
        "text(x) :- city(x).",
        "place(x) :- city(x).",
        "place(x) :- capital(x).",
        "city(x) :- capital(x).",
        "spot(x) :- place(x).",
        "place(x) :- spot(x).",
        "spot(x) :- town(x).",
        "city(x) :- place(x), city(x).",
        "capital(x) :- city(x), capital(x).",
        'city("Oslo") :- town(_).',
        'city(x) :- x = "Oslo".',
        "city(cat(x, x)) :- town(x).",
        "city(x) :- city(x), x < y, capital(y).",
        "text(x) :- town(x), !city(x).",
        "city(as(x, City)) :- town(x).",
    ],
)
def test_a_subtype_may_stand_for_its_base(clause: str) -> None:
    assert accepted(clause)


@pytest.mark.parametrize(
    ("clause", "error"),
    [
        ("city(x) :- text(x).", "`x` has type `symbol`, which is not a subtype of `City` (column `x` of `city`)"),
        ("city(x) :- place(x).", "`x` has type `Place`, which is not a subtype of `City` (column `x` of `city`)"),
        (
            "capital(x) :- city(x).",
            "`x` has type `City`, which is not a subtype of `Capital` (column `x` of `capital`)",
        ),
        ("text(x) :- city(x), town(x).", "`x` has type `Town` here (column `x` of `town`), but `City` elsewhere"),
        ("text(x) :- city(x), town(y), x = y.", "cannot compare `x` of type `City` with `y` of type `Town`"),
        ("text(x) :- city(x), x = 1.", "cannot compare `x`, a `symbol`, with `1`, a number"),
    ],
)
def test_types_that_do_not_fit(clause: str, error: str) -> None:
    [found] = errors(PLACES + clause)
    assert found.split(" ", 1)[1] == error


@pytest.mark.parametrize(
    ("clause", "error"),
    [
        ('a("x").', '`"x"` is a `symbol`, but column `x` of `a` is a `number`'),
        ("a(1.5).", "`1.5` is a `float`, but column `x` of `a` is a `number`"),
        ("a(1u).", "`1u` is an `unsigned`, but column `x` of `a` is a `number`"),
        ("s(1).", "`1` is a number, but column `x` of `s` is a `symbol`"),
        ("u(-1).", "-1 is out of range for `unsigned`"),
        ("a(9223372036854775808).", "9223372036854775808 is out of range for `number`"),
        ("a(x) :- a(x), s(x).", "`x` is a `symbol` here (column `x` of `s`), but a `number` elsewhere"),
        ("a(x) :- s(x).", "`x` is a `number` here (column `x` of `a`), but a `symbol` elsewhere"),
        ("a(x + 1) :- s(x).", "`+` takes a number, but `x` is a `symbol`"),
        ("f(x % 2) :- f(x).", "`%` takes a whole number, but `x` is a `float`"),
        ("a(1 + 1.5).", "column `x` of `a` takes a `number`, but `1 + 1.5` is a `float`"),
        ("a(x) :- a(x), f(y), x + y > 1.", "the arguments of `+` differ: `y` is a `float`, not a `number`"),
        ("a(strlen(x)) :- a(x).", "`strlen` takes a `symbol`, but `x` is a `number`"),
        ("s(cat(x, x)) :- a(x).", "`cat` takes a `symbol`, but `x` is a `number`"),
        ('a(x) :- a(x), match(x, "1").', "`match` takes a `symbol`, but `x` is a `number`"),
        ("u(-x) :- u(x).", "`-` takes a number, but `x` is an `unsigned`"),
        ("a(x) :- a(x), x = to_float(x).", "cannot compare `x`, a `number`, with `to_float(x)`, a `float`"),
        ("a(as(x, number)) :- f(x).", "a cast from a `float` to a `number` is not supported yet"),
        ("a(as(x, nmber)) :- a(x).", "unknown type `nmber`"),
    ],
)
def test_kinds_that_do_not_fit(clause: str, error: str) -> None:
    declared = ".decl a(x: number)\n.decl u(x: unsigned)\n.decl f(x: float)\n.decl s(x: symbol)\n"
    found = errors(declared + clause)
    assert [message.split(" ", 1)[1] for message in found] == [error]


@pytest.mark.parametrize(
    ("clause", "read"),
    [
        ("u(x) :- u(y), x = y + 1.", "u(x:u) :- u(y:u), x:u = add(y:u, 1:u):u."),
        ("f(x) :- f(y), x = 2 * y.", "f(x:f) :- f(y:f), x:f = mul(2.0:f, y:f):f."),
        ("f(x) :- x = 1.", "f(x:f) :- x:f = 1.0:f."),
        ("s(x) :- s(y), x = min(y, z), z = y.", "s(x:s) :- s(y:s), x:s = min(y:s, z:s):s, z:s = y:s."),
        ("a(x) :- x = 1, 2 < 3, 1.5 < 2.", "a(x:n) :- x:n = 1:n, 2:n < 3:n, 1.5:f < 2.0:f."),
        ("a(x) :- x = to_number(y), y = 1.5.", "a(x:n) :- x:n = to_number(y:f):n, y:f = 1.5:f."),
        ("a(1) :- u(sum x : { u(x) }).", "a(1:n) :- u(v 2:u), v 1:u = sum x:u : { u(x:u) }, v 2:u = v 1:u."),
        ("a(ord(x)) :- s(x).", "a(ord(x:s):n) :- s(x:s)."),
    ],
)
def test_kinds_are_inferred(clause: str, read: str) -> None:
    declared = ".decl a(x: number)\n.decl u(x: unsigned)\n.decl f(x: float)\n.decl s(x: symbol)\n"
    try:
        [rule] = rules(declared + clause)
    except Exception as error:
        raise AssertionError(str(error)) from None
    assert rule == read


RECORDS = """
.type List = [head: number, tail: List]
.type Unit = []
.decl l(x: List)
.decl u(x: Unit)
.decl a(x: number)
"""


@pytest.mark.parametrize(
    ("clause", "error"),
    [
        ("l([1, nil, 2]).", "the record `List` has 2 fields, not 3"),
        ("u([1]).", "the record `Unit` has no fields, not 1"),
        ("l([1, 2]).", "`2` is a number, but field `tail` of `List` is a record"),
        ('l(["a", nil]).', '`"a"` is a `symbol`, but field `head` of `List` is a `number`'),
        ("l(1).", "`1` is a number, but column `x` of `l` is a record"),
        ("a(nil).", "`nil` is a record, but column `x` of `a` is a `number`"),
        ("l(x) :- l(x), u(x).", "`x` has type `Unit` here (column `x` of `u`), but `List` elsewhere"),
        ("l(x) :- l(x), x < nil.", "`<` takes a number or a `symbol`, but `x` is a record"),
        ("a(x) :- a(x), [x, nil] != nil.", "cannot tell which record type `[x, nil]` has"),
    ],
)
def test_records_that_do_not_fit(clause: str, error: str) -> None:
    found = errors(RECORDS + clause)
    assert [message.split(" ", 1)[1] for message in found] == [error]


def test_records_are_typed_from_where_they_are_used() -> None:
    assert rules(RECORDS + "a(x) :- l(y), [x, [_, z]] = y, z = [1, nil].") == [
        "a(x:n) :- l(y:r), List[x:n, List[_ 1:n, z:r]] = y:r, z:r = List[1:n, nil:r]."
    ]
    assert facts(RECORDS + "u([]). u(nil).") == ["u(Unit[])", "u(nil:r)"]


@pytest.mark.parametrize(
    ("declaration", "error"),
    [
        (".type A <: B", "1:12 unknown type `B`"),
        (".type A = B | number", "1:11 unknown type `B`"),
        (".type A = [x: B]", "1:15 unknown type `B`"),
        (".type A <: A", "1:7 the type `A` is defined by itself: A → A"),
        (".type number <: symbol", "1:7 `number` is a built-in type"),
        (".type A = number | symbol", "1:20 the union `A` mixes `number` and `symbol`"),
        (".type A <: number\n.type A <: number", "2:7 the type `A` is declared twice"),
        (".type A = [x: number, x: number]", "1:23 the record `A` has two fields called `x`"),
        (".type R = []\n.type A <: R", "2:12 `A` cannot be a subtype of the record `R`"),
        (".type R = []\n.type A = R | R", "2:11 `A` cannot be a union of the record `R`"),
        (".type B <: number\n.type U = B | number\n.type A <: U", "3:12 `A` cannot be a subtype of the union `U`"),
        (".decl a(x: nmber)", "1:12 unknown type `nmber`"),
    ],
)
def test_type_declarations_that_make_no_sense(declaration: str, error: str) -> None:
    assert errors(declaration) == [error]


def test_a_circle_of_types_is_told_once() -> None:
    assert errors(".type A = B\n.type B = C\n.type C = A\n.decl a(x: A)\na(1).") == [
        "3:7 the type `C` is defined by itself: A → B → C → A"
    ]


def test_a_record_of_a_record_that_is_wrong() -> None:
    text = """
    .type Outer = [inner: Alias]
    .type Alias = Inner
    .type Inner = [x: numbr]
    .decl o(x: Outer)
    o([[1]]).
    """
    assert errors(text) == ["4:19 unknown type `numbr`"]
