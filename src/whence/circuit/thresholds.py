"""Incremental distinct: (↑distinct)^Δ, and in a loop (↑(↑distinct)^Δ)^Δ.

For each row the history of its weights by time is kept. A row is there from a time on at which they have added up to
more than 0; what is given is how that changes. Outside of loops there is one time, 0.
"""

from __future__ import annotations

import numpy as np

from whence.engines.local.kernel import weighted_layout as layout
from whence.engines.local.kernel.library import load
from whence.engines.local.memory import Array
from whence.engines.local.table import Rows, Table, Words

from .operators import Later
from .zset import Flags, ZSet

FIRST_ROOM = 16
MANY = 1 << 12
FEW = 256  # rows that are not worth making anew


class Distinct:
    def __init__(self, arity: int, timed: bool = False) -> None:
        self.arity = arity
        self.timed = timed
        self.kernel = load()
        self.table = Table(self.kernel, arity, counted=False)
        self.later = Later(arity)
        self._looked_at = FEW  # rows, up to which nobody looks whether many have no history any more
        self._heads = Array(np.int32, FIRST_ROOM)
        self._sums = Array(np.int64, FIRST_ROOM)
        self._marks = Array(np.uint8, FIRST_ROOM)
        self._times = Array(np.int64, FIRST_ROOM)
        self._weights = Array(np.int64, FIRST_ROOM)
        self._next = Array(np.int32, FIRST_ROOM)
        self._descriptor = np.zeros(layout.HISTORY_WORDS, np.int64)
        self._address = self._descriptor.ctypes.data
        self._history = self._descriptor.data  # faster than NumPy for single words
        self._history[layout.H_SIZE] = 1  # entry 0 is none
        self._publish()

    @property
    def nbytes(self) -> int:
        return self.table.nbytes + 13 * len(self.table) + 20 * self._history[layout.H_SIZE]

    def step(self, now: int, batch: ZSet) -> ZSet:
        now = now if self.timed else 0
        self.follow(batch, now)
        return self.pop(now)

    def pop(self, now: int) -> ZSet:
        """What is to be given at a tick."""
        pieces = self.later.pieces.pop(now, ())
        return ZSet(self.arity, pieces, settled=len(pieces) == 1)  # no row comes or goes twice at a time

    def follow(self, batch: ZSet, now: int) -> None:
        """Takes changes in; what follows from them is in `later`."""
        if batch.pieces:
            if len(self.table) > self._looked_at:
                self._forget_rows()
            self._follow(batch, now)

    def given(self) -> ZSet:
        """All that was given so far: the integral without what is yet to be given."""
        total = self.integral()
        for time, pieces in self.later.pieces.items():
            for rows, weights in pieces:
                timed = np.concatenate([rows, np.full((len(rows), 1), time)], axis=1)
                total = total - ZSet(self.arity + 1, [(timed, weights)])
        return total

    def waiting(self, now: int) -> int | None:
        return self.later.next()

    def rewind(self) -> None: ...

    def present(self) -> Rows:
        """The rows that are there in the end, after all times."""
        return self.table.rows[self._totals(self._heads.view[: len(self.table)]) > 0]

    def has(self, rows: Rows) -> Flags:
        """Which rows are there in the end."""
        found = self.table.locate(np.ascontiguousarray(rows).reshape(-1), len(rows))
        heads = np.where(found >= 0, self._heads.view[np.maximum(found, 0)], 0)
        return self._totals(heads) > 0

    def _totals(self, heads: np.ndarray) -> Words:
        """The sum of each history, by its first entry."""
        totals = np.zeros(len(heads), np.int64)
        entry = heads.astype(np.int64)
        row = np.flatnonzero(entry)
        entry = entry[row]
        while len(row):
            totals[row] += self._weights.view[entry]
            entry = self._next.view[entry].astype(np.int64)
            row, entry = row[entry != 0], entry[entry != 0]
        return totals

    def integral(self) -> ZSet:
        """All that was given so far: each row with, in a loop as last column, the time it belongs to."""
        rows, times, weights = self._all_changes()
        if self.timed:
            rows = np.concatenate([rows, times[:, None]], axis=1)
        return ZSet(self.arity + self.timed, [(rows, weights)])

    def _all_changes(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Where each row that is known comes and goes."""
        heads, following = self._heads.view[: len(self.table)], self._next.view
        entry = heads.astype(np.int64)
        row = np.flatnonzero(entry)
        entry = entry[row]
        sums = np.zeros(len(self.table), np.int64)
        found: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        while len(row):  # the first entries of all rows, then the second ones, …
            before = sums[row] > 0
            sums[row] += self._weights.view[entry]
            difference = (sums[row] > 0).astype(np.int64) - before
            changed = difference != 0
            found.append((row[changed], self._times.view[entry[changed]], difference[changed]))
            entry = following[entry].astype(np.int64)
            row, entry = row[entry != 0], entry[entry != 0]
        if not found:
            return np.empty((0, self.arity), np.int64), np.empty(0, np.int64), np.empty(0, np.int64)
        numbers, times, weights = (np.concatenate(part) for part in zip(*found, strict=True))
        return self.table.rows[numbers], times, weights

    def _follow(self, batch: ZSet, now: int) -> None:
        touched, count = self._gather(batch)
        self._make_room_for_entries(count)
        history = self._history
        history[layout.H_TOUCHED] = touched.ctypes.data
        history[layout.H_NOW] = now
        done, room = 0, count + count // 2 + FIRST_ROOM
        while done < count:
            out = np.empty((3, room), np.int64)
            address = out.ctypes.data
            history[layout.H_OUT_ROWS] = address
            history[layout.H_OUT_TIMES] = address + 8 * room
            history[layout.H_OUT_WEIGHTS] = address + 16 * room
            history[layout.H_CAPACITY] = room
            history[layout.H_WRITTEN] = 0
            done = self.kernel.cross_threshold(self._address, done, count)
            written = history[layout.H_WRITTEN]
            if written:
                numbers, times, weights = out[:, :written]
                later = times if (times != now).any() else None
                self.later.add(self.table.rows[numbers], weights, later, now)
            room *= 2

    def _gather(self, batch: ZSet) -> tuple[np.ndarray, int]:
        """Adds the weights of a batch up by row; returns the rows that were touched."""
        touched = np.empty(0, np.int64)
        count = 0
        for rows, weights in batch.pieces:
            rows, weights = np.ascontiguousarray(rows), np.ascontiguousarray(weights)
            found = np.empty(len(weights), np.int64)
            if len(weights) <= max(MANY, len(self.table)):  # of more, many may be equal
                self.table.reserve(len(weights))
            self.table.insert(rows.reshape(-1), len(weights), found=found)
            size = len(self.table)
            if size > len(self._heads):
                for array in (self._heads, self._sums, self._marks):
                    array.grow(max(size, 2 * len(array)))
                self._publish()
            if min(size, count + len(weights)) > len(touched):  # no row is noted twice
                larger = np.empty(min(size, 2 * (count + len(weights))), np.int64)
                larger[:count] = touched[:count]
                touched = larger
            count = self.kernel.gather_weights(
                found.ctypes.data,
                weights.ctypes.data,
                len(weights),
                self._sums.address,
                self._marks.address,
                touched.ctypes.data,
                count,
            )
        return touched, count

    def _forget_rows(self) -> None:
        """Rows without a history are given up if they are more than half; else the table may grow to twice its size."""
        alive = np.flatnonzero(self._heads.view[: len(self.table)])
        if 2 * len(alive) < len(self.table):
            rows, heads = self.table.rows[alive], self._heads.view[alive]
            self.table = Table(self.kernel, self.arity, counted=False)
            self.table.insert(np.ascontiguousarray(rows).reshape(-1), len(rows))
            room = max(FIRST_ROOM, len(rows))
            self._heads, self._sums, self._marks = (Array(dtype, room) for dtype in (np.int32, np.int64, np.uint8))
            self._heads.view[: len(rows)] = heads
            self._publish()
        self._looked_at = max(FEW, 2 * len(self.table))

    def _make_room_for_entries(self, more: int) -> None:
        wanted = self._history[layout.H_SIZE] + more
        if wanted > len(self._times):
            for array in (self._times, self._weights, self._next):
                array.grow(max(wanted, 2 * len(array)))
            self._publish()

    def _publish(self) -> None:
        history = self._history
        history[layout.H_HEADS] = self._heads.address
        history[layout.H_SUMS] = self._sums.address
        history[layout.H_MARKS] = self._marks.address
        history[layout.H_TIMES] = self._times.address
        history[layout.H_WEIGHTS] = self._weights.address
        history[layout.H_NEXT] = self._next.address
