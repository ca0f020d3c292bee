"""Z-sets: rows of whole numbers, each with an integer weight that is not 0; an Abelian group under addition.

A Z-set is a stack of pieces, arrays of rows and of weights, in which a row may occur more than once. Adding puts pieces
on the stack and costs nothing; equal rows are brought together when somebody looks. So a Z-set never changes, but how
it is stored may.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from whence.engines.local.kernel.library import load
from whence.engines.local.table import Rows, Words
from whence.errors import WhenceError

Row = tuple[int, ...]
Piece = tuple[Rows, Words]
Flags = np.ndarray[tuple[int], np.dtype[np.bool_]]
LEFT, RIGHT = 0, 1


class ZSet:
    """`ZSet.of({(1, 2): 1, (2, 3): -1})`; `z[1, 2]` is a weight, 0 for rows that are not in it."""

    __slots__ = ("_pieces", "_settled", "arity")

    def __init__(self, arity: int, pieces: Iterable[Piece] = (), *, settled: bool = False) -> None:
        """`settled` says that the one piece has every row once, and no weight 0."""
        self.arity = arity
        self._pieces = [piece for piece in pieces if len(piece[1])]
        self._settled = settled or not self._pieces

    @staticmethod
    def of(rows: Mapping[Row, int] | Iterable[Row], arity: int | None = None) -> ZSet:
        """From rows with their weights, or rows of weight 1. `arity` is needed where there may be no rows."""
        weighted = rows if isinstance(rows, Mapping) else None
        listed = [tuple(row) for row in rows]
        if arity is None:
            if not listed:
                raise WhenceError("a Z-set without rows needs its number of columns: ZSet.of([], arity=2)")
            arity = len(listed[0])
        for row in listed:
            if len(row) != arity:
                raise WhenceError(f"the row {row} has {len(row)} columns; those of this Z-set have {arity}")
        try:
            array = np.array(listed, np.int64).reshape(len(listed), arity)
            weights = np.array(list(weighted.values()) if weighted is not None else [1] * len(listed), np.int64)
        except (ValueError, TypeError, OverflowError):
            raise WhenceError("rows of Z-sets hold whole numbers; give other values numbers first") from None
        return ZSet(arity, [(array, weights)])

    @staticmethod
    def from_array(rows: Any, weights: Any = None) -> ZSet:
        """From an array with a line for each row; without weights each weighs 1. The array is not to change later."""
        array = np.ascontiguousarray(rows, np.int64)
        if array.ndim != 2:
            raise WhenceError(f"an array of shape {array.shape} was given; it should be (rows, columns)")
        each = np.ones(len(array), np.int64) if weights is None else np.ascontiguousarray(weights, np.int64)
        return ZSet(array.shape[1], [(array, each)])

    # Looking

    @property
    def pieces(self) -> Sequence[Piece]:
        """What it is made of, as it is: a row may occur more than once."""
        return self._pieces

    @property
    def rows(self) -> Rows:
        self._settle()
        return self._pieces[0][0] if self._pieces else np.empty((0, self.arity), np.int64)

    @property
    def weights(self) -> Words:
        self._settle()
        return self._pieces[0][1] if self._pieces else np.empty(0, np.int64)

    def __len__(self) -> int:
        """How many distinct rows have a weight."""
        return len(self.weights)

    def __iter__(self) -> Iterator[tuple[Row, int]]:
        return zip(map(tuple, self.rows.tolist()), self.weights.tolist(), strict=True)

    def __getitem__(self, row: Row | int) -> int:
        wanted = row if isinstance(row, tuple) else (row,)
        return next((weight for found, weight in self if found == wanted), 0)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ZSet):
            return NotImplemented
        return self.arity == other.arity and len(self) == len(other) and not len(self - other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        shown = ", ".join(f"{row}: {weight:+}" for row, weight in sorted(self)[:20])
        return f"{{{shown}{', …' if len(self) > 20 else ''}}}"

    def _settle(self) -> None:
        if self._settled:
            return
        rows, weights = self._joined()
        count = len(weights)
        bits = max(4, (count * 4 // 3).bit_length())
        slots = np.zeros(1 << bits, np.int64)
        kept = load().consolidate(rows.ctypes.data, self.arity, count, weights.ctypes.data, slots.ctypes.data, bits)
        self._pieces = [(rows[:kept], weights[:kept])] if kept else []
        self._settled = True

    def _joined(self) -> Piece:
        """All pieces in arrays of their own."""
        if len(self._pieces) == 1:
            rows, weights = self._pieces[0]
            return np.array(rows, np.int64, order="C"), weights.copy()
        rows = np.concatenate([rows for rows, _ in self._pieces])
        return np.ascontiguousarray(rows), np.concatenate([weights for _, weights in self._pieces])

    # The group

    def __add__(self, other: ZSet) -> ZSet:
        if self.arity != other.arity:
            raise WhenceError(f"Z-sets of {self.arity} and {other.arity} columns cannot be added")
        if not other._pieces:
            return self
        if not self._pieces:
            return other
        return ZSet(self.arity, [*self._pieces, *other._pieces])

    def __neg__(self) -> ZSet:
        return self * -1

    def __sub__(self, other: ZSet) -> ZSet:
        return self + -other

    def __mul__(self, factor: int) -> ZSet:
        if factor == 0:
            return ZSet(self.arity)
        return ZSet(self.arity, [(rows, weights * factor) for rows, weights in self._pieces], settled=self._settled)

    # Linear functions: they take a Z-set piece by piece

    def map(self, function: Callable[[Rows], Rows], arity: int) -> ZSet:
        """The rows that a function makes of an array of rows, one of each."""
        return ZSet(arity, [(_checked(function(rows), len(rows), arity), weights) for rows, weights in self._pieces])

    def project(self, columns: Sequence[int]) -> ZSet:
        chosen = list(columns)
        return self.map(lambda rows: np.ascontiguousarray(rows[:, chosen]), len(chosen))

    def select(self, holds: Callable[[Rows], Flags]) -> ZSet:
        """The rows of which a function says so; it is given an array of rows and returns an array of truth values."""
        kept = []
        for rows, weights in self._pieces:
            flags = np.asarray(holds(rows), np.bool_)
            if flags.shape != (len(rows),):
                raise WhenceError(f"a condition gave {flags.shape} truth values for {len(rows)} rows")
            kept.append((rows[flags], weights[flags]))
        return ZSet(self.arity, kept, settled=self._settled)

    # Others

    def to_set(self) -> ZSet:
        """The rows of positive weight, each with weight 1."""
        there = self.weights > 0
        rows = self.rows[there]
        return ZSet(self.arity, [(rows, np.ones(len(rows), np.int64))], settled=True)

    def to_diff(self) -> ZSet:
        """Each row with weight 1 or -1, as its weight is more or less than 0."""
        return ZSet(self.arity, [(self.rows, np.sign(self.weights))], settled=True)

    def join(self, other: ZSet, on: Sequence[tuple[int, int]], keep: Sequence[tuple[int, int]] | None = None) -> ZSet:
        """The pairs of rows that are equal in the columns of `on`; weights are multiplied. `keep` says which columns
        are left, `(LEFT, i)` or `(RIGHT, i)`; by default all."""
        from .matching import join_plan, matched
        from .trace import Trace

        trace = Trace(other.arity)
        trace.add(other)
        return matched(join_plan(self.arity, other.arity, on, keep)[0], self, trace)

    def group(self, by: Sequence[int], aggregate: str = "count", column: int | None = None) -> ZSet:
        """For each value of the columns `by` a row of it and an aggregate: `count`, `sum`, `min` or `max` of a
        column."""
        from .grouping import Aggregation

        return Aggregation(tuple(by), aggregate, column).of(self)


def _checked(rows: Rows, count: int, arity: int) -> Rows:
    array = np.ascontiguousarray(rows, np.int64)
    if array.shape != (count, arity):
        raise WhenceError(
            f"a function made an array of shape {array.shape} of {count} rows; it should be {count, arity}"
        )
    return array
