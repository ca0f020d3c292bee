"""A relation while its stratum is revised: its events, the rows that are to change next, and the log to undo them.

What changes rows is done by the kernel in one call each, and the log is written by it before the row is: so an
interrupt finds every row as it was, or in the log.
"""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from whence.interrupts import uninterrupted
from whence.tables import Uncountable

from .kernel.layout import CHANGED, G_CAPACITY, G_COUNTS, G_ROWS, G_SIZE, G_STAMPS, LOG_WORDS
from .memory import Array
from .table import Halves, Rows, Table, Words
from .tables import Stored
from .vectors import Vectors
from .waiting import Waiting

NONE: Halves = np.empty(0, np.int32)
FIRST = 64
FAR = 1 << 40  # a row that no table reaches


class Log:
    """Rows with the stamps and counts that they had when they were first touched in this epoch."""

    def __init__(self) -> None:
        self._descriptor = np.zeros(LOG_WORDS, np.int64)
        self._arrays = [Array(np.int32, FIRST) for _ in range(3)]
        self._publish()

    def __len__(self) -> int:
        return int(self._descriptor[G_SIZE])

    @property
    def rows(self) -> Halves:
        return self._arrays[0].view[: len(self)]

    @property
    def stamps(self) -> Halves:
        return self._arrays[1].view[: len(self)]

    @property
    def counts(self) -> Halves:
        return self._arrays[2].view[: len(self)]

    def room(self, more: int) -> int:
        """The address of a log with room for so many more."""
        if len(self) + more > len(self._arrays[0]):
            with uninterrupted:
                for array in self._arrays:
                    array.grow(max(len(self) + more, 2 * len(array)))
                self._publish()
        return int(self._descriptor.ctypes.data)

    def undo(self, table: Table) -> None:
        table.stamps[self.rows] = self.stamps & ~np.int32(CHANGED)
        table.counts[self.rows] = self.counts

    def _publish(self) -> None:
        for place, array in zip((G_ROWS, G_STAMPS, G_COUNTS), self._arrays, strict=True):
            self._descriptor[place] = array.address
        self._descriptor[G_CAPACITY] = len(self._arrays[0])


class Revised:
    """`changing` has the rows that leave the iteration under way, `leaving` of them, then those that come into it."""

    def __init__(self, kernel: SimpleNamespace, stored: Stored, log: Log, vectors: Vectors | None) -> None:
        self.kernel = kernel
        self.stored = stored
        self.table = stored.table
        self.log = log
        self.vectors = vectors
        self.waiting = Waiting(kernel)
        self.changing: Halves = NONE
        self.leaving = 0
        self.moving = 0  # of those that come, how many were there later
        self.net = 0  # tuples that came so far, less those that went

    @property
    def missing(self) -> Halves:
        """The rows that leave."""
        return self.changing[: self.leaving]

    def change_input(self, inserted: Rows, deleted: Rows) -> None:
        """Input rows that leave iteration 0, and others that come into it."""
        table = self.table
        leaving = table.locate(np.ascontiguousarray(deleted).reshape(-1), len(deleted))
        coming: Words = np.empty(len(inserted), np.int64)
        table.insert(np.ascontiguousarray(inserted).reshape(-1), len(inserted), FAR, found=coming)
        self.stored.stop = len(table)
        changing = np.concatenate([leaving, coming]).astype(np.int32)
        self.changing, self.leaving = changing, len(leaving)
        log, address = self.log.room(len(changing)), changing.ctypes.data
        self.kernel.mark_rows(table.address, log, address, len(leaving), 0)
        self.kernel.mark_rows(table.address, log, address + 4 * len(leaving), len(coming), 1)

    def note(self, heads: int, count: int, weights: int, sign: int, taken: int = 0) -> None:
        """Lets the heads of changed derivations wait as events, from number `taken` on. See the kernel."""
        self.table.note(heads, count, weights, sign, self.waiting, taken)
        self.stored.stop = len(self.table)
        if self.waiting.too_many:
            raise Uncountable

    def weigh(self, iteration: int) -> None:
        """What the events of an iteration mean for the rows that have them."""
        rows, weights = self.waiting.take(iteration)
        if not len(rows):
            return
        met = np.empty(2 * len(rows), np.int32)
        sizes = np.zeros(3, np.int64)
        log = self.log.room(len(rows))
        outcome = self.kernel.weigh_events(
            self.table.address,
            log,
            rows.ctypes.data,
            weights.ctypes.data,
            len(rows),
            iteration,
            met.ctypes.data,
            sizes.ctypes.data,
        )
        if outcome == 1:
            raise Uncountable
        assert outcome == 0, "more derivations were lost than there were"
        self.leaving, self.moving = int(sizes[0]), int(sizes[2])
        self.changing = met[: sizes[0] + sizes[1]].copy()

    def show(self, lost: Stored, gained: Stored, iteration: int) -> None:
        """Fills tables with what is to change, as it is and as it will be."""
        for delta, first, number in ((lost, 0, -1), (gained, self.leaving, iteration)):
            rows = self.changing[first:]
            delta.table.clear()
            if len(rows):
                delta.table.prepare(len(rows))
                self.kernel.show_rows(self.table.address, rows.ctypes.data, len(rows), delta.table.address, number)
            delta.stop = len(delta.table)

    def take_effect(self, iteration: int) -> None:
        coming = len(self.changing) - self.leaving
        if len(self.changing):
            self.kernel.change_rows(self.table.address, self.changing.ctypes.data, self.leaving, coming, iteration)

    def settle(self) -> None:
        """The changes under way are done with."""
        if len(self.changing):
            self.net += len(self.changing) - 2 * self.leaving - self.moving
            self.kernel.unmark_rows(self.table.address, self.changing.ctypes.data, len(self.changing))
            self.changing, self.leaving, self.moving = NONE, 0, 0

    def undo(self) -> None:
        self.log.undo(self.table)
