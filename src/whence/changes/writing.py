"""A change as text that can be read again: one signed fact a line, deletions first."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from whence.changes.change import Change
from whence.errors import WhenceError
from whence.lang.program import Kind, Program, Relation, Type

_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\a": "\\a", "\b": "\\b", "\f": "\\f", "\v": "\\v"}  # fmt: skip # noqa: E501
_ESCAPED = re.compile(r'["\\\n\r\t\a\b\f\v]')
_NOT_TEXT = re.compile("[\0\ud800-\udfff]")


def change_text(change: Change, program: Program) -> str:
    lines = []
    for sign, side in (("-", change.delete), ("+", change.insert)):
        for name, tuples in side.items():
            relation = program.relations[name]
            lines += [f"{sign} {tuple_text(relation, values, program.types)}.\n" for values in tuples]
    return "".join(lines)


def tuple_text(relation: Relation, values: tuple[Any, ...], types: Mapping[str, Type]) -> str:
    """A tuple as an atom: `edge(1, "x")`."""
    parts = [value_text(value, c.type, c.kind, types) for value, c in zip(values, relation.columns, strict=True)]
    return f"{relation.name}({', '.join(parts)})"


def value_text(value: Any, type_name: str, kind: Kind, types: Mapping[str, Type]) -> str:
    """A value as the language writes it."""
    match kind:
        case "symbol":
            if _NOT_TEXT.search(value):
                raise WhenceError(
                    f"the symbol {value!r:.60} cannot be written as text: it has a character that is none"
                )
            return '"' + _ESCAPED.sub(lambda match: _ESCAPES[match[0]], value) + '"'
        case "unsigned":
            return f"{value}u"
        case "float":
            return _float_text(float(value))
        case "record":
            if value is None:
                return "nil"
            fields = types[type_name].fields or ()
            parts = [value_text(v, name, types[name].kind, types) for v, (_, name) in zip(value, fields, strict=True)]
            return f"[{', '.join(parts)}]"
    return str(value)


def _float_text(value: float) -> str:
    if not math.isfinite(value):
        raise WhenceError(f"the float {value} cannot be written as text: the language has no literal for it")
    digits = format(Decimal(repr(value)), "f")  # floats have no exponent in the language
    return digits if "." in digits else digits + ".0"
