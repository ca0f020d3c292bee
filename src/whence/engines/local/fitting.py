"""Columns of whatever type, fitted to the types that a relation declares.

What Parquet, a database or a DataFrame has is converted where nothing is lost: integers of any width, decimals and
whole floats to a number, text by the rules of Soufflé's files, structs and lists to records. Rows with a value that
does not fit are set aside, with the reason.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow

from whence.lang.program import Column, Kind, Relation, Type

from .kernel.library import load
from .reading import _FORMS, _NAMES, SHOWN
from .record_text import RecordTextError, symbol_in_record
from .sieve import Misfit, Sieved, canonical, carried_type, number_sieve
from .table import Words
from .values import RANGES

RECORDS = "records are written [1, x, nil], as their type says"
NATURAL = {"number": pyarrow.int64(), "unsigned": pyarrow.uint64(), "float": pyarrow.float64()}


class Unfit(Exception):
    """A value that cannot become one of its type: the sentence that says so, and a hint."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


@dataclass(frozen=True)
class Fitting:
    """A column of a relation, as values are fitted to it."""

    column: Column
    relation: str
    types: Mapping[str, Type]

    @property
    def name(self) -> str:
        return f"column {self.column.name} of {self.relation}"


def sieve_columns(relation: Relation, types: Mapping[str, Type], columns: Sequence[Any], count: int) -> Sieved:
    """Columns in the order of the relation's, Arrow arrays or lists of Python values, of `count` rows."""
    arrays: list[pyarrow.Array] = []
    wrong: dict[int, Misfit] = {}
    for column, given in zip(relation.columns, columns, strict=True):
        fitting = Fitting(column, relation.name, types)
        array, unfit = _fit_array(fitting, given) if isinstance(given, pyarrow.Array) else _fit_values(fitting, given)
        arrays.append(array)
        for row, error in unfit.items():
            wrong.setdefault(row, Misfit(row, 0, error.message, error.hint))
    if wrong:
        right = np.ones(count, bool)
        right[list(wrong)] = False
        arrays = [array.filter(pyarrow.array(right)) for array in arrays]
    return Sieved(arrays, count - len(wrong), [wrong[row] for row in sorted(wrong)])


# Whole columns. What does not fit is left as anything in the result, which has a value for each row.

Fitted = tuple[pyarrow.Array, dict[int, Unfit]]


def _fit_array(fitting: Fitting, given: pyarrow.Array) -> Fitted:
    kind = fitting.column.kind
    if isinstance(given, pyarrow.ExtensionArray):
        given = given.storage
    if pyarrow.types.is_dictionary(given.type):
        given = given.dictionary_decode()
    nil = kind == "record" and pyarrow.types.is_nested(given.type)
    if given.null_count and not nil:
        return _fit_present(fitting, given)
    if not _converts(given.type, kind):
        return _fit_values(fitting, _python_values(given))
    try:
        if kind == "symbol":
            strings = given.cast(pyarrow.string())
            strings.validate(full=True)
            return strings, {}
        source = given.cast(NATURAL[kind], safe=kind != "float")
        return source.view(pyarrow.int64()), {}
    except pyarrow.ArrowException:
        return _fit_values(fitting, _python_values(given))


def _fit_present(fitting: Fitting, given: pyarrow.Array) -> Fitted:
    """A column with nulls, which fit nowhere."""
    there = np.flatnonzero(given.is_valid().to_numpy(zero_copy_only=False))
    array, unfit = _fit_array(fitting, given.drop_null())
    unfit = {int(there[row]): error for row, error in unfit.items()}
    absent = np.ones(len(given), bool)
    absent[there] = False
    unfit |= {int(row): _null(fitting) for row in np.flatnonzero(absent)}
    places = np.zeros(len(given), np.int64)
    places[there] = np.arange(len(there))
    return array.take(pyarrow.array(places, mask=absent)), unfit


def _converts(given: pyarrow.DataType, kind: Kind) -> bool:
    """Whether Arrow's own cast does what is wanted, as long as it succeeds."""
    is_ = pyarrow.types
    if kind == "symbol":
        return not (is_.is_nested(given) or is_.is_null(given))
    if kind == "float":
        return bool(is_.is_integer(given) or is_.is_floating(given))
    return kind != "record" and bool(is_.is_integer(given) or is_.is_floating(given) or is_.is_decimal(given))


def _python_values(given: pyarrow.Array) -> list[Any]:
    try:
        return given.to_pylist()  # type: ignore[no-any-return]
    except UnicodeDecodeError:
        return given.cast(pyarrow.binary()).to_pylist()  # type: ignore[no-any-return]


def _fit_values(fitting: Fitting, values: Sequence[Any]) -> Fitted:
    """Python values, one by one where they are not all plain; None is the record nil."""
    kind = fitting.column.kind
    plain = _plain(kind, values)
    if plain is not None:
        return plain, {}
    unfit: dict[int, Unfit] = {}
    fitted: list[Any] = ["" if kind in ("symbol", "record") else 0] * len(values)
    texts: list[int] = []
    for row, value in enumerate(values):
        try:
            if value is None and kind != "record":
                raise _null(fitting)
            if isinstance(value, str) and kind != "symbol":
                texts.append(row)
            elif kind == "symbol":
                fitted[row] = _symbol(value, fitting)
            elif kind == "record":
                fitted[row] = _record(value, fitting.column.type, fitting)
            else:
                fitted[row] = _bits(value, kind, fitting)
        except Unfit as error:
            unfit[row] = error
        except RecursionError:
            unfit[row] = Unfit(f"{fitting.name} is nested too deeply", "give it as text: [1, [2, nil]]")
    if texts:
        strings = [values[row] for row in texts]
        for row, found in zip(texts, _from_texts(strings, kind, fitting), strict=True):
            if isinstance(found, Unfit):
                unfit[row] = found
            else:
                fitted[row] = found
    return pyarrow.array(fitted, carried_type(kind)), unfit


def _plain(kind: Kind, values: Sequence[Any]) -> pyarrow.Array | None:
    """The column at once, if all of its values are of the one Python type that needs no look."""
    python = {"number": int, "unsigned": int, "float": float, "symbol": str}.get(kind)
    if python is None or not all(type(value) is python for value in values):
        return None
    try:
        array = pyarrow.array(values, NATURAL.get(kind, pyarrow.string()))
        return array if kind == "symbol" else array.view(pyarrow.int64())
    except (pyarrow.ArrowException, OverflowError, UnicodeEncodeError):
        return None


# Single values


def _bits(value: Any, kind: Kind, fitting: Fitting) -> int:
    """A number of whatever Python type as the int64 that stands for it."""
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        raise _not_a_number(value, kind, fitting)
    if kind == "float":
        try:
            return int(np.float64(value).view(np.int64))
        except OverflowError:
            raise _out_of_range(value, kind, fitting) from None
    if not isinstance(value, int):
        if not np.isfinite(float(value)) or value != int(value):
            raise _not_a_number(value, kind, fitting)
        value = int(value)
    low, high = RANGES[kind]
    if not low <= value < high:
        raise _out_of_range(value, kind, fitting)
    number = int(value)
    return number - (1 << 64) if number >= 1 << 63 else number


def _symbol(value: Any, fitting: Fitting) -> str:
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            shown = _shown(value.decode(errors="replace"))
            raise Unfit(f"{fitting.name} has bytes that are not UTF-8, in {shown}", "save them as UTF-8") from None
    if isinstance(value, bool | int | float):
        return json.dumps(value)
    if isinstance(value, dict | list | tuple):
        raise Unfit(f"{fitting.name} should be a symbol, not {_shown(value)}", "symbols are strings")
    text = str(value)
    try:
        text.encode()
    except UnicodeEncodeError as error:
        half = ascii(text[error.start])
        raise Unfit(f"{fitting.name} cannot be {text!a:.60}: {half} is half of a character") from None
    return text


def _record(value: Any, type_name: str, fitting: Fitting) -> str:
    """The text of a record that is given by its fields, as `texts_of` has it."""
    types = fitting.types
    if value is None:
        return "nil"
    if isinstance(value, str):
        found = _from_texts([value], "record", fitting, type_name)[0]
        if isinstance(found, Unfit):
            raise found
        return str(found)
    fields = types[type_name].fields or ()
    names = [name for name, _ in fields]
    parts: list[Any] = []
    if isinstance(value, dict):
        parts = [value[name] for name in names] if set(names) == set(value) else list(value.values())
    elif isinstance(value, list | tuple):
        parts = list(value)
    if not isinstance(value, dict | list | tuple) or len(parts) != len(fields):
        count = f"{len(fields)} field" + "s" * (len(fields) != 1)
        why = f"a record of type {type_name} has {count}, not {_shown(value)}"
        raise Unfit(f"{fitting.name} should be a record: {why}", RECORDS)
    return f"[{', '.join(_field(part, name, fitting) for part, (_, name) in zip(parts, fields, strict=True))}]"


def _field(value: Any, type_name: str, fitting: Fitting) -> str:
    kind = fitting.types[type_name].kind
    if kind == "record":
        return _record(value, type_name, fitting)
    if value is None:
        raise Unfit(f"{fitting.name} should be a record, but a field of it is null", RECORDS)
    if kind == "symbol":
        return symbol_in_record(_symbol(value, fitting))
    bits = _from_texts([value], kind, fitting)[0] if isinstance(value, str) else _bits(value, kind, fitting)
    if isinstance(bits, Unfit):
        raise bits
    if kind == "float":
        return f"{np.int64(bits).view(np.float64):.17g}"
    return str(int(bits) % (1 << 64) if kind == "unsigned" else bits)


# Texts that stand for numbers or records


def _from_texts(
    texts: Sequence[str], kind: Kind, fitting: Fitting, type_name: str | None = None
) -> Sequence[int | str | Unfit]:
    if kind == "record":
        found = canonical(texts, type_name or fitting.column.type, fitting.types, load())
        return [
            Unfit(f"{fitting.name} should be a record: {text.message}", RECORDS)
            if isinstance(text, RecordTextError)
            else text
            for text in found
        ]
    column = Column(fitting.column.name, kind, kind)
    lines = [text.encode(errors="replace") for text in texts]
    # A newline or NUL would end a line or a field, and `\r` before the end would be dropped.
    odd = {row for row, line in enumerate(lines) if b"\n" in line or b"\0" in line or line.endswith(b"\r")}
    sieve = number_sieve(column, fitting.relation, fitting.types)
    sieved = sieve.sieve(pyarrow.array([b"0" if row in odd else line for row, line in enumerate(lines)]))
    misfits = {misfit.row: Unfit(misfit.message, misfit.hint) for misfit in sieved.misfits}
    misfits |= {row: _not_a_number(texts[row], kind, fitting) for row in odd}
    good: Words = sieved.columns[0].to_numpy()
    values = np.zeros(len(texts), np.int64)
    values[[row for row in range(len(texts)) if row in odd or row not in misfits]] = good
    return [misfits.get(row) or value for row, value in enumerate(values.tolist())]


def _null(fitting: Fitting) -> Unfit:
    return Unfit(f"{fitting.name} is null", "a tuple has a value in every column")


def _not_a_number(value: Any, kind: Kind, fitting: Fitting) -> Unfit:
    return Unfit(f"{fitting.name} should be {_NAMES[kind]}, not {_shown(value)}", _FORMS[kind])


def _out_of_range(value: Any, kind: Kind, fitting: Fitting) -> Unfit:
    return Unfit(f"{_shown(value)} does not fit {fitting.name}, which is {_NAMES[kind]}", _FORMS[kind])


def _shown(value: Any) -> str:
    text = json.dumps(value) if isinstance(value, bool) else str(value)
    return f"`{text}`" if len(text) <= SHOWN else f"`{text[:SHOWN]}…`"
