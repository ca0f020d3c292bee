"""Events that wait for their iteration: rows of a relation with signed weights.

They are chained by iteration in one pool, by the kernel, which takes those of an iteration out again; see `layout`.
"""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from whence.interrupts import uninterrupted

from .kernel.layout import (
    W_CAPACITY,
    W_CHAINS,
    W_FIRST,
    W_LIMIT,
    W_NEXT,
    W_ROWS,
    W_TOO_MANY,
    W_USED,
    W_WANTED,
    W_WEIGHTS,
    WAITING_WORDS,
)
from .memory import Array
from .table import Halves

FIRST_ITERATIONS = 64
FIRST_EVENTS = 64


class Waiting:
    def __init__(self, kernel: SimpleNamespace) -> None:
        self._kernel = kernel
        self._descriptor = np.zeros(WAITING_WORDS, np.int64)
        self.address = int(self._descriptor.ctypes.data)
        self._fields = self._descriptor.data
        self._chains = Array(np.int32, 2 * FIRST_ITERATIONS)
        self._events = [Array(np.int32, FIRST_EVENTS) for _ in range(3)]
        self._fields[W_LIMIT] = self._fields[W_FIRST] = FIRST_ITERATIONS
        self._publish()

    @property
    def first(self) -> int | None:
        """The first iteration for which an event waits."""
        iteration: int = self._kernel.first_waiting(self.address)
        return None if iteration < 0 else iteration

    @property
    def too_many(self) -> bool:
        """Whether an event's weight was more than is counted."""
        return bool(self._fields[W_TOO_MANY])

    def take(self, iteration: int) -> tuple[Halves, Halves]:
        """Takes the events of an iteration out."""
        count = int(self._chains.view[2 * iteration + 1]) if iteration < self._fields[W_LIMIT] else 0
        taken = np.empty((2, count), np.int32)
        if count:
            self._kernel.take_events(self.address, iteration, taken[0].ctypes.data, taken[1].ctypes.data)
        return taken[0], taken[1]

    @uninterrupted
    def make_room(self) -> None:
        """For the event that the kernel had no room for, and more."""
        limit, wanted = self._fields[W_LIMIT], self._fields[W_WANTED]
        if wanted >= limit:
            longer = max(wanted + 1, 2 * limit)
            self._chains.grow(2 * longer)
            if self._fields[W_FIRST] == limit:  # none waits
                self._fields[W_FIRST] = longer
            self._fields[W_LIMIT] = longer
        if self._fields[W_USED] == self._fields[W_CAPACITY]:
            for events in self._events:
                events.grow(2 * len(events))
        self._publish()

    def _publish(self) -> None:
        for place, array in zip((W_ROWS, W_WEIGHTS, W_NEXT), self._events, strict=True):
            self._fields[place] = array.address
        self._fields[W_CAPACITY] = len(self._events[0])
        self._fields[W_CHAINS] = self._chains.address
