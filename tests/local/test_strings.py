"""Functors and constraints on symbols, compared with what plain Python says of each row."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whence.engines.local.kernel.library import load
from whence.engines.local.strings import ConversionError, apply, holds
from whence.engines.local.symbols import SymbolTable
from whence.engines.local.table import Words
from whence.lang.program import Kind

# Characters of one to four bytes, NUL, and many that are alike, so that texts contain and equal each other.
characters = st.one_of(st.sampled_from("ab\0\n ßé日🦊"), st.characters(codec="utf-8"))
short = st.text(characters, max_size=12)
long = st.builds(lambda text, times: text * times, short, st.sampled_from([1, 1, 100, 5000]))
texts = st.one_of(short, long)
numbers = st.integers(-(2**63), 2**63 - 1)
unhurried = settings(deadline=None)  # the first example may have to compile the kernel
unsigneds = st.integers(0, 2**64 - 1)


class Said(list[str]):
    """The warnings."""

    def __call__(self, sentence: str) -> None:
        self.append(sentence)


def silent(sentence: str) -> None:
    raise AssertionError(sentence)


def column(values: list[Any], kind: Kind, symbols: SymbolTable) -> Words:
    if kind == "symbol":
        return symbols.encode(values)
    types = {"number": np.int64, "unsigned": np.uint64, "float": np.float64}
    return np.array(values, types[kind]).view(np.int64)


def values(words: Words, kind: Kind, symbols: SymbolTable) -> list[Any]:
    if kind == "symbol":
        return symbols.decode(words)
    return words.view({"number": np.int64, "unsigned": np.uint64, "float": np.float64}[kind]).tolist()


def applied(
    functor: str, rows: list[tuple[Any, ...]], kinds: list[Kind], kind: Kind, warn: Callable[[str], None] = silent
) -> list[Any]:
    symbols = SymbolTable(load())
    args = [column([row[i] for row in rows], kinds[i], symbols) for i in range(len(kinds))]
    return values(apply(functor, args, kinds, kind, symbols, warn), kind, symbols)


def held(constraint: str, pairs: list[tuple[str, str]], warn: Callable[[str], None] = silent) -> list[bool]:
    symbols = SymbolTable(load())
    left, right = (symbols.encode(pair[i] for pair in pairs) for i in (0, 1))
    flags = holds(constraint, left, right, symbols, warn)
    assert flags.dtype == np.bool_
    return flags.tolist()


# Functors


@unhurried
@given(st.integers(1, 5).flatmap(lambda width: st.lists(st.tuples(*[texts] * width), min_size=1)))
def test_cat(rows: list[tuple[str, ...]]) -> None:
    assert applied("cat", rows, ["symbol"] * len(rows[0]), "symbol") == ["".join(row) for row in rows]


def test_cat_leaves_only_its_results_in_the_symbol_table() -> None:
    symbols = SymbolTable(load())
    args = [symbols.encode([text]) for text in "abc"]
    apply("cat", args, ["symbol"] * 3, "symbol", symbols, silent)
    assert symbols.decode(np.arange(len(symbols))) == ["a", "b", "c", "abc"]


def test_cat_of_a_column_with_itself_while_the_table_grows() -> None:
    rows = [(f"{i}é" * 50, "|", f"{i}é" * 50) for i in range(20_000)]
    assert applied("cat", rows, ["symbol"] * 3, "symbol") == ["".join(row) for row in rows]


@unhurried
@given(st.lists(st.tuples(texts)))
def test_strlen_counts_characters(rows: list[tuple[str]]) -> None:
    assert applied("strlen", rows, ["symbol"], "number") == [len(text) for (text,) in rows]


@unhurried
@given(st.lists(st.tuples(texts, st.integers(-2, 15) | numbers, st.integers(-2, 15) | numbers)))
def test_substr(rows: list[tuple[str, int, int]]) -> None:
    said = Said()
    found = applied("substr", rows, ["symbol", "number", "number"], "symbol", said)
    inside = [0 <= start <= len(text) for text, start, _ in rows]
    assert found == [
        (text[start:] if length < 0 else text[start : start + length]) if within else ""
        for (text, start, length), within in zip(rows, inside, strict=True)
    ]
    assert len(said) == (0 if all(inside) else 1)


def test_substr_outside_of_a_text_says_so() -> None:
    said = Said()
    assert applied("substr", [("hello", 9, 2), ("up", -1, 2)], ["symbol", "number", "number"], "symbol", said) == [
        "",
        "",
    ]
    assert said == ['substr("hello", 9, 2) starts outside of the text, so it is ""']


def test_ord_is_the_code() -> None:
    assert applied("ord", [("b",), ("a",), ("b",)], ["symbol"], "number") == [0, 1, 0]


@unhurried
@given(st.sampled_from([min, max]), st.lists(st.tuples(texts, texts, texts)))
def test_min_and_max(extreme: Callable[..., str], rows: list[tuple[str, str, str]]) -> None:
    assert applied(extreme.__name__, rows, ["symbol"] * 3, "symbol") == [extreme(row) for row in rows]


@unhurried
@given(st.lists(st.tuples(numbers)), st.lists(st.tuples(unsigneds)))
def test_integers_to_strings_and_back(signed: list[tuple[int]], unsigned: list[tuple[int]]) -> None:
    kinds: list[tuple[Kind, list[tuple[int]]]] = [("number", signed), ("unsigned", unsigned)]
    for kind, rows in kinds:
        printed = applied("to_string", rows, [kind], "symbol")
        assert printed == [str(number) for (number,) in rows]
        read = applied(f"to_{kind}", [(text,) for text in printed], ["symbol"], kind)
        assert read == [number for (number,) in rows]


@unhurried
@given(st.lists(st.tuples(st.floats(allow_nan=False))))
def test_floats_to_strings_have_six_digits_after_the_point(rows: list[tuple[float]]) -> None:
    assert applied("to_string", rows, ["float"], "symbol") == [f"{number:f}" for (number,) in rows]


@unhurried
@given(
    st.lists(st.tuples(st.floats(allow_nan=False)), min_size=1), st.sampled_from(["{!r}", "{:.17g}", "{:.3f}", "{:E}"])
)
def test_floats_from_strings(rows: list[tuple[float]], form: str) -> None:
    written = [form.format(number) for (number,) in rows]
    kept = [(text,) for text in written if abs(float(text)) != float("inf") or "inf" in text.lower()]
    assert applied("to_float", kept, ["symbol"], "float") == [float(text) for (text,) in kept]


def test_to_string_of_a_symbol_is_the_symbol() -> None:
    assert applied("to_string", [("ß",)], ["symbol"], "symbol") == ["ß"]


@pytest.mark.parametrize(
    ("functor", "text", "value"),
    [
        ("to_number", "0xcafe", 0xCAFE),
        ("to_number", "-0xff", -255),
        ("to_number", "0b101", 5),
        ("to_number", "-0b101", -5),
        ("to_number", " \t+7", 7),
        ("to_number", "007", 7),
        ("to_number", "12 apples", 12),
        ("to_number", "12\0", 12),
        ("to_number", "9223372036854775807", 2**63 - 1),
        ("to_number", "-9223372036854775808", -(2**63)),
        ("to_number", "0x7fffffffffffffff", 2**63 - 1),
        ("to_unsigned", "0xffffffffffffffff", 2**64 - 1),
        ("to_unsigned", "0b" + "1" * 64, 2**64 - 1),
        ("to_float", "1e3", 1000.0),
        ("to_float", " -.5x", -0.5),
        ("to_float", "-inf", float("-inf")),
        ("to_float", "Infinity", float("inf")),
        ("to_float", "2.5" + "x" * 100_000, 2.5),
        ("to_float", "0." + "0" * 2000 + "1", 0.0),
        ("to_float", "123456789012345678", 123456789012345678.0),
    ],
)
def test_texts_that_begin_with_numbers(functor: str, text: str, value: float) -> None:
    kind: Any = functor.removeprefix("to_")
    assert applied(functor, [(text,)], ["symbol"], kind) == [value]


NOT = "the text does not begin with"
OVER = "the number does not fit 64 bits"


@pytest.mark.parametrize(
    ("functor", "text", "reason"),
    [
        ("to_number", "", f"{NOT} a number"),
        ("to_number", "-", f"{NOT} a number"),
        ("to_number", "one", f"{NOT} a number"),
        ("to_number", "٣", f"{NOT} a number"),
        ("to_number", "\0" + "1", f"{NOT} a number"),
        ("to_number", "9223372036854775808", OVER),
        ("to_number", "-9223372036854775809", OVER),
        ("to_number", "0x8000000000000000", OVER),
        ("to_number", "9" * 30, OVER),
        ("to_unsigned", "-1", f"{NOT} an unsigned number"),
        ("to_unsigned", "18446744073709551616", OVER),
        ("to_unsigned", "0x10000000000000000", OVER),
        ("to_float", "", f"{NOT} a float"),
        ("to_float", ".", f"{NOT} a float"),
        ("to_float", "e5", f"{NOT} a float"),
        ("to_float", "1e999", OVER),
        ("to_float", "-1e999", OVER),
    ],
)
def test_texts_that_are_no_numbers(functor: str, text: str, reason: str) -> None:
    kind: Any = functor.removeprefix("to_")
    with pytest.raises(ConversionError) as raised:
        applied(functor, [("1",), (text,), ("2",)], ["symbol"], kind)
    assert str(raised.value) == f'{functor}("{text}") has no value, because {reason}'


def test_errors_shorten_long_texts() -> None:
    with pytest.raises(ConversionError) as raised:
        applied("to_number", [("x" * 10_000,)], ["symbol"], "number")
    assert str(raised.value).startswith('to_number("xxxxxx')
    assert len(str(raised.value)) < 150


# Constraints


@unhurried
@given(st.lists(st.tuples(texts, texts)))
def test_order_is_by_code_point(pairs: list[tuple[str, str]]) -> None:
    assert held("<", pairs) == [a < b for a, b in pairs]
    assert held("<=", pairs) == [a <= b for a, b in pairs]
    assert held(">", pairs) == [a > b for a, b in pairs]
    assert held(">=", pairs) == [a >= b for a, b in pairs]


@unhurried
@given(st.lists(st.tuples(st.text("ab\0é", max_size=3), st.text("ab\0é", max_size=9)) | st.tuples(texts, texts)))
def test_contains(pairs: list[tuple[str, str]]) -> None:
    found = [needle in text for needle, text in pairs]
    assert held("contains", pairs) == found
    assert held("not contains", pairs) == [not flag for flag in found]


PATTERNS = ["", "a", "a*", ".*", "[ab]+", "a|b", "(ab)*é", "\0", "a.b", "(a", "[", "*", "a{2,1}"]


@unhurried
@given(st.lists(st.tuples(st.sampled_from(PATTERNS), st.text("ab\0é", max_size=5))))
def test_match_is_of_the_whole_text(pairs: list[tuple[str, str]]) -> None:
    def expected(wanted: bool) -> list[bool]:
        flags = []
        for pattern, text in pairs:
            try:
                flags.append((re.fullmatch(pattern, text) is not None) == wanted)
            except re.error:
                flags.append(False)  # neither match nor its negation
        return flags

    said = Said()
    assert held("match", pairs, said) == expected(True)
    assert held("not match", pairs, Said()) == expected(False)
    assert len(said) == len({pattern for pattern, _ in pairs} & {"(a", "[", "*", "a{2,1}"})


def test_a_wrong_pattern_is_said_once() -> None:
    said = Said()
    assert held("match", [("(", "a"), ("(", "b"), ("a", "a")], said) == [False, False, True]
    assert said == ['"(" is no regular expression, so match does not hold with it']


@pytest.mark.parametrize(
    ("pattern", "text", "flag"),
    [
        ("[[:alpha:]]+", "Ab", True),
        ("[[:alpha:]_]+", "a_1", False),
        ("[^[:space:][:digit:]]", "x", True),
        ("[^[:space:][:digit:]]", "7", False),
        (r"[\]][[:punct:]]", "]]", True),
        (r"\[:[[:lower:]]:\]", "[:a:]", True),
        (r"\w+\d", "aü1", False),  # classes are of ASCII
        ("日.", "日本", True),  # a character is a code point
        ("a$", "a\n", False),
    ],
)
def test_patterns_as_souffle_reads_them(pattern: str, text: str, flag: bool) -> None:
    assert held("match", [(pattern, text)]) == [flag]


def test_columns_need_not_be_contiguous() -> None:
    symbols = SymbolTable(load())
    rows = symbols.encode(["a", "b", "b", "a"]).reshape(2, 2)
    assert holds("<", rows[:, 0], rows[:, 1], symbols, silent).tolist() == [True, False]
    joined = apply("cat", [rows[:, 0], rows[:, 1]], ["symbol"] * 2, "symbol", symbols, silent)
    assert symbols.decode(joined) == ["ab", "ba"]


def test_no_rows() -> None:
    for functor, arity in [("cat", 2), ("strlen", 1), ("max", 2), ("to_number", 1)]:
        assert applied(functor, [], ["symbol"] * arity, "number") == []
    for constraint in ("<", "match", "not contains"):
        assert held(constraint, []) == []
