"""A table: a set of rows of int64 values, appended in the order they were first derived, with derivation counts.

A count takes four bytes and stops at 2^31 - 1.

Row numbers never change, so the tuples of one iteration are a range of rows. Once a table is revised its rows have
stamps, which say so instead. The kernel reads the descriptor; Python only makes room. Row arrays grow in place, so that
growing needs no second copy.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING

import numpy as np

from whence.errors import WhenceError
from whence.interrupts import uninterrupted

from .kernel import layout
from .kernel.layout import (
    INDEX_WORDS,
    T_ARITY,
    T_BITS,
    T_CAPACITY,
    T_COUNTS,
    T_ROWS,
    T_SIZE,
    T_SLOTS,
    T_STAMPS,
    TABLE_WORDS,
    X_BITS,
    X_COLUMN_COUNT,
    X_INDEXED,
    X_KEYS,
    X_NEXT,
    X_ROOM,
    X_SLOTS,
)
from .memory import Array

if TYPE_CHECKING:
    from .waiting import Waiting

Words = np.ndarray[tuple[int], np.dtype[np.int64]]
Rows = np.ndarray[tuple[int, int], np.dtype[np.int64]]
Halves = np.ndarray[tuple[int], np.dtype[np.int32]]

FIRST_BITS = 4
FIRST_ROWS = 16
MOST_ROWS = 1 << 31  # chains of an index are of four bytes a row


class Table:
    """Rows, their hash set, their counts (unless `counted` is false) and the indexes made of them so far."""

    def __init__(self, kernel: SimpleNamespace, arity: int, counted: bool = True) -> None:
        self.kernel = kernel
        self.arity = arity
        self.counted = counted
        self.descriptor = np.zeros(TABLE_WORDS, np.int64)
        self.address = self.descriptor.ctypes.data
        self._fields = self.descriptor.data  # faster than NumPy for single words
        self._tags = np.empty(layout.CHUNK, np.int64)
        self.tags_address = int(self._tags.ctypes.data)
        self._rows = Array(np.int64, FIRST_ROWS * arity)
        self._counts = Array(np.int32, FIRST_ROWS if counted else 0)
        self._slots = Array(np.int64, 1 << FIRST_BITS)
        self._stamps: Array | None = None
        self._appended = False  # rows that are not in the hash set
        self.indexes: dict[tuple[int, ...], Index] = {}
        self._fields[T_ARITY] = arity
        self._fields[T_BITS] = FIRST_BITS
        self._fields[T_CAPACITY] = FIRST_ROWS
        self._publish()

    def __len__(self) -> int:
        return self._fields[T_SIZE]

    @property
    def rows(self) -> Rows:
        """The rows, without copying; not to be kept while the table grows."""
        size = len(self)
        return self._rows.view[: size * self.arity].reshape(size, self.arity)

    @property
    def counts(self) -> Halves:
        return self._counts.view[: len(self)]

    @property
    def stamped(self) -> bool:
        return self._stamps is not None

    @property
    def stamps(self) -> Halves:
        assert self._stamps is not None
        return self._stamps.view[: len(self)]

    def stamp(self, stamps: Halves) -> None:
        """Gives every row its stamp; rows that come later have 0."""
        filled = Array(np.int32, self._fields[T_CAPACITY])
        filled.view[: len(stamps)] = stamps
        with uninterrupted:
            self._stamps = filled
            self._publish()

    @property
    def nbytes(self) -> int:
        """Bytes in use: rows, counts, stamps, the hash set and the indexes."""
        size = len(self)
        per_row = self.arity * 8 + (4 if self.counted else 0) + (4 if self.stamped else 0)
        return size * per_row + 8 * len(self._slots) + sum(index.nbytes for index in self.indexes.values())

    def insert(
        self, buffer: Words, count: int, fresh: int = 0, weights: Words | None = None, found: Words | None = None
    ) -> None:
        """Insert the first `count` rows of a flat buffer. See the kernel for `fresh`, `weights` and `found`."""
        weights_address = 0 if weights is None else weights.ctypes.data
        found_address = 0 if found is None else found.ctypes.data
        self.insert_from(buffer.ctypes.data, count, fresh, weights_address, found_address)

    def insert_from(self, buffer: int, count: int, fresh: int, weights: int = 0, found: int = 0) -> None:
        taken = 0
        while True:
            taken = self.kernel.insert(self.address, buffer, taken, count, weights, fresh, self.tags_address, found)
            if taken == count:
                return
            self._make_room()

    def note(self, heads: int, count: int, weights: int, sign: int, waiting: Waiting, taken: int = 0) -> None:
        """Finds or appends the heads of changed derivations, which then wait as events. See the kernel."""
        while True:
            taken = self.kernel.note(
                self.address, heads, taken, count, weights, sign, self.tags_address, waiting.address
            )
            if taken == count:
                return
            self._make_room()
            waiting.make_room()

    def append(self, rows: Rows) -> None:
        """Rows that differ from each other and from all there are. They get into the hash set once it is needed."""
        self.prepare(len(rows))
        size = len(self) + len(rows)
        self._rows.view[len(self) * self.arity : size * self.arity] = rows.reshape(-1)
        self._fields[T_SIZE] = size

    def prepare(self, more: int) -> None:
        """Room for so many rows that will be appended."""
        if self._fields[T_CAPACITY] < len(self) + more:
            with uninterrupted:
                while self._fields[T_CAPACITY] < len(self) + more:
                    self._grow_rows()
                self._publish()
        self._appended = True

    def reserve(self, more: int) -> None:
        """Room for so many more rows, so that it is not made step by step."""
        wanted, bits = len(self) + more, self._fields[T_BITS]
        while wanted >= (1 << bits) - (1 << (bits - 2)):
            bits += 1
        if wanted <= self._fields[T_CAPACITY] and bits == self._fields[T_BITS]:
            return
        with uninterrupted:
            if wanted > self._fields[T_CAPACITY]:
                self._grow_rows(wanted)
            if bits > self._fields[T_BITS]:
                larger = Array(np.int64, 1 << bits)
                self.kernel.grow_slots(self._slots.address, self._fields[T_BITS], larger.address, bits)
                self._slots = larger
                self._fields[T_BITS] = bits
            self._publish()

    def complete(self) -> None:
        """Every row is in the hash set."""
        if self._appended:
            rows = self.rows.copy()
            self.clear()
            self.insert(rows.reshape(-1), len(rows))

    def locate(self, buffer: Words, count: int) -> Words:
        """The row that each of the first `count` rows of a flat buffer is, or -1."""
        found = np.empty(count, np.int64)
        self.kernel.locate(self.address, buffer.ctypes.data, count, found.ctypes.data)
        return found

    def clear(self) -> None:
        """No rows, at the same address; what was made for many rows is given up."""
        size = len(self)
        if not size:
            return
        bits = self._fields[T_BITS]
        if (1 << bits) > 16 * size + 1024:
            self._fields[T_BITS] = bits = FIRST_BITS
            self._slots = Array(np.int64, 1 << bits)
        else:
            self._slots.view[:] = 0
        self._fields[T_SIZE] = 0
        self._appended = False
        for index in self.indexes.values():
            index.clear()
        self._publish()

    def index(self, columns: tuple[int, ...]) -> Index:
        index = self.indexes.get(columns)
        if index is None:
            index = self.indexes[columns] = Index(self, columns)
        return index

    @uninterrupted
    def _make_room(self) -> None:
        size, capacity, bits = len(self), self._fields[T_CAPACITY], self._fields[T_BITS]
        if size >= capacity:
            self._grow_rows()
        if size >= (1 << bits) - (1 << (bits - 2)):
            self._slots = grown(self.kernel, self._slots, bits)
            self._fields[T_BITS] = bits + 1
        self._publish()

    def _grow_rows(self, wanted: int = 0) -> None:
        """To twice the capacity, or as often twice as that many rows need."""
        capacity = self._fields[T_CAPACITY]
        if capacity >= MOST_ROWS:
            raise WhenceError(f"a relation would have more than {MOST_ROWS:,} tuples, the most that one can have")
        capacity *= 2
        while capacity < wanted:
            capacity *= 2
        self._rows.grow(capacity * self.arity)
        if self.counted:
            self._counts.grow(capacity)
        if self._stamps is not None:
            self._stamps.grow(capacity)
        self._fields[T_CAPACITY] = capacity

    def _publish(self) -> None:
        self._fields[T_ROWS] = self._rows.address
        self._fields[T_COUNTS] = self._counts.address if self.counted else 0
        self._fields[T_SLOTS] = self._slots.address
        self._fields[T_STAMPS] = self._stamps.address if self._stamps is not None else 0


class Index:
    """The rows of a table by some of its columns: an arrangement. `extend` brings it up to a row."""

    def __init__(self, table: Table, columns: Sequence[int]) -> None:
        self.table = table
        self.columns = tuple(columns)
        self.descriptor = np.zeros(INDEX_WORDS + len(self.columns), np.int64)
        self.address = self.descriptor.ctypes.data
        self._fields = self.descriptor.data
        self._slots = Array(np.int64, 1 << FIRST_BITS)
        self._next = Array(np.int32, FIRST_ROWS)
        self._fields[X_BITS] = FIRST_BITS
        self._fields[X_COLUMN_COUNT] = len(self.columns)
        self.descriptor[layout.X_COLUMNS : layout.X_COLUMNS + len(self.columns)] = self.columns
        self._publish()

    @property
    def nbytes(self) -> int:
        return 8 * len(self._slots) + 4 * self._fields[X_INDEXED]

    @property
    def keys(self) -> int:
        """How many distinct keys the indexed rows have."""
        return self._fields[X_KEYS]

    @property
    def size(self) -> int:
        """How many rows are indexed."""
        return self._fields[X_INDEXED]

    def clear(self) -> None:
        self._slots = Array(np.int64, 1 << FIRST_BITS)
        self._fields[X_BITS] = FIRST_BITS
        self._fields[X_KEYS] = self._fields[X_INDEXED] = 0
        self._publish()

    def extend(self, stop: int) -> None:
        if self._fields[X_INDEXED] >= stop:
            return
        if len(self._next) < stop:
            with uninterrupted:
                self._next.grow(max(stop, 2 * len(self._next)))
                self._publish()
        while self.table.kernel.extend_index(self.table.address, self.address, stop) < stop:
            with uninterrupted:
                self._slots = grown(self.table.kernel, self._slots, self._fields[X_BITS])
                self._fields[X_BITS] += 1
                self._publish()

    def _publish(self) -> None:
        self._fields[X_SLOTS] = self._slots.address
        self._fields[X_NEXT] = self._next.address
        self._fields[X_ROOM] = len(self._next)


def grown(kernel: SimpleNamespace, slots: Array, bits: int) -> Array:
    """Twice the slots, with the same entries."""
    larger = Array(np.int64, 2 << bits)
    kernel.grow_slots(slots.address, bits, larger.address, bits + 1)
    return larger
