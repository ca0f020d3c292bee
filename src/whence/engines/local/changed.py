"""What the last epoch changed in each relation, iterations and counts included: so much of it has to be stored."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from whence.lang.program import Relation
from whence.plan import View

from .kernel.layout import ITERATION, NOW
from .revised import Log
from .revision import LocalRevision
from .table import Rows, Words
from .tables import LocalTables, Stored

if TYPE_CHECKING:
    from whence.store import Writer

Flags = np.ndarray[tuple[int], np.dtype[np.bool_]]


@dataclass(frozen=True)
class Changed:
    """`gone` are tuples as they were before, `held` as they are now. One that is in both got another iteration or
    count."""

    gone: Rows
    held: Rows
    iterations: Words
    counts: Words

    def __len__(self) -> int:
        return len(self.gone) + len(self.held)

    def write(self, tables: LocalTables, relation: Relation, writer: Writer) -> None:
        import pyarrow

        from .arrow import columns_of

        iterations = pyarrow.array(self.iterations, pyarrow.int32())
        held = [*columns_of(tables, relation, self.held), iterations, pyarrow.array(self.counts)]
        # A column of zeros, so that a relation without columns has rows.
        gone = [*columns_of(tables, relation, self.gone), pyarrow.array(np.zeros(len(self.gone), np.int32))]
        names = writer.schemas[relation.name].fields
        writer.change(relation.name, pyarrow.table(held, names), pyarrow.table(gone, names[:-1]))


def changed(revision: LocalRevision) -> dict[str, Changed]:
    """By relation, what a revision that is about to be committed changes."""
    found = {name: _logged(log, revision.stored(name)) for name, log in revision.logs.items()}
    for name, old in revision.replaced.items():
        found[name] = _recomputed(old, revision.stored(name), revision.differences[name, View.LOST])
    return {name: changes for name, changes in found.items() if len(changes)}


def _logged(log: Log, stored: Stored) -> Changed:
    was = (log.stamps & NOW) != 0
    return _between(stored, log.rows, was, log.stamps & ITERATION, log.counts, stored.table.rows)


def _recomputed(old: Stored, new: Stored, went: Rows) -> Changed:
    """`went` are the tuples that the new table does not have any more."""
    table = new.table
    rows = np.flatnonzero(table.stamps & NOW)
    found = old.table.locate(np.ascontiguousarray(table.rows[rows]).reshape(-1), len(rows))
    there = found >= 0
    if old.table.stamped:
        there[there] = (old.table.stamps[found[there]] & NOW) != 0
    places = np.where(there, found, 0)
    none = np.zeros(len(rows), np.int64)
    iterations, counts = (old.iterations[places], old.table.counts[places]) if len(old.table) else (none, none)
    changed = _between(new, rows, there, iterations, counts, table.rows)
    return replace(changed, gone=np.concatenate([changed.gone, went]))


def _between(stored: Stored, rows: Any, was: Flags, iterations: Any, counts: Any, tuples: Rows) -> Changed:
    """`rows` of a relation, with what they were: whether they were there, in which iteration, with which count."""
    table = stored.table
    stamps, now = table.stamps[rows], table.counts[rows]
    there = (stamps & NOW) != 0
    same = was & there & ((stamps & ITERATION) == iterations) & (now == counts)
    held = there & ~same
    return Changed(
        tuples[rows[was & ~same]],
        tuples[rows[held]],
        (stamps[held] & ITERATION).astype(np.int64),
        now[held].astype(np.int64),
    )
