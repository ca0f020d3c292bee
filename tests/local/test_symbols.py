"""The symbol table: strings to codes and back, however many and however long."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whence.engines.local.kernel.library import load
from whence.engines.local.order import sorted_rows
from whence.engines.local.symbols import SymbolTable
from whence.lang.program import Kind

texts = st.text(st.one_of(st.sampled_from("ab\0\n ßé日🦊"), st.characters(codec="utf-8")), max_size=20)
unhurried = settings(deadline=None)  # the first example may have to compile the kernel


@pytest.fixture
def symbols() -> SymbolTable:
    return SymbolTable(load())


@unhurried
@given(st.lists(st.lists(texts)))
def test_codes_count_up_from_0_in_order_of_first_appearance(batches: list[list[str]]) -> None:
    symbols = SymbolTable(load())
    known: dict[str, int] = {}
    for batch in batches:
        expected = [known.setdefault(text, len(known)) for text in batch]
        assert symbols.encode(batch).tolist() == expected
    assert len(symbols) == len(known)
    assert symbols.decode(np.arange(len(known))) == list(known)
    assert [symbols.find(text) for text in known] == list(known.values())


def test_one_string(symbols: SymbolTable) -> None:
    assert symbols.find("größe") is None
    assert symbols.code("größe") == 0
    assert symbols.code("") == 1
    assert symbols.code("größe") == 0
    assert symbols.find("") == 1
    assert (symbols.text(0), symbols.text(1)) == ("größe", "")


def test_no_strings(symbols: SymbolTable) -> None:
    assert symbols.encode([]).tolist() == []
    assert symbols.decode(np.empty(0, np.int64)) == []
    assert symbols.find("") is None
    assert len(symbols) == 0


def test_strings_that_begin_alike_are_different(symbols: SymbolTable) -> None:
    # Lengths around the eight bytes that are hashed and compared at once, and NULs at the end.
    alike = [text for n in range(40) for text in ("a" * n, "a" * n + "\0", "a" * n + "\0\0", "b" + "a" * n)]
    distinct = list(dict.fromkeys(alike))
    assert symbols.decode(symbols.encode(alike)) == alike
    assert len(symbols) == len(distinct)


def test_many_strings(symbols: SymbolTable) -> None:
    many = [f"symbol {i % 300_000}" for i in range(400_000)]
    codes = symbols.encode(many)
    assert len(symbols) == 300_000
    assert codes.tolist() == [i % 300_000 for i in range(400_000)]
    assert symbols.decode(codes) == many
    assert symbols.nbytes < 20_000_000


def test_strings_of_megabytes(symbols: SymbolTable) -> None:
    long = ["x" * 3_000_000, "日" * 2_000_000, "x" * 3_000_000 + "y", "", "x" * 3_000_000]
    codes = symbols.encode(long)
    assert codes.tolist() == [0, 1, 2, 3, 0]
    assert symbols.decode(codes) == long
    assert symbols.sorted(np.array([0, 1, 2, 3])).tolist() == [3, 0, 2, 1]


@pytest.mark.parametrize("text", ["\ud800", "a\udfffb", "\udc80" * 3])
def test_half_a_character_is_no_symbol(symbols: SymbolTable, text: str) -> None:
    for call in (symbols.code, symbols.find, lambda text: symbols.encode(["a", text])):
        with pytest.raises(ValueError, match=r"cannot be a symbol: .* is half of a character"):
            call(text)
    assert len(symbols) == 0


def test_a_code_without_a_symbol(symbols: SymbolTable) -> None:
    symbols.code("a")
    for code in (-1, 1):
        with pytest.raises(IndexError, match=f"no symbol with the code {code}"):
            symbols.text(code)


def test_two_tables_know_nothing_of_each_other(symbols: SymbolTable) -> None:
    other = SymbolTable(load())
    symbols.encode(["a", "b"])
    assert other.encode(["b", "a"]).tolist() == [0, 1]
    assert other.text(0) == "b"


@unhurried
@given(st.lists(texts), st.text(max_size=12))
def test_sorted_by_code_point(some: list[str], prefix: str) -> None:
    symbols = SymbolTable(load())
    some = [prefix + text for text in some]
    codes = np.unique(symbols.encode(some))
    assert symbols.decode(symbols.sorted(codes)) == sorted(set(some))


# Rows in the order of their values

numbers = st.integers(-(2**63), 2**63 - 1)
columns = {
    "number": st.one_of(st.integers(-3, 3), numbers),
    "unsigned": st.one_of(st.integers(0, 3), st.integers(0, 2**64 - 1)),
    "float": st.one_of(st.sampled_from([0.0, -1.5, 1.5, float("inf"), float("-inf")]), st.floats(allow_nan=False)),
    "symbol": st.text("ab🦊", max_size=3),
}
tables = st.lists(st.sampled_from(sorted(columns)), min_size=1, max_size=5).flatmap(
    lambda kinds: st.tuples(st.just(kinds), st.lists(st.tuples(*[columns[kind] for kind in kinds])))
)


@unhurried
@given(tables)
def test_rows_are_sorted_by_value(table: tuple[list[Kind], list[tuple[object, ...]]]) -> None:
    kinds, tuples = table
    tuples = [tuple(0.0 if value == 0 and type(value) is float else value for value in row) for row in tuples]
    symbols = SymbolTable(load())
    rows = np.empty((len(tuples), len(kinds)), np.int64)
    types = {"number": np.int64, "unsigned": np.uint64, "float": np.float64}
    for i, kind in enumerate(kinds):
        column = [row[i] for row in tuples]
        words = symbols.encode(column) if kind == "symbol" else np.array(column, types[kind]).view(np.int64)  # type: ignore[arg-type]
        rows[:, i] = words
    before = rows.copy()
    in_order = sorted_rows(rows, kinds, [symbols] * len(kinds))
    assert (rows == before).all()
    found = [
        symbols.decode(in_order[:, i].copy())
        if kind == "symbol"
        else np.ascontiguousarray(in_order[:, i]).view(types[kind]).tolist()
        for i, kind in enumerate(kinds)
    ]
    assert list(zip(*found, strict=True)) == sorted(tuples)  # type: ignore[type-var]
