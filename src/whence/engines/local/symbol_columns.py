"""Arrow columns of strings to codes of a symbol table, and back, with no Python object for any of them."""

from __future__ import annotations

import numpy as np
import pyarrow

from .kernel.text_layout import Y_BYTES, Y_COUNT, Y_OFFSETS, Y_USED
from .symbols import SymbolTable
from .table import Words


def strings_of(symbols: SymbolTable, codes: Words) -> pyarrow.Array:
    """The string of each code."""
    fields = symbols.descriptor
    count = int(fields[Y_COUNT])
    if not count:
        return pyarrow.array([], pyarrow.string())
    offsets = pyarrow.foreign_buffer(int(fields[Y_OFFSETS]), 8 * (count + 1), symbols)
    data = pyarrow.foreign_buffer(int(fields[Y_BYTES]), int(fields[Y_USED]), symbols)
    every = pyarrow.LargeStringArray.from_buffers(count, offsets, data)
    return every.take(pyarrow.array(codes)).cast(pyarrow.string())


def codes_of(symbols: SymbolTable, strings: pyarrow.Array) -> Words:
    """The code of each string, interned if it is new; there are no nulls, and all of it is UTF-8."""
    if not len(strings):
        return np.empty(0, np.int64)
    strings = strings.cast(pyarrow.large_string())
    _, offsets, data = strings.buffers()
    places = np.frombuffer(offsets, np.int64)[strings.offset : strings.offset + len(strings) + 1]
    starts, ends = np.ascontiguousarray(places[:-1]), np.ascontiguousarray(places[1:])
    return symbols.intern(data.address if data is not None else 0, starts, ends)
