"""Rules in a change: what the program's text becomes, and what is told of mistakes."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import whence
from oracle.generate import programs
from oracle.render import lines
from oracle.rules import Program
from whence.changes import Change, edited_program, merged, parse_change
from whence.errors import WhenceError
from whence.lang import ProgramError, compile_text
from whence.lang.difference import difference

TEXT = """\
// closure of a graph
.decl edge(x: number, y: number)
.input edge
.decl path(x: number, y: number) // pairs
.output path
path(x, y) :- edge(x, y). // first
path(x, z) :-  /* then */
    path(x, y),
    edge(y, z).
.plan 1:(2,1)
edge(0, 1). path(x, x) :- edge(x, _); edge(_, x).
"""
PROGRAM = compile_text(TEXT, "closure.dl")


def text_after(change: str, lenient: bool = False) -> str:
    program = parse_change(change, PROGRAM, lenient=lenient).program
    assert program is not None
    assert program.file == "closure.dl"
    return program.text or ""


def test_rules_and_declarations_come_at_the_end_as_they_were_written() -> None:
    change = """+ .decl hop(x: number, n: number)
    + hop(x, n) :-  // how far
        edge(x, _),
        n = count : { path(x, _) }.  + edge(3, 4).
    .type Node <: number  .output hop"""
    assert text_after(change) == TEXT + (
        ".decl hop(x: number, n: number)\n"
        "hop(x, n) :-  // how far\n        edge(x, _),\n        n = count : { path(x, _) }.\n"
        ".type Node <: number\n.output hop\n"
    )
    assert parse_change(change, PROGRAM).insert == {"edge": ((3, 4),)}


@pytest.mark.parametrize(
    ("rule", "left"),
    [
        ("path(x, y) :- edge(x, y).", TEXT.replace("path(x, y) :- edge(x, y).", "")),
        ("path(A,C):-path(A,B),edge(B,C).", TEXT[: TEXT.index("path(x, z)")] + TEXT[TEXT.index("edge(0, 1)") :]),
        ("path(b, b) :- edge(b, _) ; edge(_, b).", TEXT.replace(" path(x, x) :- edge(x, _); edge(_, x).", " ")),
        (".output path", TEXT.replace(".output path\n", "")),
    ],
)
def test_what_is_removed_leaves_the_rest_as_it_was(rule: str, left: str) -> None:
    assert text_after("- " + rule) == left


def test_what_is_added_and_removed_again_leaves_the_text() -> None:
    more = "hop(x) :- edge(x, _),\n  !path(x, x). // no cycle"
    added = edited_program(f".decl hop(x: number)\n{more}", "+", PROGRAM)
    assert edited_program("hop(y) :- edge(y, _), !path(y, y).\n.decl hop", "-", added).text == TEXT


def test_a_rule_that_is_there_twice_goes_once() -> None:
    rule = "path(x, y) :- edge(y, x).\n"
    twice = compile_text(TEXT + rule + rule)
    once = edited_program("path(a, b) :- edge(b, a).", "-", twice)
    assert once.text == TEXT + rule
    assert len(difference(once, twice).added) == 1


def test_what_changes_nothing_is_an_error_unless_it_is_lenient() -> None:
    for text in ("+ path(a, b) :- edge(a, b).", "- path(x, y) :- edge(y, x).", "+ .output path", "- .decl hop"):
        with pytest.raises(ProgramError):
            parse_change(text, PROGRAM)
        change = parse_change(text, PROGRAM, lenient=True)
        assert (change.program, change.ignored, bool(change)) == (None, 1, False)


def test_plans_come_with_their_rule() -> None:
    change = "+ path(x, z) :- edge(x, y), edge(y, z). .plan 0:(2,1)\n+ edge(5, 6)."
    assert text_after(change).endswith("path(x, z) :- edge(x, y), edge(y, z). .plan 0:(2,1)\n")


def told(text: str) -> list[str]:
    with pytest.raises(ProgramError) as raised:
        parse_change(text, PROGRAM, "monday.changes")
    return [f"{d.span}: {d.message}" for d in raised.value.diagnostics]


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("\n+ path(x) :- edge(x, _).", ["monday.changes:2:3: `path` has 2 columns, not 1"]),
        ("+ hop(x) :- edge(x, _).", ["monday.changes:1:3: unknown relation `hop`"]),
        ("+ path(x, z) :- edge(x, _).", ["monday.changes:1:11: the variable `z` is not bound"]),
        (
            '+ path(x, y) :- edge(x, y), x = "a".\n+ path(x, y) :- edge(x, z).',
            ["monday.changes:1:29: cannot compare `x`", "monday.changes:2:11: the variable `y` is not bound"],
        ),
        (
            "+ path(x, y) :- edge(x, y), !path(y, x).",
            ["monday.changes:1:30: `path` depends on itself through negation"],
        ),
        ("- .decl edge", ["closure.dl:3:8: unknown relation `edge`", "closure.dl:6:15", "closure.dl:9:5"]),
        ("- path(x, y) :- edge(y, x).", ["monday.changes:1:3: there is no such rule in the program"]),
        ("- .decl pth", ["monday.changes:1:3: there is no such `.decl` in the program"]),
        ("+ path(x, x) :- edge(x, x). - path(y, y) :- edge(y, y).", ["monday.changes:1:31: there is no such rule"]),
        ("+ path(x, y) :- edge(x, y). - path(x, y) :- edge(x, y).", ["monday.changes:1:3: this rule is both added"]),
        ("+ path(x, y) :- edge(x, y)", ["monday.changes:1:27: expected `.` at the end of the rule"]),
        ("+ .comp A {}", ["monday.changes:1:3"]),
        (".decl hop(x: nmber)", ["monday.changes:1:14: unknown type `nmber`"]),
        ("+ .decl hop(x: number)\n+ hop(1, 2).", ["monday.changes:2:3: `hop` has 1 column, not 2"]),
        ("+ .decl edge(x: number)", ["monday.changes:1:9: the relation `edge` is declared twice"]),
    ],
)
def test_what_is_wrong_is_told_where_it_was_written(text: str, where: list[str]) -> None:
    found = told(text)
    assert len(found) >= len(where)
    for one, wanted in zip(found, where, strict=False):
        assert one.startswith(wanted), found


def test_the_line_and_the_nearest_rule_are_shown() -> None:
    with pytest.raises(ProgramError) as raised:
        parse_change("- path(x, z) :- path(x, y), edge(z, y).", PROGRAM)
    assert str(raised.value) == (
        "<changes>:1:3: error: there is no such rule in the program\n"
        "    - path(x, z) :- path(x, y), edge(z, y).\n"
        "      ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^\n"
        "hint: the nearest is: path(x, z) :- /* then */ path(x, y), edge(y, z). .plan 1:(2,1)"
    )


def test_a_fact_is_no_rule() -> None:
    with pytest.raises(ProgramError, match="this is a fact, and no rule"):
        edited_program("edge(1, 2).", "+", PROGRAM)
    with pytest.raises(ProgramError, match="there is no rule here"):
        edited_program("// nothing", "+", PROGRAM)


def test_files_one_after_the_other() -> None:
    first = parse_change(".decl hop(x: number)\n+ edge(7, 8).", PROGRAM, "a")
    assert first.program is not None
    second = parse_change("+ hop(x) :- edge(x, _).\n- edge(7, 8).", first.program, "b")
    both = merged([("a", first), ("b", second), ("c", Change({"edge": ((1, 1),)}))])
    assert both.program is second.program
    assert (both.insert, both.delete) == ({"edge": ((1, 1),)}, {})


@settings(max_examples=50, deadline=None)
@given(programs(), st.randoms(use_true_random=False))
def test_a_program_may_be_typed_line_by_line_and_taken_back(program: Program, random: object) -> None:
    """Whatever its rules are, each is found again by its syntax, and the text is then as it was."""
    text = list(lines(program, ()))
    declared = [line for line in text if line.startswith(".")]
    rules = [line for line in text if not line.startswith(".")]
    begun = compile_text("\n".join(declared) + "\n")
    grown = begun
    for rule in dict.fromkeys(rules):
        grown = edited_program(rule, "+", grown, lenient=True)  # two may be the same but for the names of variables
    random.shuffle(rules)  # type: ignore[attr-defined]
    for rule in rules:
        grown = edited_program(rule, "-", grown, lenient=True)
    assert grown.text == begun.text


def test_a_program_without_a_text_cannot_be_edited() -> None:
    from dataclasses import replace

    with pytest.raises(WhenceError, match="has no text"):
        edited_program("path(x, y) :- edge(y, x).", "+", replace(PROGRAM, text=None))


def test_other_columns_are_refused() -> None:
    with whence.open(text=TEXT) as session:
        session.run()
        before = session.program
        with pytest.raises(WhenceError, match="`path` has other columns than before"):
            session.replace_program(text=".decl path(x: number)\n")
        assert session.program is before
        assert session.update(insert={"edge": [(1, 5)]}).inserted["path"]
