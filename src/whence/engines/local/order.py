"""Rows in the order of their values, so that the same results are the same file.

Numbers are ordered as numbers, symbols by code point. Each column is mapped to integers from 0 in the same order, its
ranks. Where those of a row fit in 64 bits together, rows are sorted as single integers and mapped back.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from whence.lang.program import Kind

from .symbols import SymbolTable
from .table import Rows, Words

SIGN = np.int64(-(2**63))
Keys = np.ndarray[tuple[int], np.dtype[np.uint64]]


def sorted_rows(rows: Rows, kinds: Sequence[Kind], tables: Sequence[SymbolTable]) -> Rows:
    """The rows, sorted. `tables` has for each column the table of its texts; those of numbers are not looked at."""
    if len(rows) < 2 or not kinds:
        return rows
    columns = [
        _by_text(np.ascontiguousarray(rows[:, i]), table)
        if kind in ("symbol", "record")
        else _by_value(np.ascontiguousarray(rows[:, i]), kind)
        for i, (kind, table) in enumerate(zip(kinds, tables, strict=True))
    ]
    if sum(column.width for column in columns) < 64:
        return _sorted_as_integers(columns)
    words: list[Keys] = []
    free = 0
    for column in columns:
        if words and column.width <= free:
            words[-1] = (words[-1] << np.uint64(column.width)) | column.ranks
            free -= column.width
        else:
            words.append(column.ranks)
            free = 64 - column.width
    return rows[_order(words)]


@dataclass(frozen=True)
class _Ranked:
    """A column as ranks, of `width` bits. Back from a rank: `texts` has the code of each, or else it is `kind` and
    counts from `low`."""

    ranks: Keys
    width: int
    kind: Kind
    low: int = 0
    texts: Words | None = None

    def values(self, ranks: Keys) -> Words:
        if self.texts is not None:
            return self.texts[ranks.view(np.int64)]
        return _from_ordered_bits(ranks + np.uint64(self.low), self.kind)


def _by_value(values: Words, kind: Kind) -> _Ranked:
    bits = ordered_bits(values, kind)
    low = int(bits.min())
    return _Ranked(bits - np.uint64(low), (int(bits.max()) - low).bit_length(), kind, low)


def _by_text(codes: Words, symbols: SymbolTable) -> _Ranked:
    used = np.zeros(len(symbols), bool)
    used[codes] = True
    texts = symbols.sorted(np.flatnonzero(used))
    ranks = np.empty(len(symbols), np.uint64)
    ranks[texts] = np.arange(len(texts), dtype=np.uint64)
    return _Ranked(ranks[codes], (len(texts) - 1).bit_length(), "symbol", texts=texts)


def _sorted_as_integers(columns: Sequence[_Ranked]) -> Rows:
    packed = columns[0].ranks
    for column in columns[1:]:
        packed = (packed << np.uint64(column.width)) | column.ranks
    packed = np.sort(packed)
    rows = np.empty((len(packed), len(columns)), np.int64)
    for i in reversed(range(len(columns))):
        width = columns[i].width
        rows[:, i] = columns[i].values(packed & np.uint64((1 << width) - 1))
        packed >>= np.uint64(width)
    return rows


def _order(words: Sequence[Keys]) -> Words:
    """Where the rows go, by the first word and, among those that have the same, by the others."""
    order: Words = np.argsort(words[0])
    if len(words) > 1:
        first = words[0][order]
        same = first[1:] == first[:-1]
        tied = np.zeros(len(order), bool)
        tied[1:] = same
        tied[:-1] |= same
        some = order[tied]
        order[tied] = some[np.lexsort([word[some] for word in reversed(words)])]
    return order


def ordered_bits(values: Words, kind: Kind) -> Keys:
    """Unsigned integers in the order of the values."""
    if kind == "unsigned":
        return values.view(np.uint64)
    if kind == "float":  # negative ones are ordered backwards by their bits
        values = values ^ ((values >> np.int64(63)) & ~SIGN)
    return (values ^ SIGN).view(np.uint64)


def _from_ordered_bits(bits: Keys, kind: Kind) -> Words:
    if kind == "unsigned":
        return bits.view(np.int64)
    values = bits.view(np.int64) ^ SIGN
    return values ^ ((values >> np.int64(63)) & ~SIGN) if kind == "float" else values
