"""What functors, comparisons and aggregates do to values: 64-bit numbers that wrap, division as in C."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from fractions import Fraction

from oracle.rules import Value

BITS = 64


def wrap(value: int, kind: str) -> int:
    """The value modulo 2^64, as two's complement if it is signed."""
    value %= 1 << BITS
    return value - (1 << BITS) if kind == "number" and value >> (BITS - 1) else value


def divide(left: int, right: int) -> int:
    """Integer division that truncates toward zero."""
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


def substring(text: str, start: int, length: int) -> str:
    """`substr`; out of range it is the empty symbol. A negative length reaches to the end, as an unsigned one would."""
    if not 0 <= start <= len(text):
        return ""
    return text[start:] if length < 0 else text[start : start + length]


INTEGER: dict[str, Callable[..., int]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, *b: a - b[0] if b else -a,
    "*": lambda a, b: a * b,
    "/": divide,
    "%": lambda a, b: a - b * divide(a, b),
    "^": lambda a, b: a**b,
    "band": lambda a, b: a & b,
    "bor": lambda a, b: a | b,
    "bxor": lambda a, b: a ^ b,
    "bnot": lambda a: ~a,
    "bshl": lambda a, b: a << (b % BITS),
    "bshr": lambda a, b: a >> (b % BITS),
    "bshru": lambda a, b: (a % (1 << BITS)) >> (b % BITS),
    "land": lambda a, b: int(bool(a) and bool(b)),
    "lor": lambda a, b: int(bool(a) or bool(b)),
    "lxor": lambda a, b: int(bool(a) != bool(b)),
    "lnot": lambda a: int(not a),
    "min": min,
    "max": max,
    "strlen": len,
    "to_number": int,
    "to_unsigned": int,
}

FLOAT: dict[str, Callable[..., float]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, *b: a - b[0] if b else -a,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "min": min,
    "max": max,
    "to_float": float,
}

SYMBOL: dict[str, Callable[..., str]] = {
    "cat": lambda *parts: "".join(parts),
    "substr": substring,
    "to_string": str,
    "min": min,
    "max": max,
}


def apply(functor: str, args: Sequence[Value], kind: str) -> Value:
    """The functor's value; `kind` is that of the result."""
    if kind in ("number", "unsigned"):
        return wrap(INTEGER[functor](*args), kind)
    return (FLOAT if kind == "float" else SYMBOL)[functor](*args)


def holds(operator: str, left: Value, right: Value) -> bool:
    """Whether a comparison holds. Symbols are ordered by their characters."""
    match operator:
        case "=":
            return left == right
        case "!=":
            return left != right
        case "<":
            return left < right  # type: ignore[operator]
        case "<=":
            return left <= right  # type: ignore[operator]
        case ">":
            return left > right  # type: ignore[operator]
        case ">=":
            return left >= right  # type: ignore[operator]
        case "match":
            return re.fullmatch(str(left), str(right)) is not None
        case "contains":
            return str(left) in str(right)
        case "not match" | "not contains":
            return not holds(operator.removeprefix("not "), left, right)
    raise ValueError(operator)


def aggregate(operator: str, values: list[Value], kind: str) -> Value | None:
    """The aggregate of a bag of values of one kind; None when it does not hold."""
    match operator:
        case "count":
            return len(values)
        case "sum":
            return math.fsum(values) if kind == "float" else wrap(sum(values), kind)  # type: ignore[arg-type]
        case "min":
            return min(values, default=None)  # type: ignore[type-var]
        case "max":
            return max(values, default=None)  # type: ignore[type-var]
        case "mean":
            return float(Fraction(sum(map(Fraction, values))) / len(values)) if values else None  # type: ignore[arg-type]
    raise ValueError(operator)
