"""Value tables (001, fig. 2): rows of distinct values under the names of their columns. A table never changes.

Names are variables for supplementary tables, and numbers of columns for the arguments and results of a call. Rows hold
the local engine's int64, so that a table can be handed to its kernel as it is.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from whence.engines.local.kernel.library import load
from whence.engines.local.table import Rows, Table, Words

Name = Hashable
Flags = np.ndarray[tuple[int], np.dtype[np.bool_]]


@dataclass(frozen=True, eq=False)
class ValueTable:
    """`table(X̄, T̄)`. Equality is by identity; compare `sets`."""

    columns: tuple[Name, ...]
    rows: Rows

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        return f"<table({', '.join(map(str, self.columns))}): {len(self)} rows>"

    def column(self, name: Name) -> Words:
        return self.rows[:, self.columns.index(name)]

    @property
    def sets(self) -> set[tuple[int, ...]]:
        return set(map(tuple, self.rows.tolist()))


UNIT = ValueTable((), np.zeros((1, 0), np.int64))  # the neutral element of joins: no columns and one row


def empty(columns: Sequence[Name]) -> ValueTable:
    return ValueTable(tuple(columns), np.empty((0, len(columns)), np.int64))


def rename(table: ValueTable, names: Mapping[Name, Name]) -> ValueTable:
    """ρ: the same rows under other names."""
    return ValueTable(tuple(names.get(name, name) for name in table.columns), table.rows)


def project(table: ValueTable, columns: Sequence[Name]) -> ValueTable:
    """Π: some columns together, so that values that go with each other stay so; each row once."""
    if tuple(columns) == table.columns:
        return table
    places = [table.columns.index(name) for name in columns]
    return ValueTable(tuple(columns), distinct(table.rows[:, places]))


def select(table: ValueTable, chosen: Flags) -> ValueTable:
    return table if chosen.all() else ValueTable(table.columns, table.rows[chosen])


def union(one: ValueTable, other: ValueTable) -> ValueTable:
    """∪, of tables with the same columns."""
    if not len(other):
        return one
    if not len(one):
        return other
    return ValueTable(one.columns, distinct(np.concatenate([one.rows, other.rows])))


def minus(one: ValueTable, other: Rows) -> ValueTable:
    """∖: the rows of a table that are not among others."""
    if not len(other) or not len(one):
        return one
    return select(one, ~among(one.rows, other))


def join(one: ValueTable, other: ValueTable) -> ValueTable:
    """⋈, on the columns that both have."""
    shared = [name for name in other.columns if name in one.columns]
    own = [place for place, name in enumerate(other.columns) if name not in one.columns]
    columns = (*one.columns, *(other.columns[place] for place in own))
    if not own:
        return semi_join(one, other)
    left, right = _numbers(one, other, shared)
    order = np.argsort(right, kind="stable")
    right = right[order]
    low, high = np.searchsorted(right, left, "left"), np.searchsorted(right, left, "right")
    counts = high - low
    kept = np.repeat(np.arange(len(left)), counts)
    ends = np.cumsum(counts)
    matches = order[np.arange(len(kept)) - np.repeat(ends - counts, counts) + np.repeat(low, counts)]
    return ValueTable(columns, np.concatenate([one.rows[kept], other.rows[matches][:, own]], axis=1))


def semi_join(one: ValueTable, other: ValueTable) -> ValueTable:
    """The rows of the first that have a match in the second."""
    return select(one, _matched(one, other))


def anti_join(one: ValueTable, other: ValueTable) -> ValueTable:
    """▷: the rows of the first that have none."""
    return select(one, ~_matched(one, other))


def _matched(one: ValueTable, other: ValueTable) -> Flags:
    shared = [name for name in other.columns if name in one.columns]
    places = [one.columns.index(name) for name in shared]
    theirs = [other.columns.index(name) for name in shared]
    return among(one.rows[:, places], other.rows[:, theirs])


def _numbers(one: ValueTable, other: ValueTable, shared: Sequence[Name]) -> tuple[Words, Words]:
    """A number for each row of both tables, equal where the shared columns are."""
    places = [one.columns.index(name) for name in shared]
    theirs = [other.columns.index(name) for name in shared]
    if len(shared) == 1:
        return one.rows[:, places[0]], other.rows[:, theirs[0]]
    numbers = _numbered(np.concatenate([one.rows[:, places], other.rows[:, theirs]]))[0]
    return numbers[: len(one)], numbers[len(one) :]


# Rows


def distinct(rows: Rows) -> Rows:
    """Each row once, in the order in which it first comes."""
    if len(rows) < 2:
        return rows
    return _numbered(rows)[1].rows.copy()


def among(rows: Rows, others: Rows) -> Flags:
    """Which rows are among others."""
    if not rows.shape[1]:
        return np.full(len(rows), len(others) > 0)
    table = Table(load(), rows.shape[1], counted=False)
    table.insert(np.ascontiguousarray(others).reshape(-1), len(others))
    return table.locate(np.ascontiguousarray(rows).reshape(-1), len(rows)) >= 0


def _numbered(rows: Rows) -> tuple[Words, Table]:
    table = Table(load(), rows.shape[1], counted=False)
    numbers = np.zeros(len(rows), np.int64)
    table.insert(np.ascontiguousarray(rows).reshape(-1), len(rows), found=numbers)
    return numbers, table
