"""Changes as text: what may be written, what is told of mistakes, and that what is written is read again."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whence.changes import Change, change_text, parse_change, read_change
from whence.errors import WhenceError
from whence.lang import ProgramError, compile_text

PROGRAM = compile_text("""
.type List = [head: number, tail: List]
.type Name <: symbol
.decl edge(x: number, y: Name)
.decl weight(a: unsigned, f: float, l: List)
.decl flag()
.decl path(x: number, y: Name)
path(x, y) :- edge(x, y).
.decl both(x: number)
.input both
both(x) :- edge(x, _).
""")


def test_every_kind_of_value() -> None:
    text = r"""
    // a comment, and several on a line
    + edge(1, "a \"word\"\n"). - edge(-2, "é 😀"). /* a comment
       of two lines */
    +weight(3, -1.5, [1, [-2, nil]]).-weight(18446744073709551615u, 2, nil).
    + edge(0xff, ""). - edge(-9223372036854775808, "b").
    - flag(). + both(7).
    """
    assert parse_change(text, PROGRAM) == Change(
        insert={
            "edge": ((1, 'a "word"\n'), (255, "")),
            "weight": ((3, -1.5, (1, (-2, None))),),
            "both": ((7,),),
        },
        delete={
            "edge": ((-2, "é 😀"), (-(2**63), "b")),
            "weight": ((2**64 - 1, 2.0, None),),
            "flag": ((),),
        },
    )


def test_nothing_is_a_change_too() -> None:
    assert not parse_change("  // nothing\n", PROGRAM)


def test_a_tuple_named_twice_counts_once() -> None:
    assert parse_change('+ edge(1, "a"). + edge(1, "a").', PROGRAM).sizes == {"edge": (1, 0)}


def test_zeros_of_both_signs_are_two_tuples() -> None:
    change = parse_change("+ weight(1u, 0.0, nil). + weight(1u, -0.0, nil).", PROGRAM)
    assert change.sizes == {"weight": (2, 0)}


def told(text: str) -> list[str]:
    with pytest.raises(ProgramError) as raised:
        parse_change(text, PROGRAM, "monday.changes")
    return [f"{d.span}: {d.message}" for d in raised.value.diagnostics]


def test_errors_have_a_place_and_a_caret_and_a_hint() -> None:
    with pytest.raises(ProgramError) as raised:
        parse_change('+ edge(1, "a").\n- edge("x", "b").\n', PROGRAM, "monday.changes")
    assert str(raised.value) == (
        'monday.changes:2:8: error: `"x"` is a `symbol`, but column `x` of `edge` is a `number`\n'
        '    - edge("x", "b").\n'
        "           ^^^\n"
        "hint: a number has no quotes"
    )


def test_several_errors_in_one_run() -> None:
    text = """+ edge(1).
- edg(1, "x").
+ path(1, "a").
edge(1, "a").
+ edge(1, "b")
+ edge(2, x). + edge(_, "a").
+ edge(1 + 1, "x"). * edge(2).
+ weight(-1, 1.0, [1]).
+ edge(1, "never closed).
"""
    assert told(text) == [
        "monday.changes:1:3: `edge` has 2 columns, not 1",
        "monday.changes:2:3: unknown relation `edg`",
        "monday.changes:3:3: `path` is derived by rules, so it cannot be changed itself",
        "monday.changes:4:1: expected `+` or `-`, found `edge`",
        "monday.changes:5:15: expected `.` at the end of the change, found `+`",
        "monday.changes:6:11: a change with a variable: `x`",
        "monday.changes:6:22: a change with a variable: `_`",
        "monday.changes:7:8: a change holds constants only, and this has to be computed",
        "monday.changes:7:21: expected `+` or `-`, found `*`",
        "monday.changes:8:10: -1 is out of range for `unsigned`",
        "monday.changes:8:19: the record `List` has 2 fields, not 1",
        "monday.changes:9:11: this string is not closed",
    ]


def test_a_truncated_text_is_an_error_wherever_it_ends() -> None:
    text = '+ edge(12, "a\\n").'
    for stop in range(1, len(text)):
        assert told(text[:stop]), text[:stop]


def test_nested_too_deeply() -> None:
    assert "nested too deeply" in told(f"+ weight(1u, 1.0, {'[1, ' * 300}nil{']' * 300}).")[0]


def test_a_file_that_is_not_there_or_not_text(tmp_path: Path) -> None:
    with pytest.raises(WhenceError, match="there is no such file or folder of changes"):
        read_change(tmp_path / "nothing.changes", PROGRAM)
    (tmp_path / "latin.changes").write_bytes('+ edge(1, "a").\n+ edge(2, "é").'.encode("latin-1"))
    with pytest.raises(WhenceError, match=r"latin.changes:2: byte 0xe9 is not UTF-8; save"):
        read_change(tmp_path / "latin.changes", PROGRAM)


numbers = st.integers(-(2**63), 2**63 - 1)
symbols = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))
lists = st.recursive(st.none(), lambda tail: st.tuples(numbers, tail))
floats = st.floats(allow_nan=False, allow_infinity=False)
changes = st.fixed_dictionaries(
    {},
    optional={
        "edge": st.lists(st.tuples(numbers, symbols), min_size=1, unique=True).map(tuple),
        "weight": st.lists(st.tuples(st.integers(0, 2**64 - 1), floats, lists), min_size=1, max_size=1).map(tuple),
        "flag": st.just(((),)),
    },
)


@given(changes, changes)
def test_what_is_written_is_read_again(insert: dict[str, object], delete: dict[str, object]) -> None:
    change = Change(insert, delete)  # type: ignore[arg-type]
    again = parse_change(change_text(change, PROGRAM), PROGRAM)
    assert again == change
    assert repr(again.insert.get("weight")) == repr(insert.get("weight"))  # -0.0 equals 0.0, but is another float


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_floats_without_a_literal_are_refused(value: float) -> None:
    with pytest.raises(WhenceError, match="the language has no literal for it"):
        change_text(Change({"weight": ((1, value, None),)}), PROGRAM)
