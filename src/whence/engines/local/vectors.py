"""Dense counting (002 Alg. 5): the derivations of every tuple in every iteration, not only in its first.

A relation's vectors are a table of its tuples with an iteration each, counted. With them a deleted tuple is not
searched for: its next iteration is there to be read. That is what dense maintenance pays for with its memory.
"""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from whence.interrupts import uninterrupted

from .table import Table, Words

FEW_ROWS = 4096


class Vectors:
    def __init__(self, kernel: SimpleNamespace, arity: int) -> None:
        self.arity = arity
        self.table = Table(kernel, arity + 1)
        self._looked_at = 0
        self.log: list[tuple[Words, Words]] = []  # rows and signed weights, since the epoch began

    def count(self, heads: Words, count: int, iteration: int, weights: Words | None) -> None:
        """Derivations that Bootstrap has met in an iteration."""
        leveled = np.empty((count, self.arity + 1), np.int64)
        leveled[:, :-1] = heads[: count * self.arity].reshape(count, self.arity)
        leveled[:, -1] = iteration
        self.table.insert(leveled.reshape(-1), count, weights=weights)

    def change(self, leveled: Words, count: int, weights: Words) -> None:
        """Derivations that were gained, or lost where weights are negative."""
        rows = np.empty(count, np.int64)
        self.table.insert(leveled, count, weights=np.zeros(count, np.int64), found=rows)
        with uninterrupted:  # in the log and in the counts, or in neither
            self.log.append((rows, weights))
            np.add.at(self.table.counts, rows, weights)

    def weights(self, leveled: Words, count: int) -> Words:
        """How many derivations each of these tuples with an iteration has, none or more."""
        rows = self.table.locate(leveled, count)
        return np.where(rows >= 0, self.table.counts[rows], 0).astype(np.int64)

    def commit(self) -> None:
        self.log.clear()

    def abandon(self) -> None:
        for rows, weights in self.log:
            np.subtract.at(self.table.counts, rows, weights)
        self.log.clear()

    def compact(self) -> None:
        """Makes the table anew where most entries count nothing any more; looks only once it has grown much."""
        if len(self.table) < 2 * self._looked_at + FEW_ROWS:
            return
        counts = self.table.counts
        there = counts != 0
        if 2 * int(there.sum()) + FEW_ROWS < len(counts):
            rows = self.table.rows[there]
            anew = Table(self.table.kernel, self.arity + 1)
            anew.insert(rows.reshape(-1), len(rows), weights=counts[there].astype(np.int64))
            self.table = anew
        self._looked_at = len(self.table)
