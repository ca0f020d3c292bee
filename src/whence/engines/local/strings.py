"""Functors and constraints on symbols, over whole columns of codes.

Characters are code points, and so is the order. Everything runs in the kernel but `match`, where Python's regular
expressions see each distinct pair of pattern and text once.
"""

from __future__ import annotations

import operator
import re
import warnings
from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np

from whence.errors import WhenceError
from whence.lang.program import Kind

from .kernel import text_layout as layout
from .numerals import IN_STRINGS, address_of, in_c_locale
from .symbols import SymbolTable
from .table import Words

Flags = np.ndarray[tuple[int], np.dtype[np.bool_]]
Warn = Callable[[str], None]

SHOWN = 60  # characters of a text that errors and warnings show

_KINDS: dict[Kind, int] = {"number": layout.NUMBER, "unsigned": layout.UNSIGNED, "float": layout.FLOAT}
_WANTED: dict[Kind, str] = {"number": "a number", "unsigned": "an unsigned number", "float": "a float"}
_ORDERS: dict[str, Callable[[Words, int], Flags]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


class ConversionError(WhenceError, ValueError):
    """A text that was to be a number and is none; one sentence."""


def apply(
    functor: str, args: Sequence[Words], kinds: Sequence[Kind], kind: Kind, symbols: SymbolTable, warn: Warn
) -> Words:
    """The functor's value for each row; `kinds` are those of the arguments, `kind` that of the result.

    What Soufflé warns of, such as a substring out of range, is warned of at most once a call.
    """
    columns = [np.ascontiguousarray(arg, np.int64) for arg in args]
    match functor:
        case "ord":
            return columns[0]
        case "strlen":
            return _lengths(columns[0], symbols)
        case "cat":
            return _joined(columns, symbols) if len(columns) > 1 else columns[0]
        case "substr":
            return _substrings(columns[0], columns[1], columns[2], symbols, warn)
        case "min" | "max":
            return _extremes(columns, symbols, -1 if functor == "min" else 1)
        case "to_string":
            return columns[0] if kinds[0] == "symbol" else _printed(columns[0], kinds[0], symbols)
        case "to_number" | "to_unsigned" | "to_float":
            return _parsed(columns[0], functor, kind, symbols)
    raise ValueError(f"{functor} is no functor on symbols")


def holds(constraint: str, left: Words, right: Words, symbols: SymbolTable, warn: Warn) -> Flags:
    """For each row, whether the constraint holds: `<` and its like, `match` and `contains` and their negations.

    With a pattern that is no regular expression neither `match` nor `not match` holds, and `warn` is told.
    """
    left = np.ascontiguousarray(left, np.int64)
    right = np.ascontiguousarray(right, np.int64)
    if constraint in _ORDERS:
        return _ORDERS[constraint](_compared(left, right, symbols), 0)
    wanted = not constraint.startswith("not ")
    match constraint.removeprefix("not "):
        case "contains":
            found = _contained(left, right, symbols)
            return found if wanted else ~found
        case "match":
            return _matched(left, right, symbols, warn, wanted)
    raise ValueError(f"{constraint} is no constraint on symbols")


# Functors


def _lengths(codes: Words, symbols: SymbolTable) -> Words:
    lengths = np.empty(len(codes), np.int64)
    symbols.kernel.measure_symbols(symbols.address, codes.ctypes.data, len(codes), lengths.ctypes.data)
    return lengths


def _joined(columns: Sequence[Words], symbols: SymbolTable) -> Words:
    joined = np.empty(len(columns[0]), np.int64)
    addresses = np.array([column.ctypes.data for column in columns], np.int64)
    symbols.fill(
        lambda done: symbols.kernel.join_symbols(
            symbols.address, addresses.ctypes.data, len(columns), done, len(joined), joined.ctypes.data
        ),
        len(joined),
    )
    return joined


def _substrings(codes: Words, starts: Words, lengths: Words, symbols: SymbolTable, warn: Warn) -> Words:
    parts = np.empty(len(codes), np.int64)
    outside = np.zeros(len(codes), np.bool_)
    symbols.fill(
        lambda done: symbols.kernel.cut_symbols(
            symbols.address,
            codes.ctypes.data,
            starts.ctypes.data,
            lengths.ctypes.data,
            done,
            len(codes),
            parts.ctypes.data,
            outside.ctypes.data,
        ),
        len(codes),
    )
    if outside.any():
        row = int(outside.argmax())
        text = _quoted(symbols.text(int(codes[row])))
        warn(f'substr({text}, {starts[row]}, {lengths[row]}) starts outside of the text, so it is ""')
    return parts


def _extremes(columns: Sequence[Words], symbols: SymbolTable, sign: int) -> Words:
    """The last of the columns' symbols in order if `sign` is 1, the first if it is -1."""
    best = columns[0]
    for column in columns[1:]:
        best = np.where(_compared(column, best, symbols) == sign, column, best)
    return best


def _printed(values: Words, kind: Kind, symbols: SymbolTable) -> Words:
    printed = np.empty(len(values), np.int64)
    with in_c_locale():
        symbols.fill(
            lambda done: symbols.kernel.print_symbols(
                symbols.address,
                values.ctypes.data,
                done,
                len(values),
                _KINDS[kind],
                address_of(IN_STRINGS),
                printed.ctypes.data,
            ),
            len(values),
        )
    return printed


def _parsed(codes: Words, functor: str, kind: Kind, symbols: SymbolTable) -> Words:
    """The number each text begins with; what follows it is not looked at, as in Soufflé."""
    values = np.empty(len(codes), np.int64)
    scratch = np.zeros(layout.SCRATCH // 8, np.int64)
    with in_c_locale():
        done = symbols.kernel.parse_symbols(
            symbols.address, codes.ctypes.data, 0, len(codes), _KINDS[kind], values.ctypes.data, scratch.ctypes.data
        )
    if done < len(codes):
        out_of_range = done < 0
        text = _quoted(symbols.text(int(codes[-1 - done if out_of_range else done])))
        reason = "the number does not fit 64 bits" if out_of_range else f"the text does not begin with {_WANTED[kind]}"
        raise ConversionError(f"{functor}({text}) has no value, because {reason}")
    return values


# Constraints


def _compared(left: Words, right: Words, symbols: SymbolTable) -> Words:
    """-1, 0 or 1 for each row."""
    orders = np.empty(len(left), np.int64)
    symbols.kernel.compare_symbols(symbols.address, left.ctypes.data, right.ctypes.data, len(left), orders.ctypes.data)
    return orders


def _contained(needles: Words, texts: Words, symbols: SymbolTable) -> Flags:
    found = np.empty(len(texts), np.bool_)
    symbols.kernel.search_symbols(
        symbols.address, needles.ctypes.data, texts.ctypes.data, len(texts), found.ctypes.data
    )
    return found


def _matched(patterns: Words, texts: Words, symbols: SymbolTable, warn: Warn, wanted: bool) -> Flags:
    size = np.uint64(max(len(symbols), 1))
    pairs = patterns.view(np.uint64) * size + texts.view(np.uint64)
    distinct, places = np.unique(pairs, return_inverse=True)
    distinct_texts = symbols.decode((distinct % size).view(np.int64))
    distinct_patterns, begins = np.unique(distinct // size, return_index=True)
    ends = np.append(begins, len(distinct))[1:]
    flags = np.zeros(len(distinct), np.bool_)
    for code, begin, end in zip(distinct_patterns.tolist(), begins.tolist(), ends.tolist(), strict=True):
        source = symbols.text(code)
        pattern = _compiled(source)
        if pattern is None:
            warn(f"{_quoted(source)} is no regular expression, so match does not hold with it")
        else:
            flags[begin:end] = [(pattern.fullmatch(text) is not None) == wanted for text in distinct_texts[begin:end]]
    return flags[places]


@lru_cache(maxsize=4096)
def _compiled(source: str) -> re.Pattern[str] | None:
    """The pattern, or None if it is not valid. Classes such as `\\w` are of ASCII only, as in Soufflé's."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what Python's patterns may mean one day
        try:
            return re.compile(_with_classes(source), re.ASCII)
        except (re.error, OverflowError, RecursionError):
            return None


_CLASSES = {
    "alnum": "a-zA-Z0-9", "alpha": "a-zA-Z", "blank": r" \t", "cntrl": r"\x00-\x1f\x7f", "d": "0-9", "digit": "0-9",
    "graph": "!-~", "lower": "a-z", "print": " -~", "punct": r"!-/:-@\[-`{-~", "s": r"\s", "space": r"\s",
    "upper": "A-Z", "w": r"\w", "xdigit": "0-9a-fA-F",
}  # fmt: skip
_BRACKETED = re.compile(r"\\.|\[\^?\]?(?:\[:\w+:\]|\\.|[^\]\\])*\]", re.DOTALL)
_NAMED = re.compile(r"\[:(\w+):\]")


def _with_classes(source: str) -> str:
    """With POSIX classes, `[[:alpha:]_]`, which Soufflé's patterns have and Python's have not, spelled out."""
    if "[:" not in source:
        return source
    return _BRACKETED.sub(
        lambda part: _NAMED.sub(lambda name: _CLASSES.get(name[1], name[0]), part[0]) if part[0][0] == "[" else part[0],
        source,
    )


def _quoted(text: str) -> str:
    return f'"{text}"' if len(text) <= SHOWN else f'"{text[:SHOWN]}…"'
