"""A trace: all that a stream has brought so far, added up, with indexes to join it by. In a loop, each row with its
time.

The rows are in a table of the local engine, which never forgets one; a row whose weights have added up to 0 stays as a
dead one, and is not matched. When half of the rows are dead, the trace is made anew.
"""

from __future__ import annotations

import numpy as np

from whence.engines.local.kernel.library import load
from whence.engines.local.memory import Array
from whence.engines.local.table import Index, Rows, Table, Words

from .zset import Piece, ZSet

FEW = 256  # rows that are not worth making anew


class Trace:
    def __init__(self, arity: int, timed: bool = False) -> None:
        self.arity = arity
        self.timed = timed
        self.kernel = load()
        self.table = Table(self.kernel, arity + timed, counted=False)
        self._weights = Array(np.int64, 16)
        self._dead = 0
        self._indexed: list[tuple[int, ...]] = []

    def __len__(self) -> int:
        return len(self.table) - self._dead

    @property
    def nbytes(self) -> int:
        return self.table.nbytes + 8 * len(self.table)

    @property
    def weights_address(self) -> int:
        return self._weights.address

    @property
    def contents(self) -> Piece:
        """Rows and weights, the dead left out; rows of a timed trace end with their time."""
        weights = self._weights.view[: len(self.table)]
        there = weights != 0
        return self.table.rows[there], weights[there]

    def zset(self) -> ZSet:
        return ZSet(self.arity + self.timed, [self.contents], settled=True)

    def weights_of(self, rows: Rows) -> Words:
        """The weight of each row, given with its time if it has one."""
        found = self.table.locate(np.ascontiguousarray(rows).reshape(-1), len(rows))
        return np.where(found >= 0, self._weights.view[np.maximum(found, 0)], 0)

    def add(self, batch: ZSet, time: int = 0) -> None:
        for rows, weights in batch.pieces:
            if self.timed:
                timed = np.empty((len(rows), self.arity + 1), np.int64)
                timed[:, :-1] = rows
                timed[:, -1] = time
                rows = timed
            self._add(np.ascontiguousarray(rows).reshape(-1), np.ascontiguousarray(weights))
        if self._dead > FEW and 2 * self._dead > len(self.table):
            self._make_anew()

    def index(self, columns: tuple[int, ...]) -> Index:
        """An index that holds all rows."""
        index = self.table.index(columns)
        index.extend(len(self.table))
        return index

    def _add(self, flat: Words, weights: Words) -> None:
        before = len(self.table)
        found = np.empty(len(weights), np.int64)
        self.table.reserve(len(weights))
        self.table.insert(flat, len(weights), found=found)
        size = len(self.table)
        if size > len(self._weights):
            self._weights.grow(max(size, 2 * len(self._weights)))
        self._dead += (
            size
            - before
            + self.kernel.accumulate(found.ctypes.data, weights.ctypes.data, len(weights), self._weights.address)
        )

    def _make_anew(self) -> None:
        rows, weights = self.contents
        self.table = Table(self.kernel, self.arity + self.timed, counted=False)
        self._weights = Array(np.int64, 16)
        self._dead = 0
        self._add(np.ascontiguousarray(rows).reshape(-1), weights)
