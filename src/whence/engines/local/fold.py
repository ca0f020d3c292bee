"""Aggregates by group, over columns that come in parts."""

from __future__ import annotations

import numpy as np

from whence.lang.program import Aggregator, Kind

from .table import Words

Flags = np.ndarray[tuple[int], np.dtype[np.bool_]]
FIRSTS = {  # what every value is better than
    "min": {"number": 2**63 - 1, "unsigned": 2**64 - 1, "float": np.inf},
    "max": {"number": -(2**63), "unsigned": 0, "float": -np.inf},
}
DTYPES = {"number": np.int64, "unsigned": np.uint64, "float": np.float64}


class Accumulator:
    """One value for each group, so far; int64 wraps, as all arithmetic does."""

    def __init__(self, op: Aggregator, kind: Kind, groups: int) -> None:
        self.op = op
        dtype = np.dtype(DTYPES[kind])
        self.dtype = dtype
        self.counts = np.zeros(groups, np.int64)
        first = FIRSTS[op][kind] if op in FIRSTS else 0
        self.values = np.full(groups, first, dtype)

    def add(self, groups: Words, targets: Words | None, weights: Words | None) -> None:
        np.add.at(self.counts, groups, 1 if weights is None else weights)
        if targets is None:
            return
        values = np.ascontiguousarray(targets).view(self.dtype)
        if self.op == "min":
            np.minimum.at(self.values, groups, values)
        elif self.op == "max":
            np.maximum.at(self.values, groups, values)
        else:
            np.add.at(self.values, groups, values if weights is None else values * weights.astype(self.dtype))

    def finish(self) -> tuple[Words, Flags]:
        """The value of each group, and whether it has one: over nothing, only count and sum have."""
        match self.op:
            case "count":
                return self.counts, np.ones(len(self.counts), np.bool_)
            case "sum":
                return self.values.view(np.int64), np.ones(len(self.counts), np.bool_)
            case "mean":
                there = self.counts > 0
                means = np.divide(self.values, self.counts, out=np.zeros(len(self.counts)), where=there)
                return means.view(np.int64), there
        return self.values.view(np.int64), self.counts > 0
