"""Batches matched with traces: what a join does with a change of one side, as numbers that the kernel reads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from whence.engines.local.kernel import weighted_layout as layout
from whence.engines.local.kernel.layout import INDEX_WORDS
from whence.engines.local.kernel.weighted_layout import BATCH, CONSTANT, TRACE
from whence.engines.local.table import Rows, Words
from whence.errors import WhenceError

from .trace import Trace
from .zset import LEFT, RIGHT, Piece, ZSet

FIRST_ROOM, MOST_ROOM = 1 << 12, 1 << 18  # pairs in one piece
_NO_INDEX = np.zeros(INDEX_WORDS, np.int64)

Source = tuple[int, int]  # BATCH or TRACE and a column, or CONSTANT and a value


@dataclass(frozen=True)
class Match:
    """`key` is where the values of the indexed `columns` of the trace come from; without columns all rows are met.

    `tests` compare a column of the batch with a source, `checks` a column of the trace; `outputs` make the row.
    """

    columns: tuple[int, ...]
    key: tuple[Source, ...]
    outputs: tuple[Source, ...]
    tests: tuple[tuple[int, Source], ...] = ()
    checks: tuple[tuple[int, Source], ...] = ()

    def lists(self) -> Words:
        flat = [len(self.key), *(word for source in self.key for word in source)]
        for compared in (self.tests, self.checks):
            flat += [len(compared), *(word for column, source in compared for word in (column, *source))]
        flat += [len(self.outputs), *(word for source in self.outputs for word in source)]
        return np.array([0] * layout.J_LISTS + flat, np.int64)


class Matcher:
    """A match that can be carried out."""

    def __init__(self, match: Match) -> None:
        self.match = match
        self._join = match.lists()
        self._address = self._join.ctypes.data
        self._fields = self._join.data  # faster than NumPy for single words

    def pieces(self, rows: Rows, weights: Words, trace: Trace, now: int) -> Iterator[tuple[Rows, Words, Words | None]]:
        """Rows and weights of the pairs, and their times if one is later than `now`."""
        if not len(weights) or not len(trace.table):
            return
        join, width = self._fields, len(self.match.outputs)
        rows, weights = np.ascontiguousarray(rows), np.ascontiguousarray(weights)
        join[layout.J_BATCH] = rows.ctypes.data
        join[layout.J_BATCH_ARITY] = rows.shape[1]
        join[layout.J_BATCH_WEIGHTS] = weights.ctypes.data
        join[layout.J_COUNT] = len(weights)
        join[layout.J_TABLE] = trace.table.address
        join[layout.J_TRACE_WEIGHTS] = trace.weights_address
        columns = self.match.columns
        join[layout.J_INDEX] = trace.index(columns).address if columns else _NO_INDEX.ctypes.data
        join[layout.J_TIMED] = int(trace.timed)
        join[layout.J_NOW] = now
        join[layout.J_CURSOR] = 0
        join[layout.J_CHAIN] = layout.NOT_BEGUN
        room = min(MOST_ROOM, max(FIRST_ROOM, 2 * len(weights)))
        while join[layout.J_CURSOR] < len(weights):
            out, out_weights = np.empty((room, width), np.int64), np.empty(room, np.int64)
            times = np.empty(room if trace.timed else 0, np.int64)
            join[layout.J_OUT] = out.ctypes.data
            join[layout.J_OUT_WEIGHTS] = out_weights.ctypes.data
            join[layout.J_OUT_TIMES] = times.ctypes.data
            join[layout.J_CAPACITY] = room
            join[layout.J_LATEST] = now
            written = trace.kernel.match_rows(self._address)
            if written:
                later = join[layout.J_LATEST] > now
                yield out[:written], out_weights[:written], times[:written] if later else None
            room = min(MOST_ROOM, 4 * room)


def matched(match: Match, batch: ZSet, trace: Trace) -> ZSet:
    """A batch matched with a trace that has no times."""
    matcher = Matcher(match)
    pieces: list[Piece] = [
        (out, out_weights)
        for rows, weights in batch.pieces
        for out, out_weights, _ in matcher.pieces(rows, weights, trace, 0)
    ]
    return ZSet(len(match.outputs), pieces)


def join_plan(
    left: int, right: int, on: Sequence[tuple[int, int]], keep: Sequence[tuple[int, int]] | None
) -> tuple[Match, Match]:
    """How a change of the left side is matched with the right one, and one of the right side with the left one."""
    kept = tuple(keep) if keep is not None else (*((LEFT, i) for i in range(left)), *((RIGHT, i) for i in range(right)))
    for side, column in (*((LEFT, i) for i, _ in on), *((RIGHT, j) for _, j in on), *kept):
        if side not in (LEFT, RIGHT) or not 0 <= column < (left, right)[side]:
            raise WhenceError(
                f"a join of {left} and {right} columns has no column {column} on side {side}; 0 is left, 1 is right"
            )
    from_left, from_right = tuple(i for i, _ in on), tuple(j for _, j in on)
    return (
        Match(
            from_right,
            tuple((BATCH, i) for i in from_left),
            tuple((BATCH if side == LEFT else TRACE, i) for side, i in kept),
        ),
        Match(
            from_left,
            tuple((BATCH, j) for j in from_right),
            tuple((BATCH if side == RIGHT else TRACE, i) for side, i in kept),
        ),
    )


__all__ = ["BATCH", "CONSTANT", "TRACE", "Match", "Matcher", "Source", "join_plan", "matched"]
