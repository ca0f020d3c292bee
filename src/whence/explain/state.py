"""The state that explanations search: the relations in memory, and of each tuple the iteration that first derives it.

A state in another place (a store, Spark) brings the rows that a search needs into memory before it runs; see
`remote.py`. Everything else in this package only sees what is here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from whence.engines.local.kernel.layout import ITERATION, NOW
from whence.engines.local.table import Rows, Words
from whence.engines.local.tables import LocalTables
from whence.lang.program import Literal, Program, Var

Flags = np.ndarray[tuple[int], np.dtype[np.bool_]]


@dataclass(frozen=True)
class Annotation:
    """Of some rows: whether each is a tuple of its relation, and then its iteration and its derivations there."""

    present: Flags
    iteration: Words
    count: Words


class State(Protocol):
    @property
    def program(self) -> Program: ...

    @property
    def tables(self) -> LocalTables: ...

    def require(self, literals: Sequence[Literal], given: Sequence[Var], source: Rows) -> None:
        """Make all tuples readable that a conjunction may meet when it begins with these rows."""
        ...

    def annotation(self, relation: str, rows: Rows) -> Annotation: ...


def annotation(tables: LocalTables, relation: str, rows: Rows) -> Annotation:
    """What the local engine knows of rows of a relation; the iteration of an absent one is -1."""
    stored = tables.stored[relation]
    table = stored.table
    found = table.locate(np.ascontiguousarray(rows).reshape(-1), len(rows))
    present = found >= 0
    iteration = np.full(len(rows), -1, np.int64)
    if table.stamped:
        stamps = table.stamps[found]
        present &= (stamps & NOW) != 0
        iteration[present] = stamps[present] & ITERATION
    elif stored.marks:
        starts = np.array([start for _, start in stored.marks], np.int64)
        numbers = np.array([number for number, _ in stored.marks], np.int64)
        iteration[present] = numbers[np.searchsorted(starts, found[present], side="right") - 1]
    count = np.zeros(len(rows), np.int64)
    if table.counted:
        count[present] = table.counts[found[present]]
    return Annotation(present, iteration, count)


class InMemory:
    """The state of a session whose relations are all in this process."""

    def __init__(self, tables: LocalTables) -> None:
        self.tables = tables
        self.program = tables.program

    def require(self, literals: Sequence[Literal], given: Sequence[Var], source: Rows) -> None:
        """Everything is here."""

    def annotation(self, relation: str, rows: Rows) -> Annotation:
        return annotation(self.tables, relation, rows)
