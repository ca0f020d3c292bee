"""Tokens: names, numbers, strings, comments."""

from __future__ import annotations

import pytest

from lang.shown import errors, facts, refused
from whence.lang.diagnostics import Report, Source
from whence.lang.tokens import tokenize


def kinds(text: str) -> list[str]:
    return tokenize(Report(Source(text, "t.dl"))).kinds[:-1]


def test_operators_are_their_own_kind() -> None:
    assert kinds("<= >= != <: :- < > = ! | -") == ["<=", ">=", "!=", "<:", ":-", "<", ">", "=", "!", "|", "-"]


def test_names_and_reserved_words() -> None:
    assert kinds("a ?x _y count counting _ nil") == ["name", "name", "name", "count", "name", "_", "nil"]


def test_a_directive_is_one_token_and_needs_a_gap_behind_it() -> None:
    assert kinds(".decl a") == [".decl", "name"]
    assert kinds(".declare a") == [".", "name", "name"]
    assert kinds("a.input") == ["name", ".input"]


def test_comments_are_nothing() -> None:
    assert kinds("a // b\n c /* d \n e */ f /**/ g /* // */ h // /* \n i") == ["name"] * 6


def test_a_slash_is_division() -> None:
    assert kinds("a / b") == ["name", "/", "name"]


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("0", "0:n"),
        ("007", "7:n"),
        ("0x1F", "31:n"),
        ("0b101", "5:n"),
        ("-3", "-3:n"),
        ("9223372036854775807", "9223372036854775807:n"),
        ("-9223372036854775808", "-9223372036854775808:n"),
        ("0x7fffffffffffffff", "9223372036854775807:n"),
        ("127.0.0.1", "2130706433:n"),
    ],
)
def test_numbers(written: str, value: str) -> None:
    assert facts(f".decl a(x: number)\na({written}).") == [f"a({value})"]


@pytest.mark.parametrize(
    ("written", "value"),
    [("4u", "4:u"), ("4", "4:u"), ("0x1Fu", "31:u"), ("0b11u", "3:u"), ("18446744073709551615", f"{2**64 - 1}:u")],
)
def test_unsigned_numbers(written: str, value: str) -> None:
    assert facts(f".decl a(x: unsigned)\na({written}).") == [f"a({value})"]


@pytest.mark.parametrize(("written", "value"), [("1.5", "1.5:f"), ("-0.25", "-0.25:f"), ("2", "2.0:f")])
def test_floats(written: str, value: str) -> None:
    assert facts(f".decl a(x: float)\na({written}).") == [f"a({value})"]


@pytest.mark.parametrize("written", ["0x", "0b2", "12abc", "1e5", "1.5e3", "0b101x", "1u2", "256.0.0.1"])
def test_malformed_numbers(written: str) -> None:
    [error] = errors(f".decl a(x: number)\na({written}).")
    assert error.startswith("2:3 ")


@pytest.mark.parametrize("written", ["18446744073709551616", "9" * 100, "0x1" + "0" * 16])
def test_numbers_that_do_not_fit(written: str) -> None:
    assert errors(f".decl a(x: number)\na({written}).") == ["2:3 this number does not fit in 64 bits"]


def test_floats_that_do_not_fit() -> None:
    assert errors(f".decl a(x: float)\na({'1' * 400}.0).") == ["2:3 this float is out of range"]


def test_a_point_needs_digits_on_both_sides() -> None:
    assert "a float has digits on both sides of its point" in refused(".decl a(x: float)\na(1.).\n")
    assert errors(".decl a(x: float)\na(.5).\na(1).") == ["2:3 expected an argument, found `.`"]


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ('""', ""),
        ('"a b"', "a b"),
        (r'"a\tb\n"', "a\tb\n"),
        (r'"\"\\\'"', "\"\\'"),
        (r'"\a\b\f\r\v"', "\a\b\f\r\v"),
        ('"größe 本 😀"', "größe 本 😀"),
        ('"// no comment"', "// no comment"),
        ('"two\nlines"', "two\nlines"),
    ],
)
def test_strings(written: str, value: str) -> None:
    assert facts(f".decl a(x: symbol)\na({written}).") == [f'a("{value}":s)']


def test_unknown_escapes() -> None:
    assert errors('.decl a(x: symbol)\na("p\\qr").') == ["2:5 unknown escape sequence `\\q`"]


def test_an_open_string_is_told_where_it_begins() -> None:
    assert errors('.decl a(x: symbol)\na("b).') == ["2:3 this string is not closed"]


def test_an_open_string_that_runs_into_the_next_is_told_too() -> None:
    said = refused('.decl a(x: symbol)\na("b).\na("c").')
    assert 'the string that begins on line 2 runs over several lines: is a `"` missing?' in said


def test_an_open_comment() -> None:
    assert errors("/* a\n.decl b(x: number)") == ["1:1 this comment is not closed"]


def test_quotes_of_other_languages() -> None:
    assert 'strings are written in double quotes: "b"' in refused(".decl a(x: symbol)\na('b').")
    assert 'straight double quotes: "text"' in refused(".decl a(x: symbol)\na(“b”).")


def test_a_run_of_foreign_characters_is_one_error() -> None:
    assert errors("größe(1).")[0] == "1:3 unexpected character `ö` (U+00F6)"
    assert errors("本日(1).")[0] == "1:1 unexpected character `本` (U+672C)"
